#include "counter/nvml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "NVRM: Xid (";

/* From now on: what is older is nothing that happened while Rooftop ran. */
void nvml_open_kernel_log(struct nvml *nvml)
{
    char path[192];
    snprintf(path, sizeof(path), "%s/dev/kmsg", nvml->root);
    nvml->kernel_log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (nvml->kernel_log >= 0)
        lseek(nvml->kernel_log, 0, SEEK_END);
}

/* "…NVRM: Xid (PCI:0000:41:00 GPU-I:05 GPU-CI:00): 79, …"; drivers without MIG leave its part out,
 * and old ones "PCI:". */
static bool parse(const char *line, struct nvml_kernel_xid *ret)
{
    const char *at = strstr(line, PREFIX);
    if (!at)
        return false;
    at += sizeof(PREFIX) - 1;
    at += strncmp(at, "PCI:", 4) == 0 ? 4 : 0;
    struct nvml_kernel_xid xid = {
        .gpu_instance = NVML_UNAVAILABLE_32,
        .compute_instance = NVML_UNAVAILABLE_32,
    };
    int length = 0;
    if (sscanf(at, "%8x:%2x:%2x%n", &xid.domain, &xid.bus, &xid.device, &length) != 3)
        return false;
    at += length;
    if (sscanf(at, " GPU-I:%2u%n", &xid.gpu_instance, &length) == 1)
        at += length;
    if (sscanf(at, " GPU-CI:%2u%n", &xid.compute_instance, &length) == 1)
        at += length;
    const char *end = strchr(at, ')');
    if (!end || sscanf(end, "): %6u", &xid.code) != 1)
        return false;
    *ret = xid;
    return true;
}

void nvml_read_kernel_log(struct nvml *nvml,
                          void (*each)(struct nvml *nvml, const struct nvml_kernel_xid *xid))
{
    if (nvml->kernel_log < 0)
        return;
    for (;;) {
        /* One record a read; EPIPE: some were overwritten before they were read. */
        ssize_t length = read(nvml->kernel_log, nvml->kernel_text, sizeof(nvml->kernel_text) - 1);
        if (length < 0 && errno == EPIPE)
            continue;
        if (length <= 0)
            return;
        nvml->kernel_text[length] = '\0';
        char *rest = NULL;
        for (char *line = strtok_r(nvml->kernel_text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            struct nvml_kernel_xid xid;
            if (parse(line, &xid))
                each(nvml, &xid);
        }
    }
}
