/* librooftop: how hard the GPUs of this machine really work, from their hardware counters; or how
 * hard those of a recording did.
 *
 * Conduct. Functions that can fail return a negative errno value, and then leave their outputs
 * alone. The library writes nothing to the terminal and never ends the program. A handle belongs
 * to one thread at a time; two handles are independent. Its own threads block all signals.
 *
 * Text is UTF-8. A pointer that a function returns belongs to the handle and stays valid until the
 * next rooftop_next(), rooftop_wait(), rooftop_seek() or rooftop_close() on it, where nothing else
 * is said. Times are seconds since 1970, UTC; durations are seconds.
 *
 * Metrics, fields and states are known by name, so that programs go on working when later versions
 * bring more of them. docs/METRICS.md lists the metrics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ROOFTOP_H
#define ROOFTOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The version of the library that runs, such as "0.1.0". Valid for ever. */
const char *rooftop_version(void);

/* ---- Open and close ------------------------------------------------------------------------- */

/* An open source of counters. */
typedef struct rooftop rooftop;

/* Why a source did not open, and what to do next; each may be "". */
struct rooftop_failure {
    char reason[384];
    char advice[256];
};

/* Opens a source and begins to sample it.
 *
 * source    as `rooftop --source` takes it: "auto", "nvml", "replay:FILE", "replay:FILE@SPEED",
 *           "sim:FILE", …; NULL for $ROOFTOP_SOURCE, or auto where that is not set
 * gpus      the GPUs to sample, comma-separated: index, UUID or a unique start of it, PCI address,
 *           a MIG instance by "0/1" or its UUID; NULL for all
 * interval  seconds between two frames, 0.001 to 86400, in recorded time for a recording; 0 for
 *           the recording's own interval, or 0.1. Many counters advance every 0.1 s only.
 * failure   filled on failure; may be NULL
 *
 * Returns 0, or -ENODEV: no GPU; -EACCES: no permission; -ENOENT: no such file; -EINVAL: malformed
 * source, GPU, interval or file; -ENOMEM; others. */
int rooftop_open(rooftop **ret, const char *source, const char *gpus, double interval,
                 struct rooftop_failure *failure);

/* Stops sampling and frees the handle. NULL is fine. Takes up to a second where a driver hangs. */
void rooftop_close(rooftop *handle);

/* A fact of the open source: "source" (its name), "driver_version", "library" (what was loaded or
 * opened), "library_version", "cuda_version". "" where it is not known, NULL for another name. */
const char *rooftop_source_text(const rooftop *handle, const char *field);

/* ---- Frames: all devices at one moment ------------------------------------------------------ */

/* A descriptor for poll() and epoll: readable when rooftop_next() may have something to do. It
 * stays the same as long as the handle is open. Do not read from it or close it. */
int rooftop_fd(const rooftop *handle);

/* Takes the next frame, and never blocks. Where a caller comes late, frames of a live source are
 * left out. Returns 1: a frame was taken; 0: none is due; -ENODATA: the recording has ended;
 * or another negative errno. */
int rooftop_next(rooftop *handle);

/* The same, but waits for the frame, `timeout` seconds at most, or for ever where it is negative.
 * Returns 0 after the timeout, and -EINTR where a signal came. */
int rooftop_wait(rooftop *handle, double timeout);

/* Of the last frame: its time, and the seconds since the frame before. 0 before the first. */
double rooftop_time(const rooftop *handle);
double rooftop_interval(const rooftop *handle);

/* ---- Devices -------------------------------------------------------------------------------- */

/* GPUs and MIG instances; `device` below counts from 0 to one less. */
size_t rooftop_device_count(const rooftop *handle);

/* Grows when devices come or go (MIG is set up anew, a driver is loaded again): the numbers below
 * then mean other devices. While the source is away there are none, and rooftop_away() tells why.
 */
unsigned rooftop_generation(const rooftop *handle);

/* NULL, or why the source that was open cannot be opened again just now. It is tried again from
 * rooftop_next() and rooftop_wait() by themselves. */
const char *rooftop_away(const rooftop *handle);

/* What is fixed about devices: "uuid", "name", "sm_count", "memory_total_bytes" and so on. A field
 * is a text or a number, with its unit in its name. Names and helps are valid for ever; NULL where
 * `field` is not below the count. */
size_t rooftop_field_count(void);
const char *rooftop_field_name(size_t field);
const char *rooftop_field_help(size_t field);

/* The text of a field, "" where it is not known; NULL: no such device or text field. */
const char *rooftop_device_text(const rooftop *handle, size_t device, const char *field);
/* The number of a field. Returns 0; -ENODATA: not known; -EINVAL: no such device or number. */
int rooftop_device_number(const rooftop *handle, size_t device, const char *field, double *ret);

/* The number that nvidia-smi gives it; of a MIG instance, its place below its GPU. -EINVAL. */
int rooftop_device_index(const rooftop *handle, size_t device);

/* How the device answered for this frame: "ok"; "none": not yet; "stale": the driver has not
 * answered in time; "lost": the device is gone; "failed": the source failed on it. Valid for ever.
 * NULL: no such device. */
const char *rooftop_device_state(const rooftop *handle, size_t device);

/* Seconds since the device answered last, seen from the frame. Negative: no such device. */
double rooftop_device_age(const rooftop *handle, size_t device);

/* One plain sentence on the device in this frame, such as
 * "memory-bound: HBM at 64 %; nvidia-smi says 99 %". Valid until the next call of this function.
 * "" where there is nothing to say. NULL: no such device, or no memory. */
const char *rooftop_verdict(rooftop *handle, size_t device);

/* ---- Metrics -------------------------------------------------------------------------------- */

/* Metrics are numbered from 0 to one less than the count. A number means the same metric as long
 * as the program runs, and may mean another with another version of the library: look it up by
 * name. What these return is valid for ever, and NULL where there is no such metric. */
int rooftop_metric_count(void);
int rooftop_metric_id(const char *name); /* -ENOENT: no metric has that name */
const char *rooftop_metric_name(int metric);
/* "ratio" (0 to 1), "bytes", "bytes_per_second", "flops_per_second", "hertz", "watts", "joules",
 * "celsius", "seconds" (since 1970), "count", "label" (a word) or "flags" (words). */
const char *rooftop_metric_unit(int metric);
/* "instant": at the frame's time; "interval": the mean since the device answered before; "total":
 * a counter that only grows. */
const char *rooftop_metric_span(int metric);
const char *rooftop_metric_help(int metric);

/* The value in this frame. It is finite always. Of a "label" and of "flags" it is a code that may
 * change between versions: take rooftop_read_words().
 * Returns 0; -ENODATA: there is none, rooftop_missing_reason() says why; -EINVAL: no such device
 * or metric. */
int rooftop_read(const rooftop *handle, size_t device, int metric, double *ret);

/* The word of a "label", or the words of "flags" with commas between them. Writes as snprintf()
 * does: at most `size` bytes with the NUL, and returns the length that there is; `text` may be NULL
 * where `size` is 0. -ENODATA and -EINVAL as above; -EINVAL for other units too. */
int rooftop_read_words(const rooftop *handle, size_t device, int metric, char *text, size_t size);

/* Why rooftop_read() has no value: a word for programs ("not_supported"), a sentence for people,
 * and what to do about it ("" where nothing can be done). Valid for ever. NULL where there is a
 * value, or no such device or metric. */
const char *rooftop_missing_word(const rooftop *handle, size_t device, int metric);
const char *rooftop_missing_reason(const rooftop *handle, size_t device, int metric);
const char *rooftop_missing_advice(const rooftop *handle, size_t device, int metric);

/* ---- Processes ------------------------------------------------------------------------------ */

#define ROOFTOP_PROCESS_COMPUTE    1u
#define ROOFTOP_PROCESS_GRAPHICS   2u
#define ROOFTOP_PROCESS_MPS_CLIENT 4u
#define ROOFTOP_PROCESS_MPS_SERVER 8u

/* A process that holds a device. Later versions may add members at the end. */
struct rooftop_process {
    long pid;
    unsigned kinds;        /* bits of ROOFTOP_PROCESS_… */
    int memory_known;      /* 0: the driver does not tell */
    uint64_t memory_bytes; /* device memory that it holds */
    int outside;           /* 1: it cannot be seen from here (it has ended, or belongs to another
                              PID namespace), and what follows is not known */
    double start_time;     /* 0 where not known */
    const char *user;      /* these are "" where not known */
    const char *command;   /* with its arguments */
    const char *container; /* id or name */
    const char *cgroup;
};

/* How many processes hold the device in this frame. -ENODATA: they could not be listed;
 * -EINVAL: no such device. */
int rooftop_process_count(const rooftop *handle, size_t device);
/* One of them, from 0. Valid until the next call of this function. NULL: there is no such one. */
const struct rooftop_process *rooftop_process_at(rooftop *handle, size_t device, size_t process);

/* ---- Recordings ----------------------------------------------------------------------------- */

/* A named moment or span of a recording. Later versions may add members at the end. */
struct rooftop_span {
    double time;
    double end; /* equal to time for a moment */
    const char *name;
};

/* Where the recording begins and ends. -ENOTSUP: the source is live. */
int rooftop_recorded_span(const rooftop *handle, double *ret_begin, double *ret_end);

/* The marks of the recording, in order of time; 0 where the source is live. */
size_t rooftop_recorded_mark_count(const rooftop *handle);
/* Valid until the next call of this function. NULL: there is no such one. */
const struct rooftop_span *rooftop_recorded_mark(rooftop *handle, size_t mark);

/* The next frame begins at `time`, which is brought into the recording's span.
 * 0; -ENOTSUP: the source is live; -EINVAL: not finite. */
int rooftop_seek(rooftop *handle, double time);
/* Recorded seconds per second, 0.001 to 1e6; 0: as fast as frames are taken.
 * 0; -ENOTSUP: the source is live; -EINVAL: out of range. */
int rooftop_set_speed(rooftop *handle, double speed);

/* ---- Marks in recordings that are being made ------------------------------------------------ */

/* Sets a mark in every recording that `rooftop record` makes for this user on this host, as
 * `rooftop mark` does: a moment (now), or a span of time. Needs no handle. The name is cut to 95
 * bytes. Waits for the recorders' answers, a second at most.
 * Returns how many took it, 0 where none is recording; -EINVAL: an empty name or a malformed span;
 * -ETIMEDOUT: there are recorders, and none answered; others. */
int rooftop_mark(const char *name);
int rooftop_mark_span(const char *name, double begin, double end);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
