#include "counter/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* The number of a line "NAME:   123 kB", in bytes. */
static bool line_of(const char *text, const char *name, uint64_t *ret)
{
    const char *line = strstr(text, name);
    if (!line || (line != text && line[-1] != '\n'))
        return false;
    char *end;
    unsigned long long kibibytes = strtoull(line + strlen(name), &end, 10);
    *ret = kibibytes * 1024;
    return strncmp(end, " kB", 3) == 0;
}

bool nvml_host_memory(const struct nvml *nvml, struct nvml_memory_v2 *ret)
{
    char path[sizeof(nvml->root) + 32];
    char text[1024]; /* the first lines */
    snprintf(path, sizeof(path), "%s/proc/meminfo", nvml->root);
    uint64_t total, available;
    if (file_read(path, text, sizeof(text)) < 0 || !line_of(text, "MemTotal:", &total) ||
        !line_of(text, "MemAvailable:", &available) || available > total)
        return false;
    *ret = (struct nvml_memory_v2){.total = total, .free = available, .used = total - available};
    return true;
}
