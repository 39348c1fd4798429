#include "counter/sim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "counter/sim_script.h"

static const long LARGEST_FILE = 16L << 20;

/* What a metric does at present: a line from one value to another, or nothing for a reason. */
struct track {
    double from, to;
    double start, until;
    enum absence absence;
};

struct actor {
    struct track track[METRIC_COUNT];
    /* Over the present window: the metric's integral, the time in which it was there, and that in
     * which it rested. */
    double integral[METRIC_COUNT];
    double covered[METRIC_COUNT];
    double rested[METRIC_COUNT];
    enum reading_state state;
    double state_since;
    struct process_list processes;
};

struct sim {
    struct counter counter;
    struct sim_script script;
    struct actor *actors;
    double position; /* seconds from the beginning */
    size_t applied;  /* changes that have happened */
};

static struct sim *sim_of(struct counter *counter)
{
    return (struct sim *)counter;
}

/* Seconds since 1970 leave a double about 0.2 µs: without rounding, a tick would reach a trifle
 * into the next moment. */
static double from_begin(const struct sim *sim, double time)
{
    return round((time - sim->script.begin) * 1e6) / 1e6;
}

static double track_value(const struct track *track, double at)
{
    if (track->from == track->to || track->until <= track->start)
        return track->to;
    double part = (at - track->start) / (track->until - track->start);
    return track->from + (track->to - track->from) * fmin(fmax(part, 0), 1);
}

static void put_process(struct process_list *list, const struct process *process)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->process[i].pid == process->pid) {
            list->process[i] = *process;
            return;
        }
    if (list->count == PROCESS_LIST_CAPACITY)
        list->truncated = true;
    else
        list->process[list->count++] = *process;
}

static void remove_process(struct process_list *list, pid_t pid)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->process[i].pid != pid)
            list->process[kept++] = list->process[i];
    list->count = kept;
}

static void apply(struct actor *actor, const struct sim_change *change)
{
    switch (change->kind) {
    case SIM_VALUE:
    case SIM_ABSENT:
        actor->track[change->value.metric] = (struct track){
            .from = change->value.from,
            .to = change->value.to,
            .start = change->time,
            .until = change->until,
            .absence = change->value.absence,
        };
        break;
    case SIM_STATE:
        if (actor->state != change->state)
            actor->state_since = change->time;
        actor->state = change->state;
        break;
    case SIM_PROCESS:
        actor->processes.known = true;
        put_process(&actor->processes, &change->process);
        break;
    case SIM_PROCESS_GONE:
        remove_process(&actor->processes, change->process.pid);
        break;
    case SIM_PROCESSES_NONE:
    case SIM_PROCESSES_UNKNOWN:
        actor->processes.known = change->kind == SIM_PROCESSES_NONE;
        actor->processes.truncated = false;
        actor->processes.count = 0;
        break;
    }
}

static void rewind_all(struct sim *sim)
{
    sim->position = 0;
    sim->applied = 0;
    for (size_t i = 0; i < sim->script.device_count; i++) {
        struct actor *actor = &sim->actors[i];
        for (size_t m = 0; m < METRIC_COUNT; m++)
            actor->track[m] = (struct track){.absence = ABSENT_NOT_PROVIDED};
        actor->state = READING_OK;
        actor->state_since = 0;
        actor->processes.known = true;
        actor->processes.truncated = false;
        actor->processes.count = 0;
    }
}

static void apply_until(struct sim *sim, double time)
{
    for (; sim->applied < sim->script.change_count; sim->applied++) {
        const struct sim_change *change = &sim->script.changes[sim->applied];
        if (change->time > time)
            return;
        apply(&sim->actors[change->device], change);
    }
}

static void forget_window(struct sim *sim)
{
    for (size_t i = 0; i < sim->script.device_count; i++) {
        memset(sim->actors[i].integral, 0, sizeof(sim->actors[i].integral));
        memset(sim->actors[i].covered, 0, sizeof(sim->actors[i].covered));
        memset(sim->actors[i].rested, 0, sizeof(sim->actors[i].rested));
    }
}

/* No change happens between the two times, so that every track is one straight line. */
static void integrate(struct actor *actor, double from, double to)
{
    for (size_t m = 0; m < METRIC_COUNT; m++) {
        if (metric_rests((enum metric)m, actor->track[m].absence))
            actor->rested[m] += to - from;
        if (actor->track[m].absence != ABSENT_NO)
            continue;
        actor->integral[m] += track_value(&actor->track[m], (from + to) / 2) * (to - from);
        actor->covered[m] += to - from;
    }
}

/* Changes at `until` itself belong to the next window. */
static void play(struct sim *sim, double until)
{
    forget_window(sim);
    double at = sim->position;
    while (at < until) {
        apply_until(sim, at);
        double next = until;
        if (sim->applied < sim->script.change_count)
            next = fmin(until, sim->script.changes[sim->applied].time);
        for (size_t i = 0; i < sim->script.device_count; i++)
            integrate(&sim->actors[i], at, next);
        at = next;
    }
    sim->position = until;
}

/* A metric that held still is its value exactly, not its integral divided again. */
static double window_mean(const struct actor *actor, size_t metric, double from)
{
    const struct track *track = &actor->track[metric];
    if (track->absence == ABSENT_NO && track->from == track->to && track->start <= from)
        return track->to;
    return actor->integral[metric] / (actor->covered[metric] + actor->rested[metric]);
}

static void fill_sample(const struct actor *actor, double from, double to, struct sample *sample)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        enum metric metric = (enum metric)i;
        const struct track *track = &actor->track[i];
        if (metric_info(metric)->span == SPAN_INTERVAL && actor->covered[i] > 0)
            sample_set(sample, metric, window_mean(actor, i, from));
        else if (track->absence == ABSENT_NO)
            sample_set(sample, metric, track_value(track, to));
        else
            sample_miss(sample, metric, track->absence);
    }
}

static void fill_reading(const struct sim *sim, const struct actor *actor, double from,
                         struct reading *reading)
{
    double at = actor->state == READING_OK ? sim->position : actor->state_since;
    reading->state = actor->state;
    reading->error = actor->state == READING_LOST ? -ENODEV : 0;
    reading->age = sim->position - at;
    reading->sample.time = sim->script.begin + at;
    reading->sample.interval = sim->position - from;
    fill_sample(actor, from, sim->position, &reading->sample);
    reading->processes = actor->processes;
    reading_withdraw(reading);
}

static int sim_collect(struct counter *counter, double until, struct frame *frame)
{
    struct sim *sim = sim_of(counter);
    if (sim->position >= sim->script.end)
        return -ENODATA;
    double from = sim->position;
    play(sim, fmin(fmax(from_begin(sim, until), from), sim->script.end));
    for (size_t i = 0; i < frame->count; i++)
        fill_reading(sim, &sim->actors[i], from, &frame->readings[i]);
    return 0;
}

static int sim_seek(struct counter *counter, double time)
{
    struct sim *sim = sim_of(counter);
    double target = fmin(fmax(from_begin(sim, time), 0), sim->script.end);
    rewind_all(sim);
    play(sim, target);
    return 0;
}

static bool sim_describe(struct counter *counter, pid_t pid, struct process_description *ret)
{
    const struct sim_script *script = &sim_of(counter)->script;
    for (size_t i = 0; i < script->person_count; i++)
        if (script->people[i].pid == pid) {
            *ret = script->people[i].description;
            return true;
        }
    return false;
}

static int fail(struct counter_failure *failure, const char *path, int error)
{
    snprintf(failure->reason, sizeof(failure->reason), "%.256s: %s", path, strerror(-error));
    return error == -EISDIR || error == -EFBIG ? -EINVAL : error;
}

static int read_file(const char *path, char **ret_text, size_t *ret_length)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    int r = 0;
    char *text = malloc((size_t)LARGEST_FILE + 1);
    size_t length = 0;
    if (!text)
        r = -ENOMEM;
    else {
        length = fread(text, 1, (size_t)LARGEST_FILE + 1, file);
        if (ferror(file))
            r = -errno;
        else if (length > (size_t)LARGEST_FILE)
            r = -EFBIG;
    }
    fclose(file);
    if (r < 0) {
        free(text);
        return r;
    }
    *ret_text = text;
    *ret_length = length;
    return 0;
}

static void sim_close(struct counter *counter)
{
    struct sim *sim = sim_of(counter);
    sim_script_free(&sim->script);
    free(sim->actors);
    free(sim);
}

static void present(struct sim *sim, const char *path)
{
    struct counter *counter = &sim->counter;
    counter->devices = sim->script.devices;
    counter->device_count = sim->script.device_count;
    counter->begin = sim->script.begin;
    counter->end = sim->script.begin + sim->script.end;
    counter->interval = sim->script.every;
    counter->marks = sim->script.marks;
    counter->mark_count = sim->script.mark_count;
    snprintf(counter->library, sizeof(counter->library), "%s", path);
    snprintf(counter->driver_version, sizeof(counter->driver_version), "%s",
             sim->script.driver_version);
    snprintf(counter->cuda_version, sizeof(counter->cuda_version), "%s", sim->script.cuda_version);
}

static int sim_open(struct counter **ret, const char *argument, struct counter_failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    int r = read_file(argument, &text, &length);
    if (r < 0)
        return fail(failure, argument, r);
    struct sim *sim = calloc(1, sizeof(*sim));
    if (!sim)
        return -ENOMEM;
    sim->counter.ops = &sim_counter;
    r = sim_script_parse(&sim->script, text, length, argument, failure);
    if (r == 0) {
        sim->actors = calloc(sim->script.device_count, sizeof(*sim->actors));
        r = sim->actors ? 0 : -ENOMEM;
    }
    if (r < 0) {
        sim_close(&sim->counter);
        return r;
    }
    rewind_all(sim);
    present(sim, argument);
    *ret = &sim->counter;
    return 0;
}

const struct counter_ops sim_counter = {
    .name = "sim",
    .help = "a text file of devices and moments, for tests and demonstrations",
    .argument = "FILE",
    .open = sim_open,
    .close = sim_close,
    .collect = sim_collect,
    .seek = sim_seek,
    .describe = sim_describe,
};
