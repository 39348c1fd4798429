#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "jobs/server.h"
#include "jobs/server_http.h"
#include "jobs/server_metrics.h"

/* In each list a question whose answer is already known is left out. */
static const struct server_question questions_of_vllm[] = {
    {"/v1/models", ANSWER_MODELS}, {"/metrics", ANSWER_METRICS}, {NULL, ANSWER_INFO}};
/* /model_info and /v1/loads are the newer names. */
static const struct server_question questions_of_sglang[] = {
    {"/model_info", ANSWER_INFO}, {"/get_model_info", ANSWER_INFO}, {"/v1/models", ANSWER_MODELS},
    {"/metrics", ANSWER_METRICS}, {"/v1/loads", ANSWER_REQUESTS},   {"/get_load", ANSWER_REQUESTS},
    {NULL, ANSWER_INFO}};
static const struct server_question questions_of_tgi[] = {
    {"/info", ANSWER_INFO}, {"/metrics", ANSWER_METRICS}, {NULL, ANSWER_INFO}};
static const struct server_question questions_of_llama_cpp[] = {{"/props", ANSWER_INFO},
                                                                {"/v1/models", ANSWER_MODELS},
                                                                {"/metrics", ANSWER_METRICS},
                                                                {"/slots", ANSWER_REQUESTS},
                                                                {NULL, ANSWER_INFO}};
static const struct server_question questions_of_ollama[] = {{"/api/ps", ANSWER_INFO},
                                                             {NULL, ANSWER_INFO}};

const struct server_question *server_questions(enum server_engine engine)
{
    static const struct server_question *const questions[] = {
        [SERVER_VLLM] = questions_of_vllm,     [SERVER_SGLANG] = questions_of_sglang,
        [SERVER_TGI] = questions_of_tgi,       [SERVER_LLAMA_CPP] = questions_of_llama_cpp,
        [SERVER_OLLAMA] = questions_of_ollama,
    };
    return questions[engine];
}

void server_state_reset(struct server_state *state)
{
    *state = (struct server_state){.running = NAN,
                                   .waiting = NAN,
                                   .context = NAN,
                                   .prompt = NAN,
                                   .prompt_tokens = NAN,
                                   .generated_tokens = NAN,
                                   .tokens_per_second = NAN,
                                   .parameters = NAN,
                                   .weight_bytes = NAN,
                                   .bits = NAN};
}

static bool take_string(const json_t *object, const char *name, char *ret)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || !text[0])
        return false;
    utf8_clean(ret, SERVER_NAME_SIZE, text);
    return true;
}

static double positive(const json_t *object, const char *name)
{
    double value = json_number_value(json_object_get(object, name));
    return value > 0 && value <= 1e15 ? value : NAN;
}

static bool take_models(const json_t *top, struct server_state *state)
{
    const json_t *model = json_array_get(json_object_get(top, "data"), 0);
    const json_t *meta = json_object_get(model, "meta");
    if (json_is_object(meta)) { /* llama.cpp's */
        state->parameters = positive(meta, "n_params");
        state->weight_bytes = positive(meta, "size");
    }
    if (!state->folder[0])
        take_string(model, "root", state->folder);
    return take_string(model, "id", state->model);
}

/* "8.0B", "137M"; and of "Q4_K_M" and "MXFP4" the 4. */
static double parameters_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    double scale = *end == 'B' ? 1e9 : *end == 'M' ? 1e6 : NAN;
    return value > 0 && value < 1e5 ? value * scale : NAN;
}

static double bits_of(const char *text)
{
    const char *digits = strpbrk(text, "0123456789");
    double bits = digits ? strtod(digits, NULL) : NAN;
    return bits >= 1 && bits <= 32 ? bits : NAN;
}

static bool take_ollama(const json_t *top, struct server_state *state)
{
    const json_t *model = json_array_get(json_object_get(top, "models"), 0);
    const json_t *details = json_object_get(model, "details");
    const char *parameters = json_string_value(json_object_get(details, "parameter_size"));
    const char *level = json_string_value(json_object_get(details, "quantization_level"));
    state->parameters = parameters ? parameters_of(parameters) : NAN;
    state->bits = level ? bits_of(level) : NAN;
    return take_string(model, "name", state->model);
}

static bool take_info(enum server_engine engine, const json_t *top, struct server_state *state)
{
    switch (engine) {
    case SERVER_SGLANG:
        if (!take_string(top, "model_path", state->folder))
            return false;
        memcpy(state->model, state->folder, sizeof(state->model));
        return true;
    case SERVER_TGI:
        if (!take_string(top, "model_id", state->folder))
            return false;
        memcpy(state->model, state->folder, sizeof(state->model));
        return true;
    case SERVER_LLAMA_CPP:
        /* Asked for more, one that has put its model away would load it again. */
        if (json_is_true(json_object_get(top, "is_sleeping")))
            state->running = 0;
        return take_string(top, "model_path", state->model);
    case SERVER_OLLAMA:
        return take_ollama(top, state);
    default:
        return false;
    }
}

static double count_of(const json_t *object, const char *name)
{
    double value = json_number_value(json_object_get(object, name));
    return json_is_number(json_object_get(object, name)) && value >= 0 && value <= 1e15 ? value
                                                                                        : NAN;
}

/* An object, in newer versions in an array. */
static double decoded(const json_t *slot)
{
    const json_t *next = json_object_get(slot, "next_token");
    return count_of(json_is_array(next) ? json_array_get(next, 0) : next, "n_decoded");
}

/* llama.cpp's slots. Versions before that of n_prompt_tokens called it n_past. What a request has
 * written is counted among the generated tokens only when it ends. */
static bool take_slots(const json_t *slots, struct server_state *state)
{
    double running = 0, tokens = 0, written = 0;
    size_t i;
    const json_t *slot;
    json_array_foreach(slots, i, slot)
    {
        const json_t *processing = json_object_get(slot, "is_processing");
        if (!json_is_boolean(processing))
            return false;
        if (json_is_false(processing))
            continue;
        double seen = count_of(slot, "n_prompt_tokens");
        tokens += isnan(seen) ? count_of(slot, "n_past") : seen;
        written += decoded(slot);
        running++;
    }
    if (json_array_size(slots) == 0)
        return false;
    state->running = running;
    state->context = server_per_request(tokens, running);
    state->generated_tokens += written;
    return true;
}

/* SGLang's ranks of data parallelism: /v1/loads, or the array of /get_load, whose tokens are also
 * those of waiting requests. */
static bool take_loads(const json_t *top, struct server_state *state)
{
    const json_t *loads = json_is_array(top) ? top : json_object_get(top, "loads");
    double running = 0, waiting = 0, tokens = 0, rate = 0;
    size_t i;
    const json_t *load;
    json_array_foreach(loads, i, load)
    {
        double others = count_of(load, "num_waiting_reqs");
        double own = count_of(load, "num_running_reqs");
        double used = count_of(load, "num_used_tokens");
        running += isnan(own) ? count_of(load, "num_reqs") - others : own;
        tokens += isnan(used) && others == 0 ? count_of(load, "num_tokens") : used;
        waiting += others;
        rate += count_of(load, "gen_throughput");
    }
    if (json_array_size(loads) == 0 || !(running >= 0))
        return false;
    state->running = running;
    state->waiting = waiting;
    state->context = server_per_request(tokens, running);
    if (!isnan(rate))
        state->tokens_per_second = running > 0 ? rate : 0;
    return true;
}

static bool take_requests(enum server_engine engine, const json_t *top, struct server_state *state)
{
    switch (engine) {
    case SERVER_SGLANG:
        return take_loads(top, state);
    case SERVER_LLAMA_CPP:
        return take_slots(top, state);
    default:
        return false;
    }
}

static bool take_json(enum server_engine engine, enum server_answer answer, const json_t *top,
                      struct server_state *state)
{
    switch (answer) {
    case ANSWER_MODELS:
        return take_models(top, state);
    case ANSWER_REQUESTS:
        return take_requests(engine, top, state);
    default:
        return take_info(engine, top, state);
    }
}

bool server_take(enum server_engine engine, enum server_answer answer, const char *text,
                 size_t length, struct server_state *state)
{
    if (answer == ANSWER_METRICS)
        return strlen(text) == length && server_take_metrics(engine, text, state);
    json_error_t error;
    json_t *top = json_loadb(text, length, 0, &error);
    bool taken = take_json(engine, answer, top, state);
    json_decref(top);
    return taken;
}

static void say(char *why, size_t size, const char *path, int r)
{
    if (r == 401 || r == 403)
        snprintf(why, size, "it wants a key for %s", path);
    else if (r >= 0)
        snprintf(why, size, "it answered %s with HTTP status %d", path, r);
    else
        snprintf(why, size, "%s: %s", path, strerror(-r));
}

static bool is_told(enum server_answer answer, const struct server_state *state)
{
    switch (answer) {
    case ANSWER_INFO:
        return state->model[0] != '\0';
    case ANSWER_REQUESTS:
        return state->running == 0 || !isnan(state->context);
    default:
        return false;
    }
}

int server_ask(const struct server *server, double patience, struct server_state *state, char *why,
               size_t why_size)
{
    double until = clock_monotonic() + patience;
    bool any = false;
    server_state_reset(state);
    snprintf(why, why_size, "it has nothing to be asked");
    const struct server_question *question = server_questions(server->engine);
    for (; question->path; question++) {
        struct strbuf body = {0};
        if (is_told(question->answer, state))
            continue;
        int r = server_get(server->ipv6, server->port, question->path, until, &body);
        if (r == 200 &&
            server_take(server->engine, question->answer, strbuf_text(&body), body.length, state))
            any = true;
        else if (r == 200)
            snprintf(why, why_size, "its answer to %s is not understood", question->path);
        else
            say(why, why_size, question->path, r);
        strbuf_free(&body);
    }
    return any ? 0 : -ENODATA;
}
