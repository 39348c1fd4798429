#include "counter/sim_script.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "counter/sim_value.h"

enum { LONGEST_LINE = 8192, MOST_WORDS = 256, MOST_DEVICES = 1024, MOST_CHANGES = 1 << 20 };

static const double DEFAULT_BEGIN = 1767225600; /* 2026-01-01 00:00 UTC: the same in every run */
static const double DEFAULT_EVERY = 0.1;
static const double SHORTEST_EVERY = 0.001;
static const double LONGEST_SCRIPT = 366 * 86400.0;

struct parser {
    struct sim_script *script;
    const char *name;
    unsigned line;
    char text[LONGEST_LINE]; /* the words of the line, in place */
    char *words[MOST_WORDS];
    size_t word_count;

    double now;          /* the present moment; negative before the first */
    size_t open_changes; /* the first change of the present moment */
    bool ended;

    size_t device_room, change_room, mark_room, person_room;
    struct counter_failure *failure;
};

/* Says where and what, and gives -EINVAL. */
PRINTF_LIKE(2, 3)
static int refuse(struct parser *parser, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(parser->failure->reason, sizeof(parser->failure->reason), "%.100s:%u: %s",
             parser->name, parser->line, what);
    return -EINVAL;
}

/* Room for one more element. */
static int grow(void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return 0;
    size_t more = *room ? *room * 2 : 16;
    void *moved = reallocarray(*array, more, size);
    if (!moved)
        return -ENOMEM;
    *array = moved;
    *room = more;
    return 0;
}

/* Cuts a line into words: blanks separate them except within double quotes, which are taken off;
 * \" and \\ stand for themselves there; # begins a comment. */
static int split(struct parser *parser, const char *line, size_t length)
{
    if (length >= sizeof(parser->text))
        return refuse(parser, "the line is longer than %d bytes", LONGEST_LINE - 1);
    if (memchr(line, '\0', length))
        return refuse(parser, "the line holds a NUL byte; expected text");
    parser->word_count = 0;
    char *out = parser->text;
    size_t i = 0;
    for (;;) {
        while (i < length && isspace((unsigned char)line[i]))
            i++;
        if (i == length || line[i] == '#')
            return 0;
        if (parser->word_count == MOST_WORDS)
            return refuse(parser, "more than %d words in one line", MOST_WORDS);
        parser->words[parser->word_count++] = out;
        bool quoted = false;
        for (; i < length && (quoted || !isspace((unsigned char)line[i])); i++) {
            if (line[i] == '"')
                quoted = !quoted;
            else if (quoted && line[i] == '\\' && i + 1 < length)
                *out++ = line[++i];
            else
                *out++ = line[i];
        }
        if (quoted)
            return refuse(parser, "a quotation mark is missing");
        /* Never past the end: at least one separator was skipped, or the line is over. */
        *out++ = '\0';
    }
}

/* Splits "key=value" in place; the value, or NULL where there is no "=". */
static char *value_of(char *word)
{
    char *equals = strchr(word, '=');
    if (!equals)
        return NULL;
    *equals = '\0';
    return equals + 1;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum metric_unit unit_of_device_number(const char *name)
{
    if (ends_with(name, "_bytes") || ends_with(name, "_bytes_per_second"))
        return UNIT_BYTES;
    return ends_with(name, "_hertz") ? UNIT_HERTZ : UNIT_COUNT;
}

static int set_device_field(struct parser *parser, struct device *device, const char *key,
                            const char *text)
{
    for (size_t i = 0; i < DEVICE_TEXT_COUNT; i++)
        if (strcmp(device_text_field((enum device_text)i)->name, key) == 0) {
            device_set_text(device, (enum device_text)i, text);
            return 0;
        }
    for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++) {
        if (strcmp(device_number_field((enum device_number)i)->name, key) != 0)
            continue;
        enum metric_unit unit = unit_of_device_number(key);
        double value;
        if (sim_value_parse(unit, text, &value) < 0)
            return refuse(parser, "'%.64s' is no value for %s; expected %s", text, key,
                          sim_value_form(unit));
        device_set_number(device, (enum device_number)i, value);
        return 0;
    }
    return refuse(parser, "a device has no field '%.64s'; docs/SIM.md lists them", key);
}

static unsigned next_index(const struct sim_script *script, const struct device *device)
{
    unsigned index = 0;
    for (size_t i = 0; i < script->device_count; i++) {
        const struct device *other = &script->devices[i];
        if (device_is_mig(device) == device_is_mig(other) &&
            device_number(device, DEVICE_PARENT, -1) == device_number(other, DEVICE_PARENT, -1))
            index++;
    }
    return index;
}

static int device_line(struct parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->now >= 0)
        return refuse(parser, "devices come before the first 'at'");
    if (script->device_count == MOST_DEVICES)
        return refuse(parser, "more than %d devices", MOST_DEVICES);
    int r = grow((void **)&script->devices, script->device_count, &parser->device_room,
                 sizeof(*script->devices));
    if (r < 0)
        return r;
    struct device device = {0};
    snprintf(device.text[DEVICE_UUID], DEVICE_TEXT_SIZE, "GPU-00000000-0000-4000-8000-%012zu",
             script->device_count);
    for (size_t i = 1; i < parser->word_count; i++) {
        char *text = value_of(parser->words[i]);
        if (!text)
            return refuse(parser, "'%.64s' is no field; expected FIELD=VALUE", parser->words[i]);
        r = set_device_field(parser, &device, parser->words[i], text);
        if (r < 0)
            return r;
    }
    if (!device.text[DEVICE_NAME][0])
        return refuse(parser, "the device has no name; expected name=\"…\"");
    device.index = next_index(script, &device);
    script->devices[script->device_count++] = device;
    return 0;
}

static int number_word(struct parser *parser, size_t word, const char *what, double least,
                       double most, double *ret)
{
    double value;
    if (word >= parser->word_count || parse_double(parser->words[word], &value) < 0 ||
        value < least || value > most)
        return refuse(parser, "expected %s, a number from %g to %.10g", what, least, most);
    *ret = value;
    return 0;
}

/* "N" or "*": the devices that a line speaks of. */
static int device_range(struct parser *parser, size_t *ret_first, size_t *ret_count)
{
    uint64_t n;
    size_t count = parser->script->device_count;
    if (parser->now < 0)
        return refuse(parser, "'%s' comes after the first 'at SECONDS'", parser->words[0]);
    if (parser->word_count > 1 && strcmp(parser->words[1], "*") == 0) {
        *ret_first = 0;
        *ret_count = count;
        return 0;
    }
    if (parser->word_count < 2 || parse_unsigned(parser->words[1], &n) < 0 || n >= count)
        return refuse(parser, "expected the number of a device line, 0 to %zu, or *", count - 1);
    *ret_first = n;
    *ret_count = 1;
    return 0;
}

static int add_change(struct parser *parser, const struct sim_change *change)
{
    struct sim_script *script = parser->script;
    if (script->change_count == MOST_CHANGES)
        return refuse(parser, "more than %d changes", MOST_CHANGES);
    int r = grow((void **)&script->changes, script->change_count, &parser->change_room,
                 sizeof(*script->changes));
    if (r < 0)
        return r;
    script->changes[script->change_count] = *change;
    script->changes[script->change_count++].time = parser->now;
    return 0;
}

static int add_for_each(struct parser *parser, struct sim_change change)
{
    size_t first = 0, count = 0;
    int r = device_range(parser, &first, &count);
    for (size_t i = 0; r == 0 && i < count; i++) {
        change.device = first + i;
        r = add_change(parser, &change);
    }
    return r;
}

static int parse_absence(struct parser *parser, const char *word, struct sim_change *change)
{
    change->kind = SIM_ABSENT;
    change->value.absence = absence_by_word(word);
    if (change->value.absence == ABSENT_NO)
        return refuse(parser, "'%.64s' is no reason; expected a word such as not_supported", word);
    return 0;
}

/* "METRIC=VALUE", "METRIC=FROM..TO" or "METRIC=absent:REASON". */
static int parse_setting(struct parser *parser, char *word, struct sim_change *change)
{
    char *text = value_of(word);
    if (!text)
        return refuse(parser, "'%.64s' is no setting; expected METRIC=VALUE, lost, stale or ok",
                      word);
    enum metric metric = metric_by_name(word);
    if (metric == METRIC_COUNT)
        return refuse(parser, "no metric is called '%.64s'; docs/METRICS.md lists them", word);
    if (metric_info(metric)->origin == ORIGIN_DERIVED)
        return refuse(parser, "%s is computed; expected a measured metric", word);
    change->kind = SIM_VALUE;
    change->value.metric = metric;
    if (strncmp(text, "absent:", 7) == 0)
        return parse_absence(parser, text + 7, change);
    char *dots = strstr(text, "..");
    if (dots)
        *dots = '\0';
    enum metric_unit unit = metric_info(metric)->unit;
    const char *arrival = dots ? dots + 2 : text;
    if (sim_value_parse(unit, text, &change->value.from) < 0 ||
        sim_value_parse(unit, arrival, &change->value.to) < 0)
        return refuse(parser, "wrong value for %s; expected %s, or FROM..TO", word,
                      sim_value_form(unit));
    return 0;
}

static int parse_state(const char *word, enum reading_state *ret)
{
    static const enum reading_state states[] = {READING_OK, READING_STALE, READING_LOST};
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcmp(reading_state_name(states[i]), word) == 0) {
            *ret = states[i];
            return 0;
        }
    return -EINVAL;
}

static int gpu_line(struct parser *parser)
{
    if (parser->word_count < 3)
        return refuse(parser, "expected gpu N METRIC=VALUE …, or gpu N lost, stale or ok");
    for (size_t i = 2; i < parser->word_count; i++) {
        struct sim_change change = {.kind = SIM_STATE};
        int r = parse_state(parser->words[i], &change.state);
        if (r < 0)
            r = parse_setting(parser, parser->words[i], &change);
        if (r == 0)
            r = add_for_each(parser, change);
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_kinds(struct parser *parser, const char *text, unsigned *ret)
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
            return refuse(parser,
                          "'%.64s' is no kind; expected compute, graphics, mps_client, mps_server",
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

static int process_field(struct parser *parser, const char *key, const char *text,
                         struct process *process, struct process_description *description)
{
    uint64_t whole;
    double seconds;
    if (strcmp(key, "pid") == 0) {
        if (parse_unsigned(text, &whole) < 0 || whole == 0 || whole > INT32_MAX)
            return refuse(parser, "'%.64s' is no pid; expected a number above 0", text);
        process->pid = (pid_t)whole;
        return 0;
    }
    if (strcmp(key, "memory") == 0) {
        if (parse_bytes(text, &process->memory_bytes) < 0)
            return refuse(parser, "'%.64s' is no memory size; expected bytes such as 8G", text);
        process->memory_known = true;
        return 0;
    }
    if (strcmp(key, "start") == 0) {
        if (parse_double(text, &seconds) < 0)
            return refuse(parser, "'%.64s' is no start; expected seconds from the beginning", text);
        description->start_time = parser->script->begin + seconds;
        return 0;
    }
    if (strcmp(key, "kinds") == 0)
        return parse_kinds(parser, text, &process->kinds);
    if (copy_description(description, key, text))
        return 0;
    return refuse(parser, "a process has no field '%.64s'; docs/SIM.md lists them", key);
}

static struct sim_person *find_person(struct sim_script *script, pid_t pid)
{
    for (size_t i = 0; i < script->person_count; i++)
        if (script->people[i].pid == pid)
            return &script->people[i];
    return NULL;
}

static int add_person(struct parser *parser, pid_t pid,
                      const struct process_description *description)
{
    struct sim_script *script = parser->script;
    struct sim_person *known = find_person(script, pid);
    if (known) {
        known->description = *description;
        return 0;
    }
    int r = grow((void **)&script->people, script->person_count, &parser->person_room,
                 sizeof(*script->people));
    if (r < 0)
        return r;
    script->people[script->person_count++] =
        (struct sim_person){.pid = pid, .description = *description};
    return 0;
}

static int process_line(struct parser *parser)
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
        char *text = value_of(word);
        if (!text)
            return refuse(parser, "'%.64s' is no field; expected FIELD=VALUE, gone or outside",
                          word);
        int r = process_field(parser, word, text, &change.process, &description);
        if (r < 0)
            return r;
        told |=
            strcmp(word, "pid") != 0 && strcmp(word, "memory") != 0 && strcmp(word, "kinds") != 0;
    }
    if (change.process.pid == 0)
        return refuse(parser, "the process has no pid; expected pid=NUMBER");
    int r = add_for_each(parser, change);
    return r < 0 || !told ? r : add_person(parser, change.process.pid, &description);
}

static int processes_line(struct parser *parser)
{
    const char *word = parser->word_count == 3 ? parser->words[2] : "";
    if (strcmp(word, "none") == 0)
        return add_for_each(parser, (struct sim_change){.kind = SIM_PROCESSES_NONE});
    if (strcmp(word, "unknown") == 0)
        return add_for_each(parser, (struct sim_change){.kind = SIM_PROCESSES_UNKNOWN});
    return refuse(parser, "expected processes N none, or processes N unknown");
}

/* Ramps of the moment that is over arrive now. */
static void close_moment(struct parser *parser, double time)
{
    struct sim_script *script = parser->script;
    for (size_t i = parser->open_changes; i < script->change_count; i++)
        script->changes[i].until = time;
    parser->open_changes = script->change_count;
}

static int move_to(struct parser *parser, const char *what)
{
    double time = 0;
    int r = number_word(parser, 1, what, 0, LONGEST_SCRIPT, &time);
    if (r < 0)
        return r;
    time = round(time * 1e6) / 1e6;
    if (time < parser->now)
        return refuse(parser, "%s goes back in time; expected %g or later", what, parser->now);
    close_moment(parser, time);
    parser->now = time;
    return 0;
}

static int at_line(struct parser *parser)
{
    if (parser->script->device_count == 0)
        return refuse(parser, "no device yet; expected device name=\"…\" … before 'at'");
    return move_to(parser, "at SECONDS");
}

static int end_line(struct parser *parser)
{
    if (parser->now < 0)
        return refuse(parser, "nothing happens before the end; expected at SECONDS");
    int r = move_to(parser, "end SECONDS");
    if (r < 0)
        return r;
    parser->script->end = parser->now;
    parser->ended = true;
    return 0;
}

static int mark_line(struct parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->now < 0)
        return refuse(parser, "'mark' comes after the first 'at SECONDS'");
    if (parser->word_count < 2 || parser->word_count > 3)
        return refuse(parser, "expected mark \"NAME\" [SECONDS]");
    double seconds = 0;
    int r = parser->word_count == 3
                ? number_word(parser, 2, "the mark's length", 0, LONGEST_SCRIPT, &seconds)
                : 0;
    if (r == 0)
        r = grow((void **)&script->marks, script->mark_count, &parser->mark_room,
                 sizeof(*script->marks));
    if (r < 0)
        return r;
    struct mark *mark = &script->marks[script->mark_count++];
    *mark = (struct mark){.time = script->begin + parser->now,
                          .end = script->begin + parser->now + seconds};
    utf8_clean(mark->name, sizeof(mark->name), parser->words[1]);
    return 0;
}

static int every_line(struct parser *parser)
{
    return number_word(parser, 1, "every SECONDS", SHORTEST_EVERY, 3600, &parser->script->every);
}

static int begin_line(struct parser *parser)
{
    if (parser->now >= 0)
        return refuse(parser, "'begin' comes before the first 'at'");
    return number_word(parser, 1, "begin SECONDS since 1970", 0, 4e9, &parser->script->begin);
}

static int driver_line(struct parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->word_count < 2 || parser->word_count > 3)
        return refuse(parser, "expected driver VERSION [CUDA-VERSION]");
    snprintf(script->driver_version, sizeof(script->driver_version), "%s", parser->words[1]);
    if (parser->word_count == 3)
        snprintf(script->cuda_version, sizeof(script->cuda_version), "%s", parser->words[2]);
    return 0;
}

static const struct {
    const char *word;
    int (*read)(struct parser *parser);
} statements[] = {
    {"at", at_line},           {"begin", begin_line},
    {"device", device_line},   {"driver", driver_line},
    {"end", end_line},         {"every", every_line},
    {"gpu", gpu_line},         {"mark", mark_line},
    {"process", process_line}, {"processes", processes_line},
};

static int parse_line(struct parser *parser, const char *line, size_t length)
{
    int r = split(parser, line, length);
    if (r < 0 || parser->word_count == 0)
        return r;
    if (parser->ended)
        return refuse(parser, "nothing comes after 'end'");
    for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
        if (strcmp(statements[i].word, parser->words[0]) == 0)
            return statements[i].read(parser);
    return refuse(parser,
                  "'%.64s' is no statement; expected device, at, gpu, process, processes, mark, "
                  "every, begin, driver or end",
                  parser->words[0]);
}

static int parse_lines(struct parser *parser, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        parser->line++;
        int r = parse_line(parser, text, (size_t)(stop - text));
        if (r < 0)
            return r;
        text = newline ? newline + 1 : end;
    }
    return parser->ended ? 0 : refuse(parser, "the file is over; expected end SECONDS");
}

int sim_script_parse(struct sim_script *ret, const char *text, size_t length, const char *name,
                     struct counter_failure *failure)
{
    struct parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return -ENOMEM;
    struct sim_script script = {.begin = DEFAULT_BEGIN, .every = DEFAULT_EVERY};
    *parser = (struct parser){.script = &script, .name = name, .now = -1, .failure = failure};
    int r = parse_lines(parser, text, length);
    free(parser);
    if (r < 0) {
        sim_script_free(&script);
        return r;
    }
    *ret = script;
    return 0;
}

void sim_script_free(struct sim_script *script)
{
    free(script->devices);
    free(script->changes);
    free(script->marks);
    free(script->people);
}
