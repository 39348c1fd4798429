/* For LD_PRELOAD: from its twelfth reading on the wall clock is FAKE_CLOCK_STEP seconds away, as
 * where somebody sets it, or a host wakes up. The monotonic clock stays. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_reader(clockid_t, struct timespec *);

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *time)
{
    static atomic_uint readings;
    clock_reader *real = (clock_reader *)dlsym(RTLD_NEXT, "clock_gettime");
    const char *step = getenv("FAKE_CLOCK_STEP");
    int r = real(id, time);
    if (id == CLOCK_REALTIME && step && atomic_fetch_add(&readings, 1) >= 11)
        time->tv_sec += atol(step);
    return r;
}
