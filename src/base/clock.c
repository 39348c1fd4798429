#include "base/clock.h"

#include <math.h>
#include <stdio.h>

static double read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double clock_realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}

double clock_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double clock_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec clock_timespec(double seconds)
{
    double whole = floor(seconds);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
}

void clock_format_time(double realtime, char *ret_text, size_t size)
{
    double tenths = floor(realtime * 10 + 0.5);
    time_t whole = (time_t)(tenths / 10);
    struct tm local;
    localtime_r(&whole, &local);
    snprintf(ret_text, size, "%02d:%02d:%02d.%d", local.tm_hour, local.tm_min, local.tm_sec,
             (int)fmod(tenths, 10));
}
