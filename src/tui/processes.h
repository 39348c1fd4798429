/* The table of processes: one row for each device that a process holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "metric/process.h"
#include "tui/model.h"
#include "tui/prefs.h"

enum process_row_kind {
    ROW_PROCESS,
    ROW_HELD,    /* memory in use that no visible process holds */
    ROW_UNKNOWN, /* the device's processes cannot be listed */
};

struct process_row {
    enum process_row_kind kind;
    size_t device; /* of the model */
    pid_t pid;
    pid_t parent; /* 0 where not known */
    unsigned kinds;
    bool outside;
    bool memory_known;
    double memory_bytes;
    bool sm_known;
    double sm_ratio;
    double start_time; /* 0 where not known */
    char user[32];
    char container[64];
    char command[256];
    int depth; /* in the tree */
    bool last; /* of its parent's children */
};

struct process_query {
    enum process_column sort;
    bool descending;
    bool tree;
    const char *filter; /* "" for all */
    size_t only_device; /* SIZE_MAX for all */
};

/* Looks a process up; never NULL. */
struct process_lookup {
    const struct process_description *(*describe)(void *context, pid_t pid);
    void *context;
};

struct process_table {
    size_t count;
    size_t room;
    struct process_row *rows;
};

void process_table_free(struct process_table *table);
/* Fills the table anew from the last readings. Returns 0 or -ENOMEM (the table is then empty). */
MUST_CHECK int process_table_fill(struct process_table *table, const struct model *model,
                                  const struct process_query *query,
                                  const struct process_lookup *lookup);
