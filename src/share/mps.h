/* One nvidia-cuda-mps-control daemon for each shared GPU, with a pipe and a log folder of its own
 * below the run folder: a fault then ends on its GPU, and the ordinals of devices mean nothing.
 * The daemon is told by running the same program with a line on its standard input (protocol v2).
 * docs/SHARING.md holds what it answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "counter/counter.h"

enum { MPS_SERVERS = 8, MPS_CLIENTS = 256, MPS_PARTITION_SIZE = 160 };

struct mps {
    char uuid[DEVICE_TEXT_SIZE];
    char folder[192]; /* RUN/mps/UUID */
    char pipe[200];
    char log[200];
    char program[256];
    bool multi_user; /* to be set before mps_start(): one server for all users, which takes root */
    bool want_partitions; /* to be set likewise: static ones, where its version has them */
    bool has_partitions;  /* set by mps_start(): each client must name its partition */
    double patience;      /* seconds, for an answer */
    int lock_fd;
};

enum mps_state {
    MPS_ABSENT,
    MPS_STALE,  /* the folder of a daemon that has ended without cleaning up */
    MPS_SILENT, /* a daemon that does not answer */
    MPS_READY,
};

struct mps_server {
    pid_t pid;
    bool faulted; /* a client's fault has taken it down, and newcomers must wait; or it has died */
    char status[32];
};

struct mps_client {
    pid_t pid;
    pid_t server;
};

/* What a daemon says of itself. */
struct mps_view {
    enum mps_state state;
    pid_t daemon;
    size_t server_count;
    struct mps_server servers[MPS_SERVERS];
    size_t client_count;
    struct mps_client clients[MPS_CLIENTS];
};

struct mps_limits {
    double sm_percent;     /* above 0, up to 100 */
    uint64_t memory_bytes; /* of each process; 0: none */
    /* As CUDA_MPS_SM_PARTITION names it: these SMs are the client's alone, and the percentage does
     * not count. "": none. */
    char partition[MPS_PARTITION_SIZE];
};

/* The program of MPS here. */
struct mps_program {
    char path[256];
    int version;            /* 13000 of CUDA 13.0; 0: it does not say */
    bool static_partitions; /* that version has them */
    bool shared_memory;     /* /dev/shm can be written, which MPS needs */
};

/* False where there is none. Runs it for its version. */
bool mps_find_program(struct mps_program *ret);

/* Names the folders and finds the program; starts nothing.
 * Returns 0, or −errno with `failure` filled: -ENOENT: there is no nvidia-cuda-mps-control;
 * -ENAMETOOLONG: its sockets would not fit below `run`; -EACCES: a folder above is closed. */
MUST_CHECK int mps_open(struct mps *ret, const char *run, const char *uuid,
                        struct counter_failure *failure);
void mps_close(struct mps *mps);

/* Held while the daemon is started, told limits or stopped. mps_close() releases it.
 * Returns 0, or -EBUSY after a few seconds. */
MUST_CHECK int mps_lock(struct mps *mps);
void mps_unlock(struct mps *mps);

/* Sends a line and adds the answer. Returns 0; -ECONNREFUSED: there is no daemon; -ETIMEDOUT;
 * other −errno. */
MUST_CHECK int mps_ask(const struct mps *mps, const char *command, struct strbuf *answer);

/* The daemon of the pid file, where it is one; 0 otherwise. */
pid_t mps_daemon_pid(const struct mps *mps);
/* It is the daemon of a GPU, of those below the run folder. */
bool mps_is_daemon(const char *run, pid_t pid);
void mps_look(const struct mps *mps, struct mps_view *ret);
bool mps_has_client(const struct mps_view *view, pid_t pid);
bool mps_has_fault(const struct mps_view *view);

/* Under the lock. Starts the daemon where none answers; one that is silent or serves other users
 * than it should is ended first, and what a dead one left is cleared. Returns 0 or −errno with
 * `failure` filled. */
MUST_CHECK int mps_start(struct mps *mps, struct counter_failure *failure);

/* Under the lock. Bounds what later clients can have, whatever their environment says: for the
 * daemon's later servers and for those that run. Each limit counts only when it was read back.
 * Returns 0, or −errno with `failure` filled. */
MUST_CHECK int mps_limit(const struct mps *mps, const struct mps_limits *limits,
                         struct counter_failure *failure);

/* Under the lock, where there are partitions. Makes one of so much of the GPU, in whole chunks and
 * rounded down, but one at least; fills `limits->partition`. It counts only when it was read back.
 * Returns 0, or −errno with `failure` filled: -EBUSY: too few chunks are left. */
MUST_CHECK int mps_take_partition(const struct mps *mps, uint64_t lease, struct mps_limits *limits,
                                  struct counter_failure *failure);
/* Under the lock. Removes the partitions whose lease is not among these. */
void mps_sweep_partitions(const struct mps *mps, const uint64_t *leases, size_t lease_count);

/* Asks the server to drop the client, which has left when its process has ended: a busy client that
 * is killed before can take down those beside it. A client that is stopped does not answer.
 * Returns 0; -ESRCH: it is none; -ETIMEDOUT; other −errno. */
int mps_terminate(const struct mps *mps, const struct mps_client *client);

/* Under the lock. Drops the clients, tells the daemon to quit, waits, and kills what is left.
 * Returns 0, or −errno where something still lives. */
int mps_stop(struct mps *mps);

/* How long the server's log is, to be given as `from` later. */
long mps_log_length(const struct mps *mps);

/* Processes, those that were asked about and all others. */
struct mps_tally {
    unsigned own, others;
};

/* What the server's log says. */
struct mps_story {
    struct mps_tally connected; /* as clients */
    /* By one fault: the first that took own ones, else the last. The log names all that a fault
     * took down, and does not say whose the fault was. */
    struct mps_tally torn_down;
    /* Another's process had left in the second before that fault: where a kernel of it still ran,
     * that is what caused it. */
    bool another_had_left;
};

/* From what was its length once. */
void mps_read_log(const struct mps *mps, long from, const pid_t *own, size_t count,
                  struct mps_story *ret);
