/* Speed of light: from counters to how hard a GPU works and what holds it back. Pure functions.
 * Definitions, formulas, thresholds and sources: docs/SOL.md. */
#pragma once

#include "base/strbuf.h"
#include "base/util.h"
#include "metric/device.h"
#include "metric/sample.h"
#include "sol/ceilings.h"

/* Fills every DERIVED metric of the sample from its MEASURED ones, each with a value or a reason:
 * where an input is missing, the input's own reason. Ratios lie between 0 and 1. Without ceilings
 * (NULL) the peaks stand for them. */
void sol_derive(const struct device *device, const struct sol_ceilings *ceilings,
                struct sample *sample);

/* One plain sentence on a derived sample, such as "memory-bound: HBM at 64 %, SMs busy 65 %;
 * attainable 91 %, HBM stops it; 27 points of budget; nvidia-smi says 99 %". Where the
 * bound is not known it says why. */
void sol_verdict(const struct device *device, const struct sample *sample, struct strbuf *out);

/* The same without nvidia-smi's number, for where that stands beside it. */
void sol_judgement(const struct device *device, const struct sample *sample, struct strbuf *out);

/* How much the work could get: "attainable 91 %, HBM stops it; 27 points of budget". The number is
 * of the larger of Compute and Memory SOL, and the budget what is between both as whole numbers.
 * Nothing where it rests, where a link holds it back, or where the ceiling of what would stop it is
 * not known. */
void sol_attainable_words(const struct device *device, const struct sample *sample,
                          struct strbuf *out);

/* "64 %", and "under 1 %" for a ratio that is more than nothing and less than that. */
void sol_percent(double ratio, struct strbuf *out);

/* Short words for columns; each adds nothing where the metric is missing. */
void sol_pipe_words(const struct sample *sample, struct strbuf *out); /* "tensor", "FP32" */
/* "HBM", "DRAM", "L2", "L1"; "HBM only" where no cache is seen. */
void sol_level_words(const struct device *device, const struct sample *sample, struct strbuf *out);
/* "PCIe host-to-device", "NVLink incoming", "NVLink both ways" where the directions are alike */
void sol_link_words(const struct sample *sample, struct strbuf *out);

/* "HBM", or "DRAM" for other kinds and where it is not known. */
const char *sol_dram_name(const struct device *device);

struct sol_peak {
    double flops;           /* per second: rate per cycle and SM × SMs × maximum SM clock */
    double datasheet_flops; /* of the whole GPU at the clock below, or 0 where not known */
    double datasheet_clock; /* hertz that the datasheet assumes for this type */
    const char *source;
};

/* Peak of a pipe (LABEL_PIPE_…) with operands of a type (LABEL_TYPE_…), a fused multiply-add being
 * two operations. `ret_why` gets the reason where there is none. */
bool sol_peak(const struct device *device, enum label pipe, enum label type, struct sol_peak *ret,
              enum absence *ret_why);

/* Peak bandwidth of the device memory in bytes per second, from the datasheet. */
bool sol_peak_dram(const struct device *device, double *ret, enum absence *ret_why);

/* Peak of a PCIe link in one direction, bytes per second after the line code; 0 where such a
 * generation is not known. */
double sol_peak_pcie(double generation, double lanes);
