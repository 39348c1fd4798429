/* The ways in which the same jobs are run, to be compared. */
#pragma once

#include <stdbool.h>

enum bench_mode {
#define BENCH_MODE(id, name, title, simpler, help) MODE_##id,
#include "bench/mode.def"
#undef BENCH_MODE
    MODE_COUNT
};

struct bench_mode_info {
    const char *name;    /* in JOBS.ini and for machines */
    const char *title;   /* for people */
    const char *simpler; /* why it is chosen where those after it do as well */
    const char *help;
};

const struct bench_mode_info *bench_mode_info(enum bench_mode mode);
/* The mode of that name, or MODE_COUNT. */
enum bench_mode bench_mode_by_name(const char *name);

/* Its jobs are clients of an MPS server. */
static inline bool bench_mode_is_mps(enum bench_mode mode)
{
    return mode == MODE_MPS || mode == MODE_MPS_EQUAL || mode == MODE_MPS_LIMITS;
}
