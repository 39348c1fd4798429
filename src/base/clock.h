/* Times are seconds in a double: since 1970 for what people read, since boot for waiting. */
#pragma once

#include <stddef.h>
#include <time.h>

double clock_realtime(void);
double clock_monotonic(void);

/* What this process has taken of the processors, all threads. */
double clock_cpu(void);

struct timespec clock_timespec(double seconds);

/* Local time of day with tenths, "14:03:07.2", for text output; at least 11 bytes. */
void clock_format_time(double realtime, char *ret_text, size_t size);
