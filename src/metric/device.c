#include "metric/device.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"

static const struct device_field text_fields[DEVICE_TEXT_COUNT] = {
#define DEVICE_TEXT(id, name, help) [DEVICE_##id] = {name, help},
#define DEVICE_NUMBER(id, name, help)
#include "metric/device.def"
#undef DEVICE_TEXT
#undef DEVICE_NUMBER
};

static const struct device_field number_fields[DEVICE_NUMBER_COUNT] = {
#define DEVICE_TEXT(id, name, help)
#define DEVICE_NUMBER(id, name, help) [DEVICE_##id] = {name, help},
#include "metric/device.def"
#undef DEVICE_TEXT
#undef DEVICE_NUMBER
};

const struct device_field *device_text_field(enum device_text text)
{
    return &text_fields[text];
}

const struct device_field *device_number_field(enum device_number number)
{
    return &number_fields[number];
}

void device_set_text(struct device *device, enum device_text text, const char *value)
{
    utf8_clean(device->text[text], DEVICE_TEXT_SIZE, value);
}

void device_set_number(struct device *device, enum device_number number, double value)
{
    if (!isfinite(value))
        return;
    device->number[number] = value;
    device->known |= UINT32_C(1) << number;
}

const char *device_place(const struct device *device, char ret[DEVICE_PLACE_SIZE])
{
    if (device_is_mig(device))
        snprintf(ret, DEVICE_PLACE_SIZE, "%u/%u", (unsigned)device->number[DEVICE_PARENT],
                 device->index);
    else
        snprintf(ret, DEVICE_PLACE_SIZE, "%u", device->index);
    return ret;
}
