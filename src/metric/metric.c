#include "metric/metric.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

static const struct metric_info metrics[METRIC_COUNT] = {
#define METRIC(id, name, unit, span, origin, help)                                                 \
    [METRIC_##id] = {name, UNIT_##unit, SPAN_##span, ORIGIN_##origin, help},
#include "metric/metric.def"
#undef METRIC
};

static const struct absence_info absences[ABSENCE_COUNT] = {
    [ABSENT_NO] = {"", "", ""},
#define ABSENCE(id, word, reason, advice) [ABSENT_##id] = {word, reason, advice},
#include "metric/absence.def"
#undef ABSENCE
};

static const struct label_info {
    enum metric metric;
    const char *word;
} labels[LABEL_COUNT] = {
#define LABEL(metric, id, word, help) [LABEL_##id] = {METRIC_##metric, word},
#include "metric/label.def"
#undef LABEL
};

static const char *const throttle_words[64] = {
#define THROTTLE(bit, word, help) [bit] = word,
#include "metric/throttle.def"
#undef THROTTLE
};

const struct metric_info *metric_info(enum metric metric)
{
    return &metrics[metric];
}

enum metric metric_by_name(const char *name)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return (enum metric)i;
    return METRIC_COUNT;
}

const char *metric_unit_name(enum metric_unit unit)
{
    static const char *const names[] = {
        [UNIT_RATIO] = "ratio",
        [UNIT_BYTES] = "bytes",
        [UNIT_BYTES_PER_SECOND] = "bytes_per_second",
        [UNIT_FLOPS_PER_SECOND] = "flops_per_second",
        [UNIT_HERTZ] = "hertz",
        [UNIT_WATTS] = "watts",
        [UNIT_JOULES] = "joules",
        [UNIT_CELSIUS] = "celsius",
        [UNIT_SECONDS] = "seconds",
        [UNIT_DURATION] = "duration",
        [UNIT_COUNT] = "count",
        [UNIT_LABEL] = "label",
        [UNIT_FLAGS] = "flags",
    };
    return names[unit];
}

const char *metric_span_name(enum metric_span span)
{
    static const char *const names[] = {
        [SPAN_INSTANT] = "instant",
        [SPAN_INTERVAL] = "interval",
        [SPAN_TOTAL] = "total",
    };
    return names[span];
}

const struct absence_info *absence_info(enum absence absence)
{
    return &absences[absence];
}

enum absence absence_by_word(const char *word)
{
    for (size_t i = 1; i < ABSENCE_COUNT; i++)
        if (strcmp(absences[i].word, word) == 0)
            return (enum absence)i;
    return ABSENT_NO;
}

const char *label_word(enum metric metric, double value)
{
    if (!(value >= 0 && value < LABEL_COUNT))
        return NULL;
    const struct label_info *label = &labels[(size_t)value];
    return label->metric == metric ? label->word : NULL;
}

int label_value(enum metric metric, const char *word)
{
    for (size_t i = 0; i < LABEL_COUNT; i++)
        if (labels[i].metric == metric && strcmp(labels[i].word, word) == 0)
            return (int)i;
    return -1;
}

int flags_bit(const char *word)
{
    for (size_t bit = 0; bit < ARRAY_SIZE(throttle_words); bit++)
        if (throttle_words[bit] && strcmp(throttle_words[bit], word) == 0)
            return (int)bit;
    return -1;
}

void flags_each(double value, void (*each)(void *context, const char *word), void *context)
{
    if (!(value >= 0 && value < 0x1p63))
        return;
    uint64_t bits = (uint64_t)value;
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(bits >> bit & 1))
            continue;
        char unnamed[8];
        snprintf(unnamed, sizeof(unnamed), "bit%u", bit);
        each(context, throttle_words[bit] ? throttle_words[bit] : unnamed);
    }
}

struct joined {
    struct strbuf *out;
    const char *separator;
    bool started;
};

static void join_word(void *context, const char *word)
{
    struct joined *joined = context;
    if (joined->started)
        strbuf_puts(joined->out, joined->separator);
    strbuf_puts(joined->out, word);
    joined->started = true;
}

void flags_words(double value, const char *separator, struct strbuf *out)
{
    struct joined joined = {.out = out, .separator = separator};
    flags_each(value, join_word, &joined);
}
