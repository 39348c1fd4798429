#include "rooftop.h"

#include <errno.h>
#include <math.h>

#include "api/handle.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "record/mark_socket.h"

int rooftop_mark_span(const char *name, double begin, double end)
{
    WITH_PLAIN_NUMBERS;
    struct mark mark = {.time = begin, .end = end};
    utf8_clean(mark.name, sizeof(mark.name), name);
    if (!mark.name[0] || !isfinite(begin) || !isfinite(end) || begin <= 0 || end < begin)
        return -EINVAL;
    unsigned taken, silent;
    int r = mark_send(&mark, &taken, &silent);
    if (r < 0)
        return r;
    return taken == 0 && silent > 0 ? -ETIMEDOUT : (int)taken;
}

int rooftop_mark(const char *name)
{
    double now = clock_realtime();
    return rooftop_mark_span(name, now, now);
}
