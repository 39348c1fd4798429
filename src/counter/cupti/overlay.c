#include "counter/cupti/overlay.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "counter/cupti/child.h"
#include "counter/cupti/work.h"

static const double STOP_PATIENCE = 0.5;
static const double FIRST_BACK_OFF = 10; /* intervals */
static const double LONGEST_BACK_OFF = 60;
/* A device whose call hung is left out for so long at first, then twice as long. */
static const double HANG_PENALTY = 60;
/* A helper that ends so often in a row without a value is not started again. */
enum { MAX_FAILURES = 8 };
/* Values are withdrawn when so many of their periods have passed. */
static const double PERIODS_TO_HOLD = 3;
enum { METRIC_BITS = 64, THREAD_STACK_BYTES = 256 * 1024 };

#define BESIDE_GPM                                                                                 \
    (METRIC_BIT(METRIC_EFFECTIVE_CLOCK) | METRIC_BIT(METRIC_L2_ACTIVE) |                           \
     METRIC_BIT(METRIC_ISSUE_ACTIVE) | METRIC_BIT(METRIC_DRAM_READ) |                              \
     METRIC_BIT(METRIC_DRAM_WRITE))
/* On the H200, decoding L1's throughput takes a third of a core at any rate, and any other a
 * hundredth (docs/COUNTERS.md). */
#define TOO_DEAR METRIC_BIT(METRIC_L1_ACTIVE)

const struct overlay_config overlay_defaults = {
    .mode = CLOCK_BURST,
    .interval = 0.1,
    .burst = 0.2,
    .burst_period = 5,
    .patience = 8,
    .delay = 0.4,
};

struct overlay_device {
    const char *uuid;
    uint64_t wanted;     /* 0: nothing can be added, */
    enum absence reason; /* because of that */
    bool bursts;

    /* Under the lock. */
    bool asked; /* somebody reads it */
    bool hasten;
    enum cupti_state state;
    char text[sizeof(((struct cupti_report *)0)->text)];
    uint32_t overflows;
    uint32_t overflows_before; /* in helpers that have ended */
    double share;
    double value[METRIC_BITS];
    double when[METRIC_BITS]; /* monotonic; 0: never */
    double last_burst;        /* monotonic: its end, */
    double last_begin;        /* and its begin */
    double left_out_until;
    unsigned hangs;

    struct work_watch work; /* the device's own thread's */
};

struct overlay {
    struct overlay_config config;
    size_t device_count;
    struct overlay_device *devices;

    pthread_t thread;
    bool started;
    int wake;
    pthread_mutex_t lock;
    bool stopping;
    bool members_changed; /* the helper must be started anew */

    /* The thread's. */
    struct cupti_child child;
    size_t member[CUPTI_MAX_DEVICES]; /* the helper's devices, as indices of ours */
    size_t member_count;
    unsigned failures;
    double started_at;
};

const char *cupti_state_reason(enum cupti_state state)
{
    static const char *const reasons[CUPTI_STATE_COUNT] = {
        [CUPTI_STARTING] = "not started",
        [CUPTI_SAMPLING] = "sampling",
        [CUPTI_NO_LIBRARY] = "no libcupti was found",
        [CUPTI_TOO_OLD] = "the libcupti that was found is older than 12.6",
        [CUPTI_NO_DRIVER] = "the CUDA driver does not start",
        [CUPTI_NO_PERMISSION] = "the driver keeps the counters for administrators",
        [CUPTI_HELD] = "another program holds the counters",
        [CUPTI_RELEASED] = "rooftop release has freed the counters",
        [CUPTI_UNSUPPORTED] = "this GPU, or the mode that it is in, has no such counters",
        [CUPTI_HUNG] = "a call into the driver hung",
        [CUPTI_FAILED] = "CUPTI failed",
    };
    return reasons[state];
}

static enum absence absence_of(enum cupti_state state)
{
    static const uint8_t absences[CUPTI_STATE_COUNT] = {
        [CUPTI_STARTING] = ABSENT_COUNTERS_STARTING,
        [CUPTI_SAMPLING] = ABSENT_NOT_SUPPORTED,
        [CUPTI_NO_LIBRARY] = ABSENT_NO_CUPTI,
        [CUPTI_TOO_OLD] = ABSENT_CUPTI_OLD,
        [CUPTI_NO_DRIVER] = ABSENT_COUNTERS_FAILED,
        [CUPTI_NO_PERMISSION] = ABSENT_COUNTERS_FOR_ADMIN,
        [CUPTI_HELD] = ABSENT_COUNTERS_HELD,
        [CUPTI_RELEASED] = ABSENT_COUNTERS_RELEASED,
        [CUPTI_UNSUPPORTED] = ABSENT_NOT_SUPPORTED,
        [CUPTI_HUNG] = ABSENT_COUNTERS_FAILED,
        [CUPTI_FAILED] = ABSENT_COUNTERS_FAILED,
    };
    return (enum absence)absences[state];
}

static uint64_t whole_catalog(void)
{
    uint64_t all = 0;
    for (size_t i = 0; i < cupti_catalog_size; i++)
        all |= METRIC_BIT(cupti_catalog[i].metric);
    return all;
}

static bool has_gpm(const struct device *device)
{
    return device_number(device, DEVICE_COMPUTE_CAPABILITY, 0) >= 9;
}

static void want_all(struct overlay_device *ours, enum clock_mode mode)
{
    ours->bursts = false;
    ours->wanted = whole_catalog() & ~TOO_DEAR;
    if (mode == CLOCK_OFF)
        ours->wanted &= ~METRIC_BIT(METRIC_EFFECTIVE_CLOCK);
}

/* Where GPM measures the rest without cost, CUPTI adds what it lacks, in bursts by default; where
 * nothing else measures, CUPTI does it all, all the time. */
static void decide(struct overlay_device *ours, const struct device *device, enum clock_mode mode)
{
    ours->uuid = device->text[DEVICE_UUID];
    if (device_is_mig(device) || device_number(device, DEVICE_MIG_ENABLED, 0) > 0) {
        ours->reason = device_is_mig(device) ? ABSENT_SHARED_MIG : ABSENT_NOT_SUPPORTED;
        return;
    }
    ours->reason = ABSENT_COUNTERS_OFF;
    if (has_gpm(device)) {
        ours->wanted = mode == CLOCK_OFF ? 0 : BESIDE_GPM;
        ours->bursts = mode == CLOCK_BURST;
    } else
        want_all(ours, mode);
}

/* A driver that is too old, or a virtual GPU, has no GPM where the chip would have it. Under the
 * lock, before the helper starts. */
static void decide_anew(struct overlay_device *ours, enum clock_mode mode,
                        const struct sample *sample)
{
    uint8_t absence = sample->absent[METRIC_SM_ACTIVE];
    if (!ours->asked && ours->wanted == BESIDE_GPM &&
        (absence == ABSENT_NO_FUNCTION || absence == ABSENT_NOT_SUPPORTED))
        want_all(ours, mode);
}

static double period(const struct overlay *overlay, const struct overlay_device *device)
{
    if (device->bursts)
        return overlay->config.burst_period;
    /* sets that take turns come back after a second each */
    return overlay->config.interval + (device->share < 0.9 ? 1 / fmax(device->share, 0.2) : 0);
}

/* Fills the configuration of the helper from the devices that are read. */
static void choose_members(struct overlay *overlay, struct cupti_helper_config *config)
{
    double now = clock_monotonic();
    *config = (struct cupti_helper_config){
        .interval = overlay->config.interval,
        .burst = overlay->config.burst,
        .burst_period = overlay->config.burst_period,
        .patience = overlay->config.patience,
    };
    pthread_mutex_lock(&overlay->lock);
    overlay->members_changed = false;
    for (size_t i = 0; i < overlay->device_count && config->device_count < CUPTI_MAX_DEVICES; i++) {
        struct overlay_device *device = &overlay->devices[i];
        device->overflows_before = device->overflows;
        if (!device->asked || !device->wanted || now < device->left_out_until)
            continue;
        struct cupti_helper_device *member = &config->device[config->device_count];
        member->wanted = device->wanted;
        member->bursts = device->bursts;
        snprintf(member->uuid, sizeof(member->uuid), "%s", device->uuid);
        overlay->member[config->device_count++] = i;
    }
    pthread_mutex_unlock(&overlay->lock);
    overlay->member_count = config->device_count;
}

static void set_state(struct overlay_device *device, enum cupti_state state, const char *text)
{
    device->state = state;
    snprintf(device->text, sizeof(device->text), "%s", text);
}

static void set_all_states(struct overlay *overlay, enum cupti_state state, const char *text)
{
    pthread_mutex_lock(&overlay->lock);
    for (size_t i = 0; i < overlay->device_count; i++)
        if (overlay->devices[i].wanted && overlay->devices[i].state != CUPTI_HUNG)
            set_state(&overlay->devices[i], state, text);
    pthread_mutex_unlock(&overlay->lock);
}

static void take_report(struct overlay *overlay, const struct cupti_report *report)
{
    if (report->device == CUPTI_ALL_DEVICES) {
        set_all_states(overlay, report->state, report->text);
        return;
    }
    if (report->device >= overlay->member_count)
        return;
    pthread_mutex_lock(&overlay->lock);
    struct overlay_device *device = &overlay->devices[overlay->member[report->device]];
    set_state(device, report->state, report->text);
    device->overflows = device->overflows_before + report->overflows;
    for (size_t i = 0; i < METRIC_BITS; i++)
        if (report->metrics >> i & 1) {
            device->value[i] = report->value[i];
            device->when[i] = report->time;
        }
    if (report->metrics) {
        device->share = report->share;
        device->last_burst = report->time;
        device->last_begin = report->begin;
        overlay->failures = 0;
    }
    pthread_mutex_unlock(&overlay->lock);
}

static bool is_stopping(struct overlay *overlay)
{
    pthread_mutex_lock(&overlay->lock);
    bool stopping = overlay->stopping;
    pthread_mutex_unlock(&overlay->lock);
    return stopping;
}

/* Waits for the helper or for wake(); false after `seconds` (negative: never). */
static bool wait_for(struct overlay *overlay, int fd, double seconds)
{
    struct pollfd fds[] = {{.fd = overlay->wake, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int ready = poll(fds, fd >= 0 ? 2 : 1, seconds < 0 ? -1 : (int)(seconds * 1000));
    if (fds[0].revents) {
        eventfd_t count;
        eventfd_read(overlay->wake, &count);
    }
    return ready > 0;
}

/* Sleeps through wakes; false where the overlay is to stop. */
static bool rest(struct overlay *overlay, double seconds)
{
    double until = clock_monotonic() + seconds;
    while (!is_stopping(overlay)) {
        double left = until - clock_monotonic();
        if (left <= 0)
            return true;
        wait_for(overlay, -1, left);
    }
    return false;
}

static void pass_on_wishes(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->member_count; i++) {
        pthread_mutex_lock(&overlay->lock);
        struct overlay_device *device = &overlay->devices[overlay->member[i]];
        bool hasten = device->hasten;
        device->hasten = false;
        pthread_mutex_unlock(&overlay->lock);
        unsigned char wish = (unsigned char)i;
        if (hasten && write(overlay->child.wishes, &wish, 1) < 0)
            return;
    }
}

static bool must_restart(struct overlay *overlay)
{
    pthread_mutex_lock(&overlay->lock);
    bool restart = overlay->stopping || overlay->members_changed;
    pthread_mutex_unlock(&overlay->lock);
    return restart;
}

/* Returns when the helper has ended (false) or shall be started anew (true). */
static bool follow_helper(struct overlay *overlay)
{
    for (;;) {
        wait_for(overlay, overlay->child.reports, 5);
        struct cupti_report report;
        int r;
        while ((r = cupti_child_read(&overlay->child, &report)) == 1)
            take_report(overlay, &report);
        if (r < 0)
            return false;
        if (must_restart(overlay))
            return true;
        pass_on_wishes(overlay);
    }
}

static void leave_out(struct overlay *overlay, size_t member)
{
    if (member >= overlay->member_count)
        return;
    pthread_mutex_lock(&overlay->lock);
    struct overlay_device *device = &overlay->devices[overlay->member[member]];
    set_state(device, CUPTI_HUNG, "");
    double penalty = HANG_PENALTY;
    for (unsigned i = 0; i < device->hangs && i < 6; i++)
        penalty *= 2;
    device->left_out_until = clock_monotonic() + penalty;
    device->hangs++;
    pthread_mutex_unlock(&overlay->lock);
}

static bool is_final(struct overlay *overlay)
{
    pthread_mutex_lock(&overlay->lock);
    bool final = false;
    for (size_t i = 0; i < overlay->device_count; i++)
        if (overlay->devices[i].state == CUPTI_NO_LIBRARY ||
            overlay->devices[i].state == CUPTI_TOO_OLD)
            final = true;
    pthread_mutex_unlock(&overlay->lock);
    return final;
}

/* Seconds until the next try, or -1: it is not worth another. */
static double after_the_end(struct overlay *overlay, int status)
{
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) >= CUPTI_HUNG_EXIT) {
        leave_out(overlay, (size_t)(WEXITSTATUS(status) - CUPTI_HUNG_EXIT));
        return 0;
    }
    if (is_final(overlay) || overlay->failures >= MAX_FAILURES)
        return -1;
    if (status >= 0 && WIFSIGNALED(status)) {
        char text[64];
        snprintf(text, sizeof(text), "the helper process was ended by signal %d", WTERMSIG(status));
        set_all_states(overlay, CUPTI_FAILED, text);
    }
    double wait = FIRST_BACK_OFF * overlay->config.interval;
    for (unsigned i = 0; i < overlay->failures && wait < LONGEST_BACK_OFF; i++)
        wait *= 2;
    overlay->failures++;
    return fmin(wait, LONGEST_BACK_OFF);
}

/* The soonest that a device that was left out may come back. */
static double until_a_return(struct overlay *overlay)
{
    double now = clock_monotonic();
    double wait = -1;
    pthread_mutex_lock(&overlay->lock);
    for (size_t i = 0; i < overlay->device_count; i++) {
        double left = overlay->devices[i].left_out_until - now;
        if (left > 0 && (wait < 0 || left < wait))
            wait = left;
    }
    pthread_mutex_unlock(&overlay->lock);
    return wait;
}

/* Runs one helper to its end. Returns seconds until the next, or -1 for none. */
static double run_helper(struct overlay *overlay)
{
    struct cupti_helper_config config;
    choose_members(overlay, &config);
    if (config.device_count == 0) {
        wait_for(overlay, -1, until_a_return(overlay));
        return 0;
    }
    int r = cupti_child_start(&overlay->child, overlay->config.program, &config);
    if (r < 0) {
        char text[96];
        snprintf(text, sizeof(text), "the helper process does not start: %s", strerror(-r));
        set_all_states(overlay, CUPTI_FAILED, text);
        return after_the_end(overlay, -1);
    }
    bool wanted_anew = follow_helper(overlay);
    int status = cupti_child_stop(&overlay->child, STOP_PATIENCE);
    return wanted_anew ? 0 : after_the_end(overlay, status);
}

static void *look_after_helper(void *argument)
{
    struct overlay *overlay = argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    double wait = overlay->config.delay;
    while (rest(overlay, wait)) {
        wait = run_helper(overlay);
        while (wait < 0 && !is_stopping(overlay))
            wait_for(overlay, -1, -1);
    }
    return NULL;
}

int overlay_open(struct overlay **ret, const struct device *devices, size_t count,
                 const struct overlay_config *config)
{
    struct overlay *overlay = calloc(1, sizeof(*overlay));
    if (!overlay)
        return -ENOMEM;
    overlay->config = *config;
    overlay->device_count = count;
    overlay->devices = calloc(count + 1, sizeof(*overlay->devices));
    overlay->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&overlay->lock, NULL);
    if (!overlay->devices || overlay->wake < 0) {
        overlay_close(overlay);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        decide(&overlay->devices[i], &devices[i], config->mode);
    *ret = overlay;
    return 0;
}

void overlay_close(struct overlay *overlay)
{
    if (!overlay)
        return;
    if (overlay->started) {
        pthread_mutex_lock(&overlay->lock);
        overlay->stopping = true;
        pthread_mutex_unlock(&overlay->lock);
        eventfd_write(overlay->wake, 1);
        pthread_join(overlay->thread, NULL);
    }
    if (overlay->wake >= 0)
        close(overlay->wake);
    pthread_mutex_destroy(&overlay->lock);
    free(overlay->devices);
    free(overlay);
}

static bool start_thread(struct overlay *overlay)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    int r = pthread_create(&overlay->thread, &attributes, look_after_helper, overlay);
    pthread_attr_destroy(&attributes);
    return r == 0;
}

/* Under the lock. */
static void ask_for(struct overlay *overlay, struct overlay_device *device)
{
    if (device->asked)
        return;
    device->asked = true;
    overlay->members_changed = true;
    if (!overlay->started)
        overlay->started = start_thread(overlay);
    else
        eventfd_write(overlay->wake, 1);
}

/* Values are held from one burst to the next while the work is the same, and their age tells. */
static void fill(struct overlay_device *device, double now, double longest, bool same,
                 struct sample *sample)
{
    enum absence missing = absence_of(device->state);
    for (size_t i = 0; i < METRIC_BITS; i++) {
        enum metric metric = (enum metric)i;
        if (!(device->wanted >> i & 1))
            continue;
        if (device->when[i] == 0)
            sample_miss(sample, metric, missing);
        else if (now - device->when[i] > longest)
            sample_miss(sample, metric, device->state == CUPTI_SAMPLING ? ABSENT_STALE : missing);
        else if (!same)
            sample_miss(sample, metric, ABSENT_COUNTERS_RESTING);
        else
            sample_set(sample, metric, device->value[i]);
    }
    sample_miss(sample, METRIC_L1_ACTIVE, ABSENT_COUNTERS_COSTLY);
    if (device->last_burst > 0)
        sample_set(sample, METRIC_COUNTERS_OVERFLOWS, device->overflows);
    else
        sample_miss(sample, METRIC_COUNTERS_OVERFLOWS, missing);
    enum absence no_age = same ? missing : ABSENT_COUNTERS_RESTING;
    sample_miss(sample, METRIC_COUNTERS_AGE, no_age);
    sample_miss(sample, METRIC_COUNTERS_SHARE, no_age);
    if (device->last_burst > 0 && now - device->last_burst <= longest && same) {
        sample_set(sample, METRIC_COUNTERS_AGE, device->bursts ? now - device->last_burst : 0);
        sample_set(sample, METRIC_COUNTERS_SHARE, device->share);
    }
}

void overlay_read(struct overlay *overlay, size_t number, struct sample *sample)
{
    struct overlay_device *device = &overlay->devices[number];
    if (!device->wanted) {
        sample_miss(sample, METRIC_EFFECTIVE_CLOCK, device->reason);
        return;
    }
    double now = clock_monotonic();
    bool wake = false;
    pthread_mutex_lock(&overlay->lock);
    decide_anew(device, overlay->config.mode, sample);
    ask_for(overlay, device);
    bool same = !device->bursts ||
                work_is_same(&device->work, sample, now, device->last_begin, device->last_burst);
    if (!same && !device->hasten)
        device->hasten = wake = true;
    fill(device, now, PERIODS_TO_HOLD * period(overlay, device), same, sample);
    pthread_mutex_unlock(&overlay->lock);
    if (wake)
        eventfd_write(overlay->wake, 1);
}

void overlay_status(struct overlay *overlay, size_t number, struct overlay_status *ret)
{
    pthread_mutex_lock(&overlay->lock);
    const struct overlay_device *device = &overlay->devices[number];
    ret->state = device->state;
    ret->overflows = device->overflows;
    snprintf(ret->text, sizeof(ret->text), "%s", device->text);
    pthread_mutex_unlock(&overlay->lock);
}
