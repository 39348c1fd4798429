#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "bench/plan.h"
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
    struct monitor *monitor;
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

/* ---- text ---- */

/* What keeps jobs from the GPU, a line each. */
static void write_obstacles(const struct slot_gpu *gpu, struct strbuf *out)
{
    if (gpu->silent)
        strbuf_puts(out, "    the driver does not answer for it: `rooftop doctor` says more\n");
    if (gpu->occupant[0])
        strbuf_printf(out, "    without a slot: %s\n", gpu->occupant);
    if (gpu->compute_mode == COMPUTE_PROHIBITED)
        strbuf_puts(out, "    compute mode PROHIBITED: no job can use it\n");
    else if (gpu->compute_mode != COMPUTE_SHARED)
        strbuf_puts(out,
                    "    compute mode EXCLUSIVE_PROCESS: for one process, or jobs that share\n");
}

/* Text of `width` characters: cut, or with blanks behind it. */
static void fit(char *ret, size_t size, const char *text, size_t width)
{
    size_t length = 0, count = 0;
    for (size_t step; text[length] && count < width; length += step, count++) {
        step = utf8_sequence_length(text + length);
        step = step > 0 ? step : 1;
    }
    snprintf(ret, size, "%.*s%*s", (int)length, text, (int)(width - count), "");
}

/* Without blanks at its end. */
static void end_line(struct strbuf *out)
{
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        strbuf_truncate(out, out->length - 1);
    strbuf_putc(out, '\n');
}

static void write_row(const char *what, const char *pid, const char *user, double percent,
                      uint64_t memory, const char *duration, struct strbuf *out)
{
    char name[100], who[44];
    fit(name, sizeof(name), what, 24);
    fit(who, sizeof(who), user, 10);
    strbuf_printf(out, "    %s %8s  %s %4.0f %% %6.1f GiB %11s", name, pid, who, percent,
                  (double)memory / GIBI, duration);
    end_line(out);
}

static void write_lease_text(struct monitor *monitor, const struct slot_lease *lease,
                             struct strbuf *out)
{
    pid_t pid = lease->job.pid ? lease->job.pid : lease->holder.pid;
    struct strbuf duration = {0};
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)pid);
    bench_put_duration(&duration, fmax(clock_realtime() - lease->since, 0));
    write_row(lease->name, number, monitor_describe(monitor, pid)->user, lease->sm_percent,
              lease->memory_bytes, strbuf_text(&duration), out);
    strbuf_free(&duration);
}

static const struct device *find_device(const struct monitor *monitor, const char *uuid)
{
    size_t i = 0;
    while (i + 1 < monitor_count(monitor) &&
           strcmp(monitor_device(monitor, i)->text[DEVICE_UUID], uuid) != 0)
        i++;
    return monitor_device(monitor, i);
}

static void write_gpu_text(const struct slots *slots, const struct slot_gpu *gpu,
                           struct strbuf *out)
{
    struct slot_use use = slot_use(slots->leases, slots->lease_count, gpu->uuid);
    const struct device *device = find_device(slots->monitor, gpu->uuid);
    char place[DEVICE_PLACE_SIZE];
    bool several_users = false;
    strbuf_printf(out, "%-3s %s, %s\n", device_place(device, place), device->text[DEVICE_NAME],
                  gpu->uuid);
    for (size_t i = 0; i < slots->lease_count; i++)
        if (strcmp(slots->leases[i].uuid, gpu->uuid) == 0) {
            write_lease_text(slots->monitor, &slots->leases[i], out);
            several_users = several_users || slots->leases[i].multi_user;
        }
    if (several_users)
        strbuf_puts(out, "    shared by several users (--multi-user)\n");
    write_obstacles(gpu, out);
    write_row("free", "", "", free_percent(gpu, &use), free_memory(gpu, &use), "", out);
}

static void write_text(const struct slots *slots, struct strbuf *out)
{
    strbuf_printf(out, "%-3s %-24s %8s  %-10s %6s %10s %11s\n", "GPU", "JOB", "PID", "USER", "SMs",
                  "MEMORY", "FOR");
    for (size_t i = 0; i < slots->gpu_count; i++)
        write_gpu_text(slots, &slots->gpus[i], out);
    if (slots->lease_count == 0)
        strbuf_puts(out, "No job has a slot. `rooftop run --share -- COMMAND` takes one, and "
                         "`rooftop run -- COMMAND`\na whole GPU.\n");
}

/* ---- JSON ---- */

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
    int r = place_open(folder, sizeof(folder), failure);
    if (r == 0)
        r = slot_open(&table, folder, failure);
    if (r == 0)
        r = gpus_open(&ret->monitor, settings->job.source, settings->job.gpus, NULL, failure);
    if (r == 0)
        ret->gpu_count = gpus_list(ret->monitor, table, folder, NULL, ret->gpus);
    if (r == 0)
        r = slot_read(table, &ret->leases, &ret->lease_count, failure);
    slot_close(table);
    return r;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    struct counter_failure failure = {0};
    struct slots slots = {0};
    int r = read_slots(&settings, &slots, &failure);
    struct strbuf out = {0};
    if (r == 0 && strcmp(settings.format, "json") == 0)
        write_json(&slots, &out);
    else if (r == 0)
        write_text(&slots, &out);
    monitor_close(slots.monitor);
    free(slots.leases);
    int code = r < 0 ? watch_failed(command, r, &failure) : output_all(command, &out);
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
