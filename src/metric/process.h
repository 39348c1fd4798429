/* Processes that hold a device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum process_kind {
    PROCESS_COMPUTE = 1 << 0,
    PROCESS_GRAPHICS = 1 << 1,
    PROCESS_MPS_CLIENT = 1 << 2,
    PROCESS_MPS_SERVER = 1 << 3,
};
enum { PROCESS_KIND_COUNT = 4 };

/* "compute" and so on; `bit` is below PROCESS_KIND_COUNT. */
const char *process_kind_word(unsigned bit);

/* What a driver says of a process, sampled. */
struct process {
    pid_t pid;
    unsigned kinds;    /* of enum process_kind */
    bool memory_known; /* some drivers and MIG do not tell */
    uint64_t memory_bytes;
    bool sm_known;   /* few drivers tell, and none under MPS */
    double sm_ratio; /* of the device's SMs and time, 0 to 1 */
};

enum { PROCESS_LIST_CAPACITY = 256 };

/* Fixed in size, so that sampling does not allocate. */
struct process_list {
    bool known;     /* false: the processes could not be listed */
    bool truncated; /* there were more than fit */
    size_t count;
    struct process process[PROCESS_LIST_CAPACITY];
};

/* Copies only the places in use. */
static inline void process_list_copy(struct process_list *to, const struct process_list *from)
{
    to->known = from->known;
    to->truncated = from->truncated;
    to->count = from->count;
    memcpy(to->process, from->process, from->count * sizeof(from->process[0]));
}

/* What the host says of a process, looked up once. */
struct process_description {
    double start_time; /* seconds since 1970, 0 where not known */
    pid_t parent;      /* 0 where not known */
    bool outside;      /* its PID is of another namespace: nothing can be told about it */
    bool ending;       /* its memory is gone already; the driver may list it for a while longer */
    char user[64];
    char command[512];  /* with its arguments, valid UTF-8 */
    char container[96]; /* container id or name, or "" */
    char cgroup[256];
};
