/* What stays true of a device while it is open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum device_text {
#define DEVICE_TEXT(id, name, help) DEVICE_##id,
#define DEVICE_NUMBER(id, name, help)
#include "metric/device.def"
#undef DEVICE_TEXT
#undef DEVICE_NUMBER
    DEVICE_TEXT_COUNT
};

enum device_number {
#define DEVICE_TEXT(id, name, help)
#define DEVICE_NUMBER(id, name, help) DEVICE_##id,
#include "metric/device.def"
#undef DEVICE_TEXT
#undef DEVICE_NUMBER
    DEVICE_NUMBER_COUNT
};

enum { DEVICE_TEXT_SIZE = 96 };

/* The values of DEVICE_COMPUTE_MODE, as the driver numbers them. */
enum compute_mode {
    COMPUTE_SHARED,
    COMPUTE_EXCLUSIVE_THREAD, /* of drivers long ago */
    COMPUTE_PROHIBITED,
    COMPUTE_EXCLUSIVE_PROCESS,
};

struct device {
    unsigned index; /* as nvidia-smi numbers it; a MIG instance has its place below its GPU */
    char text[DEVICE_TEXT_COUNT][DEVICE_TEXT_SIZE]; /* "" where not known */
    double number[DEVICE_NUMBER_COUNT];
    uint32_t known; /* bit i: number[i] is known */
};

_Static_assert(DEVICE_NUMBER_COUNT <= 32, "struct device's bits of known numbers");

struct device_field {
    const char *name;
    const char *help;
};

const struct device_field *device_text_field(enum device_text text);
const struct device_field *device_number_field(enum device_number number);

static inline bool device_knows(const struct device *device, enum device_number number)
{
    return device->known >> number & 1;
}

static inline double device_number(const struct device *device, enum device_number number,
                                   double otherwise)
{
    return device_knows(device, number) ? device->number[number] : otherwise;
}

/* The text is cleaned (utf8_clean()): a driver's may hold anything. */
void device_set_text(struct device *device, enum device_text text, const char *value);
void device_set_number(struct device *device, enum device_number number, double value);

/* A MIG instance, not a whole GPU. */
static inline bool device_is_mig(const struct device *device)
{
    return device_knows(device, DEVICE_PARENT);
}

/* How people see and give its place: "2", or "2/0" for a MIG instance of GPU 2. */
enum { DEVICE_PLACE_SIZE = 24 };
const char *device_place(const struct device *device, char ret[DEVICE_PLACE_SIZE]);
