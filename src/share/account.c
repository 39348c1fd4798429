#include "share/account.h"

#include <math.h>
#include <string.h>

#include "sol/bound.h"
#include "sol/sol.h"

static const double MEBI = 1 << 20, GIBI = 1 << 30;

/* What is averaged, in the order in which JSON has it. */
static const enum metric averaged[] = {
    METRIC_COMPUTE_SOL,     METRIC_MEMORY_SOL,  METRIC_LINK_SOL,     METRIC_NVML_UTILIZATION,
    METRIC_GRAPHICS_ACTIVE, METRIC_SM_ACTIVE,   METRIC_SM_OCCUPANCY, METRIC_TENSOR_ACTIVE,
    METRIC_FP64_ACTIVE,     METRIC_FP32_ACTIVE, METRIC_FP16_ACTIVE,  METRIC_INT_ACTIVE,
    METRIC_DRAM_ACTIVE,     METRIC_L2_ACTIVE,   METRIC_PCIE_RX,      METRIC_PCIE_TX,
    METRIC_NVLINK_RX,       METRIC_NVLINK_TX,   METRIC_POWER,        METRIC_SM_CLOCK,
    METRIC_EFFECTIVE_CLOCK,
};

static const enum metric labelled[] = {METRIC_COMPUTE_SOL_PIPE, METRIC_MEMORY_SOL_LEVEL,
                                       METRIC_BOUND};

const char *account_outcome_word(enum account_outcome outcome)
{
    static const char *const words[OUTCOME_COUNT] = {"ended",  "timeout", "outside",
                                                     "memory", "fault",   "victim"};
    return words[outcome];
}

/* The GPUs are counted over all attempts, but not between them. */
void account_begin_attempt(struct account *account)
{
    account->attempts++;
    account->outcome = OUTCOME_ENDED;
    account->note[0] = '\0';
    account->verified_after = account->mps_lost_after = 0;
    account->seen = account->was_client = false;
    for (size_t i = 0; i < account->gpu_count; i++)
        account_pause(&account->gpus[i]);
}

double account_interval(const struct reading *reading, double interval, double begin, double now)
{
    return now - reading->age > begin ? fmin(interval, now - begin) : 0;
}

/* Whether a process of the job is listed. */
static bool add_memory(struct account_gpu *gpu, const struct process_list *processes,
                       const struct process_tree *tree)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->process[i].memory_known && process_tree_has(tree, processes->process[i].pid))
            sum += processes->process[i].memory_bytes;
    if (sum > gpu->memory_peak)
        gpu->memory_peak = sum;
    return sum > 0;
}

/* Power over time, until the driver's counter moves: then what that has counted since it moved last
 * stands for it. It is read every five seconds, so what is behind the last move stays power over
 * time, and so does what is before the first. */
static void add_energy(struct account_gpu *gpu, const struct sample *sample, double interval,
                       unsigned jobs)
{
    double joules = sample_get(sample, METRIC_POWER, 0) * interval;
    gpu->pending += joules;
    gpu->pending_share += joules / jobs;
    if (!sample_has(sample, METRIC_ENERGY))
        return;
    double total = sample->value[METRIC_ENERGY];
    bool moved = gpu->has_counter && total != gpu->last_count;
    gpu->has_counter = true;
    gpu->last_count = total;
    if (!moved)
        return;
    /* It counts from 0 again when the driver is loaded. */
    bool counted = gpu->has_moved && total > gpu->moved_to;
    double part = gpu->pending > 0 ? gpu->pending_share / gpu->pending : 1.0 / jobs;
    gpu->settled_share += counted ? (total - gpu->moved_to) * part : gpu->pending_share;
    gpu->pending = gpu->pending_share = 0;
    gpu->has_moved = true;
    gpu->moved_to = total;
}

void account_pause(struct account_gpu *gpu)
{
    gpu->settled_share += gpu->pending_share;
    gpu->pending = gpu->pending_share = 0;
    gpu->has_counter = gpu->has_moved = false;
}

bool account_energy(const struct account_gpu *gpu, double *ret)
{
    if (gpu->weight[METRIC_POWER] <= 0 && gpu->settled_share <= 0)
        return false;
    *ret = gpu->settled_share + gpu->pending_share;
    return true;
}

static void add_span(struct account_gpu *gpu, const struct sample *sample, double interval)
{
    double nvml = sample_get(sample, METRIC_NVML_UTILIZATION, 0);
    if (sample_get(sample, METRIC_GRAPHICS_ACTIVE, nvml) < BOUND_IDLE)
        return;
    if (gpu->work_end <= 0)
        gpu->work_begin = gpu->seconds - interval;
    gpu->work_end = gpu->seconds;
}

bool account_add(struct account_gpu *gpu, const struct reading *reading, double interval,
                 const struct process_tree *tree, unsigned jobs)
{
    if (reading->state != READING_OK || interval <= 0)
        return false;
    const struct sample *sample = &reading->sample;
    gpu->seconds += interval;
    gpu->neighbours += (jobs - 1) * interval;
    if (jobs - 1 > gpu->most_neighbours)
        gpu->most_neighbours = jobs - 1;
    for (size_t i = 0; i < ARRAY_SIZE(averaged); i++)
        if (sample_has(sample, averaged[i])) {
            gpu->sum[averaged[i]] += sample->value[averaged[i]] * interval;
            gpu->weight[averaged[i]] += interval;
        }
    for (size_t i = 0; i < ARRAY_SIZE(labelled); i++)
        if (sample_has(sample, labelled[i]))
            gpu->label[(size_t)sample->value[labelled[i]]] += interval;
    gpu->l2_seen = gpu->l2_seen || sample_has(sample, METRIC_L2_ACTIVE);
    add_span(gpu, sample, interval);
    add_energy(gpu, sample, interval, jobs);
    return add_memory(gpu, &reading->processes, tree);
}

double account_busy_seconds(const struct account_gpu *gpu)
{
    double share;
    return account_mean(gpu, METRIC_GRAPHICS_ACTIVE, &share) ? share * gpu->seconds : 0;
}

double account_span_seconds(const struct account_gpu *gpu)
{
    return gpu->work_end - gpu->work_begin;
}

bool account_mean(const struct account_gpu *gpu, enum metric metric, double *ret)
{
    if (gpu->weight[metric] <= 0)
        return false;
    *ret = gpu->sum[metric] / gpu->weight[metric];
    return true;
}

const char *account_word(const struct account_gpu *gpu, enum metric metric)
{
    const char *best = NULL;
    double most = 0;
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        const char *word = label_word(metric, (double)i);
        if (word && gpu->label[i] > most) {
            most = gpu->label[i];
            best = word;
        }
    }
    return best;
}

static void add_ratio(const struct account_gpu *gpu, enum metric metric, struct strbuf *out)
{
    double mean;
    if (account_mean(gpu, metric, &mean))
        sol_percent(mean, out);
    else
        strbuf_puts(out, "not known");
}

static void add_words(const char *before, const char *words, const char *after, struct strbuf *out)
{
    if (words)
        strbuf_printf(out, "%s%s%s", before, words, after);
}

static const char *level_words(const struct account_gpu *gpu)
{
    const char *level = account_word(gpu, METRIC_MEMORY_SOL_LEVEL);
    return level && strcmp(level, "dram") == 0 ? sol_dram_name(&gpu->device) : level;
}

static bool is_verified(const struct account *account)
{
    return account->verified_after > 0 ||
           (account->was_client && account->outcome != OUTCOME_OUTSIDE);
}

/* Whether its limits were seen to hold. */
static void write_verification_text(const struct account *account, struct strbuf *out)
{
    if (account->verified_after > 0)
        strbuf_printf(
            out, "    verified %.1f s after its start: it was a client of MPS within its limits\n",
            account->verified_after);
    else if (is_verified(account))
        strbuf_puts(out,
                    "    verified by the log of MPS: it was a client, too shortly to be listed, "
                    "and was started with its limits\n");
    else if (account->outcome != OUTCOME_OUTSIDE)
        strbuf_printf(out, "    not verified: %s\n",
                      account->seen ? "it ended before it was seen to be a client of MPS"
                                    : "it was not seen on the GPU, and may have ended too soon");
}

static void write_gpu_text(const struct account *account, const struct account_gpu *gpu,
                           struct strbuf *out)
{
    strbuf_printf(out, "  GPU %u %s", gpu->device.index, gpu->device.text[DEVICE_NAME]);
    if (account->shared)
        strbuf_printf(out, ", shared: %g %% of the SMs", account->sm_percent);
    if (account->shared && account->memory_bytes)
        strbuf_printf(out, ", %.1f GiB", (double)account->memory_bytes / GIBI);
    if (gpu->most_neighbours)
        strbuf_printf(out, "; up to %u other job%s beside it", gpu->most_neighbours,
                      gpu->most_neighbours == 1 ? "" : "s");
    strbuf_puts(out, "\n");
    if (account->shared)
        write_verification_text(account, out);
    if (account->mps_lost_after > 0)
        strbuf_printf(out, "    the MPS daemon ended %.1f s after its start, under it\n",
                      account->mps_lost_after);
    if (gpu->seconds <= 0) {
        strbuf_puts(out, "    it ended before it could be measured\n");
        return;
    }
    strbuf_puts(out, "    Compute SOL ");
    add_ratio(gpu, METRIC_COMPUTE_SOL, out);
    add_words(" (", account_word(gpu, METRIC_COMPUTE_SOL_PIPE), ")", out);
    strbuf_puts(out, ", Memory SOL ");
    add_ratio(gpu, METRIC_MEMORY_SOL, out);
    add_words(" (", level_words(gpu), gpu->l2_seen ? ")" : " only)", out);
    add_words(", bound: ", account_word(gpu, METRIC_BOUND), "", out);
    strbuf_puts(out, "; nvidia-smi would have said ");
    add_ratio(gpu, METRIC_NVML_UTILIZATION, out);
    strbuf_printf(out, "%s\n    busy ",
                  gpu->most_neighbours ? " (all of the whole GPU, its neighbours included)" : "");
    add_ratio(gpu, METRIC_GRAPHICS_ACTIVE, out);
    strbuf_puts(out, " of the time");
    double clock;
    if (account_mean(gpu, METRIC_SM_CLOCK, &clock))
        strbuf_printf(out, ", clock %.0f MHz", clock / 1e6);
    if (account_mean(gpu, METRIC_EFFECTIVE_CLOCK, &clock))
        strbuf_printf(out, " (effective: %.0f MHz)", clock / 1e6);
    if (gpu->memory_peak)
        strbuf_printf(out, ", memory peak %.0f MiB", (double)gpu->memory_peak / MEBI);
    double joules;
    if (account_energy(gpu, &joules))
        strbuf_printf(out, ", energy %.0f J%s", joules,
                      gpu->most_neighbours ? " (estimate: an equal share of the GPU's)" : "");
    strbuf_puts(out, "\n");
}

void account_write_text(const struct account *account, struct strbuf *out)
{
    strbuf_printf(out, "rooftop run: %s", account->note[0] ? account->note : "ended");
    strbuf_printf(out, " after %.1f s, exit %d", account->wall_seconds, account->exit_code);
    if (account->attempts > 1)
        strbuf_printf(out, ", at attempt %u", account->attempts);
    strbuf_puts(out, "\n");
    for (size_t i = 0; i < account->gpu_count; i++)
        write_gpu_text(account, &account->gpus[i], out);
}

static void add_number_or_null(struct json *json, const char *key, bool known, double value)
{
    json_key(json, key);
    if (known)
        json_add_number_digits(json, value, 6);
    else
        json_add_null(json);
}

static void add_bytes_or_null(struct json *json, const char *key, uint64_t bytes)
{
    json_key(json, key);
    if (bytes)
        json_add_integer(json, (int64_t)bytes);
    else
        json_add_null(json);
}

static void write_gpu_json(const struct account_gpu *gpu, struct json *json)
{
    json_object_begin(json);
    json_key(json, "index");
    json_add_integer(json, gpu->device.index);
    json_key(json, "uuid");
    json_add_text(json, gpu->device.text[DEVICE_UUID]);
    json_key(json, "name");
    json_add_text(json, gpu->device.text[DEVICE_NAME]);
    add_number_or_null(json, "measured_seconds", true, gpu->seconds);
    add_number_or_null(json, "busy_seconds", gpu->weight[METRIC_GRAPHICS_ACTIVE] > 0,
                       account_busy_seconds(gpu));
    add_number_or_null(json, "span_seconds", gpu->work_end > 0, account_span_seconds(gpu));
    add_number_or_null(json, "jobs_beside", gpu->seconds > 0, gpu->neighbours / gpu->seconds);
    for (size_t i = 0; i < ARRAY_SIZE(averaged); i++) {
        double mean = 0;
        bool known = account_mean(gpu, averaged[i], &mean);
        add_number_or_null(json, metric_info(averaged[i])->name, known, mean);
    }
    for (size_t i = 0; i < ARRAY_SIZE(labelled); i++) {
        const char *word = account_word(gpu, labelled[i]);
        json_key(json, metric_info(labelled[i])->name);
        json_add_text_or_null(json, word ? word : "");
    }
    add_bytes_or_null(json, "memory_peak_bytes", gpu->memory_peak);
    double joules = 0;
    bool known = account_energy(gpu, &joules);
    add_number_or_null(json, "energy_joules", known, joules);
    json_key(json, "energy_is_estimate");
    json_add_bool(json, gpu->most_neighbours > 0);
    json_object_end(json);
}

void account_write_json(const struct account *account, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "command");
    json_array_begin(&json);
    for (const char *const *word = account->command; *word; word++)
        json_add_text(&json, *word);
    json_array_end(&json);
    json_key(&json, "outcome");
    json_add_text(&json, account_outcome_word(account->outcome));
    json_key(&json, "note");
    json_add_text_or_null(&json, account->note);
    json_key(&json, "exit_code");
    json_add_integer(&json, account->exit_code);
    add_number_or_null(&json, "wall_seconds", true, account->wall_seconds);
    add_number_or_null(&json, "waited_seconds", true, account->waited_seconds);
    json_key(&json, "attempts");
    json_add_integer(&json, account->attempts);
    json_key(&json, "mode");
    json_add_text(&json, account->shared ? "shared" : "exclusive");
    add_number_or_null(&json, "sm_percent", account->shared, account->sm_percent);
    add_bytes_or_null(&json, "memory_limit_bytes", account->memory_bytes);
    json_key(&json, "verified");
    if (account->shared)
        json_add_bool(&json, is_verified(account));
    else
        json_add_null(&json);
    json_key(&json, "verified_by");
    json_add_text_or_null(&json, account->verified_after > 0 ? "list"
                                 : is_verified(account)      ? "log"
                                                             : "");
    add_number_or_null(&json, "verified_after_seconds", account->verified_after > 0,
                       account->verified_after);
    add_number_or_null(&json, "mps_lost_after_seconds", account->mps_lost_after > 0,
                       account->mps_lost_after);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < account->gpu_count; i++)
        write_gpu_json(&account->gpus[i], &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}
