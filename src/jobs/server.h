/* Inference servers that hold a GPU: who they are, and what they say of themselves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

enum server_engine {
    SERVER_VLLM,
    SERVER_SGLANG,
    SERVER_TGI,
    SERVER_LLAMA_CPP,
    SERVER_OLLAMA,
    SERVER_ENGINE_COUNT
};
const char *server_engine_name(enum server_engine engine);

enum { SERVER_NAME_SIZE = 256 };

struct server {
    enum server_engine engine;
    pid_t pid; /* the first of its processes: the one that a person started */
    unsigned port;
    bool reachable;    /* it listens on that port, where loopback leads */
    bool ipv6;         /* over ::1 */
    char silence[160]; /* why it cannot be asked, or "" */
    /* From its arguments; "" and 0 where they do not tell. */
    char model[SERVER_NAME_SIZE];
    double kv_bits;     /* of an element of the KV cache */
    double weight_bits; /* of weights that it makes smaller while it loads them, */
    bool fp8_products;  /* and whether it multiplies them in FP8 then */
    double copies;      /* of the model, each whole and on GPUs of its own; at least 1 */
};

/* Adds to `servers` those that one of the processes belongs to, each once. Reads /proc below `root`
 * ("" for the real one): command lines, and for the owner or root the sockets. Returns how many
 * there are then; `belongs[i]` gets the place of the server of pids[i], or −1. */
size_t servers_find(const char *root, const pid_t *pids, size_t count, struct server *servers,
                    size_t capacity, int *belongs);

/* What a server said. What it did not say is NAN or "". */
struct server_state {
    char model[SERVER_NAME_SIZE];  /* its name */
    char folder[SERVER_NAME_SIZE]; /* where its files may be: a path, or a name of Hugging Face's
                                      hub */
    double running, waiting;       /* requests */
    double context;                /* mean tokens of a running request */
    double prompt;                 /* mean tokens of the prompts since it started */
    double prompt_tokens, generated_tokens; /* since it started, those of running requests too */
    double tokens_per_second;               /* generated, where the server itself tells a rate */
    double parameters, weight_bytes;        /* of the model, where the server knows them */
    double bits;                            /* of a weight, where the server tells */
};

void server_state_reset(struct server_state *state);

/* The requests that an engine answers: {path, what it is}. Pure functions over any text. */
enum server_answer { ANSWER_MODELS, ANSWER_METRICS, ANSWER_INFO, ANSWER_REQUESTS };
struct server_question {
    const char *path;
    enum server_answer answer;
};
/* The questions for an engine, the last with a NULL path. */
const struct server_question *server_questions(enum server_engine engine);
/* Takes from an answer what it tells. False where it tells nothing. */
bool server_take(enum server_engine engine, enum server_answer answer, const char *text,
                 size_t length, struct server_state *state);

/* Asks the server all of its questions, over loopback only, within `patience` seconds altogether.
 * Returns 0, or −errno with `why` filled where it answered none. */
MUST_CHECK int server_ask(const struct server *server, double patience, struct server_state *state,
                          char *why, size_t why_size);

/* The file that has the shape of the model `name`, as the process `pid` sees the disk: its GGUF
 * file, or the config.json of a folder or of a name of Hugging Face's hub in its cache. Returns 0
 * or −errno; it may not be there all the same. */
MUST_CHECK int server_find_shape(const char *root, pid_t pid, const char *name, char *ret,
                                 size_t size);
