/* Processes as the fakes see them; FAKE_PROC is another /proc, of the host of a container. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline const char *fake_proc(void)
{
    const char *path = getenv("FAKE_PROC");
    return path ? path : "/proc";
}

static inline bool fake_proc_has(int pid)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%d", fake_proc(), pid);
    return access(path, F_OK) == 0;
}
