#include "nvml_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct fake_script *script;
    const char *path;
    unsigned line;
    double at;
    struct fake_device *device; /* that the lines are about */
    unsigned gpu_count;
};

static void parse_file(struct parser *parser, const char *path);

static _Noreturn void wrong(const struct parser *parser, const char *what, const char *word)
{
    fprintf(stderr, "fake NVML: %s:%u: %s '%s'\n", parser->path, parser->line, what, word);
    abort();
}

static void *check(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static char *copy(const char *text)
{
    return check(strdup(text));
}

static struct fake_entry *add_entry(struct parser *parser, enum fake_function function)
{
    struct fake_device *device = parser->device;
    device->entries =
        check(reallocarray(device->entries, device->entry_count + 1, sizeof(*device->entries)));
    struct fake_entry *entry = &device->entries[device->entry_count++];
    *entry = (struct fake_entry){
        .at = parser->at,
        .function = function,
        .argument = {FAKE_WHATEVER, FAKE_WHATEVER},
    };
    return entry;
}

static enum fake_function find_function(const char *name)
{
    static const char *const names[] = {
#define NVML_FUNCTION(name, parameters) #name,
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
    };
    for (unsigned i = 0; i < FAKE_FUNCTION_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum fake_function)i;
    return FAKE_ANY;
}

/* "text with \xHH", quotes included. */
static char *unquote(const struct parser *parser, const char *quoted)
{
    const char *end = strrchr(quoted, '"');
    if (end == quoted)
        wrong(parser, "no end of", quoted);
    char *text = check(calloc(1, strlen(quoted)));
    size_t length = 0;
    for (const char *c = quoted + 1; c < end; c++) {
        unsigned byte;
        if (c[0] == '\\' && sscanf(c, "\\x%2x", &byte) == 1) {
            text[length++] = (char)byte;
            c += 3;
        } else
            text[length++] = *c;
    }
    return text;
}

/* "12", "-1", "0.5", "nan", or one that grows, "12+3" each second. */
static bool parse_number(const char *word, struct fake_number *ret)
{
    char *end;
    *ret = (struct fake_number){.whole = strtoull(word, &end, 0)};
    if (end == word || (*end && *end != '+')) {
        ret->real = strtod(word, &end);
        ret->whole = (uint64_t)(int64_t)ret->real;
    } else
        ret->real = word[0] == '-' ? (double)(int64_t)ret->whole : (double)ret->whole;
    if (end == word)
        return false;
    if (*end == '+')
        ret->per_second = strtod(end + 1, &end);
    return *end == '\0';
}

static void parse_values(struct fake_entry *entry, char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (entry->number_count < FAKE_NUMBERS &&
            parse_number(word, &entry->number[entry->number_count]))
            entry->number_count++;
}

/* "CODE VALUE…", "missing" or "hang FILE" */
static void parse_answer(const struct parser *parser, struct fake_entry *entry, char *answer)
{
    if (strncmp(answer, "hang ", 5) == 0) {
        entry->hang = copy(answer + 5);
        return;
    }
    if (strncmp(answer, "missing", 7) == 0) {
        entry->result = NVML_FUNCTION_NOT_FOUND;
        return;
    }
    char *value;
    entry->result = (nvml_return)strtoul(answer, &value, 10);
    if (value == answer)
        wrong(parser, "no code in", answer);
    value += strspn(value, " ");
    if (*value == '"')
        entry->text = unquote(parser, value);
    else
        parse_values(entry, value);
}

static void parse_call(struct parser *parser, char *call, char *answer)
{
    char *rest = NULL;
    const char *name = strtok_r(call, " ", &rest);
    if (!name || strcmp(name, "extent") == 0)
        return;
    enum fake_function function = find_function(name);
    if (function == FAKE_ANY && strcmp(name, "*") != 0)
        wrong(parser, "no function is called", name);
    struct fake_entry *entry = add_entry(parser, function);
    unsigned count = 0;
    for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct fake_number number;
        if (strcmp(word, "of") == 0 || strcmp(word, "beyond") == 0)
            entry->function = FAKE_IGNORED;
        if (count < FAKE_ARGUMENTS && parse_number(word, &number))
            entry->argument[count++] = (uint32_t)number.whole;
    }
    parse_answer(parser, entry, answer);
}

static void parse_process(const struct parser *parser, struct fake_entry *entry, char *word)
{
    entry->processes =
        check(reallocarray(entry->processes, entry->process_count + 1, sizeof(*entry->processes)));
    struct fake_process *process = &entry->processes[entry->process_count++];
    *process = (struct fake_process){
        .memory = NVML_UNAVAILABLE,
        .gpu_instance = NVML_UNAVAILABLE_32,
        .compute_instance = NVML_UNAVAILABLE_32,
    };
    char *rest = NULL;
    const char *pid = strtok_r(word, ":", &rest);
    const char *memory = strtok_r(NULL, ":", &rest);
    const char *gpu_instance = strtok_r(NULL, ":", &rest);
    const char *compute_instance = strtok_r(NULL, ":", &rest);
    if (!pid || !memory)
        wrong(parser, "not PID:BYTES", word);
    process->pid = (uint32_t)strtoul(pid, NULL, 10);
    if (strcmp(memory, "?") != 0)
        process->memory = strtoull(memory, NULL, 0);
    if (gpu_instance)
        process->gpu_instance = (uint32_t)strtoul(gpu_instance, NULL, 10);
    if (compute_instance)
        process->compute_instance = (uint32_t)strtoul(compute_instance, NULL, 10);
}

/* "processes compute|graphics|mps [PID:BYTES…]" */
static void parse_processes(struct parser *parser, char *rest)
{
    static const char *const lists[] = {
        [FAKE_COMPUTE] = "compute", [FAKE_GRAPHICS] = "graphics", [FAKE_MPS] = "mps"};
    char *next = NULL;
    const char *which = strtok_r(rest, " ", &next);
    for (uint32_t i = 0; which && i < 3; i++) {
        if (strcmp(lists[i], which) != 0)
            continue;
        struct fake_entry *entry = add_entry(parser, FAKE_PROCESSES);
        entry->argument[0] = i;
        for (char *word = strtok_r(NULL, " ", &next); word; word = strtok_r(NULL, " ", &next))
            parse_process(parser, entry, word);
        return;
    }
    wrong(parser, "no list of processes is called", which ? which : "");
}

static void parse_line(struct parser *parser, char *line);

static struct fake_device *add_device(struct parser *parser)
{
    struct fake_script *script = parser->script;
    if (script->device_count == FAKE_DEVICES)
        wrong(parser, "too many devices", "");
    parser->device = &script->devices[script->device_count++];
    return parser->device;
}

static void apply_preset(struct parser *parser, const char *name)
{
    const char *const *lines = fake_preset(name);
    if (!lines)
        wrong(parser, "no GPU is called", name);
    for (; *lines; lines++) {
        char *line = copy(*lines);
        parse_line(parser, line);
        free(line);
    }
}

/* Each GPU gets an identity of its own; lines of the script may give it another. */
static void identify(struct parser *parser, const struct fake_device *device)
{
    char line[160];
    unsigned number = (unsigned)(device - parser->script->devices);
    if (device->is_mig)
        snprintf(line, sizeof(line), "nvmlDeviceGetUUID -> 0 \"MIG-00000000-0000-4000-8000-%012u\"",
                 number + 1);
    else
        snprintf(line, sizeof(line), "nvmlDeviceGetUUID -> 0 \"GPU-00000000-0000-4000-8000-%012u\"",
                 number + 1);
    parse_line(parser, line);
    if (device->is_mig)
        return;
    snprintf(line, sizeof(line), "nvmlDeviceGetPciInfo_v3 -> 0 \"00000000:%02X:00.0\"",
             device->index + 1);
    parse_line(parser, line);
}

static void add_gpu(struct parser *parser, const char *preset)
{
    struct fake_device *device = add_device(parser);
    device->gpu = (unsigned)(device - parser->script->devices);
    device->index = parser->gpu_count++;
    identify(parser, device);
    apply_preset(parser, preset);
}

static void add_instance(struct parser *parser, unsigned place)
{
    unsigned gpu = parser->device->gpu;
    struct fake_device *device = add_device(parser);
    device->is_mig = true;
    device->gpu = gpu;
    device->index = place;
    identify(parser, device);
    apply_preset(parser, "mig");
}

/* The GPU of that number, or, with ".PLACE", its instance. */
static void choose_device(struct parser *parser, const char *word)
{
    unsigned gpu = 0;
    unsigned place = 0;
    bool is_mig = sscanf(word, "%u.%u", &gpu, &place) == 2;
    for (unsigned i = 0; i < parser->script->device_count; i++) {
        struct fake_device *device = &parser->script->devices[i];
        if (device->is_mig == is_mig && parser->script->devices[device->gpu].index == gpu &&
            (!is_mig || device->index == place)) {
            parser->device = device;
            return;
        }
    }
    wrong(parser, "there is no device", word);
}

static void parse_xid(struct parser *parser, const char *rest)
{
    struct fake_entry *entry = add_entry(parser, FAKE_XID);
    entry->argument[0] = entry->argument[1] = NVML_UNAVAILABLE_32;
    unsigned code = 0;
    if (sscanf(rest, "%u %u %u", &code, &entry->argument[0], &entry->argument[1]) < 1)
        wrong(parser, "no code in", rest);
    entry->number[0].whole = code;
}

static void parse_word(struct parser *parser, const char *word, char *rest)
{
    struct fake_script *script = parser->script;
    if (strcmp(word, "gpu") == 0)
        add_gpu(parser, *rest ? rest : "h200");
    else if (strcmp(word, "mig") == 0)
        add_instance(parser, (unsigned)strtoul(rest, NULL, 10));
    else if (strcmp(word, "device") == 0)
        choose_device(parser, rest);
    else if (strcmp(word, "at") == 0)
        parser->at = strtod(rest, NULL);
    else if (strcmp(word, "gone") == 0 || strcmp(word, "here") == 0)
        add_entry(parser, FAKE_GONE)->result = word[0] == 'g';
    else if (strcmp(word, "xid") == 0)
        parse_xid(parser, rest);
    else if (strcmp(word, "processes") == 0)
        parse_processes(parser, rest);
    else if (strcmp(word, "init") == 0)
        script->init = (nvml_return)strtoul(rest, NULL, 10);
    else if (strcmp(word, "clock") == 0)
        script->clock_file = copy(rest);
    else if (strcmp(word, "log") == 0)
        script->log_file = copy(rest);
    else if (strcmp(word, "follow") == 0)
        script->follow = true;
    else if (strcmp(word, "living") == 0)
        script->living = true;
    else if (strcmp(word, "layout") == 0)
        script->process_layout = (unsigned)strtoul(rest, NULL, 10);
    else if (strcmp(word, "system") == 0)
        parser->device = &script->system;
    else if (strcmp(word, "include") == 0)
        parse_file(parser, rest);
    else
        wrong(parser, "unknown word", word);
}

static void parse_line(struct parser *parser, char *line)
{
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    line += strspn(line, " \t");
    for (size_t length = strlen(line); length > 0 && strchr(" \t\n", line[length - 1]);)
        line[--length] = '\0';
    if (!*line)
        return;
    char *arrow = strstr(line, " -> ");
    if (arrow) {
        *arrow = '\0';
        if (strncmp(line, "nvmlSystem", 10) == 0 || strncmp(line, "nvmlInit", 8) == 0 ||
            strncmp(line, "nvmlShutdown", 12) == 0) {
            struct fake_device *device = parser->device;
            parser->device = &parser->script->system;
            parse_call(parser, line, arrow + 4);
            parser->device = device;
        } else if (strncmp(line, "nvmlDeviceGetCount", 18) != 0)
            parse_call(parser, line, arrow + 4);
        return;
    }
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = '\0';
    parse_word(parser, line, rest);
}

static void parse_file(struct parser *parser, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        wrong(parser, "cannot read", path);
    struct parser saved = *parser;
    char *line = NULL;
    size_t size = 0;
    parser->path = path;
    for (parser->line = 1; getline(&line, &size, file) > 0; parser->line++)
        parse_line(parser, line);
    free(line);
    fclose(file);
    parser->path = saved.path;
    parser->line = saved.line;
}

void fake_script_read(struct fake_script *script, const char *path)
{
    *script = (struct fake_script){.process_layout = sizeof(struct nvml_process_v2)};
    struct parser parser = {.script = script, .path = "(no script)", .device = &script->system};
    apply_preset(&parser, "system");
    if (path)
        parse_file(&parser, path);
    else
        add_gpu(&parser, "h200");
}

static void free_device(struct fake_device *device)
{
    for (unsigned i = 0; i < device->entry_count; i++) {
        free(device->entries[i].hang);
        free(device->entries[i].text);
        free(device->entries[i].processes);
    }
    free(device->entries);
}

void fake_script_free(struct fake_script *script)
{
    for (unsigned i = 0; i < script->device_count; i++)
        free_device(&script->devices[i]);
    free_device(&script->system);
    free(script->clock_file);
    free(script->log_file);
    *script = (struct fake_script){0};
}

static bool matches(const struct fake_entry *entry, uint32_t first, uint32_t second)
{
    return (entry->argument[0] == FAKE_WHATEVER || entry->argument[0] == first) &&
           (entry->argument[1] == FAKE_WHATEVER || entry->argument[1] == second);
}

static const struct fake_entry *find(const struct fake_device *device, enum fake_function function,
                                     double now, uint32_t first, uint32_t second, bool hang)
{
    for (unsigned i = device->entry_count; i-- > 0;) {
        const struct fake_entry *entry = &device->entries[i];
        if (entry->function == function && entry->at <= now && !!entry->hang == hang &&
            matches(entry, first, second))
            return entry;
    }
    return NULL;
}

const struct fake_entry *fake_find(const struct fake_device *device, enum fake_function function,
                                   double now, uint32_t first, uint32_t second)
{
    return find(device, function, now, first, second, false);
}

const struct fake_entry *fake_find_hang(const struct fake_device *device,
                                        enum fake_function function, double now, uint32_t first,
                                        uint32_t second)
{
    return find(device, function, now, first, second, true);
}
