/* The part of NVML's binary interface that Rooftop uses, in its own words: handles, values and
 * structs as libnvidia-ml.so.1 lays them out on 64-bit Linux. The functions are in
 * nvml_functions.def.
 *
 * A struct with a version begins with NVML_VERSION(struct, n): its size and, in the top byte, n. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What every function returns. */
typedef uint32_t nvml_return;

enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_LIBRARY_MISMATCH = 18,
    NVML_NO_DATA = 21,
    NVML_VERSION_MISMATCH = 25,
    NVML_DEPRECATED = 26,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

/* Handles: pointers to what only the library knows. */
typedef struct nvml_handle *nvml_handle;
typedef struct nvml_event_set *nvml_event_set;
typedef struct nvml_gpm_sample *nvml_gpm_sample;

#define NVML_VERSION(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

/* A 64-bit value, or a 32-bit one, that stands for "not available". */
#define NVML_UNAVAILABLE    UINT64_MAX
#define NVML_UNAVAILABLE_32 UINT32_MAX
/* As a field's scope: all links together. */
#define NVML_ALL_LINKS UINT32_MAX

enum { NVML_TEXT_SIZE = 96, NVML_MAX_LINKS = 18 };

enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEMORY, NVML_CLOCK_VIDEO };
enum nvml_ecc_error { NVML_ECC_CORRECTED, NVML_ECC_UNCORRECTED };
enum nvml_ecc_counter { NVML_ECC_VOLATILE, NVML_ECC_AGGREGATE };
enum nvml_pcie_counter { NVML_PCIE_TX, NVML_PCIE_RX };
enum { NVML_SENSOR_GPU = 0, NVML_PERFORMANCE_UNKNOWN = 32 };

enum nvml_architecture {
    NVML_KEPLER = 2,
    NVML_MAXWELL,
    NVML_PASCAL,
    NVML_VOLTA,
    NVML_TURING,
    NVML_AMPERE,
    NVML_ADA,
    NVML_HOPPER,
    NVML_BLACKWELL,
};

#define NVML_EVENT_XID UINT64_C(8)

struct nvml_pci {
    char legacy_bus_id[16];
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t device_id;
    uint32_t subsystem_id;
    char bus_id[32];
};
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(offsetof(struct nvml_pci, domain) == 16, "nvmlPciInfo_t.domain");
_Static_assert(offsetof(struct nvml_pci, bus_id) == 36, "nvmlPciInfo_t.busId");

struct nvml_utilization {
    uint32_t gpu; /* per cent */
    uint32_t memory;
};
_Static_assert(sizeof(struct nvml_utilization) == 8, "nvmlUtilization_t");
_Static_assert(offsetof(struct nvml_utilization, memory) == 4, "nvmlUtilization_t.memory");

/* One of the driver's samples of one process, of about the last second. */
struct nvml_process_utilization {
    uint32_t pid;
    uint64_t time; /* microseconds since 1970 */
    uint32_t sm;   /* per cent */
    uint32_t memory;
    uint32_t encoder;
    uint32_t decoder;
};
_Static_assert(sizeof(struct nvml_process_utilization) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(offsetof(struct nvml_process_utilization, time) == 8,
               "nvmlProcessUtilizationSample_t.timeStamp");
_Static_assert(offsetof(struct nvml_process_utilization, sm) == 16,
               "nvmlProcessUtilizationSample_t.smUtil");
_Static_assert(offsetof(struct nvml_process_utilization, decoder) == 28,
               "nvmlProcessUtilizationSample_t.decUtil");

/* `used` contains what the driver reserves. */
struct nvml_memory {
    uint64_t total;
    uint64_t free;
    uint64_t used;
};
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");
_Static_assert(offsetof(struct nvml_memory, free) == 8, "nvmlMemory_t.free");
_Static_assert(offsetof(struct nvml_memory, used) == 16, "nvmlMemory_t.used");

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total;
    uint64_t reserved;
    uint64_t free;
    uint64_t used;
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(offsetof(struct nvml_memory_v2, total) == 8, "nvmlMemory_v2_t.total");
_Static_assert(offsetof(struct nvml_memory_v2, reserved) == 16, "nvmlMemory_v2_t.reserved");
_Static_assert(offsetof(struct nvml_memory_v2, free) == 24, "nvmlMemory_v2_t.free");
_Static_assert(offsetof(struct nvml_memory_v2, used) == 32, "nvmlMemory_v2_t.used");

struct nvml_temperature {
    uint32_t version;
    uint32_t sensor;
    int32_t celsius;
};
_Static_assert(sizeof(struct nvml_temperature) == 12, "nvmlTemperature_v1_t");
_Static_assert(offsetof(struct nvml_temperature, sensor) == 4, "nvmlTemperature_v1_t.sensorType");
_Static_assert(offsetof(struct nvml_temperature, celsius) == 8, "nvmlTemperature_v1_t.temperature");

/* A process, in the three layouts that drivers have had. Which of them a function fills follows
 * from its name but for the first drivers of 535, whose _v3 filled the longest. */
struct nvml_process_v1 {
    uint32_t pid;
    uint64_t memory; /* NVML_UNAVAILABLE where not known */
};
_Static_assert(sizeof(struct nvml_process_v1) == 16, "nvmlProcessInfo_v1_t");
_Static_assert(offsetof(struct nvml_process_v1, memory) == 8, "nvmlProcessInfo_v1_t.usedGpuMemory");

struct nvml_process_v2 {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance;
    uint32_t compute_instance;
};
_Static_assert(sizeof(struct nvml_process_v2) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(offsetof(struct nvml_process_v2, memory) == 8, "nvmlProcessInfo_v2_t.usedGpuMemory");
_Static_assert(offsetof(struct nvml_process_v2, gpu_instance) == 16,
               "nvmlProcessInfo_v2_t.gpuInstanceId");
_Static_assert(offsetof(struct nvml_process_v2, compute_instance) == 20,
               "nvmlProcessInfo_v2_t.computeInstanceId");

struct nvml_process_v3 {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint64_t protected_memory;
};
_Static_assert(sizeof(struct nvml_process_v3) == 32, "nvmlProcessDetail_v1_t");
_Static_assert(offsetof(struct nvml_process_v3, memory) == 8,
               "nvmlProcessDetail_v1_t.usedGpuMemory");
_Static_assert(offsetof(struct nvml_process_v3, protected_memory) == 24,
               "nvmlProcessDetail_v1_t.usedGpuCcProtectedMemory");

/* What a MIG instance has. */
struct nvml_attributes {
    uint32_t multiprocessors;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpeg_engines;
    uint32_t flow_engines;
    uint32_t gpu_instance_slices;
    uint32_t compute_instance_slices;
    uint64_t memory_mebibytes;
};
_Static_assert(sizeof(struct nvml_attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(offsetof(struct nvml_attributes, gpu_instance_slices) == 24,
               "nvmlDeviceAttributes_t.gpuInstanceSliceCount");
_Static_assert(offsetof(struct nvml_attributes, memory_mebibytes) == 32,
               "nvmlDeviceAttributes_t.memorySizeMB");

/* Values by number. */
enum nvml_field {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_NVLINK_COMMON_SPEED = 90, /* MB/s of an active link */
    NVML_FIELD_NVLINK_LINK_COUNT = 91,
    NVML_FIELD_NVLINK_DATA_TX = 138, /* KiB; scope: the link, or NVML_ALL_LINKS */
    NVML_FIELD_NVLINK_DATA_RX = 139,
    NVML_FIELD_NVLINK_SPEED = 164,  /* MB/s; scope: the link */
    NVML_FIELD_NVLINK_STATE = 165,  /* 1: up; scope: the link */
    NVML_FIELD_POWER_AVERAGE = 185, /* mW */
    NVML_FIELD_POWER_INSTANT = 186,
    NVML_FIELD_PCIE_TX_BYTES = 197, /* 32 bits wide */
    NVML_FIELD_PCIE_RX_BYTES = 198,
};

enum nvml_value_type {
    NVML_TYPE_DOUBLE,
    NVML_TYPE_UNSIGNED,
    NVML_TYPE_UNSIGNED_LONG,
    NVML_TYPE_UNSIGNED_LONG_LONG,
    NVML_TYPE_SIGNED_LONG_LONG,
    NVML_TYPE_SIGNED,
};

union nvml_value {
    double real;
    uint32_t u32;
    uint64_t u64;
    int64_t s64;
    int32_t s32;
};
_Static_assert(sizeof(union nvml_value) == 8, "nvmlValue_t");

struct nvml_field_value {
    uint32_t field;
    uint32_t scope;
    int64_t timestamp; /* microseconds since 1970 */
    int64_t latency;
    uint32_t type; /* enum nvml_value_type */
    nvml_return result;
    union nvml_value value;
};
_Static_assert(sizeof(struct nvml_field_value) == 40, "nvmlFieldValue_t");
_Static_assert(offsetof(struct nvml_field_value, scope) == 4, "nvmlFieldValue_t.scopeId");
_Static_assert(offsetof(struct nvml_field_value, timestamp) == 8, "nvmlFieldValue_t.timestamp");
_Static_assert(offsetof(struct nvml_field_value, latency) == 16, "nvmlFieldValue_t.latencyUsec");
_Static_assert(offsetof(struct nvml_field_value, type) == 24, "nvmlFieldValue_t.valueType");
_Static_assert(offsetof(struct nvml_field_value, result) == 28, "nvmlFieldValue_t.nvmlReturn");
_Static_assert(offsetof(struct nvml_field_value, value) == 32, "nvmlFieldValue_t.value");

/* nvmlEventSetWait, the first, fills no more than `data`. */
struct nvml_event {
    nvml_handle device;
    uint64_t type;
    uint64_t data; /* of an Xid event: its code */
    uint32_t gpu_instance;
    uint32_t compute_instance;
};
_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");
_Static_assert(offsetof(struct nvml_event, type) == 8, "nvmlEventData_t.eventType");
_Static_assert(offsetof(struct nvml_event, data) == 16, "nvmlEventData_t.eventData");
_Static_assert(offsetof(struct nvml_event, gpu_instance) == 24, "nvmlEventData_t.gpuInstanceId");
_Static_assert(offsetof(struct nvml_event, compute_instance) == 28,
               "nvmlEventData_t.computeInstanceId");

/* GPM: counters of Hopper and newer. Its versions are plain numbers. */
enum { NVML_GPM_VERSION = 1, NVML_GPM_METRIC_LIMIT = 333 };

enum nvml_gpm_metric {
    NVML_GPM_GRAPHICS = 1, /* per cent, as all up to FP16 */
    NVML_GPM_SM = 2,
    NVML_GPM_OCCUPANCY = 3,
    NVML_GPM_INTEGER = 4,
    NVML_GPM_TENSOR = 5,
    NVML_GPM_TENSOR_DFMA = 6,
    NVML_GPM_TENSOR_HMMA = 7,
    NVML_GPM_TENSOR_IMMA = 9,
    NVML_GPM_DRAM = 10,
    NVML_GPM_FP64 = 11,
    NVML_GPM_FP32 = 12,
    NVML_GPM_FP16 = 13,
    NVML_GPM_PCIE_TX = 20, /* MiB/s, as all of the links */
    NVML_GPM_PCIE_RX = 21,
    NVML_GPM_NVLINK_RX = 60,
    NVML_GPM_NVLINK_TX = 61,
};

struct nvml_gpm_support {
    uint32_t version;
    uint32_t supported;
};
_Static_assert(sizeof(struct nvml_gpm_support) == 8, "nvmlGpmSupport_t");
_Static_assert(offsetof(struct nvml_gpm_support, supported) == 4,
               "nvmlGpmSupport_t.isSupportedDevice");

struct nvml_gpm_metric_value {
    uint32_t id;
    nvml_return result;
    double value;
    const char *short_name;
    const char *long_name;
    const char *unit;
};
_Static_assert(sizeof(struct nvml_gpm_metric_value) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(struct nvml_gpm_metric_value, result) == 4, "nvmlGpmMetric_t.nvmlReturn");
_Static_assert(offsetof(struct nvml_gpm_metric_value, value) == 8, "nvmlGpmMetric_t.value");
_Static_assert(offsetof(struct nvml_gpm_metric_value, short_name) == 16,
               "nvmlGpmMetric_t.metricInfo");

/* The array has been longer with each driver; the library fills the first `count`. */
struct nvml_gpm_metrics {
    uint32_t version;
    uint32_t count;
    nvml_gpm_sample older;
    nvml_gpm_sample newer;
    struct nvml_gpm_metric_value metric[NVML_GPM_METRIC_LIMIT];
};
_Static_assert(offsetof(struct nvml_gpm_metrics, count) == 4, "nvmlGpmMetricsGet_t.numMetrics");
_Static_assert(offsetof(struct nvml_gpm_metrics, older) == 8, "nvmlGpmMetricsGet_t.sample1");
_Static_assert(offsetof(struct nvml_gpm_metrics, newer) == 16, "nvmlGpmMetricsGet_t.sample2");
_Static_assert(offsetof(struct nvml_gpm_metrics, metric) == 24, "nvmlGpmMetricsGet_t.metrics");
_Static_assert(sizeof(struct nvml_gpm_metrics) == 24 + 40 * NVML_GPM_METRIC_LIMIT,
               "nvmlGpmMetricsGet_t");
