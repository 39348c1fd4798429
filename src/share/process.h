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

/* A process of that process group lives, which is not older than its leader was. */
bool process_group_lives(struct process_id leader);

enum { PROCESS_TREE_SIZE = 1024 };

/* All descendants of a process that live. */
struct process_tree {
    size_t count;
    pid_t pids[PROCESS_TREE_SIZE];
};

/* Fills the tree with the living descendants of `root`, or with none where /proc cannot be read.
 * Left out with all below them: those that are called like MPS, daemon and servers, and the reader
 * of counters that this program starts for itself. */
void process_read_tree(pid_t root, struct process_tree *ret);
bool process_tree_has(const struct process_tree *tree, pid_t pid);

/* `pid` is `ancestor` or descends from it. */
bool process_descends(pid_t pid, pid_t ancestor);
