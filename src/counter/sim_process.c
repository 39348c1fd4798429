#include <string.h>

#include "base/array.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "counter/sim_parser.h"

static int parse_kinds(struct sim_parser *parser, const char *text, unsigned *ret)
{
    static const struct {
        const char *word;
        unsigned kind;
    } kinds[] = {{"compute", PROCESS_COMPUTE},
                 {"graphics", PROCESS_GRAPHICS},
                 {"mps_client", PROCESS_MPS_CLIENT},
                 {"mps_server", PROCESS_MPS_SERVER}};
    unsigned all = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < ARRAY_SIZE(kinds) &&
               (strlen(kinds[i].word) != length || strncmp(kinds[i].word, text, length) != 0))
            i++;
        if (i == ARRAY_SIZE(kinds))
            return sim_refuse(
                parser, "'%.64s' is no kind; expected compute, graphics, mps_client, mps_server",
                text);
        all |= kinds[i].kind;
        text += length + (text[length] == ',');
    }
    *ret = all;
    return 0;
}

static bool copy_description(struct process_description *description, const char *key,
                             const char *text)
{
    if (strcmp(key, "user") == 0)
        utf8_clean(description->user, sizeof(description->user), text);
    else if (strcmp(key, "command") == 0)
        utf8_clean(description->command, sizeof(description->command), text);
    else if (strcmp(key, "container") == 0)
        utf8_clean(description->container, sizeof(description->container), text);
    else if (strcmp(key, "cgroup") == 0)
        utf8_clean(description->cgroup, sizeof(description->cgroup), text);
    else
        return false;
    return true;
}

static int process_field(struct sim_parser *parser, const char *key, const char *text,
                         struct process *process, struct process_description *description)
{
    uint64_t whole;
    double seconds;
    if (strcmp(key, "pid") == 0) {
        if (parse_unsigned(text, &whole) < 0 || whole == 0 || whole > INT32_MAX)
            return sim_refuse(parser, "'%.64s' is no pid; expected a number above 0", text);
        process->pid = (pid_t)whole;
        return 0;
    }
    if (strcmp(key, "memory") == 0) {
        if (parse_bytes(text, &process->memory_bytes) < 0)
            return sim_refuse(parser, "'%.64s' is no memory size; expected bytes such as 8G", text);
        process->memory_known = true;
        return 0;
    }
    if (strcmp(key, "start") == 0) {
        if (parse_double(text, &seconds) < 0)
            return sim_refuse(parser, "'%.64s' is no start; expected seconds from the beginning",
                              text);
        description->start_time = parser->script->begin + seconds;
        return 0;
    }
    if (strcmp(key, "kinds") == 0)
        return parse_kinds(parser, text, &process->kinds);
    if (copy_description(description, key, text))
        return 0;
    return sim_refuse(parser, "a process has no field '%.64s'; docs/SIM.md lists them", key);
}

static struct sim_person *find_person(struct sim_script *script, pid_t pid)
{
    for (size_t i = 0; i < script->person_count; i++)
        if (script->people[i].pid == pid)
            return &script->people[i];
    return NULL;
}

static int add_person(struct sim_parser *parser, pid_t pid,
                      const struct process_description *description)
{
    struct sim_script *script = parser->script;
    struct sim_person *known = find_person(script, pid);
    if (known) {
        known->description = *description;
        return 0;
    }
    int r = array_grow(&script->people, script->person_count, &parser->person_room,
                       sizeof(*script->people));
    if (r < 0)
        return r;
    script->people[script->person_count++] =
        (struct sim_person){.pid = pid, .description = *description};
    return 0;
}

int sim_process_line(struct sim_parser *parser)
{
    struct sim_change change = {.kind = SIM_PROCESS, .process.kinds = PROCESS_COMPUTE};
    struct process_description description = {0};
    bool told = false;
    for (size_t i = 2; i < parser->word_count; i++) {
        char *word = parser->words[i];
        if (strcmp(word, "gone") == 0) {
            change.kind = SIM_PROCESS_GONE;
            continue;
        }
        if (strcmp(word, "outside") == 0) {
            description.outside = told = true;
            continue;
        }
        char *text = sim_split_value(word);
        if (!text)
            return sim_refuse(parser, "'%.64s' is no field; expected FIELD=VALUE, gone or outside",
                              word);
        int r = process_field(parser, word, text, &change.process, &description);
        if (r < 0)
            return r;
        told |=
            strcmp(word, "pid") != 0 && strcmp(word, "memory") != 0 && strcmp(word, "kinds") != 0;
    }
    if (change.process.pid == 0)
        return sim_refuse(parser, "the process has no pid; expected pid=NUMBER");
    int r = sim_add_for_each(parser, change);
    return r < 0 || !told ? r : add_person(parser, change.process.pid, &description);
}

int sim_processes_line(struct sim_parser *parser)
{
    const char *word = parser->word_count == 3 ? parser->words[2] : "";
    if (strcmp(word, "none") == 0)
        return sim_add_for_each(parser, (struct sim_change){.kind = SIM_PROCESSES_NONE});
    if (strcmp(word, "unknown") == 0)
        return sim_add_for_each(parser, (struct sim_change){.kind = SIM_PROCESSES_UNKNOWN});
    return sim_refuse(parser, "expected processes N none, or processes N unknown");
}
