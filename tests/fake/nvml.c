/* A libnvidia-ml.so.1 for ROOFTOP_NVML whose answers follow the file that FAKE_NVML_SCRIPT names;
 * without one it is one H200 at work. Lines, with comments from '#' on:
 *
 *   gpu [h200|a100|bare]        a GPU; the lines that follow are about it
 *   mig PLACE                   a MIG instance of that GPU; the lines that follow are about it
 *   device GPU[.PLACE]          the lines that follow are about that one again
 *   system                      the lines that follow are about no device
 *
 *   FUNCTION [ARGUMENT…] -> CODE [VALUE…]
 *                               what the call answers. A line without arguments is for all of them;
 *                               later lines win; a call without a line is NOT_SUPPORTED. Text is in
 *                               quotes, with \xHH for bytes; 12+3 is 12 and grows by 3 a second;
 *                               other words do not count, so that a transcript of a real GPU
 *                               (tests/device/nvml_transcript.c) is a script too
 *   FUNCTION -> hang FILE       the call waits until FILE is there
 *   FUNCTION -> missing         the call answers FUNCTION_NOT_FOUND
 *   * -> CODE                   every call for the device answers so, where CODE is not 0
 *   gone | here                 the device leaves the list, or comes back
 *   processes compute|graphics|mps [PID:BYTES[:GPU_INSTANCE[:COMPUTE_INSTANCE]]…]
 *                               '?' as BYTES: not known
 *   layout 24|32                bytes of a process in the newest lists; drivers 535 began with 32
 *   xid CODE [GPU_INSTANCE [COMPUTE_INSTANCE]]
 *                               an Xid event at the moment
 *
 *   at SECONDS                  the lines that follow hold from this moment on
 *   clock FILE                  the moment is the number in FILE, read at each call; without this
 *                               line it is the time since nvmlInit
 *   init CODE                   what nvmlInit answers
 *   log FILE                    each call adds a line "FUNCTION DEVICE ARGUMENT ARGUMENT"; devices
 *                               are numbered from 0, GPUs and instances alike; -1: none
 *   follow                      the script is read anew when it changes; devices must stay
 *   living                      processes that there are not are not listed
 *   include FILE                more lines
 *
 * With FAKE_NVML_THREAD in the environment nvmlInit starts a thread that rests and blocks no
 * signal.
 *
 * GPM's counters advance each 0.1 s: an interval in which they have not is 0 in all, and DRAM is no
 * number. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nvml_call.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct fake_script script;
static struct timespec script_time;
static unsigned users; /* nvmlInit less nvmlShutdown */
static double started;
static pthread_t thread;
static bool has_thread;

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double moment(void)
{
    if (!script.clock_file)
        return monotonic() - started;
    double now = 0;
    FILE *file = fopen(script.clock_file, "re");
    if (file) {
        if (fscanf(file, "%lf", &now) != 1)
            now = 0;
        fclose(file);
    }
    return now;
}

static void read_script(void)
{
    const char *path = getenv("FAKE_NVML_SCRIPT");
    struct stat status;
    if (path && stat(path, &status) == 0)
        script_time = status.st_mtim;
    fake_script_free(&script);
    fake_script_read(&script, path);
}

__attribute__((destructor)) static void forget_script(void)
{
    fake_script_free(&script);
}

static void follow_script(void)
{
    const char *path = getenv("FAKE_NVML_SCRIPT");
    struct stat status;
    if (script.follow && path && stat(path, &status) == 0 &&
        memcmp(&status.st_mtim, &script_time, sizeof(script_time)) != 0)
        read_script();
}

int number_of(const struct fake_device *device)
{
    return device >= script.devices && device < script.devices + script.device_count
               ? (int)(device - script.devices)
               : -1;
}

static void log_call(const struct fake_device *device, const char *name, uint32_t first,
                     uint32_t second)
{
    FILE *file = script.log_file ? fopen(script.log_file, "ae") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %d %d %d\n", name, number_of(device), first == NONE ? -1 : (int)first,
            second == NONE ? -1 : (int)second);
    fclose(file);
}

void fake_log(const char *name)
{
    pthread_mutex_lock(&lock);
    log_call(NULL, name, NONE, NONE);
    pthread_mutex_unlock(&lock);
}

static void wait_for_file(const char *path)
{
    char *name = strdup(path);
    pthread_mutex_unlock(&lock);
    while (access(name, F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    pthread_mutex_lock(&lock);
    free(name);
}

static bool is_gone(const struct fake_device *device, double now)
{
    const struct fake_entry *entry = fake_find(device, FAKE_GONE, now, NONE, NONE);
    return entry && entry->result;
}

static nvml_return failure_of(const struct fake_device *device, double now)
{
    const struct fake_entry *entry = fake_find(device, FAKE_ANY, now, NONE, NONE);
    nvml_return result = entry ? entry->result : NVML_SUCCESS;
    return result == NVML_SUCCESS && device->is_mig ? failure_of(&script.devices[device->gpu], now)
                                                    : result;
}

struct call begin(struct fake_device *device, enum fake_function function, const char *name,
                  uint32_t first, uint32_t second)
{
    pthread_mutex_lock(&lock);
    follow_script();
    struct call call = {.device = device, .now = moment()};
    log_call(device, name, first, second);
    if (!users) {
        call.result = NVML_UNINITIALIZED;
        return call;
    }
    if (device != &script.system && number_of(device) < 0) {
        call.result = NVML_INVALID_ARGUMENT;
        return call;
    }
    const struct fake_entry *hang = fake_find_hang(device, function, call.now, first, second);
    if (hang)
        wait_for_file(hang->hang);
    call.entry = fake_find(device, function, call.now, first, second);
    call.result = failure_of(device, call.now);
    if (call.result == NVML_SUCCESS)
        call.result = call.entry ? call.entry->result : NVML_NOT_SUPPORTED;
    return call;
}

nvml_return end(const struct call *call)
{
    pthread_mutex_unlock(&lock);
    return call->result;
}

static double grown(const struct call *call, unsigned i)
{
    const struct fake_number *number = &call->entry->number[i];
    return number->per_second * (call->now - call->entry->at);
}

uint64_t whole(const struct call *call, unsigned i)
{
    if (!call->entry || i >= call->entry->number_count)
        return 0;
    const struct fake_number *number = &call->entry->number[i];
    return number->per_second != 0 ? number->whole + (uint64_t)grown(call, i) : number->whole;
}

double real(const struct call *call, unsigned i)
{
    if (!call->entry || i >= call->entry->number_count)
        return 0;
    return call->entry->number[i].real + grown(call, i);
}

/* The real library may start threads too, which take signals that they do not block. */
static void *rest(void *nothing)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (;;)
        pause();
    return nothing;
}

static void start_thread(void)
{
    has_thread = getenv("FAKE_NVML_THREAD") && pthread_create(&thread, NULL, rest, NULL) == 0;
}

/* Before the library is unloaded. */
static void end_thread(void)
{
    if (has_thread && pthread_cancel(thread) == 0)
        pthread_join(thread, NULL);
    has_thread = false;
}

nvml_return nvmlInit_v2(void)
{
    pthread_mutex_lock(&lock);
    if (!users)
        read_script();
    nvml_return result = script.init;
    if (result == NVML_SUCCESS && users++ == 0) {
        started = monotonic();
        start_thread();
    }
    pthread_mutex_unlock(&lock);
    fake_log("nvmlInit");
    return result;
}

nvml_return nvmlInit(void)
{
    return nvmlInit_v2();
}

nvml_return nvmlShutdown(void)
{
    struct call call = BEGIN(&script.system, nvmlShutdown, NONE, NONE);
    if (call.result == NVML_NOT_SUPPORTED)
        call.result = NVML_SUCCESS;
    if (users && --users == 0)
        end_thread();
    return end(&call);
}

const char *nvmlErrorString(nvml_return result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_GPU_IS_LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

/* The GPU of that index among those that are there, or the count of them. */
static struct fake_device *gpu_at(unsigned index, double now, unsigned *ret_count)
{
    unsigned count = 0;
    for (unsigned i = 0; i < script.device_count; i++) {
        struct fake_device *device = &script.devices[i];
        if (device->is_mig || is_gone(device, now))
            continue;
        if (count++ == index)
            return device;
    }
    if (ret_count)
        *ret_count = count;
    return NULL;
}

nvml_return nvmlDeviceGetCount_v2(unsigned *count)
{
    struct call call = BEGIN(&script.system, nvmlDeviceGetCount_v2, NONE, NONE);
    if (call.result == NVML_NOT_SUPPORTED) {
        call.result = NVML_SUCCESS;
        gpu_at(NONE, call.now, count);
    }
    return end(&call);
}

nvml_return nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

static nvml_return give_handle(struct call call, struct fake_device *device, nvml_return none,
                               nvml_handle *handle)
{
    if (call.result == NVML_UNINITIALIZED)
        return end(&call);
    call.result = device ? failure_of(device, call.now) : none;
    if (call.result == NVML_SUCCESS)
        *handle = (nvml_handle)device;
    return end(&call);
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_handle *device)
{
    struct call call = BEGIN(&script.system, nvmlDeviceGetHandleByIndex_v2, index, NONE);
    return give_handle(call, gpu_at(index, call.now, NULL), NVML_INVALID_ARGUMENT, device);
}

nvml_return nvmlDeviceGetHandleByIndex(unsigned index, nvml_handle *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *device)
{
    struct call call = BEGIN(&script.system, nvmlDeviceGetHandleByUUID, NONE, NONE);
    struct fake_device *found = NULL;
    for (unsigned i = 0; i < script.device_count && !found; i++) {
        struct fake_device *candidate = &script.devices[i];
        const struct fake_entry *entry =
            fake_find(candidate, FAKE_nvmlDeviceGetUUID, call.now, NONE, NONE);
        if (entry && entry->text && strcmp(entry->text, uuid) == 0 && !is_gone(candidate, call.now))
            found = candidate;
    }
    return give_handle(call, found, NVML_NOT_FOUND, device);
}

nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_handle device, unsigned index,
                                                nvml_handle *instance)
{
    struct call call = BEGIN(device, nvmlDeviceGetMigDeviceHandleByIndex, index, NONE);
    if (call.result != NVML_NOT_SUPPORTED)
        return end(&call);
    const struct fake_entry *mode =
        fake_find(call.device, FAKE_nvmlDeviceGetMigMode, call.now, NONE, NONE);
    struct fake_device *found = NULL;
    for (unsigned i = 0; i < script.device_count; i++)
        if (script.devices[i].is_mig && &script.devices[script.devices[i].gpu] == call.device &&
            script.devices[i].index == index && !is_gone(&script.devices[i], call.now))
            found = &script.devices[i];
    bool enabled = mode && mode->number_count > 0 && mode->number[0].whole == 1;
    return give_handle(call, enabled ? found : NULL, NVML_NOT_FOUND, instance);
}
