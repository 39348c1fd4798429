/* The fake nvidia-cuda-mps-control from inside: what its files share. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

enum { CLIENTS = 64, LINE = 512, PARTITIONS = 16 };
/* Of an H200, in chunks as partitions have them: four SMs are in none. */
enum { SMS = 132, CHUNKS = 16, CHUNK_SMS = 8 };
/* The binary versions that know more than protocol 2; 13000 is what was seen. */
enum { VERSION_SEEN = 13000, VERSION_PARTITIONS = 13010, VERSION_PROTOCOL_3 = 13030 };

struct connection {
    int fd;    /* 0: the place is free */
    pid_t pid; /* of a client; 0 for whoever sends commands */
    unsigned uid;
    double sm;
    unsigned long long memory;
    char partition[160]; /* "-": none */
    bool waiting;        /* for the other user's clients to leave */
};

struct partition {
    char id[48]; /* "": the place is free */
    unsigned chunks;
};

struct daemon {
    struct connection connections[CLIENTS];
    struct partition partitions[PARTITIONS];
    unsigned partition_count; /* that were ever made */
    pid_t server;
    unsigned server_uid;
    int protocol;
    bool static_partitions;
    bool multi_user;
    bool faulted;
    bool mute;
    double sm, server_sm;
    unsigned long long memory, server_memory; /* of device 0; 0: none */
};

enum action {
    ACTION_NONE,
    ACTION_SAY,
    ACTION_HANG,
    ACTION_DIE,
    ACTION_DYING,
    ACTION_MUTE,
    ACTION_VANISH,
    ACTION_LAST,
    ACTION_CONTAIN,
};

/* mps_control.c */
enum action scripted(const char *command, char *ret_text, size_t size);
void pipe_path(char *ret, size_t size, const char *name);
int connect_to_daemon(void);
/* $FAKE_MPS_VERSION, or what was seen. */
int binary_version(void);
/* $CUDA_VISIBLE_DEVICES: the daemon's one GPU. */
const char *device_uuid(void);

/* mps_serve.c: serves until it is told to quit. */
void serve(struct daemon *daemon, int listener);
bool has_clients(const struct daemon *daemon);
void drop(struct daemon *daemon, struct connection *connection);

/* mps_obey.c: answers on the descriptor. */
void obey(struct daemon *daemon, const char *command, int fd);
/* The client's partition; NULL where there is none of that name. */
struct partition *find_partition(struct daemon *daemon, const char *name);
