#include <stdio.h>

#include "base/json.h"
#include "cmd/common.h"
#include "metric/units.h"

struct settings {
    struct watch_options watch;
    const char *format;
};

static const struct option_row options[] = {
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_SOURCE(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

static void put_number(const struct device *device, enum device_number number, int width,
                       struct strbuf *out)
{
    if (device_knows(device, number))
        strbuf_printf(out, "  %*.15g", width, device->number[number]);
    else
        strbuf_printf(out, "  %*s", width, "-");
}

static const char *text_of(const struct device *device, enum device_text text)
{
    return device->text[text][0] ? device->text[text] : "-";
}

static void put_device(const struct device *device, struct strbuf *out)
{
    char place[DEVICE_PLACE_SIZE];
    struct strbuf memory = {0};
    if (device_knows(device, DEVICE_MEMORY_TOTAL))
        metric_put_human(&memory, METRIC_MEMORY_TOTAL, device->number[DEVICE_MEMORY_TOTAL]);
    strbuf_printf(out, "%-5s", device_place(device, place));
    put_number(device, DEVICE_CUDA_INDEX, 4, out);
    strbuf_printf(out, "  %-16s  %9s", text_of(device, DEVICE_PCI_ADDRESS),
                  memory.length > 0 ? strbuf_text(&memory) : "-");
    strbuf_free(&memory);
    put_number(device, DEVICE_SM_COUNT, 4, out);
    strbuf_printf(out, "  %-30s  %s\n", text_of(device, DEVICE_NAME), text_of(device, DEVICE_UUID));
}

static bool is_part_of(const struct device *device, const struct device *gpu)
{
    return device_is_mig(device) && device->number[DEVICE_PARENT] == gpu->index;
}

static bool has_its_gpu(const struct monitor *monitor, const struct device *device)
{
    for (size_t i = 0; i < monitor_count(monitor); i++)
        if (!device_is_mig(monitor_device(monitor, i)) &&
            is_part_of(device, monitor_device(monitor, i)))
            return true;
    return false;
}

/* Calls back for each device, MIG instances behind their GPU, whatever the order of the source. */
static void each_device(const struct monitor *monitor,
                        void (*each)(const struct device *device, void *context), void *context)
{
    size_t count = monitor_count(monitor);
    for (size_t i = 0; i < count; i++) {
        const struct device *device = monitor_device(monitor, i);
        if (device_is_mig(device) && has_its_gpu(monitor, device))
            continue;
        each(device, context);
        for (size_t k = 0; k < count && !device_is_mig(device); k++)
            if (is_part_of(monitor_device(monitor, k), device))
                each(monitor_device(monitor, k), context);
    }
}

static void add_line(const struct device *device, void *out)
{
    put_device(device, out);
}

static void add_object(const struct device *device, void *context)
{
    struct json *json = context;
    json_object_begin(json);
    json_key(json, "index");
    json_add_integer(json, device->index);
    for (int i = 0; i < DEVICE_TEXT_COUNT; i++) {
        json_key(json, device_text_field((enum device_text)i)->name);
        json_add_text_or_null(json, device->text[i]);
    }
    for (int i = 0; i < DEVICE_NUMBER_COUNT; i++) {
        json_key(json, device_number_field((enum device_number)i)->name);
        if (device_knows(device, (enum device_number)i))
            json_add_number(json, device->number[i]);
        else
            json_add_null(json);
    }
    json_object_end(json);
}

static void write_json(const struct monitor *monitor, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "gpus");
    json_array_begin(&json);
    each_device(monitor, add_object, &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

static void write_text(const struct monitor *monitor, struct strbuf *out)
{
    strbuf_printf(out, "%-5s  %4s  %-16s  %9s  %4s  %-30s  %s\n", "GPU", "CUDA", "PCI", "MEMORY",
                  "SMs", "NAME", "UUID");
    each_device(monitor, add_line, out);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;

    struct monitor *monitor;
    int code = watch_open(command, &settings.watch, 0, &monitor);
    if (code != EXIT_DONE)
        return code;
    struct strbuf out = {0};
    if (settings.format[0] == 'j')
        write_json(monitor, &out);
    else
        write_text(monitor, &out);
    monitor_close(monitor);
    code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

const struct command command_list = {
    .name = "list",
    .summary = "List the GPUs and their MIG instances",
    .operands = "",
    .options = options,
    .more = "GPU is the index as nvidia-smi counts, and GPU/INSTANCE for a MIG instance. CUDA is\n"
            "the index as CUDA counts by default, fastest first.\n\n"
            "  rooftop list\n"
            "  rooftop list --format json | jq -r '.gpus[].uuid'\n",
    .run = run,
};
