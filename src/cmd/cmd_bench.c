#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/limits.h"
#include "bench/runner.h"
#include "cmd/common.h"
#include "cmd/job.h"

enum { MOST_JOBS_BYTES = 1 << 20 };

struct settings {
    bool dry_run;
    const char *output;
    struct watch_options watch;
    bool beside;
};

static const struct option_row options[] = {
    {.name = "dry-run",
     .letter = 'n',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, dry_run),
     .help = "Show what would be run, and how long it takes"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .offset = offsetof(struct settings, output),
     .argument = "FILE",
     .help = "The result (JOBS.bench); one that is there is resumed"},
    {.name = "gpu",
     .letter = 'g',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, watch.gpus),
     .argument = "GPU",
     .help = "On this one: index, UUID or its start, PCI address (the first)"},
    {.name = "beside",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, beside),
     .help = "Measure although another program uses the GPU"},
    OPTION_CLOCK(struct settings, watch),
    OPTION_LIVE_SOURCE(struct settings, watch),
    OPTIONS_END,
};

static bool line_is_shown;

static void say(const char *text, bool fleeting)
{
    bool terminal = isatty(STDERR_FILENO);
    if (fleeting && !terminal)
        return;
    fprintf(stderr, "%s%s%s", terminal ? "\r" : "", text, terminal ? "\033[K" : "");
    if (!fleeting)
        fputc('\n', stderr);
    line_is_shown = fleeting;
}

static int describe(const struct command *command, const struct bench_plan *plan)
{
    struct strbuf out = {0};
    bench_plan_describe(plan, &out);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

static int exit_code(enum runner_result result)
{
    switch (result) {
    case RUNNER_DONE:
        return EXIT_DONE;
    case RUNNER_WRONG:
        return EXIT_USAGE;
    case RUNNER_NO_GPU:
        return EXIT_NO_GPU;
    default:
        return EXIT_FAILED;
    }
}

/* "jobs.ini" becomes "jobs.bench". */
static void name_output(const char *jobs, struct strbuf *out)
{
    size_t length = strlen(jobs);
    if (length > 4 && strcmp(jobs + length - 4, ".ini") == 0)
        length -= 4;
    strbuf_add(out, jobs, length);
    strbuf_puts(out, ".bench");
}

static int bench(const struct command *command, const struct settings *settings,
                 const struct bench_plan *plan, const char *path, const char *text)
{
    struct strbuf output = {0}, again = {0};
    if (settings->output)
        strbuf_puts(&output, settings->output);
    else
        name_output(path, &output);
    strbuf_printf(&again, "rooftop bench %s", path);
    const struct runner_options runner_options = {
        .plan = plan,
        .jobs_name = path,
        .jobs_text = text,
        .output = strbuf_text(&output),
        .source = settings->watch.source,
        .gpu = settings->watch.gpus,
        .clock =
            settings->watch.clock ? settings->watch.clock : job_usual_clock(settings->watch.source),
        .command = strbuf_text(&again),
        .beside = settings->beside,
        .say = say,
    };
    struct counter_failure failure;
    enum runner_result result = runner_run(&runner_options, &failure);
    if (line_is_shown)
        fputc('\n', stderr);
    if (result == RUNNER_DONE)
        fprintf(stderr, "done; see `rooftop report %s`\n", strbuf_text(&output));
    else {
        run_error(command, "%s", failure.reason);
        if (failure.advice[0])
            fprintf(stderr, "%s\n", failure.advice);
    }
    strbuf_free(&output);
    strbuf_free(&again);
    return exit_code(result);
}

static char *read_text(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char *text = malloc(MOST_JOBS_BYTES + 1);
    *ret_length = text ? fread(text, 1, MOST_JOBS_BYTES + 1, file) : 0;
    int error = !text || ferror(file) ? errno : *ret_length > MOST_JOBS_BYTES ? EFBIG : 0;
    fclose(file);
    if (error == 0) {
        text[*ret_length] = '\0';
        return text;
    }
    free(text);
    errno = error;
    return NULL;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {0};
    const char *path;
    int result = options_parse_one(command, argc, argv, &settings, "one file of jobs", &path);
    if (result != OPTIONS_GO)
        return result;
    size_t length;
    CLEANUP_FREE char *text = read_text(path, &length);
    if (!text)
        return usage_error(command, "%s: %s", path, strerror(errno));
    struct bench_plan plan;
    struct ini_error error;
    int r = bench_plan_parse(&plan, path, text, length, &error);
    if (r < 0)
        return usage_error(command, "%s", error.text[0] ? error.text : strerror(-r));
    bench_limits_fill(&plan);
    int code =
        settings.dry_run ? describe(command, &plan) : bench(command, &settings, &plan, path, text);
    bench_plan_free(&plan);
    return code;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "Run your jobs exclusive, time-sliced, under MPS and MIG, and compare",
    .operands = "JOBS.ini",
    .options = options,
    .more =
        "The same jobs run in each mode several times, and the GPU is measured meanwhile. An\n"
        "interrupted bench goes on with the same command. rooftop-bench(1) has all that may stand\n"
        "in JOBS.ini; this is one for two trainings and a server:\n\n"
        "  [bench]\n"
        "  modes = exclusive, time-slicing, mps-equal\n"
        "  [train]\n"
        "  command = python train.py\n"
        "  count = 2\n"
        "  [serve]\n"
        "  command = ./replay-requests.sh\n\n"
        "  rooftop bench --dry-run jobs.ini\n"
        "  rooftop bench jobs.ini && rooftop report jobs.bench\n",
    .run = run,
};
