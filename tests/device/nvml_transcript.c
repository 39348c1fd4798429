/* Writes down what an NVML library answers to each call that Rooftop makes, one line a call:
 *
 *     NAME ARGUMENTS -> CODE VALUE          # MICROSECONDS
 *     extent NAME -> BYTES                  how far the call wrote into its struct
 *
 * "missing" stands for the code where the library lacks the function. Identifiers are masked. The
 * fake NVML is held against such a transcript of a real GPU, tests/fake/h200-transcript.txt.
 *
 *     nvml_transcript [LIBRARY] >h200-transcript.txt
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "counter/nvml_library.h"

enum { FILL = 0xA5, ROOM = 64 * 1024 };

static struct nvml_functions call;
static double started;

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void begin(void)
{
    started = microseconds();
}

static void PRINTF_LIKE(3, 4) say(const char *what, nvml_return result, const char *format, ...)
{
    double took = microseconds() - started;
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    printf("%s -> %u%s%s  # %.0f\n", what, result, result == NVML_SUCCESS ? " " : "",
           result == NVML_SUCCESS ? value : "", took);
}

static bool has(bool present, const char *what)
{
    if (!present)
        printf("%s -> missing\n", what);
    return present;
}

/* The identity of a machine is nobody's business: digits after a prefix such as "GPU-" become 0. */
static void mask(char *text)
{
    char *digits = strchr(text, '-');
    for (char *c = digits ? digits : text; *c; c++)
        if (isxdigit((unsigned char)*c))
            *c = '0';
}

static void text(const char *name, nvml_return (*function)(nvml_handle, char *, unsigned),
                 nvml_handle device, bool masked)
{
    if (!has(function, name))
        return;
    char value[NVML_TEXT_SIZE] = "";
    begin();
    nvml_return result = function(device, value, sizeof(value));
    if (masked)
        mask(value);
    say(name, result, "\"%s\"", value);
}

static void number(const char *name, nvml_return (*function)(nvml_handle, unsigned *),
                   nvml_handle device)
{
    if (!has(function, name))
        return;
    unsigned value = 0;
    begin();
    nvml_return result = function(device, &value);
    say(name, result, "%u", value);
}

static void long_number(const char *name,
                        nvml_return (*function)(nvml_handle, unsigned long long *),
                        nvml_handle device)
{
    if (!has(function, name))
        return;
    unsigned long long value = 0;
    begin();
    nvml_return result = function(device, &value);
    say(name, result, "%llu", value);
}

static void number_of(const char *name, nvml_return (*function)(nvml_handle, unsigned, unsigned *),
                      nvml_handle device, unsigned argument)
{
    char what[96];
    snprintf(what, sizeof(what), "%s %u", name, argument);
    if (!has(function, what))
        return;
    unsigned value = 0;
    begin();
    nvml_return result = function(device, argument, &value);
    say(what, result, "%u", value);
}

static void two(const char *name, nvml_return (*function)(nvml_handle, unsigned *, unsigned *),
                nvml_handle device)
{
    if (!has(function, name))
        return;
    unsigned first = 0;
    unsigned second = 0;
    begin();
    nvml_return result = function(device, &first, &second);
    say(name, result, "%u %u", first, second);
}

#define TEXT(name, device, masked)     text(#name, call.name, device, masked)
#define NUMBER(name, device)           number(#name, call.name, device)
#define LONG(name, device)             long_number(#name, call.name, device)
#define NUMBER_OF(name, device, value) number_of(#name, call.name, device, value)
#define TWO(name, device)              two(#name, call.name, device)

/* Room for a struct and for what a call may write beyond it. */
static unsigned char room[ROOM] __attribute__((aligned(16)));

static void *clean_room(void)
{
    memset(room, FILL, sizeof(room));
    return room;
}

static void say_extent(const char *name, nvml_return result)
{
    if (result != NVML_SUCCESS)
        return;
    size_t end = sizeof(room);
    while (end > 0 && room[end - 1] == FILL)
        end--;
    printf("extent %s -> %zu\n", name, end);
}

static void identify(nvml_handle device)
{
    TEXT(nvmlDeviceGetName, device, false);
    TEXT(nvmlDeviceGetUUID, device, true);
    NUMBER(nvmlDeviceGetArchitecture, device);
    TWO(nvmlDeviceGetMigMode, device);
    TWO(nvmlDeviceGetEccMode, device);
    NUMBER(nvmlDeviceGetPersistenceMode, device);
    NUMBER(nvmlDeviceGetNumGpuCores, device);
    NUMBER(nvmlDeviceGetMemoryBusWidth, device);
    NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, device);
    NUMBER(nvmlDeviceGetMaxPcieLinkWidth, device);
    NUMBER(nvmlDeviceGetMaxMigDeviceCount, device);
    NUMBER(nvmlDeviceGetGpuInstanceId, device);
    NUMBER(nvmlDeviceGetComputeInstanceId, device);
    if (has(call.nvmlDeviceGetCudaComputeCapability, "nvmlDeviceGetCudaComputeCapability")) {
        int major = 0;
        int minor = 0;
        begin();
        nvml_return result = call.nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
        say("nvmlDeviceGetCudaComputeCapability", result, "%d %d", major, minor);
    }
    if (has(call.nvmlDeviceGetMigDeviceHandleByIndex, "nvmlDeviceGetMigDeviceHandleByIndex 0")) {
        nvml_handle instance = NULL;
        begin();
        nvml_return result = call.nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &instance);
        say("nvmlDeviceGetMigDeviceHandleByIndex 0", result, "%s", instance ? "handle" : "none");
    }
}

static void measure(nvml_handle device)
{
    for (unsigned clock = NVML_CLOCK_GRAPHICS; clock <= NVML_CLOCK_VIDEO; clock++) {
        NUMBER_OF(nvmlDeviceGetMaxClockInfo, device, clock);
        NUMBER_OF(nvmlDeviceGetClockInfo, device, clock);
    }
    NUMBER_OF(nvmlDeviceGetTemperature, device, NVML_SENSOR_GPU);
    NUMBER(nvmlDeviceGetPowerUsage, device);
    NUMBER(nvmlDeviceGetEnforcedPowerLimit, device);
    LONG(nvmlDeviceGetTotalEnergyConsumption, device);
    NUMBER(nvmlDeviceGetFanSpeed, device);
    LONG(nvmlDeviceGetCurrentClocksEventReasons, device);
    LONG(nvmlDeviceGetCurrentClocksThrottleReasons, device);
    NUMBER(nvmlDeviceGetPerformanceState, device);
    NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, device);
    NUMBER(nvmlDeviceGetCurrPcieLinkWidth, device);
    TWO(nvmlDeviceGetEncoderUtilization, device);
    TWO(nvmlDeviceGetDecoderUtilization, device);
    NUMBER_OF(nvmlDeviceGetPcieThroughput, device, NVML_PCIE_TX);
    NUMBER_OF(nvmlDeviceGetPcieThroughput, device, NVML_PCIE_RX);
    NUMBER_OF(nvmlDeviceGetNvLinkState, device, 0);
    NUMBER_OF(nvmlDeviceGetNvLinkState, device, NVML_MAX_LINKS - 1);
    for (unsigned error = NVML_ECC_CORRECTED; error <= NVML_ECC_UNCORRECTED; error++) {
        char what[96];
        snprintf(what, sizeof(what), "nvmlDeviceGetTotalEccErrors %u %u", error, NVML_ECC_VOLATILE);
        if (!has(call.nvmlDeviceGetTotalEccErrors, what))
            continue;
        unsigned long long count = 0;
        begin();
        nvml_return result =
            call.nvmlDeviceGetTotalEccErrors(device, error, NVML_ECC_VOLATILE, &count);
        say(what, result, "%llu", count);
    }
}

static void structs(nvml_handle device)
{
    if (has(call.nvmlDeviceGetPciInfo_v3, "nvmlDeviceGetPciInfo_v3")) {
        struct nvml_pci *pci = clean_room();
        begin();
        nvml_return result = call.nvmlDeviceGetPciInfo_v3(device, pci);
        say("nvmlDeviceGetPciInfo_v3", result, "bus id of %zu characters",
            strnlen(pci->bus_id, sizeof(pci->bus_id)));
        say_extent("nvmlDeviceGetPciInfo_v3", result);
    }
    if (has(call.nvmlDeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates")) {
        struct nvml_utilization *utilization = clean_room();
        begin();
        nvml_return result = call.nvmlDeviceGetUtilizationRates(device, utilization);
        say("nvmlDeviceGetUtilizationRates", result, "%u %u", utilization->gpu,
            utilization->memory);
        say_extent("nvmlDeviceGetUtilizationRates", result);
    }
    if (has(call.nvmlDeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo")) {
        struct nvml_memory *memory = clean_room();
        begin();
        nvml_return result = call.nvmlDeviceGetMemoryInfo(device, memory);
        say("nvmlDeviceGetMemoryInfo", result, "%llu %llu %llu", (unsigned long long)memory->total,
            (unsigned long long)memory->free, (unsigned long long)memory->used);
        say_extent("nvmlDeviceGetMemoryInfo", result);
    }
    for (uint32_t version = 1; version <= 2; version++) {
        char what[96];
        snprintf(what, sizeof(what), "nvmlDeviceGetMemoryInfo_v2 version %u", version);
        if (!has(call.nvmlDeviceGetMemoryInfo_v2, what))
            continue;
        struct nvml_memory_v2 *memory = clean_room();
        memory->version = NVML_VERSION(struct nvml_memory_v2, version);
        begin();
        nvml_return result = call.nvmlDeviceGetMemoryInfo_v2(device, memory);
        say(what, result, "%llu %llu %llu %llu", (unsigned long long)memory->total,
            (unsigned long long)memory->reserved, (unsigned long long)memory->free,
            (unsigned long long)memory->used);
        say_extent("nvmlDeviceGetMemoryInfo_v2", result);
    }
    if (has(call.nvmlDeviceGetTemperatureV, "nvmlDeviceGetTemperatureV")) {
        struct nvml_temperature *temperature = clean_room();
        temperature->version = NVML_VERSION(struct nvml_temperature, 1);
        temperature->sensor = NVML_SENSOR_GPU;
        begin();
        nvml_return result = call.nvmlDeviceGetTemperatureV(device, temperature);
        say("nvmlDeviceGetTemperatureV", result, "%d", temperature->celsius);
        say_extent("nvmlDeviceGetTemperatureV", result);
    }
    if (has(call.nvmlDeviceGetAttributes_v2, "nvmlDeviceGetAttributes_v2")) {
        struct nvml_attributes *attributes = clean_room();
        begin();
        nvml_return result = call.nvmlDeviceGetAttributes_v2(device, attributes);
        say("nvmlDeviceGetAttributes_v2", result, "%u %llu", attributes->multiprocessors,
            (unsigned long long)attributes->memory_mebibytes);
        say_extent("nvmlDeviceGetAttributes_v2", result);
    }
}

static void field(nvml_handle device, uint32_t id, uint32_t scope)
{
    char what[96];
    snprintf(what, sizeof(what), "nvmlDeviceGetFieldValues %u %u", id, scope);
    if (!has(call.nvmlDeviceGetFieldValues, what))
        return;
    struct nvml_field_value *value = clean_room();
    value->field = id;
    value->scope = scope;
    begin();
    nvml_return result = call.nvmlDeviceGetFieldValues(device, 1, value);
    if (result == NVML_SUCCESS)
        result = value->result;
    say(what, result, "type %u value %llu", value->type,
        value->type == NVML_TYPE_UNSIGNED ? value->value.u32
                                          : (unsigned long long)value->value.u64);
}

static void fields(nvml_handle device)
{
    static const uint32_t ids[] = {
        NVML_FIELD_MEMORY_TEMPERATURE, NVML_FIELD_NVLINK_COMMON_SPEED, NVML_FIELD_NVLINK_LINK_COUNT,
        NVML_FIELD_POWER_AVERAGE,      NVML_FIELD_POWER_INSTANT,       NVML_FIELD_PCIE_TX_BYTES,
        NVML_FIELD_PCIE_RX_BYTES,
    };
    static const uint32_t of_links[] = {NVML_FIELD_NVLINK_DATA_TX, NVML_FIELD_NVLINK_DATA_RX,
                                        NVML_FIELD_NVLINK_SPEED, NVML_FIELD_NVLINK_STATE};
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        field(device, ids[i], 0);
    for (size_t i = 0; i < ARRAY_SIZE(of_links); i++) {
        field(device, of_links[i], 0);
        field(device, of_links[i], NVML_MAX_LINKS - 1);
        field(device, of_links[i], NVML_ALL_LINKS);
    }
    say_extent("nvmlDeviceGetFieldValues",
               call.nvmlDeviceGetFieldValues ? NVML_SUCCESS : NVML_NOT_SUPPORTED);
}

static void processes(const char *name, nvml_return (*function)(nvml_handle, unsigned *, void *),
                      nvml_handle device)
{
    if (!has(function, name))
        return;
    unsigned count = 100;
    void *list = clean_room();
    begin();
    nvml_return result = function(device, &count, list);
    say(name, result, "%u", count);
    char what[96];
    snprintf(what, sizeof(what), "%s of %u", name, count);
    say_extent(what, result);
}

#define PROCESSES(name, device) processes(#name, call.name, device)

static void all_processes(nvml_handle device)
{
    PROCESSES(nvmlDeviceGetComputeRunningProcesses, device);
    PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, device);
    PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, device);
    PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, device);
    PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, device);
    PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, device);
    PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, device);
    PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, device);
    PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, device);
}

static void events(nvml_handle device)
{
    nvml_event_set set = NULL;
    if (!has(call.nvmlEventSetCreate && call.nvmlDeviceRegisterEvents && call.nvmlEventSetFree,
             "nvmlEventSetCreate"))
        return;
    begin();
    say("nvmlEventSetCreate", call.nvmlEventSetCreate(&set), "set");
    begin();
    nvml_return result = call.nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, set);
    say("nvmlDeviceRegisterEvents 8", result, "registered");
    struct nvml_event event;
    if (has(call.nvmlEventSetWait_v2, "nvmlEventSetWait_v2 1")) {
        begin();
        result = call.nvmlEventSetWait_v2(set, &event, 1);
        say("nvmlEventSetWait_v2 1", result, "event");
    }
    if (has(call.nvmlEventSetWait, "nvmlEventSetWait 1")) {
        begin();
        result = call.nvmlEventSetWait(set, &event, 1);
        say("nvmlEventSetWait 1", result, "event");
    }
    begin();
    say("nvmlEventSetFree", call.nvmlEventSetFree(set), "freed");
}

static void gpm_metrics(nvml_gpm_sample older, nvml_gpm_sample newer)
{
    static const uint32_t ids[] = {
        NVML_GPM_GRAPHICS,    NVML_GPM_SM,
        NVML_GPM_OCCUPANCY,   NVML_GPM_INTEGER,
        NVML_GPM_TENSOR,      NVML_GPM_TENSOR_DFMA,
        NVML_GPM_TENSOR_HMMA, 8,
        NVML_GPM_TENSOR_IMMA, NVML_GPM_DRAM,
        NVML_GPM_FP64,        NVML_GPM_FP32,
        NVML_GPM_FP16,        NVML_GPM_PCIE_TX,
        NVML_GPM_PCIE_RX,     NVML_GPM_NVLINK_RX,
        NVML_GPM_NVLINK_TX,   NVML_GPM_METRIC_LIMIT - 1,
    };
    struct nvml_gpm_metrics *metrics = clean_room();
    metrics->version = NVML_GPM_VERSION;
    metrics->count = ARRAY_SIZE(ids);
    metrics->older = older;
    metrics->newer = newer;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        metrics->metric[i].id = ids[i];
    begin();
    nvml_return result = call.nvmlGpmMetricsGet(metrics);
    say("nvmlGpmMetricsGet of all", result, "%u", metrics->count);
    say_extent("nvmlGpmMetricsGet", result);
    for (size_t i = 0; i < ARRAY_SIZE(ids) && result == NVML_SUCCESS; i++) {
        char what[96];
        snprintf(what, sizeof(what), "nvmlGpmMetricsGet %u", ids[i]);
        begin();
        say(what, metrics->metric[i].result, "%.4f", metrics->metric[i].value);
    }
}

static void gpm(nvml_handle device)
{
    if (!has(call.nvmlGpmQueryDeviceSupport && call.nvmlGpmSampleAlloc && call.nvmlGpmSampleGet &&
                 call.nvmlGpmMetricsGet && call.nvmlGpmSampleFree,
             "nvmlGpmQueryDeviceSupport"))
        return;
    struct nvml_gpm_support *support = clean_room();
    support->version = NVML_GPM_VERSION;
    begin();
    nvml_return result = call.nvmlGpmQueryDeviceSupport(device, support);
    say("nvmlGpmQueryDeviceSupport", result, "%u", support->supported);
    say_extent("nvmlGpmQueryDeviceSupport", result);
    nvml_gpm_sample samples[2] = {NULL, NULL};
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        begin();
        say("nvmlGpmSampleAlloc", call.nvmlGpmSampleAlloc(&samples[i]), "sample");
    }
    for (size_t i = 0; i < ARRAY_SIZE(samples) && samples[0] && samples[1]; i++) {
        begin();
        say("nvmlGpmSampleGet", call.nvmlGpmSampleGet(device, samples[i]), "sample");
        nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    }
    if (samples[0] && samples[1])
        gpm_metrics(samples[0], samples[1]);
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
        if (samples[i])
            call.nvmlGpmSampleFree(samples[i]);
}

static void by_uuid(nvml_handle device)
{
    char uuid[NVML_TEXT_SIZE] = "";
    nvml_handle again = NULL;
    if (!has(call.nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID") ||
        !call.nvmlDeviceGetUUID ||
        call.nvmlDeviceGetUUID(device, uuid, sizeof(uuid)) != NVML_SUCCESS)
        return;
    begin();
    nvml_return result = call.nvmlDeviceGetHandleByUUID(uuid, &again);
    say("nvmlDeviceGetHandleByUUID", result, "%s", again == device ? "the same" : "another");
    begin();
    result = call.nvmlDeviceGetHandleByUUID("GPU-no-such", &again);
    say("nvmlDeviceGetHandleByUUID of none", result, "handle");
}

static void visit(unsigned index)
{
    nvml_handle device = NULL;
    begin();
    nvml_return result = call.nvmlDeviceGetHandleByIndex_v2(index, &device);
    printf("device %u\n", index);
    say("nvmlDeviceGetHandleByIndex_v2", result, "handle");
    if (result != NVML_SUCCESS)
        return;
    by_uuid(device);
    identify(device);
    measure(device);
    structs(device);
    fields(device);
    all_processes(device);
    events(device);
    gpm(device);
}

static void versions(void)
{
    char value[NVML_TEXT_SIZE] = "";
    int cuda = 0;
    if (has(call.nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion")) {
        begin();
        nvml_return result = call.nvmlSystemGetDriverVersion(value, sizeof(value));
        say("nvmlSystemGetDriverVersion", result, "\"%s\"", value);
    }
    if (has(call.nvmlSystemGetNVMLVersion, "nvmlSystemGetNVMLVersion")) {
        begin();
        nvml_return result = call.nvmlSystemGetNVMLVersion(value, sizeof(value));
        say("nvmlSystemGetNVMLVersion", result, "\"%s\"", value);
    }
    if (has(call.nvmlSystemGetCudaDriverVersion_v2, "nvmlSystemGetCudaDriverVersion_v2")) {
        begin();
        nvml_return result = call.nvmlSystemGetCudaDriverVersion_v2(&cuda);
        say("nvmlSystemGetCudaDriverVersion_v2", result, "%d", cuda);
    }
}

static void bind(void *library)
{
#define NVML_FUNCTION(name, parameters)                                                            \
    {                                                                                              \
        void *address = dlsym(library, #name);                                                     \
        memcpy(&call.name, &address, sizeof(address));                                             \
    }
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "libnvidia-ml.so.1";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "nvml_transcript: %s\n", dlerror());
        return 3;
    }
    bind(library);
    if (!call.nvmlInit_v2 || !call.nvmlDeviceGetCount_v2 || !call.nvmlDeviceGetHandleByIndex_v2) {
        fprintf(stderr, "nvml_transcript: %s is too old\n", path);
        return 1;
    }
    begin();
    nvml_return result = call.nvmlInit_v2();
    say("nvmlInit_v2", result, "started");
    if (result != NVML_SUCCESS)
        return 1;
    versions();
    unsigned count = 0;
    begin();
    result = call.nvmlDeviceGetCount_v2(&count);
    say("nvmlDeviceGetCount_v2", result, "%u", count);
    for (unsigned i = 0; i < count && i < 1; i++)
        visit(i);
    begin();
    nvml_handle none = NULL;
    result = call.nvmlDeviceGetHandleByIndex_v2(count, &none);
    say("nvmlDeviceGetHandleByIndex_v2 beyond", result, "handle");
    begin();
    say("nvmlShutdown", call.nvmlShutdown(), "ended");
    return 0;
}
