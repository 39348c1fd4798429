#include "monitor/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "record/mark_socket.h"
#include "record/writer.h"
#include "version.h"

/* With the tick in which it comes, less than the second that may be lost. */
static const double COMMIT_PERIOD = 0.75;

/* What was written of one of the monitor's devices. */
struct recorded {
    unsigned gpu; /* its number in the recording */
    enum reading_state state;
    int error;
};

struct recording {
    struct monitor *monitor;
    struct record_writer *writer;
    struct mark_inbox *inbox; /* NULL where no folder for it was found */
    void (*on_mark)(void *context, const struct mark *mark);
    void *context;
    struct recorded *devices;
    size_t device_count;
    unsigned generation;
    double begin;
    double end;
    double committed; /* on the monotonic clock */
    size_t mark_count;
    bool finished;
};

static int write_facts(struct recording *recording, bool redact)
{
    const struct counter *counter = monitor_counter(recording->monitor);
    char host[65] = "";
    if (!redact && gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    const struct {
        const char *key;
        const char *value;
    } facts[] = {
        {"program", "rooftop " ROOFTOP_VERSION},
        {"source", counter->ops->name},
        {"driver_version", counter->driver_version},
        {"library_version", counter->library_version},
        {"cuda_version", monitor_cuda_version(recording->monitor)},
        {"host", host},
        {"redacted", redact ? "1" : "0"},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(facts) && r == 0; i++)
        if (facts[i].value[0])
            r = record_writer_meta(recording->writer, facts[i].key, facts[i].value);
    return r;
}

/* Devices have come or gone, or are new to the recording. */
static int adopt_devices(struct recording *recording)
{
    size_t count = monitor_count(recording->monitor);
    struct recorded *devices = calloc(count + 1, sizeof(*devices));
    if (!devices)
        return -ENOMEM;
    free(recording->devices);
    recording->devices = devices;
    recording->device_count = count;
    recording->generation = monitor_generation(recording->monitor);
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = record_writer_device(recording->writer, monitor_device(recording->monitor, i),
                                 &devices[i].gpu);
    return r;
}

static bool is_source(const struct monitor *monitor, const char *path)
{
    const struct counter *counter = monitor_counter(monitor);
    return !counter->ops->live && file_is_same(counter->library, path);
}

int recording_start(struct recording **ret, struct monitor *monitor, const char *path,
                    const struct recording_options *options, struct counter_failure *failure)
{
    *failure = (struct counter_failure){0};
    if (is_source(monitor, path)) {
        snprintf(failure->reason, sizeof(failure->reason),
                 "%s: this file is the source; give another", path);
        return -EINVAL;
    }
    struct recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return -ENOMEM;
    recording->monitor = monitor;
    recording->on_mark = options->on_mark;
    recording->context = options->context;
    recording->committed = clock_monotonic();
    const struct record_writer_options writer_options = {
        .replace = options->replace,
        .redact = options->redact,
        .interval = monitor_sampling_interval(monitor),
    };
    int r = record_writer_open(&recording->writer, path, &writer_options, failure->reason,
                               sizeof(failure->reason));
    if (r == 0) {
        r = write_facts(recording, options->redact);
        if (r == 0)
            r = adopt_devices(recording);
        if (r == 0)
            r = record_writer_commit(recording->writer);
        if (r < 0)
            snprintf(failure->reason, sizeof(failure->reason), "%s: %s", path, strerror(-r));
    }
    /* Without it there are only fewer marks. */
    if (r == 0 && mark_inbox_open(&recording->inbox) < 0)
        recording->inbox = NULL;
    if (r < 0) {
        recording_stop(recording);
        return r;
    }
    *ret = recording;
    return 0;
}

static int write_processes(struct recording *recording, unsigned gpu, double time,
                           const struct process_list *processes)
{
    int r = record_writer_processes(recording->writer, gpu, time, processes);
    for (size_t i = 0; r == 1 && i < processes->count; i++) {
        pid_t pid = processes->process[i].pid;
        int written = record_writer_process_info(recording->writer, pid,
                                                 monitor_describe(recording->monitor, pid));
        if (written < 0)
            return written;
    }
    return r < 0 ? r : 0;
}

static int write_reading(struct recording *recording, size_t i)
{
    struct recorded *device = &recording->devices[i];
    const struct reading *reading = monitor_reading(recording->monitor, i);
    bool changed = reading->state != device->state || reading->error != device->error;
    device->state = reading->state;
    device->error = reading->error;
    if (reading->state == READING_NONE)
        return 0;
    if (reading->state != READING_OK)
        return changed ? record_writer_outage(recording->writer, device->gpu,
                                              monitor_time(recording->monitor),
                                              reading_state_name(reading->state), reading->error)
                       : 0;
    int r = record_writer_sample(recording->writer, device->gpu, &reading->sample);
    return r < 0
               ? r
               : write_processes(recording, device->gpu, reading->sample.time, &reading->processes);
}

/* A recording that is replayed has its own time, and a mark that comes from outside is of the
 * moment that is shown. */
static int take_marks(struct recording *recording)
{
    struct mark mark;
    bool live = monitor_counter(recording->monitor)->ops->live;
    while (recording->inbox && mark_inbox_take(recording->inbox, &mark) == 1) {
        if (!live) {
            mark.end += monitor_time(recording->monitor) - mark.time;
            mark.time = monitor_time(recording->monitor);
        }
        int r = recording_mark(recording, mark.time, mark.end, mark.name);
        if (r < 0)
            return r;
        if (recording->on_mark)
            recording->on_mark(recording->context, &mark);
    }
    return 0;
}

static int commit(struct recording *recording)
{
    double now = clock_monotonic();
    if (now < recording->committed + COMMIT_PERIOD)
        return 0;
    recording->committed = now;
    int r = record_writer_commit(recording->writer);
    return r == -EBUSY ? 0 : r;
}

int recording_add(struct recording *recording)
{
    int r = 0;
    if (recording->generation != monitor_generation(recording->monitor))
        r = adopt_devices(recording);
    if (recording->begin == 0)
        recording->begin = monitor_time(recording->monitor) - monitor_interval(recording->monitor);
    recording->end = monitor_time(recording->monitor);
    for (size_t i = 0; i < recording->device_count && r == 0; i++)
        r = write_reading(recording, i);
    if (r == 0)
        r = take_marks(recording);
    return r < 0 ? r : commit(recording);
}

int recording_mark(struct recording *recording, double time, double end, const char *name)
{
    int r = record_writer_mark(recording->writer, time, end, name);
    if (r == 0)
        recording->mark_count++;
    return r;
}

/* The marks of a recording that was replayed, where they touch what was recorded of it. */
static int copy_marks(struct recording *recording)
{
    const struct counter *counter = monitor_counter(recording->monitor);
    int r = 0;
    for (size_t i = 0; counter && i < counter->mark_count && r == 0; i++) {
        const struct mark *mark = &counter->marks[i];
        if (mark->end >= recording->begin && mark->time <= recording->end)
            r = recording_mark(recording, mark->time, mark->end, mark->name);
    }
    return r;
}

int recording_finish(struct recording *recording)
{
    if (recording->finished || recording->begin <= 0)
        return 0;
    recording->finished = true;
    int r = copy_marks(recording);
    return r < 0 ? r : take_marks(recording);
}

int recording_stop(struct recording *recording)
{
    if (!recording)
        return 0;
    /* What fails here fails again when the writer closes. */
    recording_finish(recording);
    mark_inbox_close(recording->inbox);
    int r = record_writer_close(recording->writer);
    free(recording->devices);
    free(recording);
    return r;
}

struct record_writer *recording_writer(struct recording *recording)
{
    return recording->writer;
}

size_t recording_mark_count(const struct recording *recording)
{
    return recording->mark_count;
}

double recording_length(const struct recording *recording)
{
    return recording->end - recording->begin;
}

const char *recording_strerror(int error)
{
    return error == -ESTALE ? "the file was removed, renamed or replaced while it was recorded"
                            : strerror(-error);
}
