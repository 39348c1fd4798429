#include "counter/sim_script.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "counter/sim_parser.h"
#include "counter/sim_value.h"

enum { MOST_CHANGES = 1 << 20 };

static const double DEFAULT_BEGIN = 1767225600; /* 2026-01-01 00:00 UTC: the same in every run */
static const double DEFAULT_EVERY = 0.1;
static const double SHORTEST_EVERY = 0.001;
static const double LONGEST_SCRIPT = 366 * 86400.0;

/* "N" or "*": the devices that a line speaks of. */
static int device_range(struct sim_parser *parser, size_t *ret_first, size_t *ret_count)
{
    uint64_t n;
    size_t count = parser->script->device_count;
    if (parser->now < 0)
        return sim_refuse(parser, "'%s' comes after the first 'at SECONDS'", parser->words[0]);
    if (parser->word_count > 1 && strcmp(parser->words[1], "*") == 0) {
        *ret_first = 0;
        *ret_count = count;
        return 0;
    }
    if (parser->word_count < 2 || parse_unsigned(parser->words[1], &n) < 0 || n >= count)
        return sim_refuse(parser, "expected the number of a device line, 0 to %zu, or *",
                          count - 1);
    *ret_first = n;
    *ret_count = 1;
    return 0;
}

static int add_change(struct sim_parser *parser, const struct sim_change *change)
{
    struct sim_script *script = parser->script;
    if (script->change_count == MOST_CHANGES)
        return sim_refuse(parser, "more than %d changes", MOST_CHANGES);
    int r = array_grow(&script->changes, script->change_count, &parser->change_room,
                       sizeof(*script->changes));
    if (r < 0)
        return r;
    script->changes[script->change_count] = *change;
    script->changes[script->change_count++].time = parser->now;
    return 0;
}

int sim_add_for_each(struct sim_parser *parser, struct sim_change change)
{
    size_t first = 0, count = 0;
    int r = device_range(parser, &first, &count);
    for (size_t i = 0; r == 0 && i < count; i++) {
        change.device = first + i;
        r = add_change(parser, &change);
    }
    return r;
}

static int parse_absence(struct sim_parser *parser, const char *word, struct sim_change *change)
{
    change->kind = SIM_ABSENT;
    change->value.absence = absence_by_word(word);
    if (change->value.absence == ABSENT_NO)
        return sim_refuse(parser, "'%.64s' is no reason; expected a word such as not_supported",
                          word);
    return 0;
}

/* "METRIC=VALUE", "METRIC=FROM..TO" or "METRIC=absent:REASON". */
static int parse_setting(struct sim_parser *parser, char *word, struct sim_change *change)
{
    char *text = sim_split_value(word);
    if (!text)
        return sim_refuse(parser, "'%.64s' is no setting; expected METRIC=VALUE, lost, stale or ok",
                          word);
    enum metric metric = metric_by_name(word);
    if (metric == METRIC_COUNT)
        return sim_refuse(parser, "no metric is called '%.64s'; docs/METRICS.md lists them", word);
    if (metric_info(metric)->origin == ORIGIN_DERIVED)
        return sim_refuse(parser, "%s is computed; expected a measured metric", word);
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
        return sim_refuse(parser, "wrong value for %s; expected %s, or FROM..TO", word,
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

static int gpu_line(struct sim_parser *parser)
{
    if (parser->word_count < 3)
        return sim_refuse(parser, "expected gpu N METRIC=VALUE …, or gpu N lost, stale or ok");
    for (size_t i = 2; i < parser->word_count; i++) {
        struct sim_change change = {.kind = SIM_STATE};
        int r = parse_state(parser->words[i], &change.state);
        if (r < 0)
            r = parse_setting(parser, parser->words[i], &change);
        if (r == 0)
            r = sim_add_for_each(parser, change);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Ramps of the moment that is over arrive now. */
static void close_moment(struct sim_parser *parser, double time)
{
    struct sim_script *script = parser->script;
    for (size_t i = parser->open_changes; i < script->change_count; i++)
        script->changes[i].until = time;
    parser->open_changes = script->change_count;
}

static int move_to(struct sim_parser *parser, const char *what)
{
    double time = 0;
    int r = sim_number_word(parser, 1, what, 0, LONGEST_SCRIPT, &time);
    if (r < 0)
        return r;
    time = round(time * 1e6) / 1e6;
    if (time < parser->now)
        return sim_refuse(parser, "%s goes back in time; expected %g or later", what, parser->now);
    close_moment(parser, time);
    parser->now = time;
    return 0;
}

static int at_line(struct sim_parser *parser)
{
    if (parser->script->device_count == 0)
        return sim_refuse(parser, "no device yet; expected device name=\"…\" … before 'at'");
    return move_to(parser, "at SECONDS");
}

static int end_line(struct sim_parser *parser)
{
    if (parser->now < 0)
        return sim_refuse(parser, "nothing happens before the end; expected at SECONDS");
    int r = move_to(parser, "end SECONDS");
    if (r < 0)
        return r;
    parser->script->end = parser->now;
    parser->ended = true;
    return 0;
}

static int mark_line(struct sim_parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->now < 0)
        return sim_refuse(parser, "'mark' comes after the first 'at SECONDS'");
    if (parser->word_count < 2 || parser->word_count > 3)
        return sim_refuse(parser, "expected mark \"NAME\" [SECONDS]");
    double seconds = 0;
    int r = parser->word_count == 3
                ? sim_number_word(parser, 2, "the mark's length", 0, LONGEST_SCRIPT, &seconds)
                : 0;
    if (r == 0)
        r = array_grow(&script->marks, script->mark_count, &parser->mark_room,
                       sizeof(*script->marks));
    if (r < 0)
        return r;
    struct mark *mark = &script->marks[script->mark_count++];
    *mark = (struct mark){.time = script->begin + parser->now,
                          .end = script->begin + parser->now + seconds};
    utf8_clean(mark->name, sizeof(mark->name), parser->words[1]);
    return 0;
}

static int every_line(struct sim_parser *parser)
{
    return sim_number_word(parser, 1, "every SECONDS", SHORTEST_EVERY, 3600,
                           &parser->script->every);
}

static int begin_line(struct sim_parser *parser)
{
    if (parser->now >= 0)
        return sim_refuse(parser, "'begin' comes before the first 'at'");
    return sim_number_word(parser, 1, "begin SECONDS since 1970", 0, 4e9, &parser->script->begin);
}

static int driver_line(struct sim_parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->word_count < 2 || parser->word_count > 3)
        return sim_refuse(parser, "expected driver VERSION [CUDA-VERSION]");
    snprintf(script->driver_version, sizeof(script->driver_version), "%s", parser->words[1]);
    if (parser->word_count == 3)
        snprintf(script->cuda_version, sizeof(script->cuda_version), "%s", parser->words[2]);
    return 0;
}

static const struct {
    const char *word;
    int (*read)(struct sim_parser *parser);
} statements[] = {
    {"at", at_line},
    {"begin", begin_line},
    {"device", sim_device_line},
    {"driver", driver_line},
    {"end", end_line},
    {"every", every_line},
    {"gpu", gpu_line},
    {"mark", mark_line},
    {"process", sim_process_line},
    {"processes", sim_processes_line},
};

static int parse_line(struct sim_parser *parser, const char *line, size_t length)
{
    int r = sim_split_line(parser, line, length);
    if (r < 0 || parser->word_count == 0)
        return r;
    if (parser->ended)
        return sim_refuse(parser, "nothing comes after 'end'");
    for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
        if (strcmp(statements[i].word, parser->words[0]) == 0)
            return statements[i].read(parser);
    return sim_refuse(
        parser,
        "'%.64s' is no statement; expected device, at, gpu, process, processes, mark, "
        "every, begin, driver or end",
        parser->words[0]);
}

static int parse_lines(struct sim_parser *parser, const char *text, size_t length)
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
    return parser->ended ? 0 : sim_refuse(parser, "the file is over; expected end SECONDS");
}

int sim_script_parse(struct sim_script *ret, const char *text, size_t length, const char *name,
                     struct counter_failure *failure)
{
    struct sim_parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return -ENOMEM;
    struct sim_script script = {.begin = DEFAULT_BEGIN, .every = DEFAULT_EVERY};
    *parser = (struct sim_parser){.script = &script, .name = name, .now = -1, .failure = failure};
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
