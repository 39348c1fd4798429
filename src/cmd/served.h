/* What `rooftop served` found of each server, as text or JSON. */
#pragma once

#include "base/strbuf.h"
#include "jobs/server.h"
#include "sol/served.h"

enum { SERVED_GPUS = 64 };

struct served_case {
    const struct server *server; /* NULL where only a config.json was given */
    struct server_state state;
    double asked_at;   /* monotonic: when it had answered */
    char silence[192]; /* why its counters are not known, or "" */

    bool has_model;
    struct served_model model;
    bool shapeless;     /* only the number and the size of its weights are known */
    char no_model[192]; /* why not */

    size_t gpu_count;
    unsigned gpus[SERVED_GPUS];     /* indices, the first ones */
    double parallel;                /* GPUs that share a copy of the model */
    double copies;                  /* that there are */
    double compute_sol, memory_sol; /* now, the mean of these GPUs; NAN where one's is not known */

    bool has_rates;
    struct served_rates rates;
    enum label source; /* of the ceilings */
    double batch, context, prompt;
    double tokens_per_second; /* generated now; NAN where not known */
};

void served_write_text(const struct served_case *cases, size_t count, struct strbuf *out);
void served_write_json(const struct served_case *cases, size_t count, struct strbuf *out);
