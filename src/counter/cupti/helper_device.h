/* One GPU in the helper process: its plan, its session, and when it is due. Part of the helper. */
#pragma once

#include "counter/cupti/helper.h"
#include "counter/cupti/session.h"

struct helper_device {
    const struct cupti *cupti;
    const struct cupti_helper_config *config;
    const struct cupti_helper_device *wanted;
    size_t number; /* in the order of the arguments */
    int cuda_index;
    bool has_old_driver; /* older than CUPTI: a failure may come from that */

    struct cupti_host host;
    struct plan plan;
    struct cupti_config image[PLAN_MAX_SETS];
    bool prepared;

    struct cupti_session session;
    bool sampling;
    size_t apart_from; /* sets before this one are of the clock and what is beside it */
    size_t set;        /* that is sampled, or comes next */
    bool apart;        /* that is what the next burst shall count */
    double set_since;
    double set_before; /* the same of the session before; 0: there was none */

    double due; /* on the monotonic clock; infinite: when it is wished */
    unsigned failures;
    uint32_t overflows;
    uint32_t sessions;
    double cpu;         /* that all calls have taken, in seconds, */
    double session_cpu; /* and those of this session, */
    double burst_cost;  /* or of the last burst */
    double bursts_left; /* that are paid for, */
    double paid_at;     /* up to this time, */
    bool slow;          /* and at the price of one that is looked at rarely */
};

/* Does what is due now and says what came out of it in `report`, whose state tells how it went.
 * False where there is nothing to report. */
bool helper_device_step(struct helper_device *device, struct cupti_report *report);
/* A burst is wished: now, or if it is paid for soon. */
void helper_device_hasten(struct helper_device *device, const struct cupti_wish *wish);
/* Frees the counters; the device goes on when it is due. */
void helper_device_rest(struct helper_device *device);
void helper_device_close(struct helper_device *device);
