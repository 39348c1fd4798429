#include "monitor/ceilings.h"

#include <math.h>

#include "sol/sol.h"

/* Counters of links count headers too, and calibration the payload: measured on H200s, PCIe 7 to
 * 8.5 % and NVLink 2.4 to 2.6 % above it. */
static const double PCIE_PROTOCOL = 1.085;
static const double NVLINK_PROTOCOL = 1.026;

struct source {
    enum ceiling ceiling;
    enum sol_resource resource;
};

/* A resource with several sources has the highest of them as its ceiling; what was measured on this
 * GPU goes before what is shipped. */
static const struct source sources[] = {
    {CEILING_TENSOR_TF32, RESOURCE_TENSOR_FLOAT},
    {CEILING_TENSOR_BF16, RESOURCE_TENSOR_FLOAT},
    {CEILING_TENSOR_FP8, RESOURCE_TENSOR_FLOAT},
    {CEILING_TENSOR_INT8, RESOURCE_TENSOR_INT},
    {CEILING_TENSOR_FP64, RESOURCE_TENSOR_FP64},
    {CEILING_FP64, RESOURCE_FP64},
    {CEILING_FP32, RESOURCE_FP32},
    {CEILING_FP16, RESOURCE_FP16},
    {CEILING_INT32, RESOURCE_INT},
    {CEILING_HBM_READ, RESOURCE_DRAM},
    {CEILING_HBM_WRITE, RESOURCE_DRAM},
    {CEILING_HBM_COPY, RESOURCE_DRAM},
    {CEILING_HBM_TRIAD, RESOURCE_DRAM},
    {CEILING_L2_READ, RESOURCE_L2},
    {CEILING_PCIE_H2D, RESOURCE_PCIE_RX},
    {CEILING_PCIE_D2H, RESOURCE_PCIE_TX},
    {CEILING_NVLINK_SEND, RESOURCE_NVLINK},
};

/* The rate, as a part of the peak at the clock that there was; 0 where that is not known. */
static double part_of_pipe(const struct device *device, const struct source *source,
                           const struct ceiling_value *value)
{
    struct sol_peak peak;
    enum absence why;
    enum label pipe, type;
    if (!isfinite(value->clock) || value->clock <= 0 ||
        !ceiling_arithmetic(source->ceiling, &pipe, &type) ||
        !sol_peak(device, pipe, type, &peak, &why))
        return 0;
    return value->value / peak.flops * device->number[DEVICE_MAX_SM_CLOCK] / value->clock;
}

static double quotient(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double part_of_peak(const struct device *device, const struct source *source,
                           const struct ceiling_value *value)
{
    double peak = 0;
    enum absence why;
    switch (source->resource) {
    case RESOURCE_DRAM:
        return sol_peak_dram(device, &peak, &why) ? value->value / peak : 0;
    case RESOURCE_L2:
        return 0;
    case RESOURCE_PCIE_RX:
    case RESOURCE_PCIE_TX:
        peak = sol_peak_pcie(device_number(device, DEVICE_PCIE_MAX_GENERATION, 0),
                             device_number(device, DEVICE_PCIE_MAX_WIDTH, 0));
        return quotient(value->value * PCIE_PROTOCOL, peak);
    case RESOURCE_NVLINK:
        return quotient(value->value * NVLINK_PROTOCOL,
                        device_number(device, DEVICE_NVLINK_BANDWIDTH, 0));
    default:
        return part_of_pipe(device, source, value);
    }
}

static void adopt(struct sol_ceiling *ceiling, double ratio, enum label source)
{
    bool better = ceiling->source == source ? ratio > ceiling->ratio
                                            : ceiling->source != LABEL_CEILING_OF_THIS_GPU;
    if (ratio > 0 && better)
        *ceiling = (struct sol_ceiling){ratio, source};
}

void ceilings_to_sol(const struct device *device, const struct ceilings *ceilings,
                     struct sol_ceilings *ret)
{
    *ret = (struct sol_ceilings){0};
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        const struct source *source = &sources[i];
        const struct ceiling_value *value = &ceilings->of[source->ceiling];
        if (value->origin == CEILING_UNKNOWN)
            continue;
        double ratio = value->ratio > 0 ? value->ratio : part_of_peak(device, source, value);
        adopt(&ret->of[source->resource], fmin(ratio, 1),
              value->origin == CEILING_MEASURED ? LABEL_CEILING_OF_THIS_GPU
                                                : LABEL_CEILING_OF_ITS_KIND);
    }
}

void ceilings_load(const struct device *device, struct sol_ceilings *ret)
{
    struct ceilings ceilings;
    char why[256];
    /* Where the store cannot be read, what is shipped serves; rooftop ceilings says why. */
    (void)!ceilings_find(device, &ceilings, why, sizeof(why));
    ceilings_to_sol(device, &ceilings, ret);
}

static enum label weaker(enum label a, enum label b)
{
    return a > b ? a : b;
}

static enum label label_of(enum ceiling_origin origin)
{
    return origin == CEILING_MEASURED  ? LABEL_CEILING_OF_THIS_GPU
           : origin == CEILING_SHIPPED ? LABEL_CEILING_OF_ITS_KIND
                                       : LABEL_CEILING_OF_THE_PEAK;
}

/* What a ratio of 1 stands for at the clock that there was. */
static double peak_then(const struct device *device, double peak, const struct ceiling_value *value)
{
    if (value->ratio > 0)
        return value->value / value->ratio;
    return value->clock > 0 ? peak * value->clock / device->number[DEVICE_MAX_SM_CLOCK] : peak;
}

/* Operations per second, and the peak of that moment. */
static double flops_of(const struct device *device, const struct ceilings *ceilings,
                       enum label type, double *ret_peak, enum label *source)
{
    struct sol_peak peak = {0};
    enum absence why;
    sol_peak(device, LABEL_PIPE_TENSOR, type, &peak, &why);
    enum ceiling ceiling = ceiling_of_tensor(type);
    if (ceiling == CEILING_COUNT || ceilings->of[ceiling].origin == CEILING_UNKNOWN) {
        *source = LABEL_CEILING_OF_THE_PEAK;
        *ret_peak = peak.flops;
        return peak.flops;
    }
    const struct ceiling_value *value = &ceilings->of[ceiling];
    *source = weaker(*source, label_of(value->origin));
    *ret_peak = peak_then(device, peak.flops, value);
    return value->value;
}

static double bytes_of(const struct device *device, const struct ceilings *ceilings,
                       double *ret_peak, enum label *source)
{
    enum absence why;
    double most = 0;
    enum ceiling_origin origin = CEILING_UNKNOWN;
    *ret_peak = 0;
    sol_peak_dram(device, ret_peak, &why);
    for (int i = CEILING_HBM_READ; i <= CEILING_HBM_TRIAD; i++) {
        const struct ceiling_value *value = &ceilings->of[i];
        if (value->origin == CEILING_UNKNOWN || value->origin < origin)
            continue;
        most = value->origin > origin ? value->value : fmax(most, value->value);
        origin = value->origin;
    }
    *source = weaker(*source, label_of(origin));
    return most > 0 ? most : *ret_peak;
}

bool ceilings_rates(const struct device *device, const struct ceilings *ceilings, enum label type,
                    struct served_rates *ret, enum label *ret_source)
{
    enum label source = LABEL_CEILING_OF_THIS_GPU;
    struct served_rates rates;
    double unused;
    rates.flops = flops_of(device, ceilings, type, &rates.peak_flops, &source);
    rates.attention = flops_of(device, ceilings, LABEL_TYPE_BF16, &unused, &source);
    rates.bytes = bytes_of(device, ceilings, &rates.peak_bytes, &source);
    if (!(rates.flops > 0 && rates.attention > 0 && rates.bytes > 0 && rates.peak_flops > 0 &&
          rates.peak_bytes > 0))
        return false;
    *ret = rates;
    *ret_source = source;
    return true;
}
