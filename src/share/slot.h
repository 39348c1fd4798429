/* Who holds how much of which GPU: the leases of this host, in one small file of the run folder.
 * A lease lives as long as the process that took it or any process of its job. Every change is made
 * under a lock and put in place by one rename(): whoever is killed at any moment leaves the table
 * as it was before or after. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/counter.h"
#include "share/process.h"

enum slot_mode { SLOT_EXCLUSIVE, SLOT_SHARED };

enum { SLOT_NAME_SIZE = 64, SLOT_GPUS = 64, SLOT_LEASES = 1024 };

struct slot_lease {
    uint64_t id; /* of the job: the same on each of its GPUs */
    char uuid[DEVICE_TEXT_SIZE];
    enum slot_mode mode;
    bool multi_user; /* shared only: its MPS server is for all users */
    double sm_percent;
    uint64_t memory_bytes;
    struct process_id holder;
    struct process_id job; /* PID 0: it has not begun */
    uid_t user;
    double since; /* seconds since 1970 */
    char name[SLOT_NAME_SIZE];
};

/* A GPU as it can be given. */
struct slot_gpu {
    char uuid[DEVICE_TEXT_SIZE];
    uint64_t memory_bytes; /* that all leases together may have */
    char occupant[128];    /* a program that uses it without a lease, or "" */
    enum compute_mode compute_mode;
    bool silent; /* the driver does not answer for it */
};

struct slot_request {
    enum slot_mode mode;
    unsigned gpu_count;
    double sm_percent;     /* shared only */
    uint64_t memory_bytes; /* shared only */
    bool beside;           /* programs without a lease do not matter */
    bool multi_user;       /* shared only */
    const char *name;
};

struct slot_grant {
    uint64_t id;
    size_t count;
    size_t gpus[SLOT_GPUS]; /* places in the list that was asked for */
};

struct slot_table;

/* Returns 0, or −errno with `failure` filled. */
MUST_CHECK int slot_open(struct slot_table **ret, const char *run, struct counter_failure *failure);
void slot_close(struct slot_table *table);

/* Takes a lease for this process, on GPUs of the list: a shared one goes where least is left
 * beside it, an exclusive one to a GPU that nobody uses.
 * Returns 0; -EBUSY: there is no room now; -E2BIG: there never is; -EBADMSG: the table cannot be
 * read or written; `failure` says why. */
MUST_CHECK int slot_take(struct slot_table *table, const struct slot_request *request,
                         const struct slot_gpu *gpus, size_t gpu_count, struct slot_grant *ret,
                         struct counter_failure *failure);

/* The job's first process, which leads its process group: the lease lives on with that group. */
MUST_CHECK int slot_begin(struct slot_table *table, uint64_t id, pid_t job);
int slot_release(struct slot_table *table, uint64_t id);

/* The leases that live; the array is the caller's to free(). Returns 0 or −errno. */
MUST_CHECK int slot_list(struct slot_table *table, struct slot_lease **ret, size_t *ret_count);

/* The same; −errno with `failure` filled. */
MUST_CHECK int slot_read(struct slot_table *table, struct slot_lease **ret, size_t *ret_count,
                         struct counter_failure *failure);

/* The process belongs to the lease: to its job, or to whoever took it. */
bool slot_covers(const struct slot_lease *lease, pid_t pid);
/* It belongs to one of those of the GPU. */
bool slot_has(const struct slot_lease *leases, size_t count, const char *uuid, pid_t pid);

/* What the leases of a GPU hold together. */
struct slot_use {
    unsigned exclusive;
    unsigned shared;
    double sm_percent;
    uint64_t memory_bytes;
    double largest_sm_percent;
    uint64_t largest_memory_bytes;
};

struct slot_use slot_use(const struct slot_lease *leases, size_t count, const char *uuid);
