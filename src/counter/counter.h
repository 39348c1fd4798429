/* Sources of counters. A source opens, lists devices and gives samples; live drivers and recordings
 * alike. A new vendor, or a new interface of a driver, is one file and one row in
 * counter_sources[].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "counter/frame.h"
#include "metric/device.h"
#include "metric/mark.h"

struct counter;

/* When CUPTI's counters run. They draw power while they do: 29 W on a busy H200. */
enum clock_mode {
    CLOCK_BURST,      /* for 0.2 s now and then, where GPM measures the rest */
    CLOCK_CONTINUOUS, /* all the time */
    CLOCK_OFF,        /* never where GPM exists, and elsewhere without the effective clock */
};

/* What to tell the person when a source does not open. */
struct counter_failure {
    char reason[384];
    char advice[256]; /* what to do next, or "" */
};

struct counter_ops {
    const char *name; /* as in --source NAME or --source NAME:ARGUMENT */
    const char *help;
    const char *argument; /* what the argument is, as help shows it, or NULL where there is none */
    bool live; /* samples are of the present; otherwise time is the source's own and collect() gives
                  them */
    bool automatic; /* --source auto tries it */

    /* Returns 0, or −errno with `failure` filled: -ENODEV no GPU, -EACCES no permission,
     * -EINVAL a malformed argument or file, others. */
    int (*open)(struct counter **ret, const char *argument, struct counter_failure *failure);
    void (*close)(struct counter *counter);

    /* Live. Reads one device now: values into `sample`, and its processes. Called from the device's
     * own thread, never twice at once for one device; must not allocate. The sample is the
     * last one that this device gave, to hold values that the source refreshes more rarely; its
     * time is set by the caller.
     * Returns 0; -ENODEV: the device is lost; other −errno: this read failed. */
    int (*read)(struct counter *counter, size_t device, struct sample *sample,
                struct process_list *processes);
    /* Live, optional. After -ENODEV or another failure, with back-off: try to get it back. */
    int (*reopen)(struct counter *counter, size_t device);
    /* Live, optional. True where devices have come or gone (MIG changes too): the monitor then
     * opens the source anew. Called every few seconds from any device's thread, never twice at
     * once, while the other threads read. */
    bool (*changed)(struct counter *counter);
    /* Live, optional. Before the first read(). Returns 0 or −errno. */
    int (*set_clock)(struct counter *counter, enum clock_mode mode);
    /* Live, optional. Before the first read(): each gives the processes of its moment, and not
     * those of the last second. */
    void (*follow_processes)(struct counter *counter);
    /* Live, optional. Fills cuda_version: NVML loads CUDA's library to ask it, which takes
     * megabytes that watching does not need. */
    void (*read_cuda_version)(struct counter *counter);
    /* Live, optional. What a library said when it failed to give a device's counters, or "". */
    void (*tell_failure)(struct counter *counter, size_t device, char *ret, size_t size);

    /* Not live. Moves on to `until` (seconds since 1970, as the source counts) and fills the frame
     * with what lies between: means of INTERVAL metrics, last of the others.
     * Returns 0, or -ENODATA after the end. */
    int (*collect)(struct counter *counter, double until, struct frame *frame);
    /* Not live. The next collect() starts from `time`. */
    int (*seek)(struct counter *counter, double time);
    /* Recordings, may be NULL: nothing is asked for a while. */
    void (*rest)(struct counter *counter);
    /* Not live, optional. What the recording says of a process; false where it says nothing. */
    bool (*describe)(struct counter *counter, pid_t pid, struct process_description *ret);
};

/* An open source. Each source's own struct begins with it. */
struct counter {
    const struct counter_ops *ops;
    struct device *devices;
    size_t device_count;

    char driver_version[96]; /* "" where not known */
    char library[256];       /* what was loaded or opened, for doctor */
    char library_version[96];
    char cuda_version[16]; /* through counter_cuda_version() */

    /* Not live: the span in seconds since 1970, the usual interval, and marks in order of time. */
    double begin;
    double end;
    double interval;
    const struct mark *marks;
    size_t mark_count;
};

extern const struct counter_ops nvml_counter;

extern const struct counter_ops *const counter_sources[]; /* NULL-terminated, in probing order */

/* The source named, else that of ROOFTOP_SOURCE, else "auto". */
const char *counter_usual_source(const char *named);

/* What `source` names, or NULL where that is "auto" or no source at all. */
const struct counter_ops *counter_source(const char *source);

/* Opens "auto", "NAME" or "NAME:ARGUMENT". Returns 0 or −errno as `open` does. */
MUST_CHECK int counter_open(struct counter **ret, const char *source,
                            struct counter_failure *failure);
void counter_close(struct counter *counter);

/* Asked of the driver when first wanted. "" where it is not known. */
const char *counter_cuda_version(struct counter *counter);
/* What a library said when it failed to give a device's counters, or "". */
void counter_tell_failure(struct counter *counter, size_t device, char *ret, size_t size);
