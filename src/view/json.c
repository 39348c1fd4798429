#include "view/view.h"

#include "base/json.h"
#include "metric/units.h"
#include "sol/sol.h"

static void add_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_add_text_or_null(json, text);
}

static void write_identity(const struct device *device, struct json *json)
{
    json_key(json, "index");
    json_add_integer(json, device->index);
    add_text(json, "uuid", device->text[DEVICE_UUID]);
    add_text(json, "name", device->text[DEVICE_NAME]);
    for (size_t i = 0; i < VIEW_IDENTITY_COUNT; i++) {
        json_key(json, device_number_field(view_identity[i])->name);
        if (device_knows(device, view_identity[i]))
            json_add_number(json, device->number[view_identity[i]]);
        else
            json_add_null(json);
    }
}

static void write_word(void *context, const char *word)
{
    json_add_text(context, word);
}

static void write_value(struct json *json, enum metric metric, double value)
{
    enum metric_unit unit = metric_info(metric)->unit;
    if (unit == UNIT_FLAGS) {
        json_array_begin(json);
        flags_each(value, write_word, json);
        json_array_end(json);
    } else if (unit != UNIT_LABEL)
        json_add_number_digits(json, value, metric_digits(unit));
    else if (label_word(metric, value))
        json_add_text(json, label_word(metric, value));
    else
        json_add_null(json);
}

static void write_metrics(const struct view *view, const struct sample *sample, struct json *json)
{
    for (size_t i = 0; i < view_metric_count(view); i++) {
        enum metric metric = view_metric(view, i);
        json_key(json, metric_info(metric)->name);
        if (sample_has(sample, metric))
            write_value(json, metric, sample->value[metric]);
        else
            json_add_null(json);
    }
}

static void write_verdict(const struct view_gpu *gpu, struct json *json)
{
    struct strbuf verdict = {0};
    if (gpu->reading->state == READING_OK)
        sol_verdict(gpu->device, &gpu->reading->sample, &verdict);
    add_text(json, "verdict", strbuf_text(&verdict));
    strbuf_free(&verdict);
}

static void write_process(const struct view *view, const struct process *process, struct json *json)
{
    const struct process_description *description = view->describe(view->context, process->pid);
    json_object_begin(json);
    json_key(json, "pid");
    json_add_integer(json, process->pid);
    json_key(json, "kinds");
    json_array_begin(json);
    for (unsigned bit = 0; bit < PROCESS_KIND_COUNT; bit++)
        if (process->kinds >> bit & 1)
            json_add_text(json, process_kind_word(bit));
    json_array_end(json);
    json_key(json, "memory_bytes");
    if (process->memory_known)
        json_add_number(json, (double)process->memory_bytes);
    else
        json_add_null(json);
    json_key(json, "sm_ratio");
    if (process->sm_known)
        json_add_number(json, process->sm_ratio);
    else
        json_add_null(json);
    json_key(json, "outside");
    json_add_bool(json, description->outside);
    json_key(json, "start_time");
    if (description->start_time > 0)
        json_add_number(json, description->start_time);
    else
        json_add_null(json);
    add_text(json, "user", description->user);
    add_text(json, "command", description->command);
    add_text(json, "container", description->container);
    add_text(json, "cgroup", description->cgroup);
    json_object_end(json);
}

static void write_processes(const struct view *view, const struct process_list *list,
                            struct json *json)
{
    json_key(json, "processes");
    if (!list->known) {
        json_add_null(json);
        return;
    }
    json_array_begin(json);
    for (size_t i = 0; i < list->count; i++)
        write_process(view, &list->process[i], json);
    json_array_end(json);
    json_key(json, "processes_truncated");
    json_add_bool(json, list->truncated);
}

static void write_gpu(const struct view *view, const struct view_gpu *gpu, struct json *json)
{
    json_object_begin(json);
    write_identity(gpu->device, json);
    json_key(json, "state");
    json_add_text(json, reading_state_name(gpu->reading->state));
    json_key(json, "age_seconds");
    json_add_number(json, view_age(gpu->reading));
    write_metrics(view, &gpu->reading->sample, json);
    write_verdict(gpu, json);
    if (view->processes)
        write_processes(view, &gpu->reading->processes, json);
    json_object_end(json);
}

static void write_marks(const struct view_frame *frame, struct json *json)
{
    json_key(json, "marks");
    json_array_begin(json);
    for (size_t i = 0; i < frame->mark_count; i++)
        if (view_mark_holds(frame, &frame->marks[i]))
            json_add_text(json, frame->marks[i].name);
    json_array_end(json);
}

static void write_frame(struct view *view, const struct view_frame *frame, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "time");
    json_add_number_digits(&json, frame->time, metric_digits(UNIT_SECONDS));
    write_marks(frame, &json);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < frame->count; i++)
        write_gpu(view, &frame->gpus[i], &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
    view->lines++;
}

const struct view_form view_json = {.name = "json", .write = write_frame};
