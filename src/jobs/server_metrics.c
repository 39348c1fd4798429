#include "jobs/server_metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double server_per_request(double tokens, double requests)
{
    return requests > 0 ? tokens / requests : NAN;
}

/* Ranks that share the layers or the matrices of a model tell each the same. */
static bool is_of_another_rank(const char *labels, const char *end)
{
    static const char *const ranks[] = {"tp_rank=\"", "pp_rank=\""};
    for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
        const char *found = strstr(labels, ranks[i]);
        if (found && found < end && strncmp(found + strlen(ranks[i]), "0\"", 2) != 0)
            return true;
    }
    return false;
}

/* The value of a series' line behind its name and labels, or false. */
static bool series_value(const char *line, const char *name, double *ret)
{
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0)
        return false;
    const char *rest = line + length;
    if (*rest == '{') {
        const char *labels = rest;
        rest = strpbrk(rest, "}\n");
        /* A brace within a label's value is taken for the end: the number then does not parse. */
        if (!rest || *rest == '\n' || is_of_another_rank(labels, rest))
            return false;
        rest++;
    }
    if (*rest != ' ')
        return false;
    char *end;
    double value = strtod(rest, &end);
    if (end == rest || !isfinite(value) || value < 0 || value > 1e18)
        return false;
    *ret = value;
    return true;
}

/* The sum over all label sets of a metric in the text form of Prometheus; NAN where it is not
 * there.
 */
static double metric_sum(const char *text, const char *name)
{
    double sum = NAN;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        double value;
        if (series_value(line, name, &value))
            sum = isnan(sum) ? value : sum + value;
        if (!*line)
            break;
    }
    return sum;
}

/* A number in a label, such as num_gpu_blocks="123" of vllm:cache_config_info. */
static double label_number(const char *text, const char *series, const char *label)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "%s{", series);
    const char *line = strstr(text, wanted);
    if (!line)
        return NAN;
    snprintf(wanted, sizeof(wanted), "%s=\"", label);
    const char *found = strstr(line, wanted);
    const char *end = strchr(line, '\n');
    if (!found || (end && found > end))
        return NAN;
    double value = strtod(found + strlen(wanted), NULL);
    return value > 0 && value <= 1e12 ? value : NAN;
}

/* Of two names, one of an older version. */
static double metric_of(const char *text, const char *name, const char *older)
{
    double value = metric_sum(text, name);
    return isnan(value) ? metric_sum(text, older) : value;
}

static void take_vllm_metrics(const char *text, struct server_state *state)
{
    state->running = metric_sum(text, "vllm:num_requests_running");
    state->waiting = metric_sum(text, "vllm:num_requests_waiting");
    state->prompt_tokens = metric_of(text, "vllm:prompt_tokens_total", "vllm:prompt_tokens");
    state->generated_tokens =
        metric_of(text, "vllm:generation_tokens_total", "vllm:generation_tokens");
    state->prompt = server_per_request(metric_sum(text, "vllm:request_prompt_tokens_sum"),
                                       metric_sum(text, "vllm:request_prompt_tokens_count"));
    double used = metric_of(text, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc");
    double blocks = label_number(text, "vllm:cache_config_info", "num_gpu_blocks");
    double size = label_number(text, "vllm:cache_config_info", "block_size");
    state->context = server_per_request(used * blocks * size, state->running);
    /* Before 0.8.5 the blocks are "None": a request is half way, on average. */
    if (isnan(state->context) && state->running > 0)
        state->context =
            state->prompt +
            server_per_request(metric_sum(text, "vllm:request_generation_tokens_sum"),
                               metric_sum(text, "vllm:request_generation_tokens_count")) /
                2;
}

static void take_sglang_metrics(const char *text, struct server_state *state)
{
    state->running = metric_sum(text, "sglang:num_running_reqs");
    state->waiting = metric_sum(text, "sglang:num_queue_reqs");
    state->context = server_per_request(metric_sum(text, "sglang:num_used_tokens"), state->running);
    state->prompt_tokens = metric_sum(text, "sglang:prompt_tokens_total");
    /* Its generation_tokens_total has the requests that have ended, all at once. */
    state->tokens_per_second =
        state->running > 0 ? metric_sum(text, "sglang:gen_throughput") : state->running;
}

static void take_tgi_metrics(const char *text, struct server_state *state)
{
    state->running = metric_sum(text, "tgi_batch_current_size");
    state->waiting = metric_sum(text, "tgi_queue_size");
    /* What the batch may grow to, not what it has: an upper estimate. */
    state->context =
        server_per_request(metric_sum(text, "tgi_batch_current_max_tokens"), state->running);
    state->prompt = server_per_request(metric_sum(text, "tgi_request_input_length_sum"),
                                       metric_sum(text, "tgi_request_input_length_count"));
    /* It counts generated tokens only when a request ends: no rate follows from that. */
    state->prompt_tokens = metric_sum(text, "tgi_request_input_length_sum");
}

static void take_llama_metrics(const char *text, struct server_state *state)
{
    state->running = metric_sum(text, "llamacpp:requests_processing");
    state->waiting = metric_sum(text, "llamacpp:requests_deferred");
    state->context =
        server_per_request(metric_sum(text, "llamacpp:kv_cache_tokens"), state->running);
    state->prompt_tokens = metric_sum(text, "llamacpp:prompt_tokens_total");
    state->generated_tokens = metric_sum(text, "llamacpp:tokens_predicted_total");
}

bool server_take_metrics(enum server_engine engine, const char *text, struct server_state *state)
{
    switch (engine) {
    case SERVER_VLLM:
        take_vllm_metrics(text, state);
        break;
    case SERVER_SGLANG:
        take_sglang_metrics(text, state);
        break;
    case SERVER_TGI:
        take_tgi_metrics(text, state);
        break;
    case SERVER_LLAMA_CPP:
        take_llama_metrics(text, state);
        break;
    default:
        break;
    }
    return !isnan(state->running);
}
