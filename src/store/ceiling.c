#include "store/ceiling.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "metric/units.h"
#include "sol/sol.h"

static const struct ceiling_info infos[] = {
#define CEILING(id, name, unit, help) {name, CEILING_##unit, help},
#include "store/ceiling.def"
#undef CEILING
};

const struct ceiling_info *ceiling_info(enum ceiling ceiling)
{
    return &infos[ceiling];
}

enum ceiling ceiling_by_name(const char *name)
{
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (strcmp(infos[i].name, name) == 0)
            return (enum ceiling)i;
    return CEILING_COUNT;
}

bool ceiling_arithmetic(enum ceiling ceiling, enum label *ret_pipe, enum label *ret_type)
{
    static const struct {
        bool known;
        enum label pipe, type;
    } arithmetic[CEILING_COUNT] = {
        [CEILING_FP64] = {true, LABEL_PIPE_FP64, LABEL_TYPE_FP64},
        [CEILING_FP32] = {true, LABEL_PIPE_FP32, LABEL_TYPE_FP32},
        [CEILING_FP16] = {true, LABEL_PIPE_FP16, LABEL_TYPE_BF16},
        [CEILING_INT32] = {true, LABEL_PIPE_INT, LABEL_TYPE_INT32},
        [CEILING_TENSOR_FP64] = {true, LABEL_PIPE_TENSOR, LABEL_TYPE_FP64},
        [CEILING_TENSOR_TF32] = {true, LABEL_PIPE_TENSOR, LABEL_TYPE_TF32},
        [CEILING_TENSOR_BF16] = {true, LABEL_PIPE_TENSOR, LABEL_TYPE_BF16},
        [CEILING_TENSOR_FP8] = {true, LABEL_PIPE_TENSOR, LABEL_TYPE_FP8},
        [CEILING_TENSOR_INT8] = {true, LABEL_PIPE_TENSOR, LABEL_TYPE_INT8},
    };
    if (!arithmetic[ceiling].known)
        return false;
    *ret_pipe = arithmetic[ceiling].pipe;
    *ret_type = arithmetic[ceiling].type;
    return true;
}

enum ceiling ceiling_of_tensor(enum label type)
{
    enum ceiling found = CEILING_TENSOR_FP64;
    enum label pipe, its_type;
    while (ceiling_arithmetic(found, &pipe, &its_type) && its_type != type)
        found++;
    return found <= CEILING_TENSOR_INT8 ? found : CEILING_COUNT;
}

static bool take(double value, double *ret)
{
    if (value > 0)
        *ret = value;
    return value > 0;
}

bool ceiling_datasheet(const struct device *device, enum ceiling ceiling, double *ret)
{
    struct sol_peak peak;
    enum absence why;
    enum label pipe, type;
    if (ceiling_arithmetic(ceiling, &pipe, &type))
        return sol_peak(device, pipe, type, &peak, &why) && take(peak.datasheet_flops, ret);
    switch (ceiling) {
    case CEILING_HBM_READ:
    case CEILING_HBM_WRITE:
    case CEILING_HBM_COPY:
    case CEILING_HBM_TRIAD:
        return sol_peak_dram(device, ret, &why);
    case CEILING_PCIE_H2D:
    case CEILING_PCIE_D2H:
        return take(sol_peak_pcie(device_number(device, DEVICE_PCIE_MAX_GENERATION, 0),
                                  device_number(device, DEVICE_PCIE_MAX_WIDTH, 0)),
                    ret);
    case CEILING_NVLINK_SEND:
        return take(device_number(device, DEVICE_NVLINK_BANDWIDTH, 0), ret);
    default:
        return false;
    }
}

static bool counts_integers(enum ceiling ceiling)
{
    return ceiling == CEILING_INT32 || ceiling == CEILING_TENSOR_INT8;
}

static void put_operations(struct strbuf *out, double value)
{
    bool peta = value >= 0.9995e15;
    double scaled = value / (peta ? 1e15 : 1e12);
    int decimals = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
    strbuf_printf(out, "%.*f %s", decimals, scaled, peta ? "POP/s" : "TOP/s");
}

void ceiling_put_human(struct strbuf *out, enum ceiling ceiling, double value)
{
    switch (infos[ceiling].unit) {
    case CEILING_BYTES_PER_SECOND:
        metric_put_human(out, METRIC_ACHIEVED_DRAM, value);
        break;
    case CEILING_FLOPS_PER_SECOND:
        if (counts_integers(ceiling))
            put_operations(out, value);
        else
            metric_put_human(out, METRIC_ACHIEVED_FLOPS, value);
        break;
    case CEILING_PER_SECOND:
        strbuf_printf(out, "%.0f k/s", value / 1e3);
        break;
    }
}

static void take_newer(void *context, enum ceiling ceiling, const struct ceiling_value *value)
{
    struct ceiling_value *have = &((struct ceilings *)context)->of[ceiling];
    if (have->origin != CEILING_MEASURED || value->time >= have->time)
        *have = *value;
}

static int each_of(const char *path, const char *uuid,
                   void (*each)(void *context, enum ceiling ceiling,
                                const struct ceiling_value *value),
                   void *context, char *why, size_t why_size)
{
    struct ceiling_store *store;
    int r = ceiling_store_open_to_read(&store, path, why, why_size);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = ceiling_store_each(store, uuid, each, context);
    if (r < 0)
        snprintf(why, why_size, "%s: %s", path, strerror(-r));
    ceiling_store_close(store);
    return r;
}

int ceilings_each(const char *uuid,
                  void (*each)(void *context, enum ceiling ceiling,
                               const struct ceiling_value *value),
                  void *context, char *why, size_t why_size)
{
    static const char system_path[] = "/var/lib/rooftop/ceilings.db";
    int r = each_of(system_path, uuid, each, context, why, why_size);
    struct strbuf path = {0};
    if (ceiling_store_path(&path) == 0 && strcmp(path.text, system_path) != 0) {
        int own = each_of(path.text, uuid, each, context, why, why_size);
        r = own < 0 ? own : r;
    }
    strbuf_free(&path);
    return r;
}

int ceilings_find(const struct device *device, struct ceilings *ret, char *why, size_t why_size)
{
    ceilings_shipped(device, ret);
    return ceilings_each(device->text[DEVICE_UUID], take_newer, ret, why, why_size);
}
