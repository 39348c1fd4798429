#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "bench/limits.h"
#include "cmd/common.h"
#include "cmd/job.h"
#include "share/profile.h"
#include "sol/sol.h"
#include "store/profiles.h"

static const double MEBI = 1 << 20, GIBI = 1 << 30;

struct settings {
    struct job_options job;
    bool scaling;
};

static const struct option_row options[] = {
    OPTION_JOB_NAME(struct settings, job, "What the profile is called (the command's hash)"),
    {.name = "scaling",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, scaling),
     .help = "Run it again with 25, 50 and 75 % of the SMs, through MPS: how few keep its speed"},
    OPTION_JOB_GPU(struct settings, job),
    OPTION_JOB_WAIT(struct settings, job),
    OPTION_JOB_BESIDE(struct settings, job),
    OPTION_JOB_SOURCE(struct settings, job),
    OPTION_JOB_CLOCK(struct settings, job, "burst"),
    OPTIONS_END,
};

/* ---- what is stored ---- */

static void add_percent(const struct profile_spread *spread, struct strbuf *out)
{
    struct strbuf text = {0};
    if (spread->count > 0)
        sol_percent(spread->mean, &text);
    else
        strbuf_puts(&text, "-");
    strbuf_printf(out, "  %9s", strbuf_text(&text));
    strbuf_free(&text);
}

struct listing {
    struct profiles *profiles;
    struct strbuf *out;
    int result;
};

static void list_one(void *context, const char *key)
{
    struct listing *listing = context;
    struct profile *profile = calloc(1, sizeof(*profile));
    int r = profile ? profiles_get(listing->profiles, key, profile) : -ENOMEM;
    if (r < 0)
        listing->result = r;
    else {
        strbuf_printf(listing->out, "%-20s", profile->key);
        add_percent(&profile->metrics[METRIC_COMPUTE_SOL], listing->out);
        add_percent(&profile->metrics[METRIC_MEMORY_SOL], listing->out);
        add_percent(&profile->metrics[METRIC_SM_ACTIVE], listing->out);
        strbuf_printf(listing->out, "  %7.1f s  %7.0f MiB  %7.0f J  %s\n", profile->wall_seconds,
                      profile->memory_peak_bytes / MEBI, profile->energy_joules, profile->command);
    }
    free(profile);
}

static int list(struct profiles *profiles, struct strbuf *out)
{
    struct listing listing = {.profiles = profiles, .out = out};
    strbuf_printf(out, "%-20s  %9s  %9s  %9s  %9s  %11s  %9s  %s\n", "NAME", "COMPUTE", "MEMORY",
                  "SMs", "TIME", "VRAM PEAK", "ENERGY", "COMMAND");
    size_t head = out->length;
    int r = profiles_each(profiles, list_one, &listing);
    if (out->length == head)
        strbuf_puts(out, "No profile is kept yet. `rooftop profile -- COMMAND` makes one.\n");
    return r < 0 ? r : listing.result;
}

static void show_metrics(const struct profile *profile, struct strbuf *out)
{
    strbuf_printf(out, "\n%-32s %10s %10s %10s %10s %10s\n", "", "mean", "p5", "p50", "p95", "max");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct profile_spread *s = &profile->metrics[i];
        if (s->count > 0)
            strbuf_printf(out, "%-32s %10.4g %10.4g %10.4g %10.4g %10.4g\n",
                          metric_info((enum metric)i)->name, s->mean, s->p5, s->p50, s->p95,
                          s->max);
    }
}

/* What `rooftop bench` would give it in the mode mps-limits. */
static void show_need(const struct profile *profile, struct strbuf *out)
{
    struct bench_need need = bench_need_of(profile);
    strbuf_puts(out, "needs:");
    if (need.sm_percent > 0)
        strbuf_printf(out, " %g %% of the SMs (%s)", need.sm_percent, need.sm_from);
    if (need.memory_bytes > 0)
        strbuf_printf(out, "%s %.3g GiB (its peak and a fifth)", need.sm_percent > 0 ? "," : "",
                      (double)need.memory_bytes / GIBI);
    strbuf_puts(out, need.sm_percent > 0 || need.memory_bytes > 0 ? "\n" : " not known\n");
}

static void show(const struct profile *profile, struct strbuf *out)
{
    char date[32];
    time_t created = (time_t)profile->created;
    struct tm local;
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M", localtime_r(&created, &local));
    strbuf_printf(out, "%s: %s\n%s, %s\n%.1f s, measured for %.1f s, exit %d\n", profile->key,
                  profile->command, profile->gpu_name, date, profile->wall_seconds,
                  profile->measured_seconds, profile->exit_code);
    const struct profile_spread *busy = &profile->metrics[METRIC_GRAPHICS_ACTIVE];
    if (profile->span_seconds > 0)
        strbuf_printf(out, "%.1f s from its first work on the GPU to its last\n",
                      profile->span_seconds);
    if (busy->count > 0)
        strbuf_printf(out, "the GPU at work for %.1f s\n", busy->mean * profile->measured_seconds);
    strbuf_printf(out, "memory peak %.0f MiB, energy %.0f J, GPU idle in %.0f %% of the samples\n",
                  profile->memory_peak_bytes / MEBI, profile->energy_joules,
                  profile->idle_ratio * 100);
    for (size_t i = 0; i < profile->scaling_count; i++)
        strbuf_printf(out, "with %g %% of the SMs: %.1f s, %.1f s from first to last work\n",
                      profile->scaling[i].sm_percent, profile->scaling[i].wall_seconds,
                      profile->scaling[i].span_seconds);
    show_need(profile, out);
    show_metrics(profile, out);
    strbuf_puts(out, "\n");
    for (size_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *phase = &profile->phases[i];
        strbuf_printf(out, "%8.1f s to %8.1f s  %-8s Compute SOL %3.0f %%, Memory SOL %3.0f %%\n",
                      phase->begin, phase->begin + phase->length,
                      label_word(METRIC_BOUND, (double)phase->bound), phase->compute_sol * 100,
                      phase->memory_sol * 100);
    }
}

static void add_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_add_number_digits(json, value, 6);
}

static void add_known(struct json *json, const char *key, double value)
{
    add_number(json, key, value > 0 ? value : NAN);
}

static void export_metrics(const struct profile *profile, struct json *json)
{
    json_key(json, "metrics");
    json_object_begin(json);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct profile_spread *s = &profile->metrics[i];
        if (s->count == 0)
            continue;
        json_key(json, metric_info((enum metric)i)->name);
        json_object_begin(json);
        json_key(json, "count");
        json_add_integer(json, (int64_t)s->count);
        add_number(json, "mean", s->mean);
        add_number(json, "p5", s->p5);
        add_number(json, "p25", s->p25);
        add_number(json, "p50", s->p50);
        add_number(json, "p75", s->p75);
        add_number(json, "p95", s->p95);
        add_number(json, "max", s->max);
        json_object_end(json);
    }
    json_object_end(json);
}

static void export_rows(const struct profile *profile, struct json *json)
{
    json_key(json, "phases");
    json_array_begin(json);
    for (size_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *phase = &profile->phases[i];
        json_object_begin(json);
        add_number(json, "begin_seconds", phase->begin);
        add_number(json, "length_seconds", phase->length);
        json_key(json, "bound");
        json_add_text(json, label_word(METRIC_BOUND, (double)phase->bound));
        add_number(json, "compute_sol_ratio", phase->compute_sol);
        add_number(json, "memory_sol_ratio", phase->memory_sol);
        json_object_end(json);
    }
    json_array_end(json);
    json_key(json, "scaling");
    json_array_begin(json);
    for (size_t i = 0; i < profile->scaling_count; i++) {
        json_object_begin(json);
        add_number(json, "sm_percent", profile->scaling[i].sm_percent);
        add_number(json, "wall_seconds", profile->scaling[i].wall_seconds);
        add_known(json, "span_seconds", profile->scaling[i].span_seconds);
        json_object_end(json);
    }
    json_array_end(json);
}

static void export(const struct profile *profile, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "key");
    json_add_text(&json, profile->key);
    json_key(&json, "command");
    json_add_text(&json, profile->command);
    json_key(&json, "gpu_name");
    json_add_text(&json, profile->gpu_name);
    json_key(&json, "gpu_uuid");
    json_add_text(&json, profile->gpu_uuid);
    json_key(&json, "created");
    json_add_number_digits(&json, profile->created, 13);
    json_key(&json, "exit_code");
    json_add_integer(&json, profile->exit_code);
    add_number(&json, "wall_seconds", profile->wall_seconds);
    add_number(&json, "measured_seconds", profile->measured_seconds);
    add_known(&json, "span_seconds", profile->span_seconds);
    json_key(&json, "memory_peak_bytes");
    if (profile->memory_peak_bytes > 0)
        json_add_integer(&json, (int64_t)profile->memory_peak_bytes);
    else
        json_add_null(&json);
    add_known(&json, "energy_joules", profile->energy_joules);
    add_number(&json, "idle_ratio", profile->idle_ratio);
    export_metrics(profile, &json);
    export_rows(profile, &json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

static int with_profile(struct profiles *profiles, const char *key,
                        void (*write)(const struct profile *, struct strbuf *), struct strbuf *out)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    int r = profile ? profiles_get(profiles, key, profile) : -ENOMEM;
    if (r == 0)
        write(profile, out);
    free(profile);
    return r;
}

static int use_store(const struct command *command, int argc, char **argv)
{
    const char *verb = argv[0];
    bool lists = strcmp(verb, "list") == 0;
    if (!lists && strcmp(verb, "show") != 0 && strcmp(verb, "export") != 0 &&
        strcmp(verb, "rm") != 0)
        return usage_error(
            command, "'%s' is none of list, show, export and rm; a command goes behind --", verb);
    if (argc != (lists ? 1 : 2))
        return usage_error(command, lists ? "%s takes no name" : "%s takes one name", verb);
    struct profiles *profiles;
    char why[640];
    int r = profiles_open(&profiles, why, sizeof(why));
    if (r < 0)
        return run_error(command, "%s", why);
    struct strbuf out = {0};
    if (lists)
        r = list(profiles, &out);
    else if (strcmp(verb, "rm") == 0)
        r = profiles_remove(profiles, argv[1]);
    else
        r = with_profile(profiles, argv[1], strcmp(verb, "show") == 0 ? show : export, &out);
    profiles_close(profiles);
    int code = r == -ENOENT
                   ? usage_error(command, "there is no profile '%s'; `list` shows all", argv[1])
               : r < 0 ? run_error(command, "%s", strerror(-r))
                       : output_all(command, &out);
    strbuf_free(&out);
    return code;
}

/* ---- what is measured ---- */

static void say(const char *text)
{
    fprintf(stderr, "rooftop profile: %s\n", text);
}

/* EXIT_DONE also where the job itself failed. */
static int run_once(const struct command *command, const struct run_options *how,
                    struct account *account)
{
    int code = job_run(command, how, account);
    return code == EXIT_DONE && account->gpu_count == 0 ? EXIT_NO_GPU : code;
}

static int measure_scaling(const struct command *command, struct run_options how,
                           struct profile *profile)
{
    static const double percents[] = {25, 50, 75};
    how.mode = RUN_SHARED;
    how.clock = NULL;
    how.observe = NULL;
    how.all_memory = true;
    for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
        struct account account;
        how.sm_percent = percents[i];
        how.gpus = profile->gpu_uuid;
        fprintf(stderr, "rooftop profile: again, with %g %% of the SMs\n", percents[i]);
        int code = run_once(command, &how, &account);
        if (code == EXIT_DONE && account.exit_code != 0)
            code = run_error(command, "it ended with %d: no scaling", account.exit_code);
        if (code == EXIT_DONE)
            profile->scaling[profile->scaling_count++] = (struct profile_scaling){
                .sm_percent = percents[i],
                .wall_seconds = account.wall_seconds,
                .span_seconds = account_span_seconds(&account.gpus[0]),
            };
        run_free(&account);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

static int store_profile(const struct command *command, const struct profile *profile)
{
    struct profiles *profiles;
    char why[640];
    int r = profiles_open_to_add(&profiles, why, sizeof(why));
    if (r < 0)
        return run_error(command, "%s", why);
    r = profiles_put(profiles, profile);
    profiles_close(profiles);
    if (r < 0)
        return run_error(command, "the profile was not stored: %s", strerror(-r));
    fprintf(stderr, "rooftop profile: stored; `rooftop profile show %s` shows it\n", profile->key);
    return EXIT_DONE;
}

/* Before the job runs, for hours perhaps. */
static int try_store(const struct command *command)
{
    struct profiles *profiles;
    char why[640];
    if (profiles_open_to_add(&profiles, why, sizeof(why)) < 0)
        return run_error(command, "%s", why);
    profiles_close(profiles);
    return EXIT_DONE;
}

/* Kept as it is: two names cut to the same would be one profile. */
static bool is_name(const char *name)
{
    char key[PROFILE_KEY_SIZE];
    profile_key(NULL, name, key);
    return strcmp(key, name) == 0;
}

static int measure(const struct command *command, const struct settings *settings, char **argv)
{
    if (settings->job.name && !is_name(settings->job.name))
        return usage_error(command, "--name: one line of text, of %d bytes at most",
                           PROFILE_KEY_SIZE - 1);
    int store = try_store(command);
    if (store != EXIT_DONE)
        return store;
    struct profiler *profiler;
    struct profile *profile = calloc(1, sizeof(*profile));
    if (!profile || profiler_new(&profiler) < 0) {
        free(profile);
        return run_error(command, "%s", strerror(ENOMEM));
    }
    struct run_options how = {
        .needs_gpu = true,
        .gpu_count = 1,
        .command = (const char *const *)argv,
        .say = say,
        .observe = profiler_observe,
        .context = profiler,
    };
    job_apply(&settings->job, &how);
    struct account account;
    int code = run_once(command, &how, &account);
    int job_code = code == EXIT_DONE ? account.exit_code : 0;
    if (code == EXIT_DONE) {
        int r = profiler_finish(profiler, &account, settings->job.name, profile);
        if (r < 0)
            code =
                run_error(command, "%s",
                          r == -ENODATA ? "it ended before it could be measured, and is not stored"
                                        : strerror(-r));
    }
    run_free(&account);
    profiler_free(profiler);
    if (code == EXIT_DONE && job_code == 0 && settings->scaling)
        code = measure_scaling(command, how, profile);
    if (code == EXIT_DONE)
        code = store_profile(command, profile);
    free(profile);
    return job_code ? job_code : code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {0};
    int operands;
    int result = options_parse(command, argc, argv, &settings, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (operands == argc)
        return usage_error(command, "which command shall it run? Or: list, show, export, rm");
    if (strcmp(argv[operands - 1], "--") == 0)
        return measure(command, &settings, argv + operands);
    return use_store(command, argc - operands, argv + operands);
}

const struct command command_profile = {
    .name = "profile",
    .summary = "Measure what a job needs, alone on a GPU, and keep it",
    .operands = "-- COMMAND [ARGUMENT…] | list | show NAME | export NAME | rm NAME",
    .options = options,
    .more = "  rooftop profile --name train -- python train.py\n"
            "  rooftop profile show train\n",
    .run = run,
};
