#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "cmd/job.h"
#include "share/gpus.h"
#include "share/guard.h"

enum { SMALLEST_SLOT = 64 << 20 };
static const uint64_t NOT_ASKED = UINT64_MAX;

struct settings {
    struct job_options job;
    uint64_t gpu_count;
    const char *sm;
    uint64_t memory;
    bool exclusive;
    bool share;
    bool multi_user;
    bool exclusive_process;
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
     .help = "How many GPUs it gets, each as a whole (1)"},
    {.name = "share",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, share),
     .help = "Share a GPU through MPS; where that does not work, refuse"},
    {.name = "exclusive",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, exclusive),
     .help = "A whole GPU; the default without --sm, --mem and --share"},
    {.name = "sm",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, sm),
     .argument = "PERCENT",
     .help = "Share, with at most this part of the SMs (25%)"},
    {.name = "mem",
     .letter = 'm',
     .kind = OPTION_BYTES,
     .offset = offsetof(struct settings, memory),
     .argument = "SIZE",
     .help = "Share, with at most this memory for all its processes (as --sm)"},
    {.name = "multi-user",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, multi_user),
     .help = "Share it with jobs of other users, by one MPS server for all; root only"},
    {.name = "exclusive-process",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, exclusive_process),
     .help = "Set that compute mode while the GPU is shared, so that nothing gets round MPS; root "
             "only"},
    OPTION_JOB_WAIT(struct settings, job),
    {.name = "timeout",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, timeout),
     .argument = "TIME",
     .help = "End it after that time"},
    {.name = "grace",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, grace),
     .argument = "TIME",
     .help = "Between SIGTERM and SIGKILL, where it has to end (5s)"},
    {.name = "reserve",
     .kind = OPTION_BYTES,
     .offset = offsetof(struct settings, reserve),
     .argument = "SIZE",
     .help = "Memory that the jobs of a shared GPU leave free (512M)"},
    {.name = "retry-victims",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, retries),
     .argument = "N",
     .help = "Run it again, up to N times, after a GPU fault that may be another's"},
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
    OPTION_JOB_CLOCK(struct settings, job, "burst, shared off"),
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

/* Before the job runs, for hours perhaps. */
static int check_json(const struct command *command, const char *path)
{
    FILE *file = fopen(path, "ae");
    if (file && fclose(file) == 0)
        return EXIT_DONE;
    int error = errno;
    return file_is_misplaced(-error) ? usage_error(command, "--json: %s: %s", path, strerror(error))
                                     : run_error(command, "--json: %s: %s", path, strerror(error));
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
    struct settings settings = {
        .gpu_count = 1, .memory = NOT_ASKED, .reserve = GUARD_RESERVE_BYTES};
    int operands;
    int result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (operands == argc)
        return usage_error(command, "which command shall it run?");
    bool memory_asked = settings.memory != NOT_ASKED;
    if (settings.exclusive && (settings.share || settings.sm || memory_asked))
        return usage_error(command, "--exclusive goes with none of --share, --sm and --mem");
    if ((settings.multi_user || settings.exclusive_process) && !settings.share)
        return usage_error(command, "--%s goes with --share",
                           settings.multi_user ? "multi-user" : "exclusive-process");
    double percent = 0;
    if (settings.sm && !parse_percent(settings.sm, &percent))
        return usage_error(command, "--sm: '%s' is no part of the SMs such as 25%%, up to 100%%",
                           settings.sm);
    if (settings.gpu_count < 1 || settings.gpu_count > SLOT_GPUS)
        return usage_error(command, "--gpus: 1 to %d", SLOT_GPUS);
    if (settings.memory < SMALLEST_SLOT)
        return usage_error(command, "--mem: a slot of less than 64M holds no CUDA program");
    if (settings.reserve == 0)
        return usage_error(command,
                           "--reserve: with nothing to stay free, no job has to end before "
                           "the GPU is full, and then the allocations of all fail");
    if (settings.reserve > GPUS_FREE_BYTES)
        return usage_error(command, "--reserve: slots leave 1 GiB of a GPU free; with more, jobs "
                                    "within their slots would have to end");
    int code = settings.json ? check_json(command, settings.json) : EXIT_DONE;
    if (code != EXIT_DONE)
        return code;
    bool limited = settings.sm || memory_asked;
    struct run_options run_options = {
        .mode = settings.share ? RUN_SHARED
                : limited      ? RUN_EITHER
                               : RUN_EXCLUSIVE,
        .gpu_count = (unsigned)settings.gpu_count,
        .sm_percent = percent,
        .memory_bytes = memory_asked ? settings.memory : 0,
        .multi_user = settings.multi_user,
        .exclusive_process = settings.exclusive_process,
        .timeout = settings.timeout,
        .grace = settings.grace,
        .reserve_bytes = settings.reserve,
        .victim_retries = (unsigned)(settings.retries > 1000 ? 1000 : settings.retries),
        .command = (const char *const *)argv + operands,
        .say = say,
    };
    job_apply(&settings.job, &run_options);
    struct account account;
    code = job_run(command, &run_options, &account);
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
        "Returns the command's exit code; 3: no GPU or no room, it was not run; 121: it was\n"
        "stopped for using a GPU without its limits, 122: for more memory than its slot or the\n"
        "GPU has; 123: a fault on its shared GPU took it down; 124: its time was over.\n\n"
        "  rooftop run -- python train.py\n"
        "  rooftop run --share --sm 25% --mem 8G -- python train.py\n",
    .run = run,
};
