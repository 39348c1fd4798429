/* The nvml source over the fake library, with time in the test's hands. */
#pragma once

#include "counter/nvml.h"

struct stage {
    bool fake_is_plain; /* set before opening: the fake goes by real time, logs and allocates
                           nothing */
    struct counter_failure failure;
    struct counter *counter;
    struct sample sample;
    struct process_list processes;
    char folder[64];
};

/* Opens the source over a script. `library` is the fake's variant, such as "fake_nvml_470", or a
 * path. Time stands at 0. Returns what the source's open() does. */
int stage_open(struct stage *stage, const char *library, const char *script);
/* The same; the test fails where it does not open. */
void stage_open_or_fail(struct stage *stage, const char *library, const char *script);
void stage_close(struct stage *stage);

/* What the script's moment is, and the source's clock. */
void stage_set_time(struct stage *stage, double seconds);
/* Reads a device into the stage's sample. */
int stage_read(struct stage *stage, size_t device);
/* Reads it at that moment, which must work. */
void stage_read_at(struct stage *stage, double seconds, size_t device);
void stage_expect(const struct stage *stage, enum metric metric, double value);
void stage_expect_missing(const struct stage *stage, enum metric metric, enum absence reason);
/* Puts a file below the stage's folder, which is the source's root: "/proc/12/comm". */
void stage_put_file(struct stage *stage, const char *path, const char *text);
void stage_add_to_file(struct stage *stage, const char *path, const char *text);
/* How often the library was called so; `call` as in the fake's log. */
unsigned stage_count_calls(struct stage *stage, const char *call);

struct nvml *stage_nvml(struct stage *stage);
