#include <math.h>
#include <string.h>

#include "store/ceiling.h"

struct shipped {
    const char *chip; /* NVML's name, without "NVIDIA " */
    enum ceiling ceiling;
    double value, spread, ratio, clock, temperature, power;
    const char *how;
};

/* docs/ACCURACY.md and the tables that it is made from: one H200 SXM, driver 580.159.04. */
static const struct shipped table[] = {
    {"H200", CEILING_HBM_READ, 4400e9, NAN, 0.91, 1980e6, NAN, 594,
     "measured on one H200: matrix times vector, bf16 16384"},
    {"H200", CEILING_HBM_TRIAD, 4351e9, NAN, 0.903, 1980e6, NAN, 530,
     "measured on one H200: triad by PyTorch"},
    {"H200", CEILING_FP32, 51.2e12, NAN, 0.767, 1979e6, NAN, 622,
     "measured on one H200: product of 4096"},
    {"H200", CEILING_TENSOR_FP64, 52.7e12, NAN, 0.946, NAN, NAN, 674,
     "measured on one H200: product of 4096"},
    {"H200", CEILING_TENSOR_TF32, 341e12, NAN, 0.88, NAN, NAN, 663,
     "measured on one H200: product of 4096"},
    {"H200", CEILING_TENSOR_BF16, 671e12, NAN, 0.934, 1326e6, NAN, 660,
     "measured on one H200: product of 8192"},
    {"H200", CEILING_TENSOR_FP8, 1227e12, NAN, 0.914, 1187e6, NAN, 663,
     "measured on one H200: product of 8192"},
    {"H200", CEILING_PCIE_H2D, 52.3e9, NAN, NAN, NAN, NAN, NAN, "measured on one H200: copies"},
    {"H200", CEILING_PCIE_D2H, 53.8e9, NAN, NAN, NAN, NAN, NAN, "measured on one H200: copies"},
    {"H200", CEILING_NVLINK_SEND, 366.4e9, NAN, NAN, NAN, NAN, NAN,
     "measured on two H200s: send from one to the other"},
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
        strcpy(value->how, row->how);
    }
}
