#include "sol/sol.h"

#include <string.h>

/* Operations per cycle and SM, a fused multiply-add being two; 0: the chip has none, or no source
 * states it. Dense, and for tensor types with FP32 accumulation (FP64 and INT32 for theirs). */
struct rates {
    double fp64, fp32, fp16, int32;
    double tensor_fp64, tensor_tf32, tensor_bf16, tensor_fp8, tensor_int8;
};

/* GeForce parts, and the L40, run 16-bit products with FP32 accumulation at half the rate of the
 * professional parts with the same SM. */
static const struct rates volta = {
    .fp64 = 64, .fp32 = 128, .fp16 = 256, .int32 = 128, .tensor_bf16 = 1024};
static const struct rates turing = {
    .fp64 = 4, .fp32 = 128, .fp16 = 256, .int32 = 128, .tensor_bf16 = 1024, .tensor_int8 = 2048};
static const struct rates ga100 = {.fp64 = 64,
                                   .fp32 = 128,
                                   .fp16 = 512,
                                   .int32 = 128,
                                   .tensor_fp64 = 128,
                                   .tensor_tf32 = 1024,
                                   .tensor_bf16 = 2048,
                                   .tensor_int8 = 4096};
static const struct rates ga102 = {.fp64 = 4,
                                   .fp32 = 256,
                                   .fp16 = 256,
                                   .int32 = 128,
                                   .tensor_tf32 = 512,
                                   .tensor_bf16 = 1024,
                                   .tensor_int8 = 2048};
static const struct rates ga102_geforce = {.fp64 = 4,
                                           .fp32 = 256,
                                           .fp16 = 256,
                                           .int32 = 128,
                                           .tensor_tf32 = 256,
                                           .tensor_bf16 = 512,
                                           .tensor_int8 = 2048};
static const struct rates ada = {.fp64 = 4,
                                 .fp32 = 256,
                                 .fp16 = 256,
                                 .int32 = 128,
                                 .tensor_tf32 = 512,
                                 .tensor_bf16 = 1024,
                                 .tensor_fp8 = 2048,
                                 .tensor_int8 = 2048};
static const struct rates ada_l40 = {.fp64 = 4,
                                     .fp32 = 256,
                                     .fp16 = 256,
                                     .int32 = 128,
                                     .tensor_tf32 = 256,
                                     .tensor_bf16 = 512,
                                     .tensor_fp8 = 1024,
                                     .tensor_int8 = 1024};
static const struct rates ada_geforce = {.fp64 = 4,
                                         .fp32 = 256,
                                         .fp16 = 256,
                                         .int32 = 128,
                                         .tensor_tf32 = 256,
                                         .tensor_bf16 = 512,
                                         .tensor_fp8 = 1024,
                                         .tensor_int8 = 2048};
static const struct rates hopper = {.fp64 = 128,
                                    .fp32 = 256,
                                    .fp16 = 512,
                                    .int32 = 128,
                                    .tensor_fp64 = 256,
                                    .tensor_tf32 = 2048,
                                    .tensor_bf16 = 4096,
                                    .tensor_fp8 = 8192,
                                    .tensor_int8 = 8192};
static const struct rates gb100 = {.fp64 = 128,
                                   .fp32 = 256,
                                   .fp16 = 512,
                                   .tensor_fp64 = 128,
                                   .tensor_tf32 = 4096,
                                   .tensor_bf16 = 8192,
                                   .tensor_fp8 = 16384,
                                   .tensor_int8 = 16384};
static const struct rates gb202_geforce = {.fp64 = 4,
                                           .fp32 = 256,
                                           .fp16 = 256,
                                           .int32 = 256,
                                           .tensor_tf32 = 256,
                                           .tensor_bf16 = 512,
                                           .tensor_fp8 = 1024,
                                           .tensor_int8 = 2048};

enum dram_kind { GDDR, HBM };

struct chip {
    const char *name; /* NVML's, without "NVIDIA " */
    const struct rates *rates;
    double sm_count;
    double clock;        /* hertz that the datasheet's figures assume */
    double tensor_clock; /* … for tensor types other than FP64 */
    double dram;         /* bytes per second */
    enum dram_kind dram_kind;
    const char *source;
};

static const char V100_SOURCE[] = "NVIDIA V100 datasheet and Volta white paper";
static const char A100_SOURCE[] = "NVIDIA A100 datasheet and Ampere white paper";
static const char H100_SOURCE[] = "NVIDIA H100 datasheet and Hopper white paper";

static const struct chip chips[] = {
    {"Tesla V100-SXM2-16GB", &volta, 80, 1530e6, 1530e6, 900e9, HBM, V100_SOURCE},
    {"Tesla V100-SXM2-32GB", &volta, 80, 1530e6, 1530e6, 900e9, HBM, V100_SOURCE},
    {"Tesla V100-PCIE-16GB", &volta, 80, 1380e6, 1380e6, 900e9, HBM, V100_SOURCE},
    {"Tesla V100-PCIE-32GB", &volta, 80, 1380e6, 1380e6, 900e9, HBM, V100_SOURCE},
    {"Tesla T4", &turing, 40, 1590e6, 1590e6, 320e9, GDDR, "NVIDIA T4 datasheet"},
    {"A100-SXM4-40GB", &ga100, 108, 1410e6, 1410e6, 1555e9, HBM, A100_SOURCE},
    {"A100-SXM4-80GB", &ga100, 108, 1410e6, 1410e6, 2039e9, HBM, A100_SOURCE},
    {"A100-PCIE-40GB", &ga100, 108, 1410e6, 1410e6, 1555e9, HBM, A100_SOURCE},
    {"A100 80GB PCIe", &ga100, 108, 1410e6, 1410e6, 1935e9, HBM, A100_SOURCE},
    {"A30", &ga100, 56, 1440e6, 1440e6, 933e9, HBM, "NVIDIA A30 datasheet"},
    {"A10", &ga102, 72, 1695e6, 1695e6, 600e9, GDDR, "NVIDIA A10 datasheet"},
    {"A40", &ga102, 84, 1740e6, 1740e6, 696e9, GDDR, "NVIDIA A40 datasheet"},
    {"RTX A6000", &ga102, 84, 1800e6, 1800e6, 768e9, GDDR, "NVIDIA RTX A6000 datasheet"},
    {"GeForce RTX 3090", &ga102_geforce, 82, 1695e6, 1695e6, 936e9, GDDR,
     "NVIDIA GA102 white paper"},
    {"L4", &ada, 58, 2040e6, 2040e6, 300e9, GDDR, "NVIDIA L4 datasheet"},
    {"L40", &ada_l40, 142, 2490e6, 2490e6, 864e9, GDDR, "NVIDIA L40 datasheet"},
    {"L40S", &ada, 142, 2520e6, 2490e6, 864e9, GDDR, "NVIDIA L40S datasheet"},
    {"GeForce RTX 4090", &ada_geforce, 128, 2520e6, 2520e6, 1008e9, GDDR, "NVIDIA Ada white paper"},
    {"H100 80GB HBM3", &hopper, 132, 1980e6, 1830e6, 3350e9, HBM, H100_SOURCE},
    {"H100 PCIe", &hopper, 114, 1755e6, 1620e6, 2000e9, HBM, H100_SOURCE},
    {"H100 NVL", &hopper, 132, 1785e6, 1545e6, 3900e9, HBM, H100_SOURCE},
    {"GH200 480GB", &hopper, 132, 1980e6, 1830e6, 4000e9, HBM, "NVIDIA GH200 datasheet"},
    {"GH200 144G HBM3e", &hopper, 132, 1980e6, 1830e6, 4900e9, HBM, "NVIDIA GH200 datasheet"},
    {"H200", &hopper, 132, 1980e6, 1830e6, 4800e9, HBM,
     "NVIDIA H200 datasheet and Hopper white paper"},
    {"B200", &gb100, 148, 1980e6, 1856e6, 7700e9, HBM, "NVIDIA Blackwell datasheet, HGX B200"},
    {"GeForce RTX 5090", &gb202_geforce, 170, 2407e6, 2407e6, 1792e9, GDDR,
     "NVIDIA RTX Blackwell white paper"},
};

static bool names_equal(const char *name, size_t length, const char *chip)
{
    return strlen(chip) == length && strncmp(name, chip, length) == 0;
}

/* A name can stand for two chips: the number of SMs must be right too. A MIG instance has the name
 * of its GPU, then " MIG …". */
static const struct chip *find_chip(const struct device *device)
{
    const char *name = device->text[DEVICE_NAME];
    if (strncmp(name, "NVIDIA ", 7) == 0)
        name += 7;
    const char *mig = strstr(name, " MIG ");
    size_t length = mig ? (size_t)(mig - name) : strlen(name);
    for (size_t i = 0; i < ARRAY_SIZE(chips); i++) {
        if (!names_equal(name, length, chips[i].name))
            continue;
        double sm_count = device_number(device, DEVICE_SM_COUNT, chips[i].sm_count);
        bool right =
            device_is_mig(device) ? sm_count <= chips[i].sm_count : sm_count == chips[i].sm_count;
        return right ? &chips[i] : NULL;
    }
    return NULL;
}

static double rate_of_tensor(const struct rates *rates, enum label type)
{
    switch (type) {
    case LABEL_TYPE_FP64:
        return rates->tensor_fp64;
    case LABEL_TYPE_TF32:
        return rates->tensor_tf32;
    case LABEL_TYPE_BF16:
        return rates->tensor_bf16;
    case LABEL_TYPE_FP8:
        return rates->tensor_fp8;
    case LABEL_TYPE_INT8:
        return rates->tensor_int8;
    default:
        return 0;
    }
}

static double rate_of(const struct rates *rates, enum label pipe, enum label type)
{
    switch (pipe) {
    case LABEL_PIPE_TENSOR:
        return rate_of_tensor(rates, type);
    case LABEL_PIPE_FP64:
        return type == LABEL_TYPE_FP64 ? rates->fp64 : 0;
    case LABEL_PIPE_FP32:
        return type == LABEL_TYPE_FP32 ? rates->fp32 : 0;
    case LABEL_PIPE_FP16:
        return type == LABEL_TYPE_BF16 ? rates->fp16 : 0;
    case LABEL_PIPE_INT:
        return type == LABEL_TYPE_INT32 ? rates->int32 : 0;
    default:
        return 0;
    }
}

/* Every chip tells its FP32 lanes, so that this peak needs no table. */
static bool peak_from_cores(const struct device *device, struct sol_peak *ret)
{
    double cores = device_number(device, DEVICE_CORES, 0);
    if (cores <= 0)
        return false;
    *ret = (struct sol_peak){
        .flops = cores * 2 * device->number[DEVICE_MAX_SM_CLOCK],
        .source = "FP32 lanes as the driver counts them",
    };
    return true;
}

bool sol_peak(const struct device *device, enum label pipe, enum label type, struct sol_peak *ret,
              enum absence *ret_why)
{
    const struct chip *chip = find_chip(device);
    double rate = chip ? rate_of(chip->rates, pipe, type) : 0;
    if (device_number(device, DEVICE_MAX_SM_CLOCK, 0) <= 0) {
        *ret_why = ABSENT_INPUT_MISSING;
        return false;
    }
    if (rate <= 0) {
        if (!chip && pipe == LABEL_PIPE_FP32 && type == LABEL_TYPE_FP32 &&
            peak_from_cores(device, ret))
            return true;
        *ret_why = ABSENT_UNKNOWN_CHIP;
        return false;
    }
    if (device_is_mig(device) && !device_knows(device, DEVICE_SM_COUNT)) {
        *ret_why = ABSENT_INPUT_MISSING;
        return false;
    }
    bool tensor = pipe == LABEL_PIPE_TENSOR && type != LABEL_TYPE_FP64;
    double clock = tensor ? chip->tensor_clock : chip->clock;
    *ret = (struct sol_peak){
        .flops = rate * device_number(device, DEVICE_SM_COUNT, chip->sm_count) *
                 device->number[DEVICE_MAX_SM_CLOCK],
        .datasheet_flops = rate * chip->sm_count * clock,
        .datasheet_clock = clock,
        .source = chip->source,
    };
    return true;
}

bool sol_peak_dram(const struct device *device, double *ret, enum absence *ret_why)
{
    if (device_is_mig(device)) {
        *ret_why = ABSENT_SHARED_MIG;
        return false;
    }
    const struct chip *chip = find_chip(device);
    if (!chip) {
        *ret_why = ABSENT_UNKNOWN_CHIP;
        return false;
    }
    *ret = chip->dram;
    return true;
}

const char *sol_dram_name(const struct device *device)
{
    const struct chip *chip = find_chip(device);
    /* One stack of HBM is 1024 bits wide; no other kind is that wide on one GPU. */
    bool hbm =
        chip ? chip->dram_kind == HBM : device_number(device, DEVICE_MEMORY_BUS_BITS, 0) >= 1024;
    return hbm ? "HBM" : "DRAM";
}

double sol_peak_pcie(double generation, double lanes)
{
    /* Transfers per second and lane, and what the line code leaves of them: 8b/10b, then 128b/130b,
     * then flits of 256 bytes with 236 bytes of packets in them. */
    static const struct {
        double transfers, code;
    } links[] = {
        [1] = {2.5e9, 8.0 / 10},   [2] = {5e9, 8.0 / 10},     [3] = {8e9, 128.0 / 130},
        [4] = {16e9, 128.0 / 130}, [5] = {32e9, 128.0 / 130}, [6] = {64e9, 236.0 / 256},
    };
    if (!(generation >= 1 && generation < (double)ARRAY_SIZE(links) && lanes > 0))
        return 0;
    size_t i = (size_t)generation;
    return links[i].transfers * links[i].code * lanes / 8;
}
