/* What serving a language model can reach: from the model's shape, the running batch and context,
 * and the GPU's ceilings to time, tokens and speeds of light. Pure functions; formulas, their
 * sources and what they assume: docs/ATTAINABLE.md. */
#pragma once

#include <stdbool.h>

#include "metric/metric.h"

/* A decoder-only transformer. Counts are of the whole model; an expert is its three (or two)
 * matrices. */
struct served_model {
    double layers;
    double full_layers; /* whose attention sees the whole context */
    double window;      /* tokens that the other layers' attention sees */
    double heads, kv_heads, head_size;
    double attention_weights; /* a layer: query, key, value and output matrices */
    double dense_weights;     /* all layers: what each token uses beside attention and experts */
    double expert_weights;    /* one expert */
    double expert_layers, experts, experts_used;
    double embedding_weights; /* the table of tokens; a step reads a row of it for each token */
    double head_weights;      /* the output matrix, even where it is the same as the table */
    bool tied;                /* it is: it counts once */

    double bytes_attention, bytes_dense, bytes_expert, bytes_head; /* a weight, scales included */
    double bytes_kv;                                               /* an element of the KV cache */
    enum label type; /* LABEL_TYPE_…: that the products of weights are computed in */
};

double served_parameters(const struct served_model *model);
/* Those that work for one token: the table of tokens is not among them. */
double served_active_parameters(const struct served_model *model);
/* Bytes of the KV cache that one more token takes, before any window is full. */
double served_kv_bytes(const struct served_model *model);

/* What one GPU of `gpus` can do; above 0. */
struct served_rates {
    double flops;      /* operations per second of the products, at the ceiling */
    double attention;  /* of attention, which is computed in 16 bits */
    double bytes;      /* bytes per second of the device memory, at the ceiling */
    double peak_flops; /* what the ratio 1 of Compute SOL stands for, at the ceiling's clock */
    double peak_bytes; /* and of Memory SOL */
};

enum served_limit {
    SERVED_WEIGHTS, /* reading them takes most of the time: a larger batch shares it */
    SERVED_CONTEXT, /* the KV cache, or attention over a long prompt */
    SERVED_BATCH,   /* the arithmetic of the batch: the GPU is full */
};
const char *served_limit_name(enum served_limit limit);

/* One step, on each of the GPUs. */
struct served_step {
    double weight_bytes, context_bytes;
    double weight_flops, context_flops;
    double seconds;
    double tokens_per_second; /* of all GPUs together */
    double compute_sol, memory_sol;
    enum served_limit limit;
    bool cache_waits; /* attention takes as long as its arithmetic, not as its KV cache */
};

/* One token for each of `batch` sequences with `context` tokens behind them. */
struct served_step served_decode(const struct served_model *model, double batch, double context,
                                 double gpus, const struct served_rates *rates);
/* The prompts of `batch` sequences with `prompt` tokens each. */
struct served_step served_prefill(const struct served_model *model, double batch, double prompt,
                                  double gpus, const struct served_rates *rates);
/* The batch at which the arithmetic of the weights takes as long as reading them; INFINITY where
 * that is beyond a million. */
double served_ridge_batch(const struct served_model *model, const struct served_rates *rates);
