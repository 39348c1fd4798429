#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/ceiling.h"

struct shipped {
    const char *chip; /* NVML's name, without "NVIDIA " */
    enum ceiling ceiling;
    double value, spread, ratio, clock, temperature, power;
    const char *how;
};

static const struct shipped table[] = {
#define SHIPPED(chip, id, ...) {chip, CEILING_##id, __VA_ARGS__},
#include "store/ceiling_shipped.def"
#undef SHIPPED
};

void ceilings_shipped(const struct device *device, struct ceilings *ret)
{
    for (size_t i = 0; i < CEILING_COUNT; i++)
        ret->of[i] = (struct ceiling_value){.origin = CEILING_UNKNOWN,
                                            .value = NAN,
                                            .spread = NAN,
                                            .ratio = NAN,
                                            .clock = NAN,
                                            .temperature = NAN,
                                            .power = NAN,
                                            .time = NAN};
    if (device_is_mig(device))
        return;
    const char *name = device->text[DEVICE_NAME];
    if (strncmp(name, "NVIDIA ", 7) == 0)
        name += 7;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct shipped *row = &table[i];
        if (strcmp(row->chip, name) != 0)
            continue;
        struct ceiling_value *value = &ret->of[row->ceiling];
        value->origin = CEILING_SHIPPED;
        value->value = row->value;
        value->spread = row->spread;
        value->ratio = row->ratio;
        value->clock = row->clock;
        value->temperature = row->temperature;
        value->power = row->power;
        snprintf(value->how, sizeof(value->how), "%s", row->how);
    }
}
