#include "tui/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* At 10 Hz six full rings reach back 29 hours in 2 MB, and whatever its span, a chart finds a
 * fourth of a ring's points. */
enum { LEVELS = 6, MERGE = 4, LEAST_POINTS = 64, MOST_POINTS = 1024 };

/* A gap longer than this many usual steps is shown as one: nothing was known. */
static const double GAP_STEPS = 3;

struct point {
    double time;
    float value[METRIC_COUNT]; /* NAN where missing */
};

struct ring {
    size_t first;
    size_t count;
    struct point *points;
    /* Of the level below, until MERGE of them make a point here. */
    size_t pending;
    double sum[METRIC_COUNT];
    unsigned known[METRIC_COUNT];
};

struct history {
    size_t capacity; /* of each ring */
    double step;     /* the usual time between samples */
    struct ring ring[LEVELS];
};

int history_new(struct history **ret, size_t bytes)
{
    struct history *history = calloc(1, sizeof(*history));
    if (!history)
        return -ENOMEM;
    size_t capacity = bytes / LEVELS / sizeof(struct point);
    history->capacity = capacity < LEAST_POINTS  ? LEAST_POINTS
                        : capacity > MOST_POINTS ? MOST_POINTS
                                                 : capacity;
    for (size_t i = 0; i < LEVELS; i++) {
        history->ring[i].points = malloc(history->capacity * sizeof(struct point));
        if (!history->ring[i].points) {
            history_free(history);
            return -ENOMEM;
        }
    }
    *ret = history;
    return 0;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < LEVELS; i++)
        free(history->ring[i].points);
    free(history);
}

static void forget_pending(struct ring *ring)
{
    ring->pending = 0;
    memset(ring->sum, 0, sizeof(ring->sum));
    memset(ring->known, 0, sizeof(ring->known));
}

void history_clear(struct history *history)
{
    for (size_t i = 0; i < LEVELS; i++) {
        history->ring[i].first = history->ring[i].count = 0;
        forget_pending(&history->ring[i]);
    }
    history->step = 0;
}

static const struct point *point_at(const struct history *history, const struct ring *ring,
                                    size_t i)
{
    return &ring->points[(ring->first + i) % history->capacity];
}

static struct point *push(struct history *history, struct ring *ring)
{
    if (ring->count == history->capacity)
        ring->first = (ring->first + 1) % history->capacity;
    else
        ring->count++;
    return &ring->points[(ring->first + ring->count - 1) % history->capacity];
}

/* A mean of labels or flags would be nonsense. */
static bool has_mean(enum metric metric)
{
    enum metric_unit unit = metric_info(metric)->unit;
    return unit != UNIT_LABEL && unit != UNIT_FLAGS && unit != UNIT_COUNT &&
           metric_info(metric)->span != SPAN_TOTAL;
}

static void merge(struct history *history, size_t level, const struct point *point)
{
    if (level == LEVELS)
        return;
    struct ring *ring = &history->ring[level];
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (isnan(point->value[i]))
            continue;
        ring->sum[i] = has_mean((enum metric)i) ? ring->sum[i] + (double)point->value[i]
                                                : (double)point->value[i];
        ring->known[i]++;
    }
    if (++ring->pending < MERGE)
        return;
    struct point *merged = push(history, ring);
    merged->time = point->time;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        double divisor = has_mean((enum metric)i) ? ring->known[i] : 1;
        merged->value[i] = ring->known[i] ? (float)(ring->sum[i] / divisor) : NAN;
    }
    forget_pending(ring);
    merge(history, level + 1, merged);
}

void history_add(struct history *history, double time, const struct sample *sample)
{
    struct ring *finest = &history->ring[0];
    if (finest->count > 0) {
        double step = time - history_end(history);
        if (!(step > 0))
            return;
        if (history->step == 0 || step < history->step * GAP_STEPS)
            history->step = step;
    }
    struct point *point = push(history, finest);
    point->time = time;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        point->value[i] = sample_has(sample, (enum metric)i) ? (float)sample->value[i] : NAN;
    merge(history, 1, point);
}

double history_begin(const struct history *history)
{
    for (size_t i = LEVELS; i-- > 0;)
        if (history->ring[i].count > 0 &&
            (i == 0 || point_at(history, &history->ring[i], 0)->time <=
                           point_at(history, &history->ring[0], 0)->time))
            return point_at(history, &history->ring[i], 0)->time;
    return history->ring[0].count > 0 ? point_at(history, &history->ring[0], 0)->time : 0;
}

double history_end(const struct history *history)
{
    const struct ring *ring = &history->ring[0];
    return ring->count > 0 ? point_at(history, ring, ring->count - 1)->time : 0;
}

/* Index of the first point later than `time`. */
static size_t first_after(const struct history *history, const struct ring *ring, double time)
{
    size_t low = 0, high = ring->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point_at(history, ring, middle)->time > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool history_at(const struct history *history, double time, struct sample *ret)
{
    for (size_t level = 0; level < LEVELS; level++) {
        const struct ring *ring = &history->ring[level];
        size_t after = first_after(history, ring, time + 1e-6);
        if (after == 0)
            continue;
        const struct point *point = point_at(history, ring, after - 1);
        sample_reset(ret, ABSENT_NOT_RECORDED);
        ret->time = point->time;
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (!isnan(point->value[i]))
                sample_set(ret, (enum metric)i, (double)point->value[i]);
        return true;
    }
    return false;
}

/* The finest ring that reaches back to `time`, else the one that reaches furthest. */
static size_t level_reaching(const struct history *history, double time)
{
    size_t best = 0;
    for (size_t i = 0; i < LEVELS; i++) {
        const struct ring *ring = &history->ring[i];
        if (ring->count == 0)
            continue;
        double begin = point_at(history, ring, 0)->time;
        if (begin <= time)
            return i;
        if (begin < point_at(history, &history->ring[best], 0)->time)
            best = i;
    }
    return best;
}

struct buckets {
    double begin;
    double width;
    size_t count;
    float *value;
    double sum; /* value × seconds, of the bucket that is filling */
    double seconds;
    size_t filling;
};

static void close_bucket(struct buckets *buckets)
{
    if (buckets->seconds > 0)
        buckets->value[buckets->filling] = (float)(buckets->sum / buckets->seconds);
    buckets->sum = 0;
    buckets->seconds = 0;
}

/* A point stands for the time from `from`, after the point before it, to its own. */
static void add_span(struct buckets *buckets, double from, double until, double value)
{
    double first = floor((from - buckets->begin) / buckets->width);
    for (size_t i = first > 0 ? (size_t)first : 0; i < buckets->count; i++) {
        double start = buckets->begin + buckets->width * (double)i;
        double seconds = fmin(until, start + buckets->width) - fmax(from, start);
        if (start >= until)
            break;
        if (seconds < buckets->width * 1e-6)
            continue;
        if (i != buckets->filling) {
            close_bucket(buckets);
            buckets->filling = i;
        }
        buckets->sum += value * seconds;
        buckets->seconds += seconds;
    }
}

static double level_step(const struct history *history, size_t level)
{
    double step = history->step;
    for (size_t i = 0; i < level; i++)
        step *= MERGE;
    return step;
}

void history_series(const struct history *history, enum metric metric, double begin, double width,
                    size_t count, float *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = NAN;
    struct buckets buckets = {.begin = begin, .width = width, .count = count, .value = ret};
    double end = begin + width * (double)count;
    double covered = begin - 1e-9;
    for (size_t level = level_reaching(history, begin) + 1; level-- > 0;) {
        const struct ring *ring = &history->ring[level];
        double step = level_step(history, level);
        for (size_t i = first_after(history, ring, covered); i < ring->count; i++) {
            const struct point *point = point_at(history, ring, i);
            double before = i > 0 ? point_at(history, ring, i - 1)->time : point->time - step;
            double from = point->time - before > GAP_STEPS * step ? point->time - step : before;
            if (from >= end)
                break;
            if (!isnan(point->value[metric]))
                add_span(&buckets, from > covered ? from : covered, point->time,
                         (double)point->value[metric]);
            covered = point->time;
        }
    }
    close_bucket(&buckets);
}
