#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/options.h"
#include "share/run.h"

struct settings {
    const char *source;
    const char *gpus;
    uint64_t gpu_count;
    const char *sm;
    uint64_t memory;
    bool exclusive;
    bool share;
    bool beside;
    double wait;
    double timeout;
    uint64_t retries;
    const char *name;
    const char *json;
    bool quiet;
};

static const struct option_row options[] = {
    {.name = "gpu",
     .letter = 'g',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, gpus),
     .argument = "GPU[,GPU]",
     .help = "One of these: index, UUID or its start, PCI address, MIG UUID"},
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
    {.name = "wait",
     .letter = 'w',
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, wait),
     .argument = "TIME",
     .help = "Wait so long for a slot"},
    {.name = "timeout",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct settings, timeout),
     .argument = "TIME",
     .help = "Stop it then"},
    {.name = "retry-victims",
     .kind = OPTION_COUNT,
     .offset = offsetof(struct settings, retries),
     .argument = "N",
     .help = "Run it again, N times at most, where a fault on its shared GPU took it down"},
    {.name = "beside",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, beside),
     .help = "Also on GPUs that programs without a slot use"},
    {.name = "name",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, name),
     .argument = "NAME",
     .help = "What `rooftop slots` calls it (the command)"},
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
    {.name = "source",
     .letter = 's',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, source),
     .argument = "SOURCE",
     .help = "What measures it: auto or nvml",
     .choices = "auto|nvml"},
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
                  enum run_result result, const struct account *account,
                  const struct counter_failure *failure)
{
    if (result != RUN_DONE) {
        run_error(command, "%s", failure->reason[0] ? failure->reason : "it failed");
        if (failure->advice[0])
            fprintf(stderr, "%s\n", failure->advice);
        return result == RUN_WRONG ? EXIT_USAGE : result == RUN_NO_GPU ? EXIT_NO_GPU : EXIT_FAILED;
    }
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
    bool limited = settings.sm || settings.memory;
    if (settings.gpu_count > 1 && (settings.share || limited))
        return usage_error(command, "--gpus: a job on several GPUs has them whole, since one MPS "
                                    "daemon serves one GPU");
    const struct run_options run_options = {
        .source = settings.source,
        .gpus = settings.gpus,
        .name = settings.name,
        .mode = settings.share ? RUN_SHARED
                : limited      ? RUN_EITHER
                               : RUN_EXCLUSIVE,
        .gpu_count = (unsigned)settings.gpu_count,
        .sm_percent = percent,
        .memory_bytes = settings.memory,
        .timeout = settings.timeout,
        .wait = settings.wait,
        .victim_retries = (unsigned)(settings.retries > 1000 ? 1000 : settings.retries),
        .beside = settings.beside,
        .command = (const char *const *)argv + operands,
        .say = say,
    };
    struct account account;
    struct counter_failure failure;
    enum run_result done = run_job(&run_options, &account, &failure);
    int code = report(command, &settings, done, &account, &failure);
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
