#include "bench/mode.h"

#include <string.h>

static const struct bench_mode_info modes[MODE_COUNT] = {
#define BENCH_MODE(id, name, title, simpler, help) [MODE_##id] = {name, title, simpler, help},
#include "bench/mode.def"
#undef BENCH_MODE
};

const struct bench_mode_info *bench_mode_info(enum bench_mode mode)
{
    return &modes[mode];
}

enum bench_mode bench_mode_by_name(const char *name)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (strcmp(modes[mode].name, name) == 0)
            return (enum bench_mode)mode;
    return MODE_COUNT;
}
