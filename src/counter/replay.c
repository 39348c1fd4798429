#include "counter/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/reader.h"

/* Between two samples of a recording the last one is held; longer than that it is stale. */
static const double SHORTEST_STALE_AGE = 0.3;
static const double STALE_INTERVALS = 2.5;
static const double DEFAULT_INTERVAL = 0.1;
static const double LONGEST_DELAY = 0.05;

/* Where the replay is on one device. */
struct track {
    bool fresh;                  /* `sample` holds what this collect() has met so far */
    struct sample sample;        /* else the last one, held */
    double weight[METRIC_COUNT]; /* seconds in the mean, rest too, where it is of several samples */
    bool weighted;
    struct record_outage outage; /* the last one; time 0: none */
    struct process_list processes;
};

struct replay {
    struct counter counter;
    struct record_reader *reader;
    double position; /* where the last collect() or seek() came to */
    double stale_age;
    struct track *tracks;
};

static void reset_track(struct track *track)
{
    track->fresh = false;
    track->weighted = false;
    sample_reset(&track->sample, ABSENT_FIRST_SAMPLE);
    track->outage = (struct record_outage){0};
    track->processes = (struct process_list){0};
}

static void adopt_facts(struct replay *replay, const char *path)
{
    struct counter *counter = &replay->counter;
    struct record_reader *reader = replay->reader;
    counter->ops = &replay_counter;
    counter->device_count = record_reader_device_count(reader);
    record_reader_meta(reader, "driver_version", counter->driver_version,
                       sizeof(counter->driver_version));
    record_reader_meta(reader, "library_version", counter->library_version,
                       sizeof(counter->library_version));
    record_reader_meta(reader, "cuda_version", counter->cuda_version,
                       sizeof(counter->cuda_version));
    snprintf(counter->library, sizeof(counter->library), "%s", path);

    double interval = record_reader_interval(reader);
    counter->interval = interval > 0 ? interval : DEFAULT_INTERVAL;
    counter->begin = record_reader_begin(reader);
    /* Ticks come a little after the samples, and jitter moves none of these into the next. */
    if (counter->begin > 0)
        counter->begin -= counter->interval - fmin(counter->interval / 2, LONGEST_DELAY);
    counter->end = record_reader_end(reader);
    counter->marks = record_reader_marks(reader);
    counter->mark_count = record_reader_mark_count(reader);
    double age = STALE_INTERVALS * counter->interval;
    replay->stale_age = age > SHORTEST_STALE_AGE ? age : SHORTEST_STALE_AGE;
    replay->position = counter->begin;
}

static void replay_close(struct counter *counter)
{
    struct replay *replay = (struct replay *)counter;
    record_reader_close(replay->reader);
    free(replay->counter.devices);
    free(replay->tracks);
    free(replay);
}

static int copy_devices(struct replay *replay)
{
    size_t count = replay->counter.device_count;
    replay->counter.devices = calloc(count + 1, sizeof(*replay->counter.devices));
    replay->tracks = calloc(count + 1, sizeof(*replay->tracks));
    if (!replay->counter.devices || !replay->tracks)
        return -ENOMEM;
    const struct device *devices = record_reader_devices(replay->reader);
    for (size_t i = 0; i < count; i++) {
        replay->counter.devices[i] = devices[i];
        reset_track(&replay->tracks[i]);
    }
    return 0;
}

static const char *advice_for(int error)
{
    switch (error) {
    case -ENOENT:
        return "give the name of a recording that `rooftop record` made";
    case -ENOTSUP:
        return "update Rooftop";
    default:
        return "";
    }
}

static int replay_open(struct counter **ret, const char *path, struct counter_failure *failure)
{
    struct replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return -ENOMEM;
    int r = record_reader_open(&replay->reader, path, failure->reason, sizeof(failure->reason));
    if (r < 0) {
        snprintf(failure->advice, sizeof(failure->advice), "%s", advice_for(r));
        free(replay);
        /* Whatever is wrong with it: it is not a file that can be played. */
        return r == -ENOMEM ? r : -EINVAL;
    }
    adopt_facts(replay, path);
    r = copy_devices(replay);
    if (r < 0) {
        replay_close(&replay->counter);
        return r;
    }
    *ret = &replay->counter;
    return 0;
}

/* Seconds of the sample that are in the metric's mean. */
static double weight_of(const struct sample *sample, enum metric metric)
{
    enum absence absence = (enum absence)sample->absent[metric];
    return absence == ABSENT_NO || metric_rests(metric, absence) ? sample->interval : 0;
}

/* The means so far are those of the first sample alone, exact to the digit. */
static void begin_weighing(struct track *track)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        track->weight[i] = weight_of(&track->sample, (enum metric)i);
    track->weighted = true;
}

static void add_metric(struct track *track, const struct sample *sample, enum metric metric)
{
    struct sample *sum = &track->sample;
    double added = weight_of(sample, metric);
    double weight = track->weight[metric] + added;
    track->weight[metric] = weight;
    if (!sample_has(sum, metric) && !sample_has(sample, metric))
        sum->absent[metric] = sample->absent[metric];
    else if (metric_info(metric)->span != SPAN_INTERVAL || weight == added) {
        if (sample_has(sample, metric))
            sample_set(sum, metric, sample->value[metric]);
    } else if (added > 0) {
        double mean = sample_get(sum, metric, 0);
        sample_set(sum, metric, mean + (sample_get(sample, metric, 0) - mean) * added / weight);
    }
}

static void add_sample(struct track *track, const struct sample *sample)
{
    if (!track->fresh) {
        track->sample = *sample;
        track->fresh = true;
        track->weighted = false;
        return;
    }
    if (!track->weighted)
        begin_weighing(track);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        add_metric(track, sample, (enum metric)i);
    track->sample.time = sample->time;
    track->sample.interval += sample->interval;
}

static int read_until(struct replay *replay, double until)
{
    size_t gpu;
    struct sample sample;
    int r;
    while ((r = record_reader_sample(replay->reader, until, &gpu, &sample)) == 1)
        add_sample(&replay->tracks[gpu], &sample);
    struct record_outage outage;
    while (r == 0 && record_reader_outage(replay->reader, until, &outage) == 1)
        replay->tracks[outage.gpu].outage = outage;
    struct process_list list;
    while (r == 0 && (r = record_reader_processes(replay->reader, until, &gpu, &list)) == 1) {
        process_list_copy(&replay->tracks[gpu].processes, &list);
        r = 0;
    }
    return r;
}

static enum reading_state state_of(const struct replay *replay, const struct track *track,
                                   double until)
{
    if (track->outage.time > track->sample.time) {
        for (enum reading_state state = READING_STALE; state <= READING_FAILED; state++)
            if (strcmp(track->outage.state, reading_state_name(state)) == 0)
                return state;
        return READING_STALE;
    }
    if (track->sample.time <= 0)
        return READING_NONE;
    return until - track->sample.time > replay->stale_age && !track->fresh ? READING_STALE
                                                                           : READING_OK;
}

static void fill_reading(const struct replay *replay, const struct track *track, double until,
                         struct reading *reading)
{
    reading->state = state_of(replay, track, until);
    reading->error = reading->state > READING_STALE ? track->outage.error : 0;
    double since = track->sample.time > 0 ? track->sample.time : replay->counter.begin;
    reading->age = until > since ? until - since : 0;
    reading->sample = track->sample;
    process_list_copy(&reading->processes, &track->processes);
    reading_withdraw(reading);
}

static int replay_collect(struct counter *counter, double until, struct frame *frame)
{
    struct replay *replay = (struct replay *)counter;
    if (replay->position >= counter->end)
        return -ENODATA;
    for (size_t i = 0; i < counter->device_count; i++)
        replay->tracks[i].fresh = false;
    int r = read_until(replay, until);
    if (r < 0)
        return r;
    for (size_t i = 0; i < counter->device_count; i++)
        fill_reading(replay, &replay->tracks[i], until, &frame->readings[i]);
    replay->position = until;
    return 0;
}

static int replay_seek(struct counter *counter, double time)
{
    struct replay *replay = (struct replay *)counter;
    int r = record_reader_seek(replay->reader, time);
    for (size_t i = 0; i < counter->device_count && r >= 0; i++) {
        struct track *track = &replay->tracks[i];
        reset_track(track);
        r = record_reader_sample_at(replay->reader, i, time, &track->sample);
        if (r >= 0)
            r = record_reader_processes_at(replay->reader, i, time, &track->processes);
    }
    replay->position = time;
    return r < 0 ? r : 0;
}

static void replay_rest(struct counter *counter)
{
    record_reader_rest(((struct replay *)counter)->reader);
}

static bool replay_describe(struct counter *counter, pid_t pid, struct process_description *ret)
{
    struct replay *replay = (struct replay *)counter;
    return record_reader_describe(replay->reader, pid, replay->position, ret);
}

const struct counter_ops replay_counter = {
    .name = "replay",
    .help = "A recording, in its own time",
    .argument = "FILE[@SPEED]",
    .open = replay_open,
    .close = replay_close,
    .collect = replay_collect,
    .seek = replay_seek,
    .rest = replay_rest,
    .describe = replay_describe,
};
