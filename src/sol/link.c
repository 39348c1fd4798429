#include "sol/link.h"

#include "base/util.h"
#include "sol/bound.h"
#include "sol/ratio.h"
#include "sol/sol.h"

struct links {
    double ratio;
    enum label label;
    bool seen;
    enum absence unseen; /* why a link that may be the busiest is not seen */
};

static void consider(struct links *links, const struct sample *sample, enum metric rate,
                     enum label label, double peak)
{
    double ratio = 0;
    enum absence absence;
    if (!sample_has(sample, rate))
        absence = (enum absence)sample->absent[rate];
    else if (peak > 0)
        absence = ratio_check(sample->value[rate] / peak, &ratio);
    else
        absence = sample->value[rate] > 0 ? ABSENT_INPUT_MISSING : ABSENT_NO;
    if (absence != ABSENT_NO) {
        if (links->unseen == ABSENT_NO)
            links->unseen = absence;
        return;
    }
    links->seen = true;
    if (ratio > links->ratio) {
        links->ratio = ratio;
        links->label = label;
    }
}

/* The generation at present falls while the GPU idles, and rises again before a copy: the highest
 * counts. The width does not change so, but a faulty slot can leave it below the most. */
static double pcie_peak(const struct device *device, const struct sample *sample)
{
    double generation = device_number(device, DEVICE_PCIE_MAX_GENERATION,
                                      sample_get(sample, METRIC_PCIE_GENERATION, 0));
    double lanes =
        sample_get(sample, METRIC_PCIE_WIDTH, device_number(device, DEVICE_PCIE_MAX_WIDTH, 0));
    return sol_peak_pcie(generation, lanes);
}

static bool has_nvlinks(const struct device *device, const struct sample *sample)
{
    return device_number(device, DEVICE_NVLINK_COUNT, 0) > 0 ||
           sample_get(sample, METRIC_NVLINK_RX, 0) > 0 ||
           sample_get(sample, METRIC_NVLINK_TX, 0) > 0;
}

void link_derive(const struct device *device, struct sample *sample)
{
    struct links links = {0};
    double pcie = pcie_peak(device, sample);
    consider(&links, sample, METRIC_PCIE_RX, LABEL_LINK_PCIE_RX, pcie);
    consider(&links, sample, METRIC_PCIE_TX, LABEL_LINK_PCIE_TX, pcie);
    if (has_nvlinks(device, sample)) {
        double nvlink = device_number(device, DEVICE_NVLINK_BANDWIDTH, 0);
        consider(&links, sample, METRIC_NVLINK_RX, LABEL_LINK_NVLINK_RX, nvlink);
        consider(&links, sample, METRIC_NVLINK_TX, LABEL_LINK_NVLINK_TX, nvlink);
    }
    enum absence absence = ABSENT_NO;
    if (links.unseen != ABSENT_NO && links.ratio < BOUND_LINK_NEAR_PEAK)
        absence = links.unseen;
    else if (!links.seen)
        absence = ABSENT_INPUT_MISSING;
    ratio_set(sample, METRIC_LINK_SOL, absence, links.ratio);
    if (absence == ABSENT_NO && links.ratio <= 0)
        absence = ABSENT_NOTHING_RAN;
    ratio_set(sample, METRIC_LINK_SOL_NAME, absence, links.label);
}
