#include "counter/nvml_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char VARIABLE[] = "ROOFTOP_NVML";

static const char *const candidates[] = {
    "libnvidia-ml.so.1",
    "libnvidia-ml.so",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    NULL,
};

static const struct dso_symbol symbols[] = {
#define NVML_FUNCTION(name, parameters) DSO_OPTIONAL(struct nvml_functions, name, #name),
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
    DSO_OPTIONAL(struct nvml_functions, nvmlErrorString, "nvmlErrorString"),
};

#define REPLAY_ADVICE "without a GPU, look at a recording with --source replay:FILE"
static const char NO_DRIVER_ADVICE[] =
    "install the NVIDIA driver (in a container: pass the GPU in, --gpus all); " REPLAY_ADVICE;

struct start_failure {
    nvml_return result;
    int error;
    const char *reason;
    const char *advice;
};

static const struct start_failure start_failures[] = {
    {NVML_DRIVER_NOT_LOADED, -ENODEV, "the NVIDIA driver is not loaded",
     "load it with modprobe nvidia and see the kernel log; in a container, see that its host has "
     "it"},
    {NVML_LIBRARY_MISMATCH, -ENODEV,
     "the NVIDIA driver in the kernel and its library are of different versions",
     "the driver was updated while it was loaded: reboot, or unload and load its modules"},
    {NVML_NO_PERMISSION, -EACCES, "the NVIDIA driver refuses this user",
     "see the owner and mode of /dev/nvidiactl and /dev/nvidia*, or run as root"},
    {NVML_GPU_IS_LOST, -ENODEV, "the GPU is lost: it has fallen off the bus",
     "see the kernel log for Xid 79; a reset or reboot may bring it back"},
    {NVML_UNKNOWN, -EIO, "the NVIDIA driver answered with an unknown error",
     "in a container, start it anew: its devices may have been taken away; else see the kernel "
     "log"},
};

static int fail_to_load(int r, const char *why, struct counter_failure *failure)
{
    const char *named = secure_getenv(VARIABLE);
    if (named && named[0]) {
        /* The loader begins with the file's name. */
        snprintf(failure->reason, sizeof(failure->reason), "%s: %.100s%s%.250s", VARIABLE,
                 r == -ENOSYS ? named : "", r == -ENOSYS ? ": " : "", why);
        snprintf(failure->advice, sizeof(failure->advice),
                 "unset %s, and the driver's own library is loaded; " REPLAY_ADVICE, VARIABLE);
        return -ENODEV;
    }
    if (r == -ENOSYS)
        snprintf(failure->reason, sizeof(failure->reason),
                 "the NVIDIA library is of no use: %.200s", why);
    else
        snprintf(failure->reason, sizeof(failure->reason),
                 "there is no NVIDIA driver library (%s) here", candidates[0]);
    snprintf(failure->advice, sizeof(failure->advice), "%s", NO_DRIVER_ADVICE);
    return -ENODEV;
}

static int fail_to_start(const struct nvml_library *library, nvml_return result,
                         struct counter_failure *failure)
{
    for (size_t i = 0; i < ARRAY_SIZE(start_failures); i++) {
        const struct start_failure *row = &start_failures[i];
        if (row->result != result)
            continue;
        snprintf(failure->reason, sizeof(failure->reason), "%s", row->reason);
        snprintf(failure->advice, sizeof(failure->advice), "%s", row->advice);
        return row->error;
    }
    snprintf(failure->reason, sizeof(failure->reason), "the NVIDIA driver does not start: %s (%u)",
             nvml_words(library, result), result);
    snprintf(failure->advice, sizeof(failure->advice),
             "see what nvidia-smi and the kernel log say");
    return -EIO;
}

static bool is_usable(const struct nvml_functions *call)
{
    return (call->nvmlInit_v2 || call->nvmlInit) && call->nvmlShutdown &&
           (call->nvmlDeviceGetCount_v2 || call->nvmlDeviceGetCount) &&
           (call->nvmlDeviceGetHandleByIndex_v2 || call->nvmlDeviceGetHandleByIndex);
}

int nvml_library_open(struct nvml_library *ret, struct counter_failure *failure)
{
    struct nvml_library library = {0};
    char why[256] = "";
    int r = dso_open(&library.dso, VARIABLE, candidates, symbols, ARRAY_SIZE(symbols),
                     &library.call, why, sizeof(why));
    if (r == 0 && !is_usable(&library.call)) {
        dso_close(&library.dso);
        snprintf(why, sizeof(why), "it lacks the functions to start it or to list GPUs");
        r = -ENOSYS;
    }
    if (r < 0)
        return fail_to_load(r, why, failure);

    nvml_return result =
        library.call.nvmlInit_v2 ? library.call.nvmlInit_v2() : library.call.nvmlInit();
    if (result != NVML_SUCCESS) {
        r = fail_to_start(&library, result, failure);
        dso_close(&library.dso);
        return r;
    }
    *ret = library;
    return 0;
}

void nvml_library_close(struct nvml_library *library)
{
    if (!library->dso.handle)
        return;
    library->call.nvmlShutdown();
    dso_close(&library->dso);
}

enum absence nvml_absence(nvml_return result)
{
    switch (result) {
    case NVML_SUCCESS:
        return ABSENT_NO;
    case NVML_NOT_SUPPORTED:
    case NVML_INVALID_ARGUMENT:
    case NVML_DEPRECATED:
    case NVML_VERSION_MISMATCH:
    case NVML_NOT_FOUND:
        return ABSENT_NOT_SUPPORTED;
    case NVML_FUNCTION_NOT_FOUND:
        return ABSENT_NO_FUNCTION;
    case NVML_NO_PERMISSION:
        return ABSENT_NO_PERMISSION;
    case NVML_GPU_IS_LOST:
    case NVML_GPU_NOT_FOUND:
        return ABSENT_LOST;
    default:
        return ABSENT_DRIVER_ERROR;
    }
}

const char *nvml_words(const struct nvml_library *library, nvml_return result)
{
    const char *words =
        library->call.nvmlErrorString ? library->call.nvmlErrorString(result) : NULL;
    return words && words[0] ? words : "an error without a name";
}
