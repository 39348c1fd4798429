/* What can be known of a GPU at a moment: the table of metrics and the words in it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum metric {
#define METRIC(id, name, unit, span, origin, help) METRIC_##id,
#include "metric/metric.def"
#undef METRIC
    METRIC_COUNT
};

enum metric_unit {
    UNIT_RATIO,
    UNIT_BYTES,
    UNIT_BYTES_PER_SECOND,
    UNIT_FLOPS_PER_SECOND,
    UNIT_HERTZ,
    UNIT_WATTS,
    UNIT_JOULES,
    UNIT_CELSIUS,
    UNIT_SECONDS,
    UNIT_DURATION,
    UNIT_COUNT,
    UNIT_LABEL,
    UNIT_FLAGS,
};

enum metric_span { SPAN_INSTANT, SPAN_INTERVAL, SPAN_TOTAL };
enum metric_origin { ORIGIN_MEASURED, ORIGIN_DERIVED };

struct metric_info {
    const char *name;
    enum metric_unit unit;
    enum metric_span span;
    enum metric_origin origin;
    const char *help;
};

/* Why a value is missing; ABSENT_NO, zero, where it is there. */
enum absence {
    ABSENT_NO,
#define ABSENCE(id, word, reason, advice) ABSENT_##id,
#include "metric/absence.def"
#undef ABSENCE
    ABSENCE_COUNT
};

struct absence_info {
    const char *word; /* for machines */
    const char *reason;
    const char *advice;
};

enum label {
#define LABEL(metric, id, word, help) LABEL_##id,
#include "metric/label.def"
#undef LABEL
    LABEL_COUNT
};

const struct metric_info *metric_info(enum metric metric);
/* The metric of that name, or METRIC_COUNT. */
enum metric metric_by_name(const char *name);
/* "bytes_per_second" and so on, as docs/METRICS.md writes it. */
const char *metric_unit_name(enum metric_unit unit);
const char *metric_span_name(enum metric_span span);

const struct absence_info *absence_info(enum absence absence);
/* The absence of that word, or ABSENT_NO. */
enum absence absence_by_word(const char *word);

/* The word of a LABEL metric's value, or NULL where the value is none of its words. */
const char *label_word(enum metric metric, double value);
/* The value of a LABEL metric's word, or -1. */
int label_value(enum metric metric, const char *word);

/* Adds the words of a FLAGS value, separated by `separator`; a bit without a word as "bit12". */
void flags_words(double value, const char *separator, struct strbuf *out);
/* The bit of that word, or -1. */
int flags_bit(const char *word);
/* Calls back for every bit that is set, with its word. */
void flags_each(double value, void (*each)(void *context, const char *word), void *context);
