/* Processes by what the kernel says: whether one lives still, and who descends from whom. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

/* Tells a process from a later one with its PID. */
struct process_id {
    pid_t pid;
    unsigned long long start; /* ticks since boot */
};

/* Of a living process; the start is 0 where there is none. */
struct process_id process_identify(pid_t pid);

/* It has not ended: a zombie has. */
bool process_lives(struct process_id id);

/* It has ended or is about to: its memory is gone. The kernel takes that first and then closes its
 * files, so that others see its sockets end before its end can be waited for. */
bool process_is_ending(pid_t pid);

/* A process of that process group lives, which is not older than its leader was. */
bool process_group_lives(struct process_id leader);

/* All descendants of a process that live, in the order of their PIDs. Begins as {0}. */
struct process_tree {
    size_t count, room;
    pid_t *pids;
};

/* Fills the tree with the living descendants of `root`; where /proc cannot be read it stays as it
 * is. Left out with all below them: the MPS daemons of the run folder `run`, and the reader of
 * counters that this program starts for itself. A name alone is no reason, as any process can have
 * it. */
void process_read_tree(pid_t root, const char *run, struct process_tree *ret);
bool process_tree_has(const struct process_tree *tree, pid_t pid);
/* Returns 0 or -ENOMEM. */
int process_tree_add(struct process_tree *tree, pid_t pid);
void process_tree_free(struct process_tree *tree);

/* `pid` is `ancestor` or descends from it. */
bool process_descends(pid_t pid, pid_t ancestor);
