/* GPUs that a script of the fake NVML can name. The figures of the H200 are of evidence from the
 * real one; those of the others are their data sheets' or made up. */
#include "nvml_script.h"

#include <string.h>

static const char *const system_lines[] = {
    "nvmlSystemGetDriverVersion -> 0 \"580.159.04\"",
    "nvmlSystemGetNVMLVersion -> 0 \"13.580.159.04\"",
    "nvmlSystemGetCudaDriverVersion_v2 -> 0 13000",
    "nvmlSystemGetCudaDriverVersion -> 0 13000",
    NULL,
};

/* Answers to nothing but who it is. */
static const char *const bare[] = {
    "nvmlDeviceGetName -> 0 \"NVIDIA Nothing\"",
    NULL,
};

static const char *const h200[] = {
    "nvmlDeviceGetName -> 0 \"NVIDIA H200\"",
    "nvmlDeviceGetArchitecture -> 0 9",
    "nvmlDeviceGetCudaComputeCapability -> 0 9 0",
    "nvmlDeviceGetNumGpuCores -> 0 16896",
    "nvmlDeviceGetMemoryBusWidth -> 0 6016",
    "nvmlDeviceGetMaxClockInfo 0 -> 0 1980",
    "nvmlDeviceGetMaxClockInfo 1 -> 0 1980",
    "nvmlDeviceGetMaxClockInfo 2 -> 0 3201",
    "nvmlDeviceGetMaxClockInfo 3 -> 0 1545",
    "nvmlDeviceGetMaxPcieLinkGeneration -> 0 5",
    "nvmlDeviceGetMaxPcieLinkWidth -> 0 16",
    "nvmlDeviceGetPersistenceMode -> 0 1",
    "nvmlDeviceGetComputeMode -> 0 0",
    "nvmlDeviceSetComputeMode -> 0",
    "nvmlDeviceGetEccMode -> 0 1 1",
    "nvmlDeviceGetMigMode -> 0 0 0",
    "nvmlDeviceGetMaxMigDeviceCount -> 0 7",
    "nvmlDeviceGetGpuInstanceId -> 2",
    "nvmlDeviceGetComputeInstanceId -> 2",
    "nvmlDeviceGetUtilizationRates -> 0 99 41",
    "nvmlDeviceGetEncoderUtilization -> 0 0 100000",
    "nvmlDeviceGetDecoderUtilization -> 0 3 100000",
    "nvmlDeviceGetMemoryInfo -> 0 150754820096 130754820096 20000000000",
    "nvmlDeviceGetMemoryInfo_v2 1 -> 13",
    "nvmlDeviceGetMemoryInfo_v2 2 -> 0 150754820096 754820096 130754820096 19245179904",
    "nvmlDeviceGetPowerUsage -> 0 593250",
    "nvmlDeviceGetEnforcedPowerLimit -> 0 700000",
    "nvmlDeviceGetTotalEnergyConsumption -> 0 123456789",
    "nvmlDeviceGetClockInfo 0 -> 0 1485",
    "nvmlDeviceGetClockInfo 1 -> 0 1485",
    "nvmlDeviceGetClockInfo 2 -> 0 3201",
    "nvmlDeviceGetClockInfo 3 -> 0 1200",
    "nvmlDeviceGetTemperature 0 -> 0 61",
    "nvmlDeviceGetTemperatureV 0 -> 0 61",
    "nvmlDeviceGetCurrentClocksEventReasons -> 0 4",
    "nvmlDeviceGetCurrentClocksThrottleReasons -> 0 4",
    "nvmlDeviceGetPerformanceState -> 0 0",
    "nvmlDeviceGetCurrPcieLinkGeneration -> 0 5",
    "nvmlDeviceGetCurrPcieLinkWidth -> 0 16",
    "nvmlDeviceGetPcieThroughput 0 -> 0 3200",
    "nvmlDeviceGetPcieThroughput 1 -> 0 53300",
    "nvmlDeviceGetTotalEccErrors 0 -> 0 7",
    "nvmlDeviceGetTotalEccErrors 1 -> 0 0",
    "nvmlDeviceGetFieldValues 82 -> 0 type 1 value 67",
    "nvmlDeviceGetFieldValues 90 -> 0 type 1 value 26562",
    "nvmlDeviceGetFieldValues 91 -> 0 type 1 value 18",
    "nvmlDeviceGetFieldValues 138 -> 0 type 3 value 1000",
    "nvmlDeviceGetFieldValues 139 -> 0 type 3 value 2000",
    "nvmlDeviceGetFieldValues 164 -> 0 type 1 value 26562",
    "nvmlDeviceGetFieldValues 165 -> 0 type 1 value 1",
    "nvmlDeviceGetFieldValues 185 -> 0 type 1 value 590500",
    "nvmlDeviceGetFieldValues 186 -> 0 type 1 value 601750",
    "nvmlDeviceGetFieldValues 197 -> 0 type 1 value 5000",
    "nvmlDeviceGetFieldValues 198 -> 0 type 1 value 6000",
    "nvmlDeviceRegisterEvents -> 0",
    "nvmlGpmQueryDeviceSupport -> 0 1",
    "nvmlGpmSampleGet -> 0",
    "nvmlGpmMigSampleGet -> 0",
    "nvmlGpmMetricsGet 1 -> 0 99.5",
    "nvmlGpmMetricsGet 2 -> 0 96.25",
    "nvmlGpmMetricsGet 3 -> 0 14.25",
    "nvmlGpmMetricsGet 4 -> 0 1.5",
    "nvmlGpmMetricsGet 5 -> 0 93.5",
    "nvmlGpmMetricsGet 6 -> 0 0",
    "nvmlGpmMetricsGet 7 -> 0 93.5",
    "nvmlGpmMetricsGet 8 -> 0 0",
    "nvmlGpmMetricsGet 9 -> 0 0",
    "nvmlGpmMetricsGet 10 -> 0 17.5",
    "nvmlGpmMetricsGet 11 -> 0 0",
    "nvmlGpmMetricsGet 12 -> 0 0.25",
    "nvmlGpmMetricsGet 13 -> 0 0",
    "nvmlGpmMetricsGet 20 -> 0 3188",
    "nvmlGpmMetricsGet 21 -> 0 53342",
    "nvmlGpmMetricsGet 60 -> 0 320724",
    "nvmlGpmMetricsGet 61 -> 0 11",
    "processes compute 4242424:19000000000", /* beyond the largest that Linux gives */
    "processes graphics",
    "processes mps",
    NULL,
};

static const char *const a100[] = {
    "nvmlDeviceGetName -> 0 \"NVIDIA A100-SXM4-80GB\"",
    "nvmlDeviceGetArchitecture -> 0 7",
    "nvmlDeviceGetCudaComputeCapability -> 0 8 0",
    "nvmlDeviceGetNumGpuCores -> 0 6912",
    "nvmlDeviceGetMemoryBusWidth -> 0 5120",
    "nvmlDeviceGetMaxClockInfo 1 -> 0 1410",
    "nvmlDeviceGetMaxClockInfo 2 -> 0 1593",
    "nvmlDeviceGetMaxPcieLinkGeneration -> 0 4",
    "nvmlDeviceGetMaxPcieLinkWidth -> 0 16",
    "nvmlDeviceGetPersistenceMode -> 0 0",
    "nvmlDeviceGetEccMode -> 0 1 1",
    "nvmlDeviceGetMigMode -> 0 0 0",
    "nvmlDeviceGetMaxMigDeviceCount -> 0 7",
    "nvmlDeviceGetUtilizationRates -> 0 55 20",
    "nvmlDeviceGetMemoryInfo -> 0 85899345920 80530636800 5368709120",
    "nvmlDeviceGetMemoryInfo_v2 2 -> 0 85899345920 600000000 80530636800 4768709120",
    "nvmlDeviceGetPowerUsage -> 0 251500",
    "nvmlDeviceGetEnforcedPowerLimit -> 0 400000",
    "nvmlDeviceGetTotalEnergyConsumption -> 0 5000",
    "nvmlDeviceGetClockInfo 1 -> 0 1410",
    "nvmlDeviceGetClockInfo 2 -> 0 1593",
    "nvmlDeviceGetTemperature 0 -> 0 45",
    "nvmlDeviceGetCurrentClocksThrottleReasons -> 0 0",
    "nvmlDeviceGetPerformanceState -> 0 0",
    "nvmlDeviceGetCurrPcieLinkGeneration -> 0 4",
    "nvmlDeviceGetCurrPcieLinkWidth -> 0 16",
    "nvmlDeviceGetPcieThroughput 0 -> 0 1500",
    "nvmlDeviceGetPcieThroughput 1 -> 0 250000",
    "nvmlDeviceGetNvLinkState -> 0 1",
    "nvmlDeviceGetNvLinkState 12 -> 2",
    "nvmlDeviceGetFieldValues 82 -> 0 type 1 value 50",
    "nvmlDeviceGetFieldValues 90 -> 0 type 1 value 25781",
    "nvmlDeviceGetFieldValues 138 -> 0 type 3 value 5000+1000000",
    "nvmlDeviceGetFieldValues 139 -> 0 type 3 value 7000+3000000",
    "nvmlDeviceRegisterEvents -> 0",
    "nvmlGpmQueryDeviceSupport -> 0 0",
    "processes compute 7777777:1000000000",
    "processes graphics",
    NULL,
};

/* What a MIG instance has of its own. */
static const char *const mig[] = {
    "nvmlDeviceGetName -> 0 \"NVIDIA H200 MIG 1g.18gb\"",
    "nvmlDeviceGetGpuInstanceId -> 0 7",
    "nvmlDeviceGetComputeInstanceId -> 0 0",
    "nvmlDeviceGetAttributes_v2 -> 0 16 16384",
    "nvmlDeviceGetMemoryInfo -> 0 17179869184 16106127360 1073741824",
    "nvmlDeviceGetMemoryInfo_v2 2 -> 0 17179869184 73741824 16106127360 1000000000",
    "nvmlDeviceGetTotalEccErrors 0 -> 0 0",
    "nvmlDeviceGetTotalEccErrors 1 -> 0 0",
    "nvmlGpmMetricsGet 1 -> 0 50",
    "nvmlGpmMetricsGet 2 -> 0 40",
    "nvmlGpmMetricsGet 3 -> 0 10",
    "nvmlGpmMetricsGet 5 -> 0 30",
    "nvmlGpmMetricsGet 10 -> 0 5.5",
    "processes compute",
    "processes graphics",
    NULL,
};

const char *const *fake_preset(const char *name)
{
    static const struct {
        const char *name;
        const char *const *lines;
    } presets[] = {
        {"system", system_lines}, {"h200", h200}, {"a100", a100}, {"bare", bare}, {"mig", mig},
    };
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
        if (strcmp(presets[i].name, name) == 0)
            return presets[i].lines;
    return NULL;
}
