/* The text that the sim source plays, read into a list of changes. The format: docs/SIM.md. */
#pragma once

#include "counter/counter.h"

enum sim_change_kind {
    SIM_VALUE,
    SIM_ABSENT,
    SIM_STATE,
    SIM_PROCESS, /* comes, or changes */
    SIM_PROCESS_GONE,
    SIM_PROCESSES_NONE,
    SIM_PROCESSES_UNKNOWN,
};

/* One thing that changes for one device at one moment. */
struct sim_change {
    double time;  /* seconds from the beginning */
    double until; /* when a ramp arrives: the next moment, or the end */
    size_t device;
    enum sim_change_kind kind;
    union {
        struct {
            enum metric metric;
            enum absence absence;
            double from;
            double to;
        } value;
        enum reading_state state;
        struct process process;
    };
};

struct sim_person {
    pid_t pid;
    struct process_description description;
};

struct sim_script {
    struct device *devices;
    size_t device_count;
    struct sim_change *changes; /* in order of time */
    size_t change_count;
    struct mark *marks;
    size_t mark_count;
    struct sim_person *people; /* who the processes are */
    size_t person_count;

    double begin; /* seconds since 1970 */
    double end;   /* seconds from the beginning */
    double every; /* seconds between samples, as the author wants it */
    char driver_version[96];
    char cuda_version[16];
};

/* Reads a script. `name` is what messages call it: "NAME:LINE: …".
 * Returns 0, -EINVAL with `failure` filled, or -ENOMEM. */
MUST_CHECK int sim_script_parse(struct sim_script *ret, const char *text, size_t length,
                                const char *name, struct counter_failure *failure);
void sim_script_free(struct sim_script *script);
