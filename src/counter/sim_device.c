#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "counter/sim_parser.h"
#include "counter/sim_value.h"

enum { MOST_DEVICES = 1024 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum metric_unit unit_of_device_number(const char *name)
{
    if (ends_with(name, "_bytes") || ends_with(name, "_bytes_per_second"))
        return UNIT_BYTES;
    return ends_with(name, "_hertz") ? UNIT_HERTZ : UNIT_COUNT;
}

static int set_device_field(struct sim_parser *parser, struct device *device, const char *key,
                            const char *text)
{
    for (size_t i = 0; i < DEVICE_TEXT_COUNT; i++)
        if (strcmp(device_text_field((enum device_text)i)->name, key) == 0) {
            device_set_text(device, (enum device_text)i, text);
            return 0;
        }
    for (size_t i = 0; i < DEVICE_NUMBER_COUNT; i++) {
        if (strcmp(device_number_field((enum device_number)i)->name, key) != 0)
            continue;
        enum metric_unit unit = unit_of_device_number(key);
        double value;
        if (sim_value_parse(unit, text, &value) < 0)
            return sim_refuse(parser, "'%.64s' is no value for %s; expected %s", text, key,
                              sim_value_form(unit));
        device_set_number(device, (enum device_number)i, value);
        return 0;
    }
    return sim_refuse(parser, "a device has no field '%.64s'; docs/SIM.md lists them", key);
}

static unsigned next_index(const struct sim_script *script, const struct device *device)
{
    unsigned index = 0;
    for (size_t i = 0; i < script->device_count; i++) {
        const struct device *other = &script->devices[i];
        if (device_is_mig(device) == device_is_mig(other) &&
            device_number(device, DEVICE_PARENT, -1) == device_number(other, DEVICE_PARENT, -1))
            index++;
    }
    return index;
}

int sim_device_line(struct sim_parser *parser)
{
    struct sim_script *script = parser->script;
    if (parser->now >= 0)
        return sim_refuse(parser, "devices come before the first 'at'");
    if (script->device_count == MOST_DEVICES)
        return sim_refuse(parser, "more than %d devices", MOST_DEVICES);
    int r = array_grow(&script->devices, script->device_count, &parser->device_room,
                       sizeof(*script->devices));
    if (r < 0)
        return r;
    struct device device = {0};
    snprintf(device.text[DEVICE_UUID], DEVICE_TEXT_SIZE, "GPU-00000000-0000-4000-8000-%012zu",
             script->device_count);
    for (size_t i = 1; i < parser->word_count; i++) {
        char *text = sim_split_value(parser->words[i]);
        if (!text)
            return sim_refuse(parser, "'%.64s' is no field; expected FIELD=VALUE",
                              parser->words[i]);
        r = set_device_field(parser, &device, parser->words[i], text);
        if (r < 0)
            return r;
    }
    if (!device.text[DEVICE_NAME][0])
        return sim_refuse(parser, "the device has no name; expected name=\"…\"");
    device.index = next_index(script, &device);
    script->devices[script->device_count++] = device;
    return 0;
}
