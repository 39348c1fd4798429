#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/job.h"
#include "share/gpus.h"

struct settings {
    struct job_options job;
    uint64_t gpu_count;
    const char *sm;
    uint64_t memory;
    bool exclusive;
    bool share;
    double timeout;
    double grace;
    uint64_t reserve;
    uint64_t retries;
    const char *json;
    bool quiet;
};

static const struct option_row options[] = {
    OPTION_JOB_GPU(struct settings, job),
    {.name = "gpus",
     .letter = 'n',
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, gpu_count),
     .argument = "N",
     .help = "So many GPUs, whole ones (1)"},
    {.name = "share",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, share),
     .help = "Share a GPU through MPS, or do not run"},
    {.name = "exclusive",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, exclusive),
     .help = "A whole GPU; the default without --sm, --mem and --share"},
    {.name = "sm",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, sm),
     .argument = "PERCENT",
     .help = "Most of the SMs that it gets, shared (25%)"},
    {.name = "mem",
     .letter = 'm',
     .kind = OPTION_BYTES,
     .offset = offsetof(struct settings, memory),
     .argument = "SIZE",
     .help = "Most device memory for all its processes together, shared (by --sm)"},
    OPTION_JOB_WAIT(struct settings, job),
    {.name = "timeout",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, timeout),
     .argument = "TIME",
     .help = "Stop it then"},
    {.name = "grace",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, grace),
     .argument = "TIME",
     .help = "From being told to end until being killed (5 s)"},
    {.name = "reserve",
     .kind = OPTION_BYTES,
     .offset = offsetof(struct settings, reserve),
     .argument = "SIZE",
     .help = "Memory of a shared GPU that stays free: a job has to end before (512M; at most 1G)"},
    {.name = "retry-victims",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, retries),
     .argument = "N",
     .help = "Run it again, N times at most, where a fault on its shared GPU took it down"},
    OPTION_JOB_BESIDE(struct settings, job),
    OPTION_JOB_NAME(struct settings, job, "What `rooftop slots` calls it (the command)"),
    {.name = "json",
     .letter = 'j',
     .kind = OPTION_FILE,
     .offset = offsetof(struct settings, json),
     .argument = "FILE",
     .help = "Write the account there as JSON"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, quiet),
     .help = "No account on standard error"},
    OPTION_JOB_SOURCE(struct settings, job),
    OPTION_JOB_CLOCK(struct settings, job, "burst; off where it shares"),
    OPTIONS_END,
};

static void say(const char *text)
{
    fprintf(stderr, "rooftop run: %s\n", text);
}

/* "25", "25%" or "25 %". */
static bool parse_percent(const char *text, double *ret)
{
    char number[32];
    size_t length = strcspn(text, " %");
    if (length >= sizeof(number) || strspn(text + length, " %") != strlen(text + length))
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    return parse_double(number, ret) == 0 && *ret > 0 && *ret <= 100;
}

static int write_json(const struct command *command, const char *path,
                      const struct account *account)
{
    struct strbuf text = {0};
    account_write_json(account, &text);
    FILE *file = fopen(path, "we");
    bool whole = file && !strbuf_failed(&text) &&
                 fwrite(strbuf_text(&text), 1, text.length, file) == text.length;
    int error = errno;
    if (file && fclose(file) != 0) {
        whole = false;
        error = errno;
    }
    strbuf_free(&text);
    return whole ? EXIT_DONE : run_error(command, "--json: %s: %s", path, strerror(error));
}

static void print_account(const struct account *account)
{
    struct strbuf text = {0};
    account_write_text(account, &text);
    fputs(strbuf_text(&text), stderr);
    strbuf_free(&text);
}

static int report(const struct command *command, const struct settings *settings,
                  const struct account *account)
{
    if (!settings->quiet)
        print_account(account);
    int code = settings->json ? write_json(command, settings->json, account) : EXIT_DONE;
    return account->exit_code ? account->exit_code : code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.gpu_count = 1};
    int operands;
    enum options_result result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result == OPTIONS_STOP ? EXIT_DONE : EXIT_USAGE;
    if (operands == argc)
        return usage_error(command, "which command shall it run?");
    if (settings.exclusive && (settings.share || settings.sm || settings.memory))
        return usage_error(command, "--exclusive goes with none of --share, --sm and --mem");
    double percent = 0;
    if (settings.sm && !parse_percent(settings.sm, &percent))
        return usage_error(command, "--sm: '%s' is no percentage such as 25%%", settings.sm);
    if (settings.gpu_count < 1 || settings.gpu_count > SLOT_GPUS)
        return usage_error(command, "--gpus: 1 to %d", SLOT_GPUS);
    if (settings.reserve > GPUS_FREE_BYTES)
        return usage_error(command, "--reserve: slots leave 1 GiB of a GPU free; with more, jobs "
                                    "within their slots would have to end");
    bool limited = settings.sm || settings.memory;
    struct run_options run_options = {
        .mode = settings.share ? RUN_SHARED
                : limited      ? RUN_EITHER
                               : RUN_EXCLUSIVE,
        .gpu_count = (unsigned)settings.gpu_count,
        .sm_percent = percent,
        .memory_bytes = settings.memory,
        .timeout = settings.timeout,
        .grace = settings.grace,
        .reserve_bytes = settings.reserve,
        .victim_retries = (unsigned)(settings.retries > 1000 ? 1000 : settings.retries),
        .command = (const char *const *)argv + operands,
        .say = say,
    };
    job_apply(&settings.job, &run_options);
    struct account account;
    int code = job_run(command, &run_options, &account);
    if (code == EXIT_DONE)
        code = report(command, &settings, &account);
    run_free(&account);
    return code;
}

const struct command command_run = {
    .name = "run",
    .summary = "Run a job on a GPU, alone or in a slot whose limits hold, and account for it",
    .operands = "-- COMMAND [ARGUMENT…]",
    .options = options,
    .more =
        "Returns the command's exit code; 121: it was stopped for using a GPU without its limits,\n"
        "122: for more memory than its slot, 123: a fault on its shared GPU took it down, 124:\n"
        "its time was over.\n\n"
        "  rooftop run -- python train.py\n"
        "  rooftop run --share --sm 25% --mem 8G -- python train.py\n",
    .run = run,
};
