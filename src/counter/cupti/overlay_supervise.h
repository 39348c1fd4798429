/* The overlay's inside: what its two parts share. overlay.c decides what is wanted and fills
 * samples, on the devices' threads; overlay_supervise.c looks after the helper process, on its own.
 */
#pragma once

#include <pthread.h>

#include "counter/cupti/child.h"
#include "counter/cupti/overlay.h"
#include "counter/cupti/work.h"

struct overlay_device {
    const char *uuid;
    uint64_t wanted;     /* 0: nothing can be added, */
    enum absence reason; /* because of that */
    bool beside_gpm;
    bool bursts;
    uint64_t dear; /* what bursts would add to what is wanted */

    /* Under the lock. */
    bool asked; /* somebody reads it */
    bool hasten;
    bool hasten_apart;
    bool hasten_slow; /* the asker looks rarely */
    enum cupti_state state;
    char text[sizeof(((struct cupti_report *)0)->text)];
    uint32_t overflows;
    uint32_t overflows_before;          /* in helpers that have ended */
    uint32_t sessions, sessions_before; /* the same of bursts, */
    double cpu, cpu_before;             /* and of seconds that they took of a core */
    double share;
    uint64_t planned;
    struct work_values values;
    struct work_burst last; /* of `values` */
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
};

/* Seconds for which a device is left out that hangs and has hung so often before. */
double overlay_hang_penalty(unsigned hangs);

/* The overlay's thread: starts the helper, follows it, and starts it again, until it is to stop. */
void *overlay_supervise(void *overlay);
