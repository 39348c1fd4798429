/* Part of mps*.c. */
#pragma once

#include "share/mps.h"

/* The protocol that all versions speak: a later one is chosen by this variable or an option. */
#define MPS_PROTOCOL "CUDA_MPS_PROTOCOL_VERSION=2"

/* In $ROOFTOP_MPS_CONTROL, or on the PATH. */
bool mps_find_path(char *ret, size_t size);
/* This user, or where `others` is set each other one, can come to the pipe folder. Returns 0, or
 * −errno with `failure` filled. */
MUST_CHECK int mps_check_way(const struct mps *mps, bool others, struct counter_failure *failure);
/* mps_daemon.c: MPS keeps what servers and clients share in /dev/shm: a container may lack it. */
bool mps_has_shared_memory(void);
/* mps_partition.c: the running daemon has static partitions. */
bool mps_has_partitions(const struct mps *mps);
/* Those of a daemon that has ended. */
void mps_forget_partitions(const struct mps *mps);

/* The first number of the text at or behind `*text`, which is moved behind it; false where none is.
 */
bool mps_next_number(const char **text, uint64_t *ret);
/* The next line of the text that is one number and nothing else: "Server 1 not found" lists nobody.
 */
bool mps_next_pid(const char **text, pid_t *ret);
/* "2G", "2500M", "2147483648", "0=2G": the first size of an answer. False where there is none. */
bool mps_find_size(const char *answer, uint64_t *ret);
