#include <math.h>
#include <string.h>

#include "store/ceiling.h"

struct shipped {
    const char *chip; /* NVML's name, without "NVIDIA " */
    enum ceiling ceiling;
    double value, spread, ratio, clock, temperature, power;
    const char *how;
};

static const char CALIBRATED[] = "measured on one H200 by rooftop calibrate";

/* docs/results/calibrate-h200.md, docs/ACCURACY.md and the tables that it is made from: one H200
 * SXM, driver 580.159.04. For FP64, TF32, BF16 and FP8 on the tensor cores what counts is what
 * products reach for many seconds, with the GPU at its power limit. */
static const struct shipped table[] = {
    {"H200", CEILING_HBM_READ, 4505e9, NAN, 0.931, 1948e6, 48, 698, CALIBRATED},
    {"H200", CEILING_HBM_WRITE, 4346e9, NAN, 0.900, 1980e6, 45, 470, CALIBRATED},
    {"H200", CEILING_HBM_COPY, 3915e9, NAN, 0.812, 1980e6, 47, 596, CALIBRATED},
    {"H200", CEILING_HBM_TRIAD, 4351e9, NAN, 0.903, 1980e6, NAN, 530,
     "measured on one H200: triad by PyTorch"},
    {"H200", CEILING_L2_READ, 8638e9, NAN, 0.836, 1980e6, 50, 511, CALIBRATED},
    {"H200", CEILING_FP64, 33.4e12, NAN, 0.995, 1980e6, 55, 528, CALIBRATED},
    {"H200", CEILING_FP32, 65.2e12, NAN, 0.973, 1980e6, 49, 371, CALIBRATED},
    {"H200", CEILING_FP16, 127.6e12, NAN, 0.952, 1980e6, 48, 358, CALIBRATED},
    {"H200", CEILING_INT32, 33.4e12, NAN, 1, 1980e6, 46, 302, CALIBRATED},
    {"H200", CEILING_TENSOR_FP64, 52.7e12, NAN, 0.946, NAN, NAN, 674,
     "measured on one H200: product of 4096"},
    {"H200", CEILING_TENSOR_TF32, 341e12, NAN, 0.88, NAN, NAN, 663,
     "measured on one H200: product of 4096"},
    {"H200", CEILING_TENSOR_BF16, 671e12, NAN, 0.934, 1326e6, NAN, 660,
     "measured on one H200: product of 8192"},
    {"H200", CEILING_TENSOR_FP8, 1227e12, NAN, 0.914, 1187e6, NAN, 663,
     "measured on one H200: product of 8192"},
    {"H200", CEILING_TENSOR_INT8, 1220e12, NAN, 0.942, 1181e6, 54, 688,
     "measured on one H200 by rooftop calibrate, cuBLASLt 13.1"},
    {"H200", CEILING_PCIE_H2D, 55.5e9, NAN, 0.940, NAN, 42, 138, CALIBRATED},
    {"H200", CEILING_PCIE_D2H, 55.3e9, NAN, 0.951, NAN, 40, 140, CALIBRATED},
    {"H200", CEILING_NVLINK_SEND, 366.4e9, NAN, NAN, NAN, NAN, NAN,
     "measured on two H200s: send from one to the other"},
    {"H200", CEILING_LAUNCH_RATE, 270e3, NAN, NAN, 1980e6, 39, 146, CALIBRATED},
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
