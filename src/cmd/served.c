#include "cmd/served.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "metric/units.h"
#include "sol/sol.h"

static bool knows_decode(const struct served_case *found)
{
    return found->has_model && found->has_rates && found->batch > 0 &&
           (found->context > 0 || found->shapeless);
}

static bool knows_prefill(const struct served_case *found)
{
    return found->has_model && found->has_rates && found->prompt > 0 && !found->shapeless;
}

/* Requests are spread over the copies; each takes as long as the one alone would. */
static struct served_step decode(const struct served_case *found)
{
    double context = found->shapeless ? 0 : found->context;
    double busy = fmin(found->copies, fmax(found->batch, 1));
    struct served_step step =
        served_decode(&found->model, found->batch / busy, context, found->parallel, &found->rates);
    step.tokens_per_second *= busy;
    return step;
}

static struct served_step prefill(const struct served_case *found)
{
    struct served_step step =
        served_prefill(&found->model, 1, found->prompt, found->parallel, &found->rates);
    step.tokens_per_second *= found->copies;
    return step;
}

static void put_gpus(const struct served_case *found, struct strbuf *out)
{
    strbuf_puts(out, found->gpu_count > 1 ? "GPUs " : "GPU ");
    for (size_t i = 0; i < found->gpu_count && i < ARRAY_SIZE(found->gpus); i++)
        strbuf_printf(out, "%s%u", i > 0 ? ", " : "", found->gpus[i]);
}

static void put_parameters(double parameters, struct strbuf *out)
{
    bool large = parameters >= 0.05e9;
    strbuf_printf(out, "%.1f %s", parameters / (large ? 1e9 : 1e6), large ? "billion" : "million");
}

/* Of most of them: scales and the rest of a GGUF file are in it. */
static double weight_bits(const struct served_model *model)
{
    return 8 * (model->experts > 0 ? model->bytes_expert : model->bytes_dense);
}

static void put_model(const struct served_case *found, struct strbuf *out)
{
    const char *name = found->state.model[0] ? found->state.model
                       : found->server       ? found->server->model
                                             : "";
    strbuf_printf(out, "  model    %s", name[0] ? name : "not named");
    if (!found->has_model) {
        strbuf_printf(out, "; its shape is not known: %s\n", found->no_model);
        return;
    }
    const struct served_model *model = &found->model;
    strbuf_puts(out, ", ");
    put_parameters(served_parameters(model), out);
    strbuf_puts(out, " parameters");
    if (model->experts > 0) {
        strbuf_puts(out, " (");
        put_parameters(served_active_parameters(model), out);
        strbuf_puts(out, " a token)");
    }
    if (!found->shapeless)
        strbuf_printf(out, ", %.0f KiB of KV cache a token", served_kv_bytes(model) / 1024);
    if (fabs(weight_bits(model) - 16) > 0.5)
        strbuf_printf(out, ", weights of %.3g bits", weight_bits(model));
    if (found->copies > 1)
        strbuf_printf(out, ", %.0f copies", found->copies);
    strbuf_putc(out, '\n');
}

static void put_load(const struct served_case *found, struct strbuf *out)
{
    strbuf_puts(out, "  running  ");
    if (found->silence[0]) {
        strbuf_printf(out, "not known: %s\n", found->silence);
        return;
    }
    if (!(found->batch > 0)) {
        strbuf_puts(out, isnan(found->batch) ? "not told by the server\n" : "nothing\n");
        return;
    }
    strbuf_printf(out, "%.0f request%s", found->batch, found->batch == 1 ? "" : "s");
    if (found->context > 0)
        strbuf_printf(out, " with %.0f tokens each", found->context);
    if (found->state.waiting > 0)
        strbuf_printf(out, ", %.0f waiting", found->state.waiting);
    if (found->tokens_per_second >= 0)
        strbuf_printf(out, ", %.0f tokens/s", found->tokens_per_second);
    strbuf_putc(out, '\n');
}

static void put_present(const struct served_case *found, struct strbuf *out)
{
    if (isnan(found->compute_sol) || isnan(found->memory_sol))
        return;
    strbuf_puts(out, "  now      Compute ");
    sol_percent(found->compute_sol, out);
    strbuf_puts(out, ", Memory ");
    sol_percent(found->memory_sol, out);
    strbuf_putc(out, '\n');
}

static void put_reason(const struct served_step *step, struct strbuf *out)
{
    switch (step->limit) {
    case SERVED_WEIGHTS:
        strbuf_printf(out, "the weights stop it: %.1f GB to read a step, shared by a larger batch",
                      step->weight_bytes / 1e9);
        break;
    case SERVED_CONTEXT:
        if (step->cache_waits)
            strbuf_puts(out, "the context stops it: attention's arithmetic");
        else
            strbuf_printf(out, "the context stops it: %.1f GB of KV cache a step",
                          step->context_bytes / 1e9);
        break;
    case SERVED_BATCH:
        strbuf_puts(out, "the batch stops it: its arithmetic fills the GPU");
        break;
    }
}

static void put_step(const char *name, const struct served_step *step, struct strbuf *out)
{
    strbuf_printf(out, "  %-8s attainable: Compute ", name);
    sol_percent(fmin(step->compute_sol, 1), out);
    strbuf_puts(out, ", Memory ");
    sol_percent(fmin(step->memory_sol, 1), out);
    strbuf_printf(out, ", %.0f tokens/s; ", step->tokens_per_second);
    put_reason(step, out);
    strbuf_putc(out, '\n');
}

static const char *source_words(enum label source)
{
    return source == LABEL_CEILING_OF_THIS_GPU   ? "ceilings measured on this GPU"
           : source == LABEL_CEILING_OF_ITS_KIND ? "ceilings shipped for this kind of GPU"
                                                 : "peaks, since no ceilings are known: an upper "
                                                   "limit (see rooftop calibrate)";
}

static void put_attainable(const struct served_case *found, struct strbuf *out)
{
    if (knows_decode(found)) {
        struct served_step step = decode(found);
        put_step("decode", &step, out);
    }
    if (knows_prefill(found)) {
        struct served_step step = prefill(found);
        put_step("prefill", &step, out);
    }
    if (found->has_model && !found->has_rates)
        strbuf_puts(out, "  limits   neither ceilings nor peaks of this GPU are known: run rooftop "
                         "calibrate\n");
    if (!found->has_model || !found->has_rates)
        return;
    strbuf_printf(out, "  limits   %s", source_words(found->source));
    double ridge = served_ridge_batch(&found->model, &found->rates);
    if (isfinite(ridge))
        strbuf_printf(out, "; the weights no longer stop a batch of %.0f", ceil(ridge));
    if (found->shapeless)
        strbuf_puts(out, "; the KV cache is not known and left out");
    strbuf_putc(out, '\n');
}

void served_write_text(const struct served_case *cases, size_t count, struct strbuf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct served_case *found = &cases[i];
        if (found->server)
            strbuf_printf(out, "%s, pid %d, port %u, ", server_engine_name(found->server->engine),
                          (int)found->server->pid, found->server->port);
        put_gpus(found, out);
        strbuf_putc(out, '\n');
        put_model(found, out);
        put_load(found, out);
        put_present(found, out);
        put_attainable(found, out);
    }
}

static void add_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_add_number_digits(json, value, 6);
}

static void add_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_add_text_or_null(json, text);
}

static void add_step(struct json *json, const char *key, bool known, const struct served_step *step)
{
    json_key(json, key);
    if (!known) {
        json_add_null(json);
        return;
    }
    json_object_begin(json);
    add_number(json, "attainable_compute_sol_ratio", fmin(step->compute_sol, 1));
    add_number(json, "attainable_memory_sol_ratio", fmin(step->memory_sol, 1));
    add_number(json, "tokens_per_second", step->tokens_per_second);
    add_text(json, "limit", served_limit_name(step->limit));
    add_number(json, "step_seconds", step->seconds);
    add_number(json, "weight_bytes", step->weight_bytes);
    add_number(json, "context_bytes", step->context_bytes);
    add_number(json, "flops", step->weight_flops + step->context_flops);
    json_object_end(json);
}

static void add_case(const struct served_case *found, struct json *json)
{
    const struct server *server = found->server;
    json_object_begin(json);
    add_text(json, "engine", server ? server_engine_name(server->engine) : "");
    add_number(json, "pid", server ? server->pid : NAN);
    add_number(json, "port", server ? server->port : NAN);
    json_key(json, "gpus");
    json_array_begin(json);
    for (size_t i = 0; i < found->gpu_count && i < ARRAY_SIZE(found->gpus); i++)
        json_add_integer(json, found->gpus[i]);
    json_array_end(json);
    add_text(json, "model",
             found->state.model[0] ? found->state.model
             : server              ? server->model
                                   : "");
    add_number(json, "parameters", found->has_model ? served_parameters(&found->model) : NAN);
    add_number(json, "active_parameters",
               found->has_model ? served_active_parameters(&found->model) : NAN);
    add_number(json, "weight_bits", found->has_model ? weight_bits(&found->model) : NAN);
    add_number(json, "copies", found->copies);
    add_text(json, "model_reason", found->has_model ? "" : found->no_model);
    add_number(json, "requests_running", found->batch);
    add_number(json, "requests_waiting", found->state.waiting);
    add_number(json, "context_tokens", found->context);
    add_number(json, "prompt_tokens", found->prompt);
    add_number(json, "tokens_per_second", found->tokens_per_second);
    add_text(json, "counters_reason", found->silence);
    add_number(json, "compute_sol_ratio", found->compute_sol);
    add_number(json, "memory_sol_ratio", found->memory_sol);
    add_text(json, "attainable_source",
             found->has_rates ? label_word(METRIC_ATTAINABLE_SOURCE, found->source) : "");
    add_number(json, "ridge_batch",
               found->has_model && found->has_rates
                   ? served_ridge_batch(&found->model, &found->rates)
                   : NAN);
    struct served_step step = {0};
    if (knows_decode(found))
        step = decode(found);
    add_step(json, "decode", knows_decode(found), &step);
    if (knows_prefill(found))
        step = prefill(found);
    add_step(json, "prefill", knows_prefill(found), &step);
    json_object_end(json);
}

void served_write_json(const struct served_case *cases, size_t count, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "servers");
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++)
        add_case(&cases[i], &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}
