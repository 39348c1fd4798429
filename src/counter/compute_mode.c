#include "counter/compute_mode.h"

#include <errno.h>
#include <stdio.h>

#include "counter/nvml_library.h"

/* Calls a function of the library, or says that it has none. */
#define CALL(library, name, ...)                                                                   \
    ((library)->call.name ? (library)->call.name(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

const char *compute_mode_name(enum compute_mode mode)
{
    static const char *const names[] = {"DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED",
                                        "EXCLUSIVE_PROCESS"};
    return (unsigned)mode < ARRAY_SIZE(names) ? names[mode] : "unknown";
}

static int fail(const struct nvml_library *library, nvml_return result, const char *what,
                const char *uuid, struct counter_failure *failure)
{
    snprintf(failure->reason, sizeof(failure->reason), "the compute mode of %s cannot be %s: %s",
             uuid, what, nvml_words(library, result));
    snprintf(failure->advice, sizeof(failure->advice), "%s",
             result == NVML_NO_PERMISSION ? "Only root may, and not in every container." : "");
    return result == NVML_NO_PERMISSION ? -EACCES : -EIO;
}

/* Sets the mode where `set` is not NULL, and then reads it. */
static int access_mode(const char *uuid, const enum compute_mode *set, enum compute_mode *ret,
                       struct counter_failure *failure)
{
    struct nvml_library library;
    nvml_handle device;
    uint32_t mode = 0;
    int r = nvml_library_open(&library, failure);
    if (r < 0)
        return r;
    nvml_return result = CALL(&library, nvmlDeviceGetHandleByUUID, uuid, &device);
    if (result == NVML_SUCCESS && set)
        result = CALL(&library, nvmlDeviceSetComputeMode, device, *set);
    if (result != NVML_SUCCESS)
        r = fail(&library, result, "set", uuid, failure);
    else if ((result = CALL(&library, nvmlDeviceGetComputeMode, device, &mode)) != NVML_SUCCESS)
        r = fail(&library, result, "read", uuid, failure);
    else
        *ret = (enum compute_mode)mode;
    nvml_library_close(&library);
    return r;
}

int compute_mode_read(const char *uuid, enum compute_mode *ret, struct counter_failure *failure)
{
    return access_mode(uuid, NULL, ret, failure);
}

int compute_mode_set(const char *uuid, enum compute_mode mode, struct counter_failure *failure)
{
    enum compute_mode now;
    int r = access_mode(uuid, &mode, &now, failure);
    if (r < 0 || now == mode)
        return r;
    snprintf(failure->reason, sizeof(failure->reason),
             "the compute mode of %s was set to %s and is %s", uuid, compute_mode_name(mode),
             compute_mode_name(now));
    failure->advice[0] = '\0';
    return -EPROTO;
}
