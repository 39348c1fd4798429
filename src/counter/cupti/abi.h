/* The part of CUPTI's binary interface that Rooftop uses: PM sampling and the profiler host, as of
 * CUPTI 12.6 and newer. Declared here, because the vendor's header is not C and no CUDA is needed
 * to build. Every struct begins with its own size; a newer library accepts older sizes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a caller puts into `size`: up to the end of the last member, without padding. */
#define CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* CUptiResult, those that are told apart. */
enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_OPERATION = 7,
    CUPTI_OUT_OF_MEMORY = 8,
    CUPTI_INVALID_METRIC_NAME = 17,
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_VIRTUALIZED_DEVICE = 33,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_OLD_PROFILER_IN_USE = 36,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL_COMPUTING = 41,
    CUPTI_CMP_DEVICE = 42,
    CUPTI_MIG_DEVICE = 43,
    CUPTI_WSL_DEVICE = 45,
    CUPTI_INVALID_CHIP = 46,
    CUPTI_UNKNOWN = 999,
};

enum { CUPTI_KIND_PM_SAMPLING = 1 };
enum cupti_trigger { CUPTI_TRIGGER_SYSCLK = 0, CUPTI_TRIGGER_TIME = 1 };
enum cupti_append { CUPTI_KEEP_OLDEST = 0, CUPTI_KEEP_LATEST = 1 };
enum cupti_stop_reason { CUPTI_STOP_OTHER = 0, CUPTI_STOP_IMAGE_FULL = 1, CUPTI_STOP_END = 2 };

struct cupti_profiler_initialize {
    size_t size;
    void *private;
};

struct cupti_chip_name {
    size_t size;
    void *private;
    size_t device;
    const char *chip; /* out */
};

struct cupti_supported_chips {
    size_t size;
    void *private;
    size_t count;             /* out */
    const char *const *chips; /* out */
};

struct cupti_host_initialize {
    size_t size;
    void *private;
    int32_t kind;
    const char *chip;
    const uint8_t *availability;
    void *host; /* out */
};

struct cupti_host_deinitialize {
    size_t size;
    void *private;
    void *host;
};

struct cupti_host_add_metrics {
    size_t size;
    void *private;
    void *host;
    const char **names;
    size_t count;
};

struct cupti_host_config_size {
    size_t size;
    void *private;
    void *host;
    size_t config_size; /* out */
};

struct cupti_host_config {
    size_t size;
    void *private;
    void *host;
    size_t config_size;
    uint8_t *config; /* filled */
};

struct cupti_host_passes {
    size_t size;
    void *private;
    size_t config_size;
    uint8_t *config;
    size_t passes; /* out */
};

struct cupti_host_evaluate {
    size_t size;
    void *private;
    void *host;
    const uint8_t *image;
    size_t image_size;
    size_t index;
    const char **names;
    size_t count;
    double *values; /* filled */
};

struct cupti_pm_enable {
    size_t size;
    void *private;
    size_t device;
    void *session; /* out */
};

/* Of cuptiPmSamplingDisable, Start and Stop. */
struct cupti_pm_session {
    size_t size;
    void *private;
    void *session;
};

struct cupti_pm_set_config {
    size_t size;
    void *private;
    void *session;
    size_t config_size;
    const uint8_t *config;
    size_t buffer_size;
    uint64_t interval; /* nanoseconds, or cycles of the system clock */
    int32_t trigger;
    int32_t append;
};

struct cupti_pm_decode {
    size_t size;
    void *private;
    void *session;
    uint8_t *image;
    size_t image_size;
    int32_t stop_reason; /* out */
    uint8_t overflow;    /* out */
};

struct cupti_pm_availability {
    size_t size;
    void *private;
    size_t device;
    size_t image_size; /* in and out */
    uint8_t *image;    /* filled, or NULL to ask for the size */
};

struct cupti_pm_image_size {
    size_t size;
    void *private;
    void *session;
    const char **names;
    size_t count;
    uint32_t max_samples;
    size_t image_size; /* out */
};

struct cupti_pm_image_initialize {
    size_t size;
    void *private;
    void *session;
    size_t image_size;
    uint8_t *image;
};

struct cupti_pm_image_info {
    size_t size;
    void *private;
    const uint8_t *image;
    size_t image_size;
    size_t total;     /* out */
    size_t populated; /* out */
    size_t completed; /* out */
};

struct cupti_pm_sample_info {
    size_t size;
    void *private;
    void *session;
    const uint8_t *image;
    size_t image_size;
    size_t index;
    uint64_t begin; /* out, nanoseconds */
    uint64_t end;   /* out */
};

/* The vendor's layout on 64-bit machines, compared once with its headers (CUDA 13.0). */
_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "CUPTI exists on 64-bit machines only");
_Static_assert(sizeof(struct cupti_profiler_initialize) == 16, "");
_Static_assert(sizeof(struct cupti_chip_name) == 32, "");
_Static_assert(offsetof(struct cupti_chip_name, chip) == 24, "");
_Static_assert(sizeof(struct cupti_supported_chips) == 32, "");
_Static_assert(offsetof(struct cupti_supported_chips, count) == 16, "");
_Static_assert(sizeof(struct cupti_host_initialize) == 48, "");
_Static_assert(offsetof(struct cupti_host_initialize, chip) == 24, "");
_Static_assert(offsetof(struct cupti_host_initialize, host) == 40, "");
_Static_assert(sizeof(struct cupti_host_deinitialize) == 24, "");
_Static_assert(sizeof(struct cupti_host_add_metrics) == 40, "");
_Static_assert(offsetof(struct cupti_host_add_metrics, count) == 32, "");
_Static_assert(sizeof(struct cupti_host_config_size) == 32, "");
_Static_assert(sizeof(struct cupti_host_config) == 40, "");
_Static_assert(offsetof(struct cupti_host_config, config) == 32, "");
_Static_assert(sizeof(struct cupti_host_passes) == 40, "");
_Static_assert(offsetof(struct cupti_host_passes, config) == 24, "");
_Static_assert(offsetof(struct cupti_host_passes, passes) == 32, "");
_Static_assert(sizeof(struct cupti_host_evaluate) == 72, "");
_Static_assert(offsetof(struct cupti_host_evaluate, index) == 40, "");
_Static_assert(offsetof(struct cupti_host_evaluate, values) == 64, "");
_Static_assert(sizeof(struct cupti_pm_enable) == 32, "");
_Static_assert(offsetof(struct cupti_pm_enable, session) == 24, "");
_Static_assert(sizeof(struct cupti_pm_session) == 24, "");
_Static_assert(sizeof(struct cupti_pm_set_config) == 64, "");
_Static_assert(offsetof(struct cupti_pm_set_config, buffer_size) == 40, "");
_Static_assert(offsetof(struct cupti_pm_set_config, trigger) == 56, "");
_Static_assert(offsetof(struct cupti_pm_set_config, append) == 60, "");
_Static_assert(sizeof(struct cupti_pm_decode) == 48, "");
_Static_assert(offsetof(struct cupti_pm_decode, stop_reason) == 40, "");
_Static_assert(offsetof(struct cupti_pm_decode, overflow) == 44, "");
_Static_assert(CUPTI_SIZE(struct cupti_pm_decode, overflow) == 45, "");
_Static_assert(sizeof(struct cupti_pm_availability) == 40, "");
_Static_assert(offsetof(struct cupti_pm_availability, image_size) == 24, "");
_Static_assert(sizeof(struct cupti_pm_image_size) == 56, "");
_Static_assert(offsetof(struct cupti_pm_image_size, max_samples) == 40, "");
_Static_assert(offsetof(struct cupti_pm_image_size, image_size) == 48, "");
_Static_assert(sizeof(struct cupti_pm_image_initialize) == 40, "");
_Static_assert(offsetof(struct cupti_pm_image_initialize, image) == 32, "");
_Static_assert(sizeof(struct cupti_pm_image_info) == 56, "");
_Static_assert(offsetof(struct cupti_pm_image_info, completed) == 48, "");
_Static_assert(sizeof(struct cupti_pm_sample_info) == 64, "");
_Static_assert(offsetof(struct cupti_pm_sample_info, begin) == 48, "");
