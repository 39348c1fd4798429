#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmd/common.h"
#include "cmd/served.h"
#include "jobs/model.h"
#include "monitor/ceilings.h"

enum { MOST_SERVERS = 32, MOST_PIDS = 1024, LIVE_FRAMES = 3, MOST_GPUS = 100000 };
static const uint64_t NOT_GIVEN = UINT64_MAX;
static const double USUAL_INTERVAL = 0.2;
/* Between two looks at a server's count of tokens. */
static const double USUAL_PAUSE = 1;
static const double FRAME_PATIENCE = 3;
/* For all answers of one server together. */
static const double PATIENCE = 2;

struct settings {
    struct watch_options watch;
    const char *format;
    const char *config;
    const char *from;
    double batch, context, prompt;
    uint64_t gpus;
    bool no_probe;
};

static const struct option_row options[] = {
    {.name = "config",
     .kind = OPTION_FILE,
     .offset = offsetof(struct settings, config),
     .argument = "FILE",
     .help = "No server: this model's config.json or GGUF file, with --batch and --context"},
    {.name = "batch",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, batch),
     .argument = "N",
     .help = "Requests at once, in place of what the server says"},
    {.name = "context",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, context),
     .argument = "TOKENS",
     .help = "Tokens behind each request, likewise"},
    {.name = "prompt",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct settings, prompt),
     .argument = "TOKENS",
     .help = "Tokens of a prompt, likewise"},
    {.name = "share",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, gpus),
     .argument = "N",
     .help = "GPUs that share the model (those that its processes hold)"},
    {.name = "no-probe",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, no_probe),
     .help = "Ask no server: only what processes and files tell"},
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_FROM(struct settings, from),
    OPTION_INTERVAL(struct settings, watch, "0.2 s"),
    OPTION_SOURCE(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

/* Which processes hold which GPU. */
struct holders {
    size_t count;
    pid_t pids[MOST_PIDS];
    size_t device[MOST_PIDS];
    int belongs[MOST_PIDS];
};

static int wait_for_frame(const struct command *command, struct monitor *monitor)
{
    bool live = monitor_counter(monitor)->ops->live;
    for (int frames = 0; frames < (live ? LIVE_FRAMES : 1); frames++) {
        int r = monitor_wait(monitor, FRAME_PATIENCE);
        if (r == -ENODATA)
            return run_error(command, "the recording ends there");
        if (r <= 0)
            return watch_broken(command, monitor, r == 0 ? -ETIMEDOUT : r);
    }
    return EXIT_DONE;
}

static void collect_holders(const struct monitor *monitor, struct holders *holders)
{
    for (size_t i = 0; i < monitor_count(monitor); i++) {
        const struct process_list *list = &monitor_reading(monitor, i)->processes;
        for (size_t k = 0; k < list->count && holders->count < MOST_PIDS; k++) {
            holders->pids[holders->count] = list->process[k].pid;
            holders->device[holders->count++] = i;
        }
    }
}

static void add_gpu(struct served_case *found, const struct monitor *monitor, size_t device)
{
    unsigned index = monitor_device(monitor, device)->index;
    const struct sample *sample = &monitor_reading(monitor, device)->sample;
    for (size_t i = 0; i < found->gpu_count && i < ARRAY_SIZE(found->gpus); i++)
        if (found->gpus[i] == index)
            return;
    if (found->gpu_count < ARRAY_SIZE(found->gpus))
        found->gpus[found->gpu_count] = index;
    double count = (double)++found->gpu_count;
    found->compute_sol +=
        (sample_get(sample, METRIC_COMPUTE_SOL, NAN) - found->compute_sol) / count;
    found->memory_sol += (sample_get(sample, METRIC_MEMORY_SOL, NAN) - found->memory_sol) / count;
}

static void find_rates(struct served_case *found, const struct device *device)
{
    struct ceilings ceilings;
    char why[256];
    /* Where the store cannot be read, what is shipped serves. */
    (void)!ceilings_find(device, &ceilings, why, sizeof(why));
    found->has_rates =
        ceilings_rates(device, &ceilings, found->model.type, &found->rates, &found->source);
}

static double chosen(double asked, double told)
{
    return asked > 0 ? asked : told;
}

static void adopt_load(struct served_case *found, const struct settings *settings)
{
    found->batch = chosen(settings->batch, found->state.running);
    found->context = chosen(settings->context, found->state.context);
    found->prompt = chosen(settings->prompt, found->state.prompt);
    if (!(found->prompt > 0))
        found->prompt = found->context;
    found->copies = found->server ? found->server->copies : 1;
    found->parallel = settings->gpus != NOT_GIVEN
                          ? (double)settings->gpus
                          : fmax((double)found->gpu_count / found->copies, 1);
}

static int read_config(const struct command *command, const struct settings *settings,
                       struct served_case *ret)
{
    *ret = (struct served_case){.has_model = true, .tokens_per_second = NAN};
    if (model_read(settings->config, &ret->model, ret->no_model, sizeof(ret->no_model)) < 0)
        return usage_error(command, "--config: %s: %s", settings->config, ret->no_model);
    server_state_reset(&ret->state);
    snprintf(ret->state.model, sizeof(ret->state.model), "%s", settings->config);
    adopt_load(ret, settings);
    return EXIT_DONE;
}

/* A case for each GPU, as if the model ran on it alone. */
static size_t make_cases_of_config(const struct served_case *config, const struct monitor *monitor,
                                   struct served_case *cases)
{
    size_t count = util_min(monitor_count(monitor), MOST_SERVERS);
    for (size_t i = 0; i < count; i++) {
        cases[i] = *config;
        add_gpu(&cases[i], monitor, i);
        find_rates(&cases[i], monitor_device(monitor, i));
    }
    return count;
}

/* All of the weights without their shape, where the server tells no more. */
static void adopt_size(struct served_case *found)
{
    const struct server_state *state = &found->state;
    double bytes = state->weight_bytes;
    /* K-quants hold half a bit of scales beside each weight. */
    if (isnan(bytes))
        bytes = state->parameters * (state->bits < 16 ? state->bits + 0.5 : state->bits) / 8;
    if (!(state->parameters > 0 && bytes > 0))
        return;
    found->model = (struct served_model){.dense_weights = state->parameters,
                                         .bytes_dense = bytes / state->parameters,
                                         .type = LABEL_TYPE_BF16};
    found->has_model = found->shapeless = true;
}

static void find_model(struct served_case *found)
{
    const char *names[] = {found->state.folder, found->server->model, found->state.model};
    snprintf(found->no_model, sizeof(found->no_model),
             "no config.json or GGUF file of it was found that this user may read");
    for (size_t i = 0; i < ARRAY_SIZE(names) && !found->has_model; i++) {
        char path[PATH_MAX], why[sizeof(found->no_model)];
        if (server_find_shape("", found->server->pid, names[i], path, sizeof(path)) < 0)
            continue;
        int r = model_read(path, &found->model, why, sizeof(why));
        found->has_model = r == 0;
        /* What is not there, or not to be seen, says less than what is not understood. */
        if (r == -EINVAL || r == -ENOTSUP)
            memcpy(found->no_model, why, sizeof(why));
    }
    if (!found->has_model) {
        adopt_size(found);
        return;
    }
    model_quantise(&found->model, found->server->weight_bits, found->server->fp8_products);
    if (found->server->kv_bits > 0)
        found->model.bytes_kv = found->server->kv_bits / 8;
}

static void ask(struct served_case *found, const struct settings *settings)
{
    const struct server *server = found->server;
    server_state_reset(&found->state);
    if (settings->no_probe)
        snprintf(found->silence, sizeof(found->silence), "not asked (--no-probe)");
    else if (!server->reachable)
        snprintf(found->silence, sizeof(found->silence), "%s", server->silence);
    else if (server_ask(server, PATIENCE, &found->state, found->silence, sizeof(found->silence)) ==
             0)
        found->silence[0] = '\0';
    found->asked_at = clock_monotonic();
    found->tokens_per_second = found->state.tokens_per_second;
}

/* The rate of tokens between two answers: others may have been waited for in between. */
static void ask_again(struct served_case *found)
{
    struct server_state later;
    char why[160];
    if (found->silence[0] || isnan(found->state.generated_tokens) ||
        server_ask(found->server, PATIENCE, &later, why, sizeof(why)) < 0)
        return;
    double tokens = later.generated_tokens - found->state.generated_tokens;
    if (tokens >= 0)
        found->tokens_per_second = tokens / (clock_monotonic() - found->asked_at);
}

static void ask_all(struct served_case *cases, size_t count, const struct settings *settings)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        ask(&cases[i], settings);
        any |= !isnan(cases[i].state.generated_tokens);
    }
    double interval = settings->watch.interval > 0 ? settings->watch.interval : USUAL_PAUSE;
    struct timespec pause = clock_timespec(interval);
    if (any)
        nanosleep(&pause, NULL);
    for (size_t i = 0; i < count; i++)
        ask_again(&cases[i]);
}

static size_t make_cases_of_servers(const struct settings *settings, const struct monitor *monitor,
                                    struct holders *holders, struct server *servers,
                                    struct served_case *cases)
{
    collect_holders(monitor, holders);
    size_t count =
        servers_find("", holders->pids, holders->count, servers, MOST_SERVERS, holders->belongs);
    for (size_t i = 0; i < count; i++)
        cases[i] = (struct served_case){.server = &servers[i]};
    size_t first[MOST_SERVERS] = {0};
    for (size_t i = 0; i < holders->count; i++) {
        int place = holders->belongs[i];
        if (place < 0)
            continue;
        if (cases[place].gpu_count == 0)
            first[place] = holders->device[i];
        add_gpu(&cases[place], monitor, holders->device[i]);
    }
    ask_all(cases, count, settings);
    for (size_t i = 0; i < count; i++) {
        find_model(&cases[i]);
        adopt_load(&cases[i], settings);
        if (cases[i].has_model)
            find_rates(&cases[i], monitor_device(monitor, first[i]));
    }
    return count;
}

static int print(const struct command *command, const struct settings *settings,
                 const struct served_case *cases, size_t count)
{
    struct strbuf out = {0};
    if (settings->format[0] == 'j')
        served_write_json(cases, count, &out);
    else if (count == 0)
        strbuf_puts(&out, "No inference server that Rooftop knows (vLLM, SGLang, TGI, llama.cpp, "
                          "Ollama) holds these GPUs.\n");
    else
        served_write_text(cases, count, &out);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

/* `config` is NULL where servers are to be found. */
static int show(const struct command *command, const struct settings *settings,
                const struct served_case *config, struct monitor *monitor)
{
    if (!config && !monitor_counter(monitor)->ops->live)
        return usage_error(command, "no server runs in a recording: give the model with --config");
    int code = settings->from ? watch_seek(command, monitor, settings->from) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = wait_for_frame(command, monitor);
    if (code != EXIT_DONE)
        return code;
    CLEANUP_FREE struct holders *holders = calloc(1, sizeof(*holders));
    CLEANUP_FREE struct server *servers = calloc(MOST_SERVERS, sizeof(*servers));
    CLEANUP_FREE struct served_case *cases = calloc(MOST_SERVERS, sizeof(*cases));
    if (!holders || !servers || !cases)
        return run_error(command, "%s", strerror(ENOMEM));
    size_t count = config ? make_cases_of_config(config, monitor, cases)
                          : make_cases_of_servers(settings, monitor, holders, servers, cases);
    return print(command, settings, cases, count);
}

/* Numbers beyond these would leave what can be reckoned with. */
static int check_load(const struct command *command, const struct settings *settings)
{
    static const double most = 1e9;
    const struct {
        const char *name;
        double value;
    } loads[] = {
        {"--batch", settings->batch},
        {"--context", settings->context},
        {"--prompt", settings->prompt},
    };
    for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
        if (!isnan(loads[i].value) && !(loads[i].value >= 1 && loads[i].value <= most))
            return usage_error(command, "%s: %g: it is from 1 to %g", loads[i].name, loads[i].value,
                               most);
    if (settings->gpus != NOT_GIVEN && (settings->gpus < 1 || settings->gpus > MOST_GPUS))
        return usage_error(command, "--share: it is from 1 to %d", MOST_GPUS);
    return EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {
        .format = "text", .gpus = NOT_GIVEN, .batch = NAN, .context = NAN, .prompt = NAN};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    result = check_load(command, &settings);
    if (result != EXIT_DONE)
        return result;
    struct served_case config;
    int code = settings.config ? read_config(command, &settings, &config) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    struct monitor *monitor;
    code = watch_open(command, &settings.watch, USUAL_INTERVAL, &monitor);
    if (code != EXIT_DONE)
        return code;
    code = show(command, &settings, settings.config ? &config : NULL, monitor);
    monitor_close(monitor);
    return code;
}

const struct command command_served = {
    .name = "served",
    .summary = "Say what the language models that are served here could reach, and what stops them",
    .operands = "",
    .options = options,
    .more =
        "Finds vLLM, SGLang, TGI, llama.cpp and Ollama on these GPUs, and asks them over loopback\n"
        "for the model and the running requests; the model's shape comes from its config.json.\n\n"
        "  rooftop served\n"
        "  rooftop served --config llama/config.json --batch 32 --context 4096\n",
    .run = run,
};
