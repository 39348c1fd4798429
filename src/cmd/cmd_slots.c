#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cmd/common.h"
#include "cmd/job.h"
#include "counter/compute_mode.h"
#include "share/gpus.h"
#include "share/place.h"
#include "share/slot.h"

static const double GIBI = 1 << 30;

struct settings {
    const char *format;
    struct job_options job;
};

static const struct option_row options[] = {
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_JOB_GPU(struct settings, job),
    OPTION_JOB_SOURCE(struct settings, job),
    OPTIONS_END,
};

struct slots {
    size_t gpu_count;
    struct slot_gpu gpus[SLOT_GPUS];
    size_t lease_count;
    struct slot_lease *leases;
};

static uint64_t free_memory(const struct slot_gpu *gpu, const struct slot_use *use)
{
    return use->exclusive || gpu->compute_mode == COMPUTE_PROHIBITED ||
                   use->memory_bytes > gpu->memory_bytes
               ? 0
               : gpu->memory_bytes - use->memory_bytes;
}

static double free_percent(const struct slot_gpu *gpu, const struct slot_use *use)
{
    return use->exclusive || gpu->compute_mode == COMPUTE_PROHIBITED ? 0 : 100 - use->sm_percent;
}

/* For a job. */
static const char *mode_meaning(enum compute_mode mode)
{
    return mode == COMPUTE_SHARED       ? ""
           : mode == COMPUTE_PROHIBITED ? "; compute mode PROHIBITED: no job can use it"
                                        : "; compute mode EXCLUSIVE_PROCESS: for one process, or "
                                          "jobs that share";
}

static void write_gpu_text(const struct slots *slots, const struct slot_gpu *gpu,
                           struct strbuf *out)
{
    struct slot_use use = slot_use(slots->leases, slots->lease_count, gpu->uuid);
    strbuf_printf(out, "%s  free: %g %% of the SMs, %.1f GiB%s%s%s\n", gpu->uuid,
                  free_percent(gpu, &use), (double)free_memory(gpu, &use) / GIBI,
                  gpu->occupant[0] ? "; without a slot: " : "", gpu->occupant,
                  mode_meaning(gpu->compute_mode));
    for (size_t i = 0; i < slots->lease_count; i++) {
        const struct slot_lease *lease = &slots->leases[i];
        if (strcmp(lease->uuid, gpu->uuid) != 0)
            continue;
        strbuf_printf(out, "  %-24s PID %-8d", lease->name,
                      (int)(lease->job.pid ? lease->job.pid : lease->holder.pid));
        if (lease->mode == SLOT_SHARED)
            strbuf_printf(out, " %g %% of the SMs, %.1f GiB,%s", lease->sm_percent,
                          (double)lease->memory_bytes / GIBI,
                          lease->multi_user ? " with other users," : "");
        else
            strbuf_puts(out, " exclusive,");
        strbuf_printf(out, " for %.0f s\n", clock_realtime() - lease->since);
    }
}

static void write_lease(const struct slot_lease *lease, struct json *json)
{
    json_object_begin(json);
    json_key(json, "id");
    json_add_integer(json, (int64_t)lease->id);
    json_key(json, "uuid");
    json_add_text(json, lease->uuid);
    json_key(json, "mode");
    json_add_text(json, lease->mode == SLOT_SHARED ? "shared" : "exclusive");
    json_key(json, "sm_percent");
    json_add_number(json, lease->sm_percent);
    json_key(json, "memory_bytes");
    json_add_integer(json, (int64_t)lease->memory_bytes);
    json_key(json, "holder_pid");
    json_add_integer(json, lease->holder.pid);
    json_key(json, "job_pid");
    if (lease->job.pid)
        json_add_integer(json, lease->job.pid);
    else
        json_add_null(json);
    json_key(json, "user");
    json_add_integer(json, lease->user);
    json_key(json, "since");
    json_add_number_digits(json, lease->since, 13);
    json_key(json, "name");
    json_add_text(json, lease->name);
    json_object_end(json);
}

static void write_gpu_json(const struct slots *slots, const struct slot_gpu *gpu, struct json *json)
{
    struct slot_use use = slot_use(slots->leases, slots->lease_count, gpu->uuid);
    json_object_begin(json);
    json_key(json, "uuid");
    json_add_text(json, gpu->uuid);
    json_key(json, "free_sm_percent");
    json_add_number(json, free_percent(gpu, &use));
    json_key(json, "free_memory_bytes");
    json_add_integer(json, (int64_t)free_memory(gpu, &use));
    json_key(json, "memory_bytes");
    json_add_integer(json, (int64_t)gpu->memory_bytes);
    json_key(json, "compute_mode");
    json_add_text(json, compute_mode_name(gpu->compute_mode));
    json_key(json, "without_slot");
    json_add_text_or_null(json, gpu->occupant);
    json_key(json, "leases");
    json_array_begin(json);
    for (size_t i = 0; i < slots->lease_count; i++)
        if (strcmp(slots->leases[i].uuid, gpu->uuid) == 0)
            write_lease(&slots->leases[i], json);
    json_array_end(json);
    json_object_end(json);
}

static void write_json(const struct slots *slots, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < slots->gpu_count; i++)
        write_gpu_json(slots, &slots->gpus[i], &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

/* Returns 0 or −errno with `failure` filled. */
static int read_slots(const struct settings *settings, struct slots *ret,
                      struct counter_failure *failure)
{
    char folder[200];
    struct slot_table *table = NULL;
    struct monitor *monitor = NULL;
    int r = place_open(folder, sizeof(folder), failure);
    if (r == 0)
        r = slot_open(&table, folder, failure);
    if (r == 0)
        r = gpus_open(&monitor, settings->job.source, settings->job.gpus, NULL, failure);
    if (r == 0)
        ret->gpu_count = gpus_list(monitor, table, folder, ret->gpus);
    if (r == 0) {
        r = slot_list(table, &ret->leases, &ret->lease_count);
        if (r < 0)
            share_fail(failure, r, "", "the leases in %s cannot be read: %s", folder, strerror(-r));
    }
    monitor_close(monitor);
    slot_close(table);
    return r;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    enum options_result result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result == OPTIONS_STOP ? EXIT_DONE : EXIT_USAGE;
    struct counter_failure failure = {0};
    struct slots slots = {0};
    int r = read_slots(&settings, &slots, &failure);
    if (r < 0)
        return watch_failed(command, r, &failure);
    struct strbuf out = {0};
    if (strcmp(settings.format, "json") == 0)
        write_json(&slots, &out);
    for (size_t i = 0; i < slots.gpu_count && strcmp(settings.format, "text") == 0; i++)
        write_gpu_text(&slots, &slots.gpus[i], &out);
    free(slots.leases);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

const struct command command_slots = {
    .name = "slots",
    .summary = "Show which jobs hold how much of which GPU",
    .operands = "",
    .options = options,
    .more = "  rooftop slots\n"
            "  rooftop slots --format json | jq '.gpus[].free_sm_percent'\n",
    .run = run,
};
