#include "counter/sim_script.h"

#include <math.h>

#include "fuzz.h"

static void check(const struct sim_script *script)
{
    MUST(script->device_count > 0);
    MUST(isfinite(script->begin) && isfinite(script->end) && script->every > 0);
    double last = 0;
    for (size_t i = 0; i < script->change_count; i++) {
        const struct sim_change *change = &script->changes[i];
        MUST(change->device < script->device_count);
        MUST(change->time >= last && change->until >= change->time);
        last = change->time;
        if (change->kind == SIM_VALUE)
            MUST(isfinite(change->value.from) && isfinite(change->value.to));
    }
    for (size_t i = 0; i < script->mark_count; i++)
        MUST(script->marks[i].end >= script->marks[i].time);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct sim_script script = {0};
    struct counter_failure failure = {0};
    int r = sim_script_parse(&script, text, size, "file", &failure);
    if (r == 0)
        check(&script);
    else
        MUST(strncmp(failure.reason, "file", 4) == 0);
    sim_script_free(&script);
    free(text);
    return 0;
}
