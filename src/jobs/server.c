#include "jobs/server.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "jobs/describe.h"
#include "jobs/proc.h"
#include "jobs/server_proc.h"

enum { MOST_ANCESTORS = 8, COMMAND_SIZE = 32768 };

static const struct engine {
    const char *name;
    unsigned port; /* where the arguments name none */
    /* Names of programs, and starts of modules and of the titles that processes give themselves. */
    const char *programs[4];
    const char *starts[4];
    const char *model_options[4];
} engines[] = {
    [SERVER_VLLM] = {"vLLM", 8000, {"vllm"}, {"vllm.entrypoints.", "VLLM::"}, {"--model"}},
    [SERVER_SGLANG] = {"SGLang",
                       30000,
                       {"sglang"},
                       {"sglang.launch_server", "sglang::"},
                       {"--model-path", "--model"}},
    [SERVER_TGI] = {"TGI",
                    3000,
                    {"text-generation-launcher", "text-generation-router",
                     "text-generation-server"},
                    {NULL},
                    {"--model-id"}},
    [SERVER_LLAMA_CPP] = {"llama.cpp", 8080, {"llama-server"}, {NULL}, {"--model", "-m"}},
    [SERVER_OLLAMA] = {"Ollama", 11434, {"ollama"}, {NULL}, {"--model"}},
};

const char *server_engine_name(enum server_engine engine)
{
    return engines[engine].name;
}

/* The arguments of a process, one after the other, each ended by a NUL. */
struct command {
    char *text;
    size_t length;
};

static const char *next_argument(const struct command *command, const char *argument)
{
    if (!argument)
        return command->length > 0 ? command->text : NULL;
    argument += strlen(argument) + 1;
    return argument < command->text + command->length ? argument : NULL;
}

static bool read_proc_file(const char *root, pid_t pid, const char *name, struct command *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%d/%s", root, (int)pid, name);
    ret->text = malloc(COMMAND_SIZE);
    ssize_t length = ret->text ? file_read(path, ret->text, COMMAND_SIZE) : -ENOMEM;
    ret->length = length > 0 ? (size_t)length : 0;
    return length > 0;
}

/* "llama serve" is llama.cpp's server in the program of all its tools. */
static bool is_llama_serve(const char *name, const char *next)
{
    return strcmp(name, "llama") == 0 && next &&
           (strcmp(next, "serve") == 0 || strcmp(next, "server") == 0);
}

static bool is_program(const char *argument, const char *next, const struct engine *engine)
{
    const char *slash = strrchr(argument, '/');
    const char *name = slash ? slash + 1 : argument;
    for (size_t i = 0; i < ARRAY_SIZE(engine->programs) && engine->programs[i]; i++)
        if (strcmp(name, engine->programs[i]) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(engine->starts) && engine->starts[i]; i++)
        if (strncmp(argument, engine->starts[i], strlen(engine->starts[i])) == 0)
            return true;
    return engine == &engines[SERVER_LLAMA_CPP] && is_llama_serve(name, next);
}

/* The program, or of an interpreter the script or module: "python3 -u -m vllm.entrypoints…". */
static const char *program_of(const struct command *command)
{
    const char *argument = next_argument(command, NULL);
    const char *slash = argument ? strrchr(argument, '/') : NULL;
    if (!argument || strncmp(slash ? slash + 1 : argument, "python", 6) != 0)
        return argument;
    do
        argument = next_argument(command, argument);
    while (argument && argument[0] == '-');
    return argument;
}

static bool find_engine(const struct command *command, enum server_engine *ret)
{
    const char *program = program_of(command);
    for (size_t i = 0; program && i < SERVER_ENGINE_COUNT; i++)
        if (is_program(program, next_argument(command, program), &engines[i])) {
            *ret = (enum server_engine)i;
            return true;
        }
    return false;
}

/* "--NAME VALUE" or "--NAME=VALUE"; NULL where it is not there. */
static const char *option_of(const struct command *command, const char *name)
{
    size_t length = strlen(name);
    for (const char *argument = NULL; (argument = next_argument(command, argument));) {
        if (strcmp(argument, name) == 0)
            return next_argument(command, argument);
        if (strncmp(argument, name, length) == 0 && argument[length] == '=')
            return argument + length + 1;
    }
    return NULL;
}

static unsigned port_of_text(const char *text)
{
    uint64_t port;
    return text && parse_unsigned(text, &port) == 0 && port > 0 && port <= 65535 ? (unsigned)port
                                                                                 : 0;
}

/* "PORT=3000"; of Ollama "OLLAMA_HOST=127.0.0.1:11434". */
static unsigned port_of_environment(const char *root, pid_t pid, enum server_engine engine)
{
    const char *name = engine == SERVER_OLLAMA ? "OLLAMA_HOST="
                       : engine == SERVER_TGI  ? "PORT="
                                               : NULL;
    struct command environment = {0};
    unsigned port = 0;
    if (name && read_proc_file(root, pid, "environ", &environment))
        for (const char *entry = NULL; (entry = next_argument(&environment, entry));)
            if (strncmp(entry, name, strlen(name)) == 0) {
                const char *colon = strrchr(entry, ':');
                port = port_of_text(colon ? colon + 1 : entry + strlen(name));
            }
    free(environment.text);
    return port;
}

static unsigned find_port(const char *root, pid_t pid, enum server_engine engine,
                          const struct command *command)
{
    unsigned port = engine == SERVER_OLLAMA ? 0 : port_of_text(option_of(command, "--port"));
    if (port == 0)
        port = port_of_environment(root, pid, engine);
    return port > 0 ? port : engines[engine].port;
}

/* "vllm serve MODEL" names it without an option. */
static const char *find_model(const struct command *command, enum server_engine engine)
{
    for (size_t i = 0; i < ARRAY_SIZE(engines[engine].model_options); i++) {
        const char *name = engines[engine].model_options[i];
        const char *model = name ? option_of(command, name) : NULL;
        if (model)
            return model;
    }
    const char *argument = NULL;
    while (engine == SERVER_VLLM && (argument = next_argument(command, argument)))
        if (strcmp(argument, "serve") == 0) {
            argument = next_argument(command, argument);
            return argument && argument[0] != '-' ? argument : "";
        }
    return "";
}

/* The value of the first of the options that is given, or "". */
static const char *first_option(const struct command *command, const char *const *names)
{
    const char *value = NULL;
    for (; !value && *names; names++)
        value = option_of(command, *names);
    return value ? value : "";
}

static double kv_bits(const struct command *command)
{
    static const char *const options[] = {"--kv-cache-dtype", "--cache-type-k", "-ctk", NULL};
    static const struct {
        const char *type;
        double bits; /* llama.cpp's with their scales */
    } types[] = {{"fp8", 8},    {"int8", 8}, {"q8_0", 8.5}, {"q5_1", 6},
                 {"q5_0", 5.5}, {"q4_1", 5}, {"q4_0", 4.5}, {"iq4_nl", 4.5}};
    const char *type = first_option(command, options);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strstr(type, types[i].type))
            return types[i].bits;
    return 0;
}

/* Ways that take weights of 16 bits from the disk; the others find them quantised there. */
static void find_quantization(enum server_engine engine, const struct command *command,
                              struct server *ret)
{
    static const char *const options[] = {"--quantization", "-q", "--quantize", NULL};
    static const struct {
        const char *way;
        double bits;
    } ways[] = {{"fp8", 8},   {"int8", 8},  {"eetq", 8},
                {"nf4", 4.5}, {"fp4", 4.5}, {"bitsandbytes", 4.5}};
    if (engine == SERVER_LLAMA_CPP || engine == SERVER_OLLAMA)
        return;
    const char *way = first_option(command, options);
    for (size_t i = 0; i < ARRAY_SIZE(ways) && ret->weight_bits == 0; i++)
        if (strstr(way, ways[i].way))
            ret->weight_bits = ways[i].bits;
    if (engine == SERVER_TGI && strcmp(way, "bitsandbytes") == 0)
        ret->weight_bits = 8;
    ret->fp8_products = strstr(way, "fp8");
}

static bool has_flag(const struct command *command, const char *name)
{
    const char *argument = NULL;
    while ((argument = next_argument(command, argument)))
        if (strcmp(argument, name) == 0)
            return true;
    return false;
}

/* Data parallelism. With these flags the copies share what is large: experts, or all matrices. */
static double count_copies(enum server_engine engine, const struct command *command)
{
    static const char *const options[] = {"--data-parallel-size", "-dp", "--dp-size", "--dp", NULL};
    uint64_t copies;
    bool shared =
        has_flag(command, "--enable-expert-parallel") || has_flag(command, "--enable-dp-attention");
    if (shared || (engine != SERVER_VLLM && engine != SERVER_SGLANG) ||
        parse_unsigned(first_option(command, options), &copies) < 0 || copies < 1)
        return 1;
    return (double)copies;
}

static void fill_server(const char *root, pid_t pid, enum server_engine engine,
                        const struct command *command, struct server *ret)
{
    *ret = (struct server){.engine = engine, .pid = pid};
    ret->port = find_port(root, pid, engine, command);
    utf8_clean(ret->model, sizeof(ret->model), find_model(command, engine));
    ret->kv_bits = kv_bits(command);
    find_quantization(engine, command, ret);
    ret->copies = count_copies(engine, command);
    server_find_socket(root, ret);
}

/* A router of llama.cpp starts a whole server for each model: that one counts. */
static bool is_only_router(bool found, enum server_engine engine, enum server_engine candidate)
{
    return found && engine == SERVER_LLAMA_CPP && candidate == SERVER_LLAMA_CPP;
}

/* The oldest of its ancestors, or itself, that is a part of an inference server. A process that it
 * started may be the one that names the model. */
static bool find_first(const char *root, pid_t pid, struct server *ret)
{
    struct command found = {0};
    enum server_engine engine = SERVER_VLLM;
    pid_t first = 0;
    char model[SERVER_NAME_SIZE] = "";
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++) {
        struct command command = {0};
        enum server_engine candidate;
        if (read_proc_file(root, pid, "cmdline", &command) && find_engine(&command, &candidate) &&
            !is_only_router(first > 0, engine, candidate)) {
            free(found.text);
            found = command;
            engine = candidate;
            first = pid;
            if (!model[0])
                utf8_clean(model, sizeof(model), find_model(&command, candidate));
        } else
            free(command.text);
        struct proc_identity identity;
        if (jobs_read_identity(root, pid, &identity) < 0)
            break;
        pid = identity.parent;
    }
    if (first > 0) {
        fill_server(root, first, engine, &found, ret);
        if (!ret->model[0])
            memcpy(ret->model, model, sizeof(model));
    }
    free(found.text);
    return first > 0;
}

size_t servers_find(const char *root, const pid_t *pids, size_t count, struct server *servers,
                    size_t capacity, int *belongs)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct server server;
        belongs[i] = -1;
        if (!find_first(root, pids[i], &server))
            continue;
        size_t place = 0;
        while (place < used && servers[place].pid != server.pid)
            place++;
        if (place == capacity)
            continue;
        if (place == used)
            servers[used++] = server;
        belongs[i] = (int)place;
    }
    return used;
}
