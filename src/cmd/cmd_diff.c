#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cmd/common.h"
#include "cmd/diff.h"
#include "metric/units.h"

/* Rounding in a mean of equal values is no difference. */
static const double ROUNDING = 1e-9;

struct settings {
    const char *format;
    const char *gpus;
    double from;
    double to;
    bool all;
};

static const struct option_row options[] = {
    {.name = "from",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, from),
     .argument = "TIME",
     .help = "Compare from that time after the begin on, where no mark is named"},
    {.name = "to",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, to),
     .argument = "TIME",
     .help = "Compare up to that time after the begin"},
    {.name = "all",
     .letter = 'a',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, all),
     .help = "Show also what is the same throughout (text)"},
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    {.name = "gpu",
     .letter = 'g',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, gpus),
     .argument = "GPU[,GPU]",
     .help = "Only these: index, UUID or its start, PCI address; MIG: 0/1 or UUID"},
    OPTIONS_END,
};

/* How a metric's means on both sides differ. */
struct verdict {
    bool known; /* on both sides */
    double difference;
    double chance; /* what a difference can be by chance: half the width of the 99 % interval */
    const char *word;
};

static struct verdict judge(const struct diff_metric *a, const struct diff_metric *b)
{
    if (a->blocks.count == 0 || b->blocks.count == 0)
        return (struct verdict){.word = "unknown"};
    struct verdict verdict = {
        .known = true,
        .difference = b->blocks.mean - a->blocks.mean,
        .chance = stats_welch(&a->blocks, &b->blocks, STATS_99),
    };
    double size = fabs(verdict.difference);
    if (size <= ROUNDING * fmax(fabs(a->blocks.mean), fabs(b->blocks.mean)))
        verdict.word = "same";
    else if (isinf(verdict.chance))
        verdict.word = "too_short";
    else
        verdict.word = size > verdict.chance ? "beyond_spread" : "within_spread";
    return verdict;
}

static const char *human_word(const char *word)
{
    static const char *const words[][2] = {
        {"unknown", ""},
        {"same", "the same"},
        {"too_short", "too short to tell"},
        {"beyond_spread", "beyond the spread"},
        {"within_spread", "within the spread"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return word;
}

/* In columns of characters, not of bytes. */
static void put_cell(struct strbuf *out, const struct strbuf *cell, int width)
{
    int length = (int)utf8_count(strbuf_text(cell));
    strbuf_printf(out, "  %*s%s", length < width ? width - length : 0, "", strbuf_text(cell));
}

static void put_mean(struct strbuf *out, enum metric metric, const struct diff_metric *side)
{
    struct strbuf cell = {0};
    if (side->blocks.count == 0)
        strbuf_puts(&cell, "-");
    else {
        metric_put_human(&cell, metric, side->blocks.mean);
        strbuf_puts(&cell, " ± ");
        metric_put_human(&cell, metric, stats_deviation(&side->blocks));
    }
    put_cell(out, &cell, 24);
    strbuf_free(&cell);
}

static void put_change(struct strbuf *out, enum metric metric, const struct verdict *verdict,
                       const struct diff_metric *before)
{
    struct strbuf cell = {0};
    if (verdict->known && metric_info(metric)->unit == UNIT_RATIO)
        strbuf_printf(&cell, "%+.1f points", verdict->difference * 100);
    else if (verdict->known && before->blocks.mean != 0)
        strbuf_printf(&cell, "%+.1f %%", verdict->difference / fabs(before->blocks.mean) * 100);
    else if (verdict->known) {
        strbuf_puts(&cell, verdict->difference >= 0 ? "+" : "-");
        metric_put_human(&cell, metric, fabs(verdict->difference));
    }
    put_cell(out, &cell, 14);
    strbuf_free(&cell);
}

static enum label most_frequent(const struct diff_metric *side, double *ret_share)
{
    size_t best = 0;
    double all = 0;
    for (size_t i = 0; i < LABEL_COUNT; i++) {
        all += side->seconds[i];
        if (side->seconds[i] > side->seconds[best])
            best = i;
    }
    *ret_share = all > 0 ? side->seconds[best] / all : 0;
    return (enum label)best;
}

static void put_words(struct strbuf *out, enum metric metric, const struct diff_metric *side)
{
    struct strbuf cell = {0};
    double share;
    enum label label = most_frequent(side, &share);
    if (share > 0)
        strbuf_printf(&cell, "%s (%.0f %%)", label_word(metric, label), share * 100);
    else
        strbuf_puts(&cell, "-");
    put_cell(out, &cell, 24);
    strbuf_free(&cell);
}

/* False where there is nothing to show. */
static bool is_shown(enum metric metric, const struct diff_metric *a, const struct diff_metric *b,
                     bool all)
{
    if (metric_info(metric)->unit == UNIT_LABEL) {
        double of_a, of_b;
        most_frequent(a, &of_a);
        most_frequent(b, &of_b);
        return of_a > 0 || of_b > 0;
    }
    if (!diff_is_mean(metric) || (a->blocks.count == 0 && b->blocks.count == 0))
        return false;
    return all || strcmp(judge(a, b).word, "same") != 0;
}

static void put_text_row(struct strbuf *out, enum metric metric, const struct diff_metric *a,
                         const struct diff_metric *b)
{
    const struct metric_info *info = metric_info(metric);
    strbuf_printf(out, "%s%-*s", info->name, (int)(36 - util_min(36, strlen(info->name))),
                  info->span == SPAN_TOTAL ? ", a second" : "");
    if (info->unit == UNIT_LABEL) {
        put_words(out, metric, a);
        put_words(out, metric, b);
        strbuf_putc(out, '\n');
        return;
    }
    struct verdict verdict = judge(a, b);
    put_mean(out, metric, a);
    put_mean(out, metric, b);
    put_change(out, metric, &verdict, a);
    strbuf_printf(out, "  %s\n", human_word(verdict.word));
}

static size_t compared(const struct diff_side *a, const struct diff_side *b)
{
    return util_min(a->gpu_count, b->gpu_count);
}

static void put_gpu_names(struct strbuf *out, const struct device *a, const struct device *b)
{
    bool alike = strcmp(a->text[DEVICE_NAME], b->text[DEVICE_NAME]) == 0;
    strbuf_printf(out, "\nGPU %u, %s%s%s\n", a->index, a->text[DEVICE_NAME],
                  alike ? "" : "; B: ", alike ? "" : b->text[DEVICE_NAME]);
}

static bool has_means(const struct diff_gpu *gpu)
{
    bool any = false;
    for (size_t m = 0; m < METRIC_COUNT && !any; m++)
        any = gpu->metric[m].blocks.count > 0;
    return any;
}

static void put_what_is_missing(struct strbuf *out, const struct diff_gpu *a,
                                const struct diff_gpu *b, size_t rows)
{
    if (!has_means(a))
        strbuf_puts(out, "A is too short: a mean takes two samples\n");
    if (!has_means(b))
        strbuf_puts(out, "B is too short: a mean takes two samples\n");
    if (has_means(a) && has_means(b) && rows == 0)
        strbuf_puts(out, "Every number is the same; --all shows them\n");
}

static void put_text(struct strbuf *out, const char *const *names, const struct diff_side *a,
                     const struct diff_side *b, bool all)
{
    strbuf_printf(out, "A: %s, %.1f s\nB: %s, %.1f s\n", names[0], a->seconds, names[1],
                  b->seconds);
    if (a->gpu_count != b->gpu_count)
        strbuf_printf(out, "A has %zu and B %zu GPUs: the first %zu are compared\n", a->gpu_count,
                      b->gpu_count, compared(a, b));
    for (size_t i = 0; i < compared(a, b); i++) {
        put_gpu_names(out, &a->gpus[i].device, &b->gpus[i].device);
        strbuf_printf(out, "%-36s  %24s  %24s  %14s\n", "", "A, mean ± spread", "B, mean ± spread",
                      "change");
        size_t numbers = 0;
        for (size_t m = 0; m < METRIC_COUNT; m++) {
            const struct diff_metric *of_a = &a->gpus[i].metric[m], *of_b = &b->gpus[i].metric[m];
            if (!is_shown((enum metric)m, of_a, of_b, all))
                continue;
            put_text_row(out, (enum metric)m, of_a, of_b);
            numbers += metric_info((enum metric)m)->unit != UNIT_LABEL;
        }
        put_what_is_missing(out, &a->gpus[i], &b->gpus[i], numbers);
    }
    strbuf_puts(out, "\nThe spread is the standard deviation of means over a second. A change is "
                     "beyond it where\nWelch's 99 % interval of the difference leaves out zero.\n");
}

static void put_json_mean(struct json *json, enum metric metric, const char *key,
                          const struct diff_metric *side)
{
    int digits = metric_digits(metric_info(metric)->unit);
    json_key(json, key);
    if (side->blocks.count == 0) {
        json_add_null(json);
        return;
    }
    json_object_begin(json);
    json_key(json, "mean");
    json_add_number_digits(json, side->blocks.mean, digits);
    json_key(json, "spread");
    json_add_number_digits(json, stats_deviation(&side->blocks), digits);
    json_key(json, "seconds");
    json_add_integer(json, (int64_t)side->blocks.count);
    json_object_end(json);
}

static void put_json_words(struct json *json, enum metric metric, const char *key,
                           const struct diff_metric *side)
{
    double all = 0;
    for (size_t i = 0; i < LABEL_COUNT; i++)
        all += side->seconds[i];
    json_key(json, key);
    json_object_begin(json);
    for (size_t i = 0; i < LABEL_COUNT; i++)
        if (side->seconds[i] > 0) {
            json_key(json, label_word(metric, (double)i));
            json_add_number_digits(json, side->seconds[i] / all, 6);
        }
    json_object_end(json);
}

static void put_json_metric(struct json *json, enum metric metric, const struct diff_metric *a,
                            const struct diff_metric *b)
{
    const struct metric_info *info = metric_info(metric);
    json_key(json, info->name);
    json_object_begin(json);
    if (info->unit == UNIT_LABEL) {
        put_json_words(json, metric, "a", a);
        put_json_words(json, metric, "b", b);
        json_object_end(json);
        return;
    }
    struct verdict verdict = judge(a, b);
    put_json_mean(json, metric, "a", a);
    put_json_mean(json, metric, "b", b);
    json_key(json, "per_second");
    json_add_bool(json, info->span == SPAN_TOTAL);
    json_key(json, "difference");
    json_add_number_digits(json, verdict.known ? verdict.difference : NAN,
                           metric_digits(info->unit));
    json_key(json, "by_chance");
    json_add_number_digits(json, verdict.known ? verdict.chance : NAN, metric_digits(info->unit));
    json_key(json, "verdict");
    json_add_text(json, verdict.word);
    json_object_end(json);
}

static void put_json(struct strbuf *out, const char *const *names, const struct diff_side *a,
                     const struct diff_side *b)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "a");
    json_add_text(&json, names[0]);
    json_key(&json, "b");
    json_add_text(&json, names[1]);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < compared(a, b); i++) {
        json_object_begin(&json);
        json_key(&json, "index");
        json_add_integer(&json, a->gpus[i].device.index);
        json_key(&json, "metrics");
        json_object_begin(&json);
        for (size_t m = 0; m < METRIC_COUNT; m++) {
            const struct diff_metric *of_a = &a->gpus[i].metric[m], *of_b = &b->gpus[i].metric[m];
            if (is_shown((enum metric)m, of_a, of_b, true))
                put_json_metric(&json, (enum metric)m, of_a, of_b);
        }
        json_object_end(&json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

static int compare(const struct command *command, const struct settings *settings,
                   const char *const *names)
{
    struct diff_side sides[2] = {{0}, {0}};
    int code = EXIT_DONE;
    for (int i = 0; i < 2 && code == EXIT_DONE; i++) {
        const struct diff_part part = {
            .text = names[i],
            .from = settings->from,
            .to = settings->to,
            .gpus = settings->gpus,
        };
        code = diff_read(command, &part, &sides[i]);
    }
    if (code == EXIT_DONE) {
        struct strbuf out = {0};
        if (strcmp(settings->format, "json") == 0)
            put_json(&out, names, &sides[0], &sides[1]);
        else
            put_text(&out, names, &sides[0], &sides[1], settings->all);
        code = output_all(command, &out);
        strbuf_free(&out);
    }
    diff_free(&sides[0]);
    diff_free(&sides[1]);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int operands;
    int result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (argc - operands != 2)
        return usage_error(command, "give two recordings, or parts of recordings, to compare");
    if (settings.to > 0 && settings.from >= settings.to)
        return usage_error(command, "--from is not before --to");
    return compare(command, &settings, (const char *const *)argv + operands);
}

const struct command command_diff = {
    .name = "diff",
    .summary = "Compare two recordings or two marks: did the change help?",
    .operands = "FILE[#MARK] FILE[#MARK]",
    .options = options,
    .more = "A mark is a span, or a moment and what follows it up to the next mark. Marks of one\n"
            "name are taken together.\n\n"
            "  rooftop diff before.roof after.roof\n"
            "  rooftop diff 'run.roof#batch 8' 'run.roof#batch 32'\n",
    .run = run,
};
