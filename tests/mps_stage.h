/* A folder with an MPS daemon of one GPU for unit tests: the fakes of $FAKE_ROOT. */
#pragma once

#include "share/mps.h"

#define STAGE_UUID "GPU-00000000-0000-4000-8000-000000000001"

struct mps_stage {
    char folder[64];
    char run[80];
    struct mps mps; /* open, and locked */
    struct counter_failure failure;
};

/* For cmocka: `*state` is the stage. */
int mps_stage_set_up(void **state);
int mps_stage_tear_down(void **state);

#define MPS_TEST(function)                                                                         \
    cmocka_unit_test_setup_teardown(function, mps_stage_set_up, mps_stage_tear_down)

/* Writes a file of the folder. */
void mps_stage_put(const struct mps_stage *stage, const char *name, const char *text);
/* Until a file of the folder is there. */
void mps_stage_await(const struct mps_stage *stage, const char *name);
/* What the fake daemon does wrong from now on. */
void mps_stage_script(const struct mps_stage *stage, const char *text);
void mps_stage_start(struct mps_stage *stage);

/* A program under the daemon; `words` are those of tests/fake/cuda_job.c. */
pid_t mps_stage_client(const struct mps_stage *stage, const char *words);
/* Its exit code, or 128 and its signal. */
int mps_stage_end_of(pid_t pid);
void mps_stage_await_client(struct mps_stage *stage, pid_t pid, struct mps_view *view);
void mps_stage_await_daemon_end(struct mps_stage *stage);

/* It has ended; whoever has to reap it may be slow. */
void mps_stage_assert_gone(pid_t pid);
