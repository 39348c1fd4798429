#include "bench/plan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

static const char GENERAL[] = "bench";
static const double USUAL_TIMEOUT = 3600, USUAL_WARM_UP = 300, USUAL_SETTLE = 2;
static const double SHORTEST = 0.001, LONGEST = 7 * 86400.0;

struct parser {
    struct bench_plan *plan;
    struct bench_job *job; /* of the present section; NULL in [bench] */
    bool general_seen;
    unsigned job_line; /* where the job's section begins */
};

typedef int key_reader(struct parser *parser, const struct ini_place *place, const char *value,
                       struct ini_error *error);

static int no_memory(void)
{
    return -ENOMEM;
}

static int read_seconds(const struct ini_place *place, const char *key, const char *value,
                        double *ret, struct ini_error *error)
{
    double seconds;
    if (parse_duration(value, &seconds) < 0 || seconds < SHORTEST || seconds > LONGEST)
        return ini_fail(error, place,
                        "%s: '%.64s' is no time from 1ms to 7 days, such as 20s, 5m or 1h", key,
                        value);
    *ret = seconds;
    return 0;
}

static int read_count(const struct ini_place *place, const char *key, const char *value,
                      unsigned most, unsigned *ret, struct ini_error *error)
{
    uint64_t count;
    if (parse_unsigned(value, &count) < 0 || count < 1 || count > most)
        return ini_fail(error, place, "%s: '%.64s' is no number from 1 to %u", key, value, most);
    *ret = (unsigned)count;
    return 0;
}

static int copy_value(const struct ini_place *place, const char *key, const char *value, char **ret,
                      struct ini_error *error)
{
    if (!*value)
        return ini_fail(error, place, "%s: nothing is given", key);
    *ret = strdup(value);
    return *ret ? 0 : no_memory();
}

/* [bench] */

static int read_title(struct parser *parser, const struct ini_place *place, const char *value,
                      struct ini_error *error)
{
    (void)place;
    (void)error;
    utf8_clean(parser->plan->title, sizeof(parser->plan->title), value);
    return 0;
}

static int add_mode(struct bench_plan *plan, const struct ini_place *place, const char *name,
                    struct ini_error *error)
{
    enum bench_mode mode = bench_mode_by_name(name);
    if (mode == MODE_COUNT)
        return ini_fail(error, place,
                        "modes: '%.64s' is none; there are exclusive, time-slicing, mps, "
                        "mps-equal, mps-limits and mig",
                        name);
    for (size_t i = 0; i < plan->mode_count; i++)
        if (plan->modes[i] == mode)
            return ini_fail(error, place, "modes: %s is named twice", name);
    plan->modes[plan->mode_count++] = mode;
    return 0;
}

static int read_modes(struct parser *parser, const struct ini_place *place, const char *value,
                      struct ini_error *error)
{
    CLEANUP_FREE char *words = strdup(value);
    if (!words)
        return no_memory();
    parser->plan->mode_count = 0;
    char *rest = NULL;
    int r = 0;
    for (char *word = strtok_r(words, ", \t", &rest); word && r == 0;
         word = strtok_r(NULL, ", \t", &rest))
        r = add_mode(parser->plan, place, word, error);
    if (r == 0 && parser->plan->mode_count == 0)
        return ini_fail(error, place, "modes: nothing is given");
    return r;
}

static int read_repeats(struct parser *parser, const struct ini_place *place, const char *value,
                        struct ini_error *error)
{
    return read_count(place, "repeats", value, BENCH_MOST_REPEATS, &parser->plan->repeats, error);
}

static int read_timeout(struct parser *parser, const struct ini_place *place, const char *value,
                        struct ini_error *error)
{
    return read_seconds(place, "timeout", value, &parser->plan->timeout, error);
}

static int read_warm_up(struct parser *parser, const struct ini_place *place, const char *value,
                        struct ini_error *error)
{
    return read_seconds(place, "warm-up-timeout", value, &parser->plan->warm_up_timeout, error);
}

static int read_settle(struct parser *parser, const struct ini_place *place, const char *value,
                       struct ini_error *error)
{
    return read_seconds(place, "settle", value, &parser->plan->settle, error);
}

/* A job's section */

static int read_command(struct parser *parser, const struct ini_place *place, const char *value,
                        struct ini_error *error)
{
    return copy_value(place, "command", value, &parser->job->command, error);
}

static int read_folder(struct parser *parser, const struct ini_place *place, const char *value,
                       struct ini_error *error)
{
    return copy_value(place, "folder", value, &parser->job->folder, error);
}

static int read_job_count(struct parser *parser, const struct ini_place *place, const char *value,
                          struct ini_error *error)
{
    return read_count(place, "count", value, BENCH_MOST_INSTANCES, &parser->job->count, error);
}

static int copy_line(const struct ini_place *place, const char *key, const char *value, char **ret,
                     struct ini_error *error)
{
    const char *text = value + strlen("line ");
    return copy_value(place, key, text + strspn(text, " \t"), ret, error);
}

static int read_done(struct parser *parser, const struct ini_place *place, const char *value,
                     struct ini_error *error)
{
    if (strncmp(value, "line ", 5) == 0)
        return copy_line(place, "done", value, &parser->job->done_line, error);
    if (strcmp(value, "exit") != 0)
        return ini_fail(error, place, "done: '%.64s' is none of: exit, line TEXT", value);
    return 0;
}

static int read_ready(struct parser *parser, const struct ini_place *place, const char *value,
                      struct ini_error *error)
{
    struct bench_job *job = parser->job;
    if (strcmp(value, "exec") == 0)
        job->ready = READY_EXEC;
    else if (strcmp(value, "file") == 0)
        job->ready = READY_FILE;
    else if (strncmp(value, "line ", 5) == 0) {
        job->ready = READY_LINE;
        return copy_line(place, "ready", value, &job->ready_line, error);
    } else
        return ini_fail(error, place, "ready: '%.64s' is none of: exec, file, line TEXT", value);
    return 0;
}

static int read_hold(struct parser *parser, const struct ini_place *place, const char *value,
                     struct ini_error *error)
{
    if (strcmp(value, "go") == 0)
        parser->job->hold = HOLD_GO;
    else if (strcmp(value, "stop") == 0)
        parser->job->hold = HOLD_STOP;
    else
        return ini_fail(error, place, "hold: '%.64s' is none of: go, stop", value);
    return 0;
}

static int read_sm(struct parser *parser, const struct ini_place *place, const char *value,
                   struct ini_error *error)
{
    char number[32];
    size_t length = strcspn(value, "%");
    double percent;
    snprintf(number, sizeof(number), "%.*s", (int)util_min(length, sizeof(number) - 1), value);
    if (length >= sizeof(number) || (value[length] && value[length + 1]) ||
        parse_double(number, &percent) < 0 || percent <= 0 || percent > 100)
        return ini_fail(error, place, "sm: '%.64s' is no share; write 25%%", value);
    parser->job->sm_percent = percent;
    return 0;
}

static int read_memory(struct parser *parser, const struct ini_place *place, const char *value,
                       struct ini_error *error)
{
    uint64_t bytes;
    if (parse_bytes(value, &bytes) < 0 || bytes < 1 << 20)
        return ini_fail(error, place, "memory: '%.64s' is no size; write 4G or 512M", value);
    parser->job->memory_bytes = bytes;
    return 0;
}

static int read_profile(struct parser *parser, const struct ini_place *place, const char *value,
                        struct ini_error *error)
{
    return copy_value(place, "profile", value, &parser->job->profile, error);
}

static int read_time(struct parser *parser, const struct ini_place *place, const char *value,
                     struct ini_error *error)
{
    return read_seconds(place, "time", value, &parser->job->seconds, error);
}

static int read_variable(struct bench_job *job, const struct ini_place *place, const char *name,
                         const char *value, struct ini_error *error)
{
    if (!*name || isdigit((unsigned char)*name) || strpbrk(name, "-."))
        return ini_fail(error, place, "'env.%s' names no variable; write env.NAME = VALUE", name);
    char **grown =
        reallocarray(job->environment, job->environment_count + 2, sizeof(*job->environment));
    if (!grown)
        return no_memory();
    job->environment = grown;
    grown[job->environment_count] = grown[job->environment_count + 1] = NULL;
    if (asprintf(&grown[job->environment_count], "%s=%s", name, value) < 0) {
        grown[job->environment_count] = NULL;
        return no_memory();
    }
    job->environment_count++;
    return 0;
}

static const struct key {
    bool of_job;
    const char *name;
    key_reader *read;
} keys[] = {
    {false, "title", read_title},
    {false, "modes", read_modes},
    {false, "repeats", read_repeats},
    {false, "timeout", read_timeout},
    {false, "warm-up-timeout", read_warm_up},
    {false, "settle", read_settle},
    {true, "command", read_command},
    {true, "folder", read_folder},
    {true, "count", read_job_count},
    {true, "ready", read_ready},
    {true, "hold", read_hold},
    {true, "done", read_done},
    {true, "sm", read_sm},
    {true, "memory", read_memory},
    {true, "profile", read_profile},
    {true, "time", read_time},
};

/* A job that makes the file knows of the variables, and so of $ROOFTOP_GO; one that only prints a
 * line would work on before the start. */
static enum bench_hold usual_hold(enum bench_ready ready)
{
    return ready == READY_FILE ? HOLD_GO : ready == READY_LINE ? HOLD_STOP : HOLD_UNSAID;
}

static int finish_job(const struct parser *parser, const char *file, struct ini_error *error)
{
    struct bench_job *job = parser->job;
    const struct ini_place place = {.file = file, .line = parser->job_line};
    if (!job)
        return 0;
    if (!job->command)
        return ini_fail(error, &place, "[%s] has no command", job->name);
    if (job->ready == READY_EXEC && job->hold != HOLD_UNSAID)
        return ini_fail(error, &place, "[%s]: hold needs ready = file or ready = line TEXT",
                        job->name);
    if (job->hold == HOLD_UNSAID)
        job->hold = usual_hold(job->ready);
    return 0;
}

static int begin_section(void *context, const struct ini_place *place, const char *section,
                         struct ini_error *error)
{
    struct parser *parser = context;
    struct bench_plan *plan = parser->plan;
    int r = finish_job(parser, place->file, error);
    if (r < 0)
        return r;
    parser->job = NULL;
    if (strcmp(section, GENERAL) == 0) {
        if (parser->general_seen)
            return ini_fail(error, place, "[bench] is there twice");
        parser->general_seen = true;
        return 0;
    }
    for (size_t i = 0; i < plan->job_count; i++)
        if (strcmp(plan->jobs[i].name, section) == 0)
            return ini_fail(error, place, "[%s] is there twice", section);
    if (plan->job_count == BENCH_MOST_JOBS)
        return ini_fail(error, place, "more than %d jobs", BENCH_MOST_JOBS);
    parser->job = &plan->jobs[plan->job_count++];
    *parser->job = (struct bench_job){.count = 1};
    snprintf(parser->job->name, sizeof(parser->job->name), "%s", section);
    parser->job_line = place->line;
    return 0;
}

static int take_value(void *context, const struct ini_place *place, const char *section,
                      const char *key, const char *value, struct ini_error *error)
{
    struct parser *parser = context;
    if (parser->job && strncmp(key, "env.", 4) == 0)
        return read_variable(parser->job, place, key + 4, value, error);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (keys[i].of_job == (parser->job != NULL) && strcmp(keys[i].name, key) == 0)
            return keys[i].read(parser, place, value, error);
    return ini_fail(error, place, "[%s] knows no key '%s'", section, key);
}

static int check_plan(struct parser *parser, const char *file, struct ini_error *error)
{
    struct bench_plan *plan = parser->plan;
    const struct ini_place place = {.file = file, .line = parser->job_line};
    int r = finish_job(parser, file, error);
    if (r < 0)
        return r;
    if (plan->job_count == 0)
        return ini_fail(error, &place, "there is no job; write [NAME] and command = …");
    for (size_t i = 0; i < plan->job_count; i++)
        plan->instance_count += plan->jobs[i].count;
    if (plan->instance_count > BENCH_MOST_INSTANCES)
        return ini_fail(error, &place, "%zu jobs at once are more than %d", plan->instance_count,
                        BENCH_MOST_INSTANCES);
    return 0;
}

static int start_plan(struct bench_plan *plan)
{
    *plan = (struct bench_plan){
        .modes = {MODE_EXCLUSIVE, MODE_TIME_SLICING, MODE_MPS, MODE_MPS_EQUAL},
        .mode_count = 4,
        .repeats = 3,
        .timeout = USUAL_TIMEOUT,
        .warm_up_timeout = USUAL_WARM_UP,
        .settle = USUAL_SETTLE,
        .jobs = calloc(BENCH_MOST_JOBS, sizeof(*plan->jobs)),
    };
    return plan->jobs ? 0 : no_memory();
}

int bench_plan_parse(struct bench_plan *ret, const char *file, const char *text, size_t length,
                     struct ini_error *error)
{
    struct parser parser = {.plan = ret};
    const struct ini_handler handler = {begin_section, take_value, &parser};
    int r = start_plan(ret);
    if (r == 0)
        r = ini_read_text(file, text, length, &handler, error);
    if (r == 0)
        r = check_plan(&parser, file, error);
    if (r < 0)
        bench_plan_free(ret);
    return r;
}

void bench_plan_free(struct bench_plan *plan)
{
    for (size_t i = 0; i < plan->job_count; i++) {
        struct bench_job *job = &plan->jobs[i];
        free(job->command);
        free(job->folder);
        free(job->ready_line);
        free(job->done_line);
        free(job->profile);
        for (size_t k = 0; k < job->environment_count; k++)
            free(job->environment[k]);
        free(job->environment);
    }
    free(plan->jobs);
    *plan = (struct bench_plan){0};
}

bool bench_plan_has(const struct bench_plan *plan, enum bench_mode mode)
{
    for (size_t i = 0; i < plan->mode_count; i++)
        if (plan->modes[i] == mode)
            return true;
    return false;
}

size_t bench_plan_turns(const struct bench_plan *plan)
{
    return plan->mode_count * plan->repeats;
}

struct bench_turn bench_plan_turn(const struct bench_plan *plan, size_t i)
{
    unsigned repeat = (unsigned)(i / plan->mode_count);
    return (struct bench_turn){plan->modes[(i + repeat) % plan->mode_count], repeat};
}

const struct bench_job *bench_plan_instance(const struct bench_plan *plan, size_t instance,
                                            unsigned *ret_number)
{
    const struct bench_job *job = plan->jobs;
    for (; instance >= job->count; job++)
        instance -= job->count;
    *ret_number = (unsigned)instance + 1;
    return job;
}

void bench_plan_instance_name(const struct bench_plan *plan, size_t instance, char *ret,
                              size_t size)
{
    unsigned number;
    const struct bench_job *job = bench_plan_instance(plan, instance, &number);
    if (job->count == 1)
        snprintf(ret, size, "%s", job->name);
    else
        snprintf(ret, size, "%s.%u", job->name, number);
}

bool bench_plan_expect(const struct bench_plan *plan, enum bench_mode mode, double *ret_low,
                       double *ret_high)
{
    double sum = 0, longest = 0;
    for (size_t i = 0; i < plan->job_count; i++) {
        if (plan->jobs[i].seconds <= 0)
            return false;
        sum += plan->jobs[i].seconds * plan->jobs[i].count;
        longest = fmax(longest, plan->jobs[i].seconds);
    }
    *ret_low = mode == MODE_EXCLUSIVE ? sum : longest;
    *ret_high = sum;
    return true;
}

struct mps_limits bench_plan_limits(const struct bench_plan *plan, enum bench_mode mode,
                                    const struct bench_job *job, uint64_t device_bytes)
{
    struct mps_limits limits = {.sm_percent = 100};
    if (mode == MODE_MPS_EQUAL) {
        limits.sm_percent = fmax(floor(100.0 / (double)plan->instance_count), 1);
        limits.memory_bytes = device_bytes / plan->instance_count;
    } else if (mode == MODE_MPS_LIMITS) {
        limits.sm_percent = fmax(floor(job->sm_percent), 1);
        limits.memory_bytes = job->memory_bytes;
    }
    return limits;
}
