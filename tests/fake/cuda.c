/* A libcuda and a libcublasLt in one, for ROOFTOP_CUDA and ROOFTOP_CUBLASLT. Its GPU has a clock of
 * its own: a kernel takes as long as the file says that ROOFTOP_FAKE_CUDA names, so that every rate
 * has a known right value, and no real time passes. Lines, all optional:
 *
 *   devices N               GPUs, default 1; UUIDs GPU-00000000-0000-4000-8000-00000000000N
 *   capability N            default 90
 *   free BYTES              device memory that is free, default 64 GiB
 *   time NAME SECONDS       each launch of that kernel, or product of that type of operand
 *                           ("product14"), takes so long; default 0.001
 *   time graph SECONDS      each launch of a graph takes so long beside its kernels; default 0
 *   rate h2d|d2h|peer N     bytes per second of copies, default 1e10
 *   slow N FACTOR           from the Nth event on all takes so much longer
 *   fail CALL CODE [N]      the Nth call, default the first, and those after it fail so
 *   no product TYPE         cuBLASLt has none for this type of operand
 *   pace FACTOR             work also takes real time, so much of its own
 *   interrupt N             at the Nth event the process gets SIGINT
 *   log FILE                where the library says, as it is unloaded, what was not given back
 *
 * Of the ways to make a product the second is the fastest: the others take half as long again. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate/blas_abi.h"
#include "calibrate/cuda_abi.h"

#define EXPORT __attribute__((visibility("default"), used))

enum { MAX_RULES = 48, MAX_TEXT = 128, MOST_WAYS = 3 };

struct rule {
    char word[16];
    char text[48];
    double number;
    double second;
    int calls;
};

static struct {
    bool read;
    int devices;
    int capability;
    size_t free_bytes;
    double pace;
    int interrupt;
    char log[MAX_TEXT];
    size_t rule_count;
    struct rule rules[MAX_RULES];
} script;

static struct {
    int contexts, memory, host, streams, events, modules, handles, descriptions, layouts, graphs;
    size_t bytes, most_bytes;
    int launches;
} held;

struct event {
    double time;       /* of the GPU's clock */
    double ready_time; /* of the real one */
};

static double gpu_time; /* when the stream's work ends */
static double real_time_end;
static int event_count;
static bool captures; /* the stream's work goes into a graph */
static double captured;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void read_line(const char *line)
{
    struct rule rule = {0};
    int used = 0;
    if (sscanf(line, "%15s %n", rule.word, &used) < 1)
        return;
    const char *rest = line + used;
    if (strcmp(rule.word, "devices") == 0)
        script.devices = atoi(rest);
    else if (strcmp(rule.word, "capability") == 0)
        script.capability = atoi(rest);
    else if (strcmp(rule.word, "free") == 0)
        script.free_bytes = strtoull(rest, NULL, 10);
    else if (strcmp(rule.word, "pace") == 0)
        script.pace = strtod(rest, NULL);
    else if (strcmp(rule.word, "interrupt") == 0)
        script.interrupt = atoi(rest);
    else if (strcmp(rule.word, "log") == 0)
        sscanf(rest, "%127s", script.log);
    else if (script.rule_count < MAX_RULES) {
        rule.second = 1;
        sscanf(rest, "%47s %lf %lf", rule.text, &rule.number, &rule.second);
        script.rules[script.rule_count++] = rule;
    }
}

static void read_script(void)
{
    if (script.read)
        return;
    script.read = true;
    script.devices = 1;
    script.capability = 90;
    script.free_bytes = (size_t)64 << 30;
    const char *path = getenv("ROOFTOP_FAKE_CUDA");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        read_line(line);
    fclose(file);
}

static double rule_number(const char *word, const char *text, double otherwise)
{
    for (size_t i = 0; i < script.rule_count; i++)
        if (strcmp(script.rules[i].word, word) == 0 && strcmp(script.rules[i].text, text) == 0)
            return script.rules[i].number;
    return otherwise;
}

static cuda_result follow(const char *call)
{
    read_script();
    for (size_t i = 0; i < script.rule_count; i++) {
        struct rule *rule = &script.rules[i];
        if (strcmp(rule->word, "fail") == 0 && strcmp(rule->text, call) == 0 &&
            ++rule->calls >= (int)rule->second)
            return (cuda_result)rule->number;
    }
    return CUDA_OK;
}

static void work(double seconds)
{
    for (size_t i = 0; i < script.rule_count; i++)
        if (strcmp(script.rules[i].word, "slow") == 0 && event_count >= atoi(script.rules[i].text))
            seconds *= script.rules[i].number;
    if (captures) {
        captured += seconds;
        return;
    }
    gpu_time += seconds;
    double start = real_time_end > now() ? real_time_end : now();
    real_time_end = start + seconds * script.pace;
}

__attribute__((destructor)) static void tell_what_is_left(void)
{
    FILE *file = script.log[0] ? fopen(script.log, "a") : NULL;
    if (!file)
        return;
    fprintf(file,
            "left: %d contexts %d memory %d host %d streams %d events %d modules %d blas %d "
            "graphs; most %zu MiB; %d launches\n",
            held.contexts, held.memory, held.host, held.streams, held.events, held.modules,
            held.handles + held.descriptions + held.layouts, held.graphs, held.most_bytes >> 20,
            held.launches);
    fclose(file);
}

EXPORT cuda_result cuInit(unsigned flags)
{
    (void)flags;
    return follow("cuInit");
}

EXPORT cuda_result cuGetErrorName(cuda_result result, const char **name)
{
    *name = result == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_LAUNCH_FAILED";
    return CUDA_OK;
}

EXPORT cuda_result cuDeviceGetCount(int *count)
{
    read_script();
    *count = script.devices;
    return CUDA_OK;
}

EXPORT cuda_result cuDeviceGet(cuda_device *device, int ordinal)
{
    *device = ordinal;
    return CUDA_OK;
}

EXPORT cuda_result cuDeviceGetUuid(unsigned char uuid[CUDA_UUID_BYTES], cuda_device device)
{
    memset(uuid, 0, CUDA_UUID_BYTES);
    uuid[6] = 0x40;
    uuid[8] = 0x80;
    uuid[15] = (unsigned char)(device + 1);
    return CUDA_OK;
}

EXPORT cuda_result cuDeviceGetAttribute(int *value, int attribute, cuda_device device)
{
    (void)device;
    read_script();
    switch (attribute) {
    case CUDA_ATTRIBUTE_SM_COUNT:
        *value = 132;
        break;
    case CUDA_ATTRIBUTE_L2_BYTES:
        *value = 50 << 20;
        break;
    case CUDA_ATTRIBUTE_CAPABILITY_MAJOR:
        *value = script.capability / 10;
        break;
    default:
        *value = script.capability % 10;
        break;
    }
    return follow("cuDeviceGetAttribute");
}

EXPORT cuda_result cuDevicePrimaryCtxRetain(void **context, cuda_device device)
{
    cuda_result result = follow("cuDevicePrimaryCtxRetain");
    if (result != CUDA_OK)
        return result;
    *context = &script.rules[device]; /* anything but NULL */
    held.contexts++;
    return CUDA_OK;
}

EXPORT cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    (void)device;
    held.contexts--;
    return CUDA_OK;
}

EXPORT cuda_result cuCtxSetCurrent(void *context)
{
    (void)context;
    return CUDA_OK;
}

EXPORT cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = script.free_bytes;
    *total = (size_t)141 << 30;
    return CUDA_OK;
}

EXPORT cuda_result cuMemAlloc_v2(cuda_pointer *pointer, size_t bytes)
{
    static cuda_pointer next = 1 << 20;
    cuda_result result = follow("cuMemAlloc");
    if (result != CUDA_OK)
        return result;
    *pointer = next;
    next += bytes;
    held.memory++;
    held.bytes += bytes;
    if (held.bytes > held.most_bytes)
        held.most_bytes = held.bytes;
    return CUDA_OK;
}

EXPORT cuda_result cuMemFree_v2(cuda_pointer pointer)
{
    (void)pointer;
    held.memory--;
    return CUDA_OK;
}

EXPORT cuda_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)bytes;
    (void)flags;
    cuda_result result = follow("cuMemHostAlloc");
    if (result != CUDA_OK)
        return result;
    *pointer = malloc(1); /* nobody looks into it */
    held.host++;
    return CUDA_OK;
}

EXPORT cuda_result cuMemFreeHost(void *pointer)
{
    free(pointer);
    held.host--;
    return CUDA_OK;
}

EXPORT cuda_result cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes,
                                        void *stream)
{
    (void)to;
    (void)from;
    (void)stream;
    work((double)bytes / rule_number("rate", "h2d", 1e10));
    return follow("cuMemcpyHtoDAsync");
}

EXPORT cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_pointer from, size_t bytes, void *stream)
{
    (void)to;
    (void)from;
    (void)stream;
    work((double)bytes / rule_number("rate", "d2h", 1e10));
    return follow("cuMemcpyDtoHAsync");
}

EXPORT cuda_result cuDeviceCanAccessPeer(int *possible, cuda_device device, cuda_device peer)
{
    *possible = device != peer;
    return CUDA_OK;
}

EXPORT cuda_result cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    (void)context;
    (void)flags;
    return follow("cuCtxEnablePeerAccess");
}

EXPORT cuda_result cuMemcpyPeerAsync(cuda_pointer to, void *to_context, cuda_pointer from,
                                     void *from_context, size_t bytes, void *stream)
{
    (void)to;
    (void)to_context;
    (void)from;
    (void)from_context;
    (void)stream;
    work((double)bytes / rule_number("rate", "peer", 1e10));
    return CUDA_OK;
}

EXPORT cuda_result cuModuleLoadData(void **module, const void *image)
{
    cuda_result result = follow("cuModuleLoadData");
    if (result != CUDA_OK)
        return result;
    *module = (void *)image;
    held.modules++;
    return CUDA_OK;
}

EXPORT cuda_result cuModuleUnload(void *module)
{
    (void)module;
    held.modules--;
    return CUDA_OK;
}

/* The handle of a kernel is its name, where the module's text has such an entry. */
EXPORT cuda_result cuModuleGetFunction(void **function, void *module, const char *name)
{
    char entry[80];
    snprintf(entry, sizeof(entry), ".entry %s(", name);
    if (!strstr(module, entry))
        return 500;
    *function = (void *)name;
    return follow("cuModuleGetFunction");
}

EXPORT cuda_result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared_bytes, void *stream, void **parameters,
                                  void **extra)
{
    (void)grid_x;
    (void)grid_y;
    (void)grid_z;
    (void)block_x;
    (void)block_y;
    (void)block_z;
    (void)shared_bytes;
    (void)stream;
    (void)parameters;
    (void)extra;
    cuda_result result = follow("cuLaunchKernel");
    if (result != CUDA_OK)
        return result;
    held.launches++;
    work(rule_number("time", function, 0.001));
    return CUDA_OK;
}

EXPORT cuda_result cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)stream;
    (void)mode;
    cuda_result result = follow("cuStreamBeginCapture");
    captures = result == CUDA_OK;
    captured = 0;
    return result;
}

/* The handle of a graph, and of what it is made into, is the time that it takes. */
EXPORT cuda_result cuStreamEndCapture(void *stream, void **graph)
{
    (void)stream;
    captures = false;
    double *made = malloc(sizeof(*made));
    *made = captured;
    *graph = made;
    held.graphs++;
    return follow("cuStreamEndCapture");
}

EXPORT cuda_result cuGraphInstantiateWithFlags(void **executable, void *graph,
                                               unsigned long long flags)
{
    (void)flags;
    cuda_result result = follow("cuGraphInstantiate");
    if (result != CUDA_OK)
        return result;
    double *made = malloc(sizeof(*made));
    *made = *(double *)graph + rule_number("time", "graph", 0);
    *executable = made;
    held.graphs++;
    return CUDA_OK;
}

EXPORT cuda_result cuGraphLaunch(void *executable, void *stream)
{
    (void)stream;
    work(*(double *)executable);
    return follow("cuGraphLaunch");
}

EXPORT cuda_result cuGraphExecDestroy(void *executable)
{
    free(executable);
    held.graphs--;
    return CUDA_OK;
}

EXPORT cuda_result cuGraphDestroy(void *graph)
{
    free(graph);
    held.graphs--;
    return CUDA_OK;
}

EXPORT cuda_result cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &held;
    held.streams++;
    return CUDA_OK;
}

EXPORT cuda_result cuStreamDestroy_v2(void *stream)
{
    (void)stream;
    held.streams--;
    return CUDA_OK;
}

EXPORT cuda_result cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    held.events++;
    return CUDA_OK;
}

EXPORT cuda_result cuEventDestroy_v2(void *event)
{
    free(event);
    held.events--;
    return CUDA_OK;
}

EXPORT cuda_result cuEventRecord(void *event, void *stream)
{
    (void)stream;
    event_count++;
    if (event_count == script.interrupt)
        raise(SIGINT);
    *(struct event *)event = (struct event){gpu_time, real_time_end};
    return follow("cuEventRecord");
}

EXPORT cuda_result cuEventQuery(void *event)
{
    cuda_result result = follow("cuEventQuery");
    if (result != CUDA_OK)
        return result;
    return now() < ((struct event *)event)->ready_time ? CUDA_NOT_READY : CUDA_OK;
}

EXPORT cuda_result cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    *milliseconds = (float)((((struct event *)end)->time - ((struct event *)begin)->time) * 1000);
    return follow("cuEventElapsedTime");
}

EXPORT size_t cublasLtGetVersion(void)
{
    read_script();
    return 130100;
}

EXPORT int cublasLtCreate(void **handle)
{
    *handle = &held;
    held.handles++;
    return follow("cublasLtCreate");
}

EXPORT int cublasLtDestroy(void *handle)
{
    (void)handle;
    held.handles--;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulDescCreate(void **description, int compute, int scale_type)
{
    (void)compute;
    (void)scale_type;
    *description = &held;
    held.descriptions++;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *description, int attribute, const void *value,
                                          size_t size)
{
    (void)description;
    (void)attribute;
    (void)value;
    (void)size;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulDescDestroy(void *description)
{
    (void)description;
    held.descriptions--;
    return BLAS_OK;
}

EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading)
{
    (void)rows;
    (void)columns;
    (void)leading;
    int *made = malloc(sizeof(int));
    *made = type;
    *layout = made;
    held.layouts++;
    return BLAS_OK;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    held.layouts--;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = &held;
    held.descriptions++;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                                size_t size)
{
    (void)preference;
    (void)attribute;
    (void)value;
    (void)size;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulPreferenceDestroy(void *preference)
{
    (void)preference;
    held.descriptions--;
    return BLAS_OK;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *description, void *a, void *b,
                                          void *c, void *d, void *preference, int wanted,
                                          struct blas_heuristic *ways, int *found)
{
    (void)handle;
    (void)description;
    (void)b;
    (void)c;
    (void)d;
    (void)preference;
    for (size_t i = 0; i < script.rule_count; i++)
        if (strcmp(script.rules[i].word, "no") == 0 && (int)script.rules[i].number == *(int *)a)
            return 15;
    *found = wanted < MOST_WAYS ? wanted : MOST_WAYS;
    for (int i = 0; i < *found; i++)
        ways[i] = (struct blas_heuristic){.algorithm = {{(uint64_t)i}}};
    return BLAS_OK;
}

EXPORT int cublasLtMatmul(void *handle, void *description, const void *alpha, cuda_pointer a,
                          void *a_layout, cuda_pointer b, void *b_layout, const void *beta,
                          cuda_pointer c, void *c_layout, cuda_pointer d, void *d_layout,
                          const struct blas_algorithm *algorithm, cuda_pointer workspace,
                          size_t workspace_bytes, void *stream)
{
    (void)handle;
    (void)description;
    (void)alpha;
    (void)a;
    (void)b;
    (void)b_layout;
    (void)beta;
    (void)c;
    (void)c_layout;
    (void)d;
    (void)d_layout;
    (void)workspace;
    (void)workspace_bytes;
    (void)stream;
    char name[32];
    snprintf(name, sizeof(name), "product%d", *(int *)a_layout);
    work(rule_number("time", name, 0.001) * (algorithm->data[0] == 1 ? 1 : 1.5));
    return follow("cublasLtMatmul");
}
