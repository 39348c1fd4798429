/* libcupti, found and loaded. Only the helper process does that: it costs more than 100 MB. */
#pragma once

#include "base/dso.h"
#include "counter/cupti/abi.h"

struct cupti {
    struct dso dso;
    uint32_t version; /* CUPTI's API version: 26 is CUDA 12.6, 130001 is 13.0 */

    int (*get_version)(uint32_t *version);
    int (*get_error_message)(int result, const char **text);
    int (*initialize)(struct cupti_profiler_initialize *);
    int (*chip_name)(struct cupti_chip_name *);
    int (*supported_chips)(struct cupti_supported_chips *);
    int (*host_initialize)(struct cupti_host_initialize *);
    int (*host_deinitialize)(struct cupti_host_deinitialize *);
    int (*host_add_metrics)(struct cupti_host_add_metrics *);
    int (*host_config_size)(struct cupti_host_config_size *);
    int (*host_config)(struct cupti_host_config *);
    int (*host_passes)(struct cupti_host_passes *);
    int (*host_evaluate)(struct cupti_host_evaluate *);
    int (*pm_enable)(struct cupti_pm_enable *);
    int (*pm_disable)(struct cupti_pm_session *);
    int (*pm_set_config)(struct cupti_pm_set_config *);
    int (*pm_start)(struct cupti_pm_session *);
    int (*pm_stop)(struct cupti_pm_session *);
    int (*pm_decode)(struct cupti_pm_decode *);
    int (*pm_availability)(struct cupti_pm_availability *);
    int (*pm_image_size)(struct cupti_pm_image_size *);
    int (*pm_image_initialize)(struct cupti_pm_image_initialize *);
    int (*pm_image_info)(struct cupti_pm_image_info *);
    int (*pm_sample_info)(struct cupti_pm_sample_info *);
};

/* Searches ROOFTOP_CUPTI, the loader's path, the usual folders of CUDA and, not as root, those of
 * Python environments. Returns 0; -ENOENT: not found; -ENOSYS: found, but older than 12.6; `why`
 * then names the file. */
MUST_CHECK int cupti_load(struct cupti *ret, char *why, size_t why_size);
/* The oldest CUDA that a driver may serve for it, as cuDriverGetVersion counts. */
int cupti_needs_cuda(const struct cupti *cupti);

/* The library's words for a result, and its number. */
void cupti_describe(const struct cupti *cupti, int result, char *ret_text, size_t size);
