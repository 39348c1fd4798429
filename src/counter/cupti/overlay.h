/* Adds to the samples of another live source what only CUPTI's counters tell. It owns the helper
 * process: starts it when the first device is read, restarts it when it fails, and never waits for
 * it on a sampling thread. */
#pragma once

#include "counter/counter.h"
#include "counter/cupti/report.h"
#include "metric/device.h"
#include "metric/sample.h"

struct overlay_config {
    enum clock_mode mode;
    const char *program; /* the helper, NULL for the usual one */
    double interval;     /* seconds between values that are sampled all the time */
    double burst;        /* seconds */
    double burst_period; /* from one to the next on average, at least */
    double burst_cpu;    /* part of a core that bursts of a device take at most, on average */
    double patience;     /* seconds after which a call into the driver hangs */
    double delay; /* seconds from the first read to the helper's start: CUPTI's start holds up
                     NVML's calls, and the first frame shall not wait for that */
};

/* What is used where nothing else is asked for. */
extern const struct overlay_config overlay_defaults;

struct overlay;

/* `devices` must outlive the overlay. Returns 0 or −errno. */
MUST_CHECK int overlay_open(struct overlay **ret, const struct device *devices, size_t count,
                            const struct overlay_config *config);
/* Ends the helper; waits half a second for it at most. */
void overlay_close(struct overlay *overlay);

/* Fills what CUPTI measures and the sample lacks. Called from the device's own thread. */
void overlay_read(struct overlay *overlay, size_t device, struct sample *sample);

/* How it goes with a device. */
struct overlay_status {
    enum cupti_state state;
    uint32_t
        overflows;  /* of the hardware's record buffer: samples were lost, and sampling restarted */
    char text[192]; /* words about a failure, or "" */
};

void overlay_status(struct overlay *overlay, size_t device, struct overlay_status *ret);
