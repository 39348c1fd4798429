#include "cmd/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common.h"

/* Samples that follow each other within a second are alike, so that they tell less than their
 * number says. Means over a second are taken for independent of each other. */
static const double BLOCK_SECONDS = 1;

struct span {
    double from, to;
};

/* What has come of the present block of a GPU. */
struct block {
    double value[METRIC_COUNT]; /* weighted sums */
    double weight[METRIC_COUNT];
};

struct walk {
    struct monitor *monitor;
    struct diff_side *side;
    struct block *blocks;
    struct sample *last; /* of each GPU; time 0: none in this span yet */
};

bool diff_is_mean(enum metric metric)
{
    enum metric_unit unit = metric_info(metric)->unit;
    return unit != UNIT_LABEL && unit != UNIT_FLAGS && unit != UNIT_SECONDS &&
           metric != METRIC_XID_LAST_CODE;
}

static void close_block(struct walk *walk)
{
    for (size_t i = 0; i < walk->side->gpu_count; i++) {
        struct block *block = &walk->blocks[i];
        for (size_t m = 0; m < METRIC_COUNT; m++)
            if (block->weight[m] > 0)
                stats_add(&walk->side->gpus[i].metric[m].blocks,
                          block->value[m] / block->weight[m]);
        *block = (struct block){0};
    }
}

/* A total counts by its growth a second. */
static bool value_and_weight(const struct sample *sample, const struct sample *last,
                             enum metric metric, double *value, double *weight)
{
    *value = sample->value[metric];
    *weight = sample->interval;
    if (metric_info(metric)->span != SPAN_TOTAL)
        return true;
    if (last->time <= 0 || !sample_has(last, metric) || sample->time <= last->time)
        return false;
    *weight = sample->time - last->time;
    *value = (sample->value[metric] - last->value[metric]) / *weight;
    return *value >= 0;
}

static void add_sample(struct walk *walk, size_t gpu, const struct sample *sample)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        enum metric metric = (enum metric)i;
        struct diff_metric *sum = &walk->side->gpus[gpu].metric[i];
        if (!sample_has(sample, metric)) {
            sum->absence = (enum absence)sample->absent[i];
            continue;
        }
        double value, weight;
        if (metric_info(metric)->unit == UNIT_LABEL) {
            if (label_word(metric, sample->value[i]))
                sum->seconds[(size_t)sample->value[i]] += sample->interval;
        } else if (value_and_weight(sample, &walk->last[gpu], metric, &value, &weight)) {
            walk->blocks[gpu].value[i] += value * weight;
            walk->blocks[gpu].weight[i] += weight;
        }
    }
    walk->last[gpu] = *sample;
}

/* A sample that only reaches into the span is not of it. */
static bool lies_in(const struct sample *sample, const struct span *span)
{
    return sample->time <= span->to && sample->time - sample->interval >= span->from - 1e-6;
}

static void add_frame(struct walk *walk, const struct span *span)
{
    for (size_t i = 0; i < walk->side->gpu_count; i++) {
        const struct reading *reading = monitor_reading(walk->monitor, i);
        if (reading->state == READING_OK && reading->sample.time != walk->last[i].time &&
            lies_in(&reading->sample, span))
            add_sample(walk, i, &reading->sample);
    }
}

static int read_span(struct walk *walk, const struct span *span)
{
    int r = monitor_seek(walk->monitor, span->from);
    for (size_t i = 0; i < walk->side->gpu_count; i++)
        walk->last[i].time = 0;
    double block_end = span->from + BLOCK_SECONDS;
    while (r >= 0 && (r = monitor_wait(walk->monitor, -1)) == 1) {
        double time = monitor_time(walk->monitor);
        add_frame(walk, span);
        if (time > span->to)
            break;
        /* What is left over at the end is no whole block, and left out but for the first. */
        if (time >= block_end - 1e-6) {
            close_block(walk);
            block_end += BLOCK_SECONDS;
        }
    }
    if (span->to - span->from < BLOCK_SECONDS)
        close_block(walk);
    memset(walk->blocks, 0, walk->side->gpu_count * sizeof(*walk->blocks));
    walk->side->seconds += span->to - span->from;
    return r < 0 && r != -ENODATA ? r : 0;
}

/* A moment names what follows it, up to the next mark. */
static double end_of(const struct counter *counter, size_t i)
{
    const struct mark *mark = &counter->marks[i];
    if (mark->end > mark->time)
        return mark->end;
    for (size_t k = i + 1; k < counter->mark_count; k++)
        if (counter->marks[k].time > mark->time)
            return counter->marks[k].time;
    return counter->end;
}

static int no_such_mark(const struct command *command, const struct counter *counter,
                        const char *file, const char *name)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < counter->mark_count; i++)
        strbuf_printf(&names, "%s%s", i ? ", " : "", counter->marks[i].name);
    int code = counter->mark_count ? usage_error(command, "%s has no mark '%s'; its marks are: %s",
                                                 file, name, strbuf_text(&names))
                                   : usage_error(command, "%s has no marks", file);
    strbuf_free(&names);
    return code;
}

static int read_spans(struct walk *walk, const struct diff_part *part, const char *mark,
                      size_t *ret_count)
{
    const struct counter *counter = monitor_counter(walk->monitor);
    size_t count = 0;
    int r = 0;
    if (!mark) {
        double to = part->to > 0 ? counter->begin + part->to : counter->end;
        struct span span = {counter->begin + part->from, to < counter->end ? to : counter->end};
        count = span.from < span.to;
        if (count)
            r = read_span(walk, &span);
    }
    /* Marks of one name are repetitions of one thing. */
    for (size_t i = 0; mark && i < counter->mark_count && r == 0; i++)
        if (strcmp(counter->marks[i].name, mark) == 0) {
            struct span span = {counter->marks[i].time, end_of(counter, i)};
            r = read_span(walk, &span);
            count++;
        }
    *ret_count = count;
    return r;
}

static int start_walk(struct walk *walk)
{
    size_t count = monitor_count(walk->monitor);
    walk->side->gpus = calloc(count + 1, sizeof(*walk->side->gpus));
    walk->blocks = calloc(count + 1, sizeof(*walk->blocks));
    walk->last = calloc(count + 1, sizeof(*walk->last));
    if (!walk->side->gpus || !walk->blocks || !walk->last)
        return -ENOMEM;
    walk->side->gpu_count = count;
    for (size_t i = 0; i < count; i++) {
        walk->side->gpus[i].device = *monitor_device(walk->monitor, i);
        for (size_t m = 0; m < METRIC_COUNT; m++)
            walk->side->gpus[i].metric[m].absence = ABSENT_NOT_RECORDED;
    }
    return 0;
}

static int read_side(const struct command *command, const struct diff_part *part, const char *file,
                     const char *mark, struct walk *walk)
{
    size_t spans = 0;
    int r = start_walk(walk);
    if (r == 0)
        r = read_spans(walk, part, mark, &spans);
    free(walk->blocks);
    free(walk->last);
    if (r < 0)
        return watch_broken(command, walk->monitor, r);
    if (spans > 0)
        return EXIT_DONE;
    return mark ? no_such_mark(command, monitor_counter(walk->monitor), file, mark)
                : usage_error(command, "%s: nothing was recorded between --from and --to", file);
}

int diff_read(const struct command *command, const struct diff_part *part, struct diff_side *ret)
{
    CLEANUP_FREE char *file = strdup(part->text);
    struct strbuf source = {0};
    if (!file)
        return run_error(command, "%s", strerror(ENOMEM));
    /* A file's own name may hold a '#'. */
    char *hash = access(file, F_OK) == 0 ? NULL : strrchr(file, '#');
    if (hash)
        *hash = '\0';
    strbuf_printf(&source, "replay:%s@max", file);
    const struct watch_options watch = {.source = strbuf_text(&source), .gpus = part->gpus};
    struct walk walk = {.side = ret};
    int code = watch_open(command, &watch, 0, &walk.monitor);
    strbuf_free(&source);
    if (code != EXIT_DONE)
        return code;
    code = read_side(command, part, file, hash ? hash + 1 : NULL, &walk);
    monitor_close(walk.monitor);
    return code;
}

void diff_free(struct diff_side *side)
{
    free(side->gpus);
}
