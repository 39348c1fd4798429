/* The plan of every chip that libcupti lists, against tests/golden/counter_plans.txt. Skipped where
 * no libcupti is found; ROOFTOP_GOLDEN=write makes the file anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cmocka_test.h"
#include "counter/cupti/host.h"
#include "counter/cupti/plan.h"

static struct cupti cupti;

static int count_passes(void *host, const char *const *names, size_t count)
{
    return cupti_count_passes(host, names, count);
}

static struct cupti_host host_of(const char *chip)
{
    struct cupti_host host = {.cupti = &cupti};
    snprintf(host.chip, sizeof(host.chip), "%s", chip);
    return host;
}

static void describe_plan(struct strbuf *out, const struct plan *plan)
{
    for (size_t i = 0; i < plan->set_count; i++)
        for (size_t k = 0; k < plan->set[i].count; k++) {
            const struct cupti_counter *counter = plan->set[i].counter[k];
            strbuf_printf(out, "  %zu %s: %s\n", i + 1,
                          counter ? metric_info(counter->metric)->name : "  divided by",
                          plan->set[i].name[k]);
        }
    for (int m = 0; m < METRIC_COUNT && m < 64; m++)
        if (plan->refused >> m & 1)
            strbuf_printf(out, "  - %s\n", metric_info((enum metric)m)->name);
}

static void describe_chips(struct strbuf *out)
{
    struct cupti_supported_chips chips = {.size = CUPTI_SIZE(struct cupti_supported_chips, chips)};
    assert_int_equal(cupti.supported_chips(&chips), CUPTI_OK);
    for (size_t i = 0; i < chips.count; i++) {
        struct cupti_host host = host_of(chips.chips[i]);
        struct plan plan;
        plan_make(&plan, UINT64_MAX, PLAN_MAX_SETS, count_passes, &host);
        strbuf_printf(out, "%s\n", chips.chips[i]);
        describe_plan(out, &plan);
    }
}

static char *read_golden(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return strdup("");
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void plans_every_chip(void **state)
{
    (void)state;
    const char *path = getenv("GOLDEN");
    struct strbuf plans = {0};
    describe_chips(&plans);
    assert_false(strbuf_failed(&plans));
    const char *mode = getenv("ROOFTOP_GOLDEN");
    if (mode && strcmp(mode, "write") == 0) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(strbuf_text(&plans), file);
        fclose(file);
    }
    char *golden = read_golden(path);
    assert_string_equal(strbuf_text(&plans), golden);
    free(golden);
    strbuf_free(&plans);
}

static size_t plan_sets(const char *chip, uint64_t wanted, uint64_t *ret_refused)
{
    struct cupti_host host = host_of(chip);
    struct plan plan;
    plan_make(&plan, wanted, PLAN_MAX_SETS, count_passes, &host);
    *ret_refused = plan.refused;
    return plan.set_count;
}

static void refuses_volta(void **state)
{
    (void)state;
    static const char *const chips[] = {"GV100", "GV11B"};
    for (size_t i = 0; i < ARRAY_SIZE(chips); i++) {
        uint64_t refused;
        assert_int_equal(plan_sets(chips[i], METRIC_BIT(METRIC_EFFECTIVE_CLOCK), &refused), 0);
        assert_int_equal(refused, METRIC_BIT(METRIC_EFFECTIVE_CLOCK));
    }
}

static void lacks_dram_counters_where_memory_is_the_hosts(void **state)
{
    (void)state;
    static const char *const chips[] = {"GA10B", "GB10B", "GB20B"};
    const uint64_t dram = METRIC_BIT(METRIC_DRAM_ACTIVE) | METRIC_BIT(METRIC_DRAM_READ) |
                          METRIC_BIT(METRIC_DRAM_WRITE);
    for (size_t i = 0; i < ARRAY_SIZE(chips); i++) {
        uint64_t refused;
        plan_sets(chips[i], dram, &refused);
        assert_int_equal(refused, dram);
    }
}

/* Its counters of DRAM's reads and writes have other names than those of all before it. */
static void knows_the_names_of_gb202(void **state)
{
    (void)state;
    struct cupti_host host = host_of("GB202");
    const char *const old[] = {"dram__bytes_read.sum.per_second"};
    const char *const together[] = {"gpc__cycles_elapsed.avg.per_second",
                                    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                                    "dram__bytes_op_read.sum.per_second"};
    assert_true(cupti_count_passes(&host, old, 1) < 0);
    assert_int_equal(cupti_count_passes(&host, together, 3), 1);
}

static void samples_beside_gpm_in_one_pass_on_hopper(void **state)
{
    (void)state;
    const uint64_t beside = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE) |
                            METRIC_BIT(METRIC_L1_ACTIVE) | METRIC_BIT(METRIC_ISSUE_ACTIVE) |
                            METRIC_BIT(METRIC_DRAM_READ) | METRIC_BIT(METRIC_DRAM_WRITE);
    uint64_t refused;
    assert_int_equal(plan_sets("GH100", beside, &refused), 1);
    assert_int_equal(refused, 0);
}

/* In a burst, beside all that GPM lacks. */
static void tells_the_tensor_paths_apart_in_the_same_pass_on_hopper(void **state)
{
    (void)state;
    const uint64_t burst = METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE) |
                           METRIC_BIT(METRIC_ISSUE_ACTIVE) | METRIC_BIT(METRIC_DRAM_READ) |
                           METRIC_BIT(METRIC_DRAM_WRITE) | METRIC_BIT(METRIC_XU_ACTIVE) |
                           METRIC_BIT(METRIC_TENSOR_SHARED_LOADS);
    uint64_t refused;
    assert_int_equal(plan_sets("GH100", burst, &refused), 1);
    assert_int_equal(refused, 0);
}

static void counts_special_functions_without_a_further_set(void **state)
{
    (void)state;
    const uint64_t xu = METRIC_BIT(METRIC_XU_ACTIVE);
    const uint64_t others = ~xu & ~METRIC_BIT(METRIC_TENSOR_SHARED_LOADS);
    struct cupti_supported_chips chips = {.size = CUPTI_SIZE(struct cupti_supported_chips, chips)};
    assert_int_equal(cupti.supported_chips(&chips), CUPTI_OK);
    for (size_t i = 0; i < chips.count; i++) {
        uint64_t refused, refused_alone;
        size_t sets = plan_sets(chips.chips[i], others, &refused);
        assert_int_equal(plan_sets(chips.chips[i], others | xu, &refused), sets);
        plan_sets(chips.chips[i], xu, &refused_alone);
        assert_int_equal(refused & xu, refused_alone);
        assert_int_equal(refused_alone == 0, strncmp(chips.chips[i], "GV1", 3) != 0);
    }
}

static void names_what_a_chip_lacks(void **state)
{
    (void)state;
    struct cupti_host host = host_of("GH100");
    const char *const unknown[] = {"gpc__cycles_elapsed.avg.per_second", "sm__nonsense.avg"};
    assert_int_equal(cupti_count_passes(&host, unknown, 1), 1);
    assert_int_equal(cupti_count_passes(&host, unknown, 2), -2 /* ENOENT */);
    struct cupti_host none = host_of("GH999");
    assert_true(cupti_count_passes(&none, unknown, 1) < 0);
}

int main(void)
{
    char why[256];
    if (cupti_load(&cupti, why, sizeof(why)) < 0) {
        printf("1..0 # SKIP %s\n", why);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_volta),
        cmocka_unit_test(lacks_dram_counters_where_memory_is_the_hosts),
        cmocka_unit_test(knows_the_names_of_gb202),
        cmocka_unit_test(samples_beside_gpm_in_one_pass_on_hopper),
        cmocka_unit_test(tells_the_tensor_paths_apart_in_the_same_pass_on_hopper),
        cmocka_unit_test(counts_special_functions_without_a_further_set),
        cmocka_unit_test(names_what_a_chip_lacks),
        cmocka_unit_test(plans_every_chip), /* as that version knows them */
    };
    return run_group(tests, cupti.version == 130001, NULL, NULL);
}
