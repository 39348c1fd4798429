#include "sol/served.h"

#include <math.h>

double served_parameters(const struct served_model *model)
{
    return model->layers * model->attention_weights + model->dense_weights +
           model->expert_layers * model->experts * model->expert_weights +
           model->embedding_weights + (model->tied ? 0 : model->head_weights);
}

double served_active_parameters(const struct served_model *model)
{
    return model->layers * model->attention_weights + model->dense_weights +
           model->expert_layers * model->experts_used * model->expert_weights + model->head_weights;
}

static double kv_elements(const struct served_model *model)
{
    return 2 * model->kv_heads * model->head_size;
}

double served_kv_bytes(const struct served_model *model)
{
    return kv_elements(model) * model->layers * model->bytes_kv;
}

const char *served_limit_name(enum served_limit limit)
{
    static const char *const names[] = {
        [SERVED_WEIGHTS] = "weights", [SERVED_CONTEXT] = "context", [SERVED_BATCH] = "batch"};
    return names[limit];
}

/* Experts of a layer that at least one of `tokens` uses, where each token takes some at random. */
static double experts_read(const struct served_model *model, double tokens)
{
    if (model->experts <= 0)
        return 0;
    double left_out = 1 - model->experts_used / model->experts;
    return model->experts * (1 - pow(left_out, tokens));
}

static double weight_bytes(const struct served_model *model, double tokens)
{
    return model->layers * model->attention_weights * model->bytes_attention +
           model->dense_weights * model->bytes_dense +
           model->expert_layers * experts_read(model, tokens) * model->expert_weights *
               model->bytes_expert +
           model->head_weights * model->bytes_head;
}

/* Tokens seen by attention, summed over the layers. */
static double seen(const struct served_model *model, double context)
{
    double others = model->layers - model->full_layers;
    return model->full_layers * context + others * fmin(context, model->window);
}

/* The products of weights and attention take turns; each takes as long as the slower of its
 * arithmetic and its bytes (the roofline of each). */
static void finish(struct served_step *step, double tokens, double gpus,
                   const struct served_rates *rates)
{
    step->weight_bytes /= gpus;
    step->context_bytes /= gpus;
    step->weight_flops /= gpus;
    step->context_flops /= gpus;
    double weights = step->weight_bytes / rates->bytes;
    double arithmetic = step->weight_flops / rates->flops;
    double cache = step->context_bytes / rates->bytes;
    double context = fmax(cache, step->context_flops / rates->attention);
    step->seconds = fmax(weights, arithmetic) + context;
    step->limit = context > fmax(weights, arithmetic) ? SERVED_CONTEXT
                  : weights >= arithmetic             ? SERVED_WEIGHTS
                                                      : SERVED_BATCH;
    step->cache_waits = context > cache;
    step->tokens_per_second = tokens / step->seconds;
    step->compute_sol =
        (step->weight_flops + step->context_flops) / step->seconds / rates->peak_flops;
    step->memory_sol =
        (step->weight_bytes + step->context_bytes) / step->seconds / rates->peak_bytes;
}

struct served_step served_decode(const struct served_model *model, double batch, double context,
                                 double gpus, const struct served_rates *rates)
{
    double elements = kv_elements(model) * seen(model, context);
    struct served_step step = {
        .weight_bytes = weight_bytes(model, batch),
        .context_bytes = batch * elements * model->bytes_kv,
        .weight_flops = 2 * batch * served_active_parameters(model),
        /* Query times key and weight times value: two products of heads × head size each. */
        .context_flops = batch * 4 * model->heads * model->head_size * seen(model, context),
    };
    finish(&step, batch, gpus, rates);
    return step;
}

struct served_step served_prefill(const struct served_model *model, double batch, double prompt,
                                  double gpus, const struct served_rates *rates)
{
    double tokens = batch * prompt;
    /* A token sees those before it: on average half of the prompt, or of what the window leaves. */
    double others = model->layers - model->full_layers;
    double window = fmin(model->window, prompt);
    double pairs =
        model->full_layers * prompt * prompt / 2 + others * (window * prompt - window * window / 2);
    double products = served_active_parameters(model) - model->head_weights;
    struct served_step step = {
        .weight_bytes = weight_bytes(model, tokens),
        .context_bytes = tokens * kv_elements(model) * model->layers * model->bytes_kv,
        /* Only the last token of a prompt goes through the output matrix. */
        .weight_flops = 2 * (tokens * products + batch * model->head_weights),
        .context_flops = batch * 4 * model->heads * model->head_size * pairs,
    };
    finish(&step, tokens, gpus, rates);
    return step;
}

double served_ridge_batch(const struct served_model *model, const struct served_rates *rates)
{
    /* Grows with the batch where experts are read more and more: so by halving an interval. */
    double low = 0, high = 1e6;
    double flops = 2 * served_active_parameters(model) / rates->flops;
    if (high * flops < weight_bytes(model, high) / rates->bytes)
        return INFINITY;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (middle * flops < weight_bytes(model, middle) / rates->bytes)
            low = middle;
        else
            high = middle;
    }
    return high;
}
