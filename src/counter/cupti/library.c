#include "counter/cupti/library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "counter/cupti/search.h"

#define REQUIRED(member, symbol) DSO_REQUIRED(struct cupti, member, symbol)

static const struct dso_symbol symbols[] = {
    REQUIRED(get_version, "cuptiGetVersion"),
    DSO_OPTIONAL(struct cupti, get_error_message, "cuptiGetErrorMessage"),
    REQUIRED(initialize, "cuptiProfilerInitialize"),
    REQUIRED(chip_name, "cuptiDeviceGetChipName"),
    REQUIRED(supported_chips, "cuptiProfilerHostGetSupportedChips"),
    REQUIRED(host_initialize, "cuptiProfilerHostInitialize"),
    REQUIRED(host_deinitialize, "cuptiProfilerHostDeinitialize"),
    REQUIRED(host_add_metrics, "cuptiProfilerHostConfigAddMetrics"),
    REQUIRED(host_config_size, "cuptiProfilerHostGetConfigImageSize"),
    REQUIRED(host_config, "cuptiProfilerHostGetConfigImage"),
    REQUIRED(host_passes, "cuptiProfilerHostGetNumOfPasses"),
    REQUIRED(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues"),
    REQUIRED(pm_enable, "cuptiPmSamplingEnable"),
    REQUIRED(pm_disable, "cuptiPmSamplingDisable"),
    REQUIRED(pm_set_config, "cuptiPmSamplingSetConfig"),
    REQUIRED(pm_start, "cuptiPmSamplingStart"),
    REQUIRED(pm_stop, "cuptiPmSamplingStop"),
    REQUIRED(pm_decode, "cuptiPmSamplingDecodeData"),
    REQUIRED(pm_availability, "cuptiPmSamplingGetCounterAvailability"),
    REQUIRED(pm_image_size, "cuptiPmSamplingGetCounterDataSize"),
    REQUIRED(pm_image_initialize, "cuptiPmSamplingCounterDataImageInitialize"),
    REQUIRED(pm_image_info, "cuptiPmSamplingGetCounterDataInfo"),
    REQUIRED(pm_sample_info, "cuptiPmSamplingCounterDataGetSampleInfo"),
};

struct attempt {
    struct cupti *cupti;
    int result;
    char *why;
    size_t why_size;
};

/* A library that is too old is worth telling more than one that does not load, and that more than
 * one that is not there. */
static bool try_path(void *context, const char *path)
{
    struct attempt *attempt = context;
    struct cupti *cupti = attempt->cupti;
    const char *const candidates[] = {path, NULL};
    char why[256];
    int r = dso_open(&cupti->dso, "ROOFTOP_CUPTI", candidates, symbols, ARRAY_SIZE(symbols), cupti,
                     why, sizeof(why));
    if (r == 0) {
        attempt->result = 0;
        return false;
    }
    if (r == -ENOSYS && attempt->result != -ENOSYS)
        snprintf(attempt->why, attempt->why_size, "%s: %s", path, why);
    else if (attempt->why[0] == '\0' && strchr(path, '/'))
        snprintf(attempt->why, attempt->why_size, "%s", why);
    if (r == -ENOSYS)
        attempt->result = r;
    return true;
}

int cupti_load(struct cupti *ret, char *why, size_t why_size)
{
    *ret = (struct cupti){0};
    why[0] = '\0';
    struct attempt attempt = {ret, -ENOENT, why, why_size};
    const char *named = cupti_search_override();
    if (named)
        try_path(&attempt, named);
    else
        cupti_search(try_path, &attempt);
    if (attempt.result == 0)
        ret->get_version(&ret->version);
    else if (why[0] == '\0')
        snprintf(why, why_size, "no libcupti.so in the loader's path nor in the usual folders");
    return attempt.result;
}

int cupti_needs_cuda(const struct cupti *cupti)
{
    /* From CUDA 13 on it counts as CUDA does, with a patch level; before, in numbers of its own. */
    int major = (int)(cupti->version / 10000);
    return major >= 13 ? major * 1000 : 12060;
}

void cupti_describe(const struct cupti *cupti, int result, char *ret_text, size_t size)
{
    const char *text = NULL;
    if (cupti->get_error_message)
        cupti->get_error_message(result, &text);
    snprintf(ret_text, size, "CUPTI %d: %s", result, text ? text : "no text");
}
