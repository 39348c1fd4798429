#include "counter/cupti/overlay_supervise.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static const double STOP_PATIENCE = 0.5;
static const double FIRST_BACK_OFF = 10; /* intervals */
static const double LONGEST_BACK_OFF = 60;
/* A device whose call hung is left out for so long at first, then twice as long. */
static const double HANG_PENALTY = 60;
enum { MOST_DOUBLINGS = 6 };
/* A helper that ends so often in a row without a value is not started again. */
enum { MAX_FAILURES = 8 };
/* Reports that are taken between two looks at what we are told: a helper writes far fewer. */
enum { REPORTS_AT_ONCE = 256 };

/* Fills the configuration of the helper from the devices that are read. */
static void choose_members(struct overlay *overlay, struct cupti_helper_config *config)
{
    double now = clock_monotonic();
    *config = (struct cupti_helper_config){
        .interval = overlay->config.interval,
        .burst = overlay->config.burst,
        .burst_period = overlay->config.burst_period,
        .burst_cpu = overlay->config.burst_cpu,
        .patience = overlay->config.patience,
    };
    pthread_mutex_lock(&overlay->lock);
    overlay->members_changed = false;
    for (size_t i = 0; i < overlay->device_count && config->device_count < CUPTI_MAX_DEVICES; i++) {
        struct overlay_device *device = &overlay->devices[i];
        device->overflows_before = device->overflows;
        device->sessions_before = device->sessions;
        device->cpu_before = device->cpu;
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

static void take_values(struct overlay_device *device, const struct cupti_report *report)
{
    for (size_t i = 0; i < WORK_METRICS; i++)
        if (report->metrics >> i & 1) {
            device->values.value[i] = report->value[i];
            device->values.when[i] = report->time;
        }
    device->share = report->share;
    device->hasten = false; /* it was wished without knowing this */
    device->last = (struct work_burst){.begin = report->begin,
                                       .end = report->time,
                                       .metrics = report->metrics,
                                       .values = &device->values};
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
    device->sessions = device->sessions_before + report->sessions;
    device->cpu = device->cpu_before + report->cpu;
    device->planned = report->planned;
    if (report->metrics) {
        take_values(device, report);
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
        struct cupti_wish wish = {
            .device = (uint8_t)i,
            .apart = device->hasten_apart,
            .slow = device->hasten_slow,
            .sessions = (uint8_t)(device->sessions - device->sessions_before),
        };
        device->hasten = false;
        pthread_mutex_unlock(&overlay->lock);
        if (hasten && write(overlay->child.wishes, &wish, sizeof(wish)) < 0)
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

static int take_reports(struct overlay *overlay)
{
    int r = 1;
    for (int i = 0; i < REPORTS_AT_ONCE && r == 1; i++) {
        struct cupti_report report;
        r = cupti_child_read(&overlay->child, &report);
        if (r == 1)
            take_report(overlay, &report);
    }
    return r;
}

/* Returns when the helper shall be started anew (0), has ended (-EPIPE) or is none (-EBADMSG). */
static int follow_helper(struct overlay *overlay)
{
    for (;;) {
        wait_for(overlay, overlay->child.reports, 5);
        int r = take_reports(overlay);
        if (r < 0)
            return r;
        if (must_restart(overlay))
            return 0;
        pass_on_wishes(overlay);
    }
}

double overlay_hang_penalty(unsigned hangs)
{
    return HANG_PENALTY * (1 << (hangs < MOST_DOUBLINGS ? hangs : MOST_DOUBLINGS));
}

static void leave_out(struct overlay *overlay, size_t member)
{
    if (member >= overlay->member_count)
        return;
    pthread_mutex_lock(&overlay->lock);
    struct overlay_device *device = &overlay->devices[overlay->member[member]];
    set_state(device, CUPTI_HUNG, "");
    device->left_out_until = clock_monotonic() + overlay_hang_penalty(device->hangs);
    device->hangs++;
    pthread_mutex_unlock(&overlay->lock);
}

/* What is installed does not change while we run. */
static bool ends_for_good(enum cupti_state state)
{
    return state == CUPTI_NO_LIBRARY || state == CUPTI_TOO_OLD || state == CUPTI_NO_CUDA;
}

static bool is_final(struct overlay *overlay)
{
    pthread_mutex_lock(&overlay->lock);
    bool final = false;
    for (size_t i = 0; i < overlay->device_count; i++)
        final |= ends_for_good(overlay->devices[i].state);
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
    r = follow_helper(overlay);
    int status = cupti_child_stop(&overlay->child, STOP_PATIENCE);
    if (r == -EBADMSG) {
        set_all_states(overlay, CUPTI_FAILED,
                       "the helper process is not of this version of rooftop");
        status = -1;
    }
    return r < 0 ? after_the_end(overlay, status) : 0;
}

void *overlay_supervise(void *argument)
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
