#include "counter/cupti/helper_device.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* How long one set is sampled before the next has its turn. */
static const double TURN = 1;
static const double FIRST_BACK_OFF = 10; /* intervals */
static const double LONGEST_BACK_OFF = 60;
/* A try while another holds the counters costs 22 ms, and he may end at any time. */
static const double LONGEST_WAIT_FOR_HOLDER = 5;
/* Records wait in a buffer until they are decoded; a decoding that comes late by so much loses
 * none. */
static const double BUFFERED_SECONDS = 2;
/* Bursts that a steady load did not need, to answer changes of the work at once. */
static const double MOST_BURSTS_LEFT = 6;
/* A wish that cannot be paid for within this time is forgotten: the work may be another then. */
static const double WISH_SECONDS = 0.5;
/* Beside a sampler that takes little itself, bursts take little too. */
static const double CPU_OF_SLOW = 0.25;
/* Turing and GA100 sample by their system clock, which is not known here and varies. */
static const double ASSUMED_SYSCLK = 1e9;

enum {
    SAMPLES_PER_BURST = 4,
    RECORD_BYTES_PER_COUNTER = 16 * 1024, /* of one sample; more than any cheap one takes */
    SMALLEST_BUFFER = 4 * 1024 * 1024,
    LARGEST_BUFFER = 64 * 1024 * 1024,
};

static enum cupti_state state_of(int result, bool has_old_driver)
{
    switch (result) {
    case CUPTI_INSUFFICIENT_PRIVILEGES:
    case CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES:
        return CUPTI_NO_PERMISSION;
    case CUPTI_HARDWARE_BUSY:
    case CUPTI_INVALID_OPERATION:
    case CUPTI_OLD_PROFILER_IN_USE:
    case CUPTI_MULTIPLE_SUBSCRIBERS:
        return CUPTI_HELD;
    case CUPTI_VIRTUALIZED_DEVICE:
    case CUPTI_CONFIDENTIAL_COMPUTING:
    case CUPTI_MIG_DEVICE:
    case CUPTI_WSL_DEVICE:
        return CUPTI_NOT_HERE;
    case CUPTI_NOT_SUPPORTED:
    case CUPTI_CMP_DEVICE:
    case CUPTI_INVALID_CHIP:
        return has_old_driver ? CUPTI_CUDA_OLD : CUPTI_UNSUPPORTED;
    default:
        return has_old_driver ? CUPTI_CUDA_OLD : CUPTI_FAILED;
    }
}

static double back_off(const struct helper_device *device)
{
    double wait = FIRST_BACK_OFF * device->config->interval;
    for (unsigned i = 1; i < device->failures && wait < LONGEST_BACK_OFF; i++)
        wait *= 2;
    return fmin(wait, LONGEST_BACK_OFF);
}

static bool fail(struct helper_device *device, const char *what, int result,
                 struct cupti_report *report)
{
    helper_device_rest(device);
    device->failures++;
    enum cupti_state state = state_of(result, device->has_old_driver);
    double wait = back_off(device);
    device->due =
        clock_monotonic() + (state == CUPTI_HELD ? fmin(wait, LONGEST_WAIT_FOR_HOLDER) : wait);
    char words[128];
    if (result > 0)
        cupti_describe(device->cupti, result, words, sizeof(words));
    else
        snprintf(words, sizeof(words), "%s", strerror(-result));
    report->state = (uint16_t)state;
    report->result = result;
    snprintf(report->text, sizeof(report->text), "%s: %s", what, words);
    return true;
}

static int count_passes(void *host, const char *const *names, size_t count)
{
    return cupti_count_passes(host, names, count);
}

static int ask_chip(struct helper_device *device)
{
    struct cupti_chip_name ask = {
        .size = CUPTI_SIZE(struct cupti_chip_name, chip),
        .device = (size_t)device->cuda_index,
    };
    int r = device->cupti->chip_name(&ask);
    if (r != CUPTI_OK)
        return r;
    device->host.cupti = device->cupti;
    snprintf(device->host.chip, sizeof(device->host.chip), "%s", ask.chip);
    return CUPTI_OK;
}

static int make_configs(struct helper_device *device)
{
    for (size_t i = 0; i < device->plan.set_count; i++) {
        const struct plan_set *set = &device->plan.set[i];
        int r = cupti_config_build(&device->image[i], &device->host, set->name, set->count);
        if (r < 0)
            return r;
    }
    return 0;
}

static void make_plan(struct helper_device *device)
{
    const struct cupti_helper_device *wanted = device->wanted;
    uint64_t apart = wanted->bursts ? wanted->wanted & PLAN_APART : 0;
    size_t max_sets = apart ? PLAN_MAX_SETS - 1 : PLAN_MAX_SETS;
    plan_make(&device->plan, wanted->wanted & ~apart, max_sets, count_passes, &device->host);
    device->apart_from = device->plan.set_count;
    plan_add_apart(&device->plan, apart, PLAN_MAX_SETS, count_passes, &device->host);
}

/* Returns 0, a positive enum cupti_result or −errno. */
static int prepare(struct helper_device *device)
{
    if (device->cuda_index < 0)
        return -ENODEV;
    int r = ask_chip(device);
    uint8_t *availability = NULL;
    helper_device_close(device);
    if (r == CUPTI_OK)
        r = cupti_availability(device->cupti, (size_t)device->cuda_index, &availability);
    if (r != CUPTI_OK)
        return r;
    device->host.availability = availability;
    make_plan(device);
    if (device->plan.set_count == 0)
        return CUPTI_NOT_SUPPORTED;
    r = make_configs(device);
    device->prepared = r == 0;
    return r;
}

static bool samples_by_sysclk(const char *chip)
{
    return strcmp(chip, "GA100") == 0 || strncmp(chip, "TU", 2) == 0;
}

static struct cupti_sampling sampling_of(const struct helper_device *device)
{
    const struct cupti_helper_config *config = device->config;
    bool bursts = device->wanted->bursts;
    double interval = bursts ? config->burst / SAMPLES_PER_BURST : config->interval;
    double samples = BUFFERED_SECONDS / interval + 2 * SAMPLES_PER_BURST;
    double bytes = samples * RECORD_BYTES_PER_COUNTER * (double)device->plan.set[device->set].count;
    return (struct cupti_sampling){
        .interval = interval,
        .max_samples = (size_t)samples,
        .buffer_size = (size_t)fmin(fmax(bytes, SMALLEST_BUFFER), LARGEST_BUFFER),
        .trigger = samples_by_sysclk(device->host.chip) ? CUPTI_TRIGGER_SYSCLK : CUPTI_TRIGGER_TIME,
        .sysclk = ASSUMED_SYSCLK,
    };
}

/* Seconds that pay for a burst: for its power, and for what the last one took of a core. */
static double price(const struct helper_device *device)
{
    const struct cupti_helper_config *config = device->config;
    double cpu = config->burst_cpu * (device->slow ? CPU_OF_SLOW : 1);
    return fmax(config->burst_period, device->burst_cost / cpu);
}

static void earn_bursts(struct helper_device *device)
{
    double now = clock_monotonic();
    double earned = (now - device->paid_at) / price(device);
    device->bursts_left = fmin(device->bursts_left + earned, MOST_BURSTS_LEFT);
    device->paid_at = now;
}

/* The next of those apart, or of the others. */
static void next_set(struct helper_device *device, bool apart)
{
    size_t first = apart ? device->apart_from : 0;
    size_t last = apart ? device->plan.set_count : device->apart_from;
    device->set = device->set + 1 > first && device->set + 1 < last ? device->set + 1 : first;
}

static void pay(struct helper_device *device)
{
    earn_bursts(device);
    device->bursts_left -= 1;
    device->sessions++;
}

static int start(struct helper_device *device)
{
    if (device->wanted->bursts && device->sessions > 0)
        next_set(device, device->apart);
    const struct plan_set *set = &device->plan.set[device->set];
    struct cupti_sampling sampling = sampling_of(device);
    int r = cupti_session_open(&device->session, device->cupti, (size_t)device->cuda_index);
    if (r == CUPTI_OK)
        r = cupti_session_configure(&device->session, &device->image[device->set], set->name,
                                    set->count, &sampling);
    if (r == CUPTI_OK)
        r = cupti_session_start(&device->session);
    device->set_before = device->set_since;
    device->set_since = clock_monotonic();
    device->sampling = r == CUPTI_OK;
    if (device->sampling)
        pay(device);
    return r;
}

/* A ratio may pass 1 by the sampling's own error; more than that was not measured. */
static bool plausible(enum metric metric, double *value)
{
    if (!isfinite(*value) || *value < 0)
        return false;
    if (metric_info(metric)->unit != UNIT_RATIO)
        return *value < 1e15;
    if (*value > 1.1)
        return false;
    *value = fmin(*value, 1);
    return true;
}

/* Part of the time that this set sees. */
static double share(const struct helper_device *device)
{
    if (!device->wanted->bursts)
        return 1 / (double)device->plan.set_count;
    double apart = device->set_since - device->set_before;
    return device->config->burst / fmax(price(device), device->set_before > 0 ? apart : 0);
}

static void fill_values(const struct helper_device *device, const struct cupti_values *values,
                        struct cupti_report *report)
{
    const struct plan_set *set = &device->plan.set[device->set];
    report->state = CUPTI_SAMPLING;
    report->begin = device->set_since;
    report->share = (float)share(device);
    for (size_t i = 0; i < set->count && values->samples > 0; i++) {
        const struct cupti_counter *counter = set->counter[i];
        if (!counter)
            continue;
        double value = values->value[i] * counter->scale;
        bool nothing_ran = counter->divisor && values->value[i + 1] == 0;
        if (counter->divisor)
            value = nothing_ran ? NAN : value / values->value[i + 1];
        if (!nothing_ran && !plausible(counter->metric, &value))
            continue;
        report->value[counter->metric] = value;
        report->metrics |= METRIC_BIT(counter->metric);
    }
}

static bool collect(struct helper_device *device, struct cupti_report *report)
{
    struct cupti_values values;
    int r = cupti_session_collect(&device->session, &values);
    if (r != CUPTI_OK)
        return fail(device, "decoding", r, report);
    device->failures = 0;
    device->overflows += values.overflow;
    report->overflows = device->overflows;
    fill_values(device, &values, report);

    double now = clock_monotonic();
    bool turn_is_over = device->plan.set_count > 1 && now - device->set_since >= TURN;
    if (device->wanted->bursts || values.overflow || turn_is_over)
        helper_device_rest(device);
    if (turn_is_over && !device->wanted->bursts)
        next_set(device, false);
    if (device->wanted->bursts)
        device->due = report->metrics ? INFINITY : now + price(device);
    else
        device->due = device->sampling ? fmax(device->due + device->config->interval, now) : now;
    return report->metrics != 0 || values.overflow;
}

static bool begin(struct helper_device *device, struct cupti_report *report)
{
    int r = start(device);
    if (r != CUPTI_OK)
        return fail(device, "starting", r, report);
    device->due = device->set_since +
                  (device->wanted->bursts ? device->config->burst : device->config->interval);
    return false;
}

/* What the calls of a session take, without those that are made once. */
static bool step_session(struct helper_device *device, struct cupti_report *report)
{
    double before = clock_cpu();
    if (!device->sampling)
        device->session_cpu = 0;
    bool news = device->sampling ? collect(device, report) : begin(device, report);
    device->session_cpu += clock_cpu() - before;
    if (device->wanted->bursts && !device->sampling)
        device->burst_cost = device->session_cpu;
    return news;
}

bool helper_device_step(struct helper_device *device, struct cupti_report *report)
{
    *report =
        (struct cupti_report){.device = (uint16_t)device->number, .overflows = device->overflows};
    double before = clock_cpu();
    int r = device->prepared ? 0 : prepare(device);
    bool news = r == 0 ? step_session(device, report) : fail(device, "preparing", r, report);
    device->cpu += clock_cpu() - before;
    report->time = clock_monotonic();
    report->sessions = device->sessions;
    report->cpu = device->cpu;
    report->planned = device->plan.planned;
    return news;
}

void helper_device_hasten(struct helper_device *device, const struct cupti_wish *wish)
{
    if (!device->wanted->bursts || device->sampling || device->failures > 0 ||
        wish->sessions != (uint8_t)device->sessions)
        return;
    device->slow = wish->slow;
    earn_bursts(device);
    double missing = fmax(1 - device->bursts_left, 0) * price(device);
    if (missing > WISH_SECONDS)
        return;
    device->apart = wish->apart && device->apart_from < device->plan.set_count;
    device->due = fmin(device->due, device->paid_at + missing);
}

void helper_device_rest(struct helper_device *device)
{
    cupti_session_close(&device->session);
    device->sampling = false;
}

void helper_device_close(struct helper_device *device)
{
    helper_device_rest(device);
    for (size_t i = 0; i < PLAN_MAX_SETS; i++)
        cupti_config_free(&device->image[i], device->cupti);
    free((void *)device->host.availability);
    device->host.availability = NULL;
    device->prepared = false;
}
