/* Whatever a sim file says, playing it and deriving from it gives values that can be. */
#include "counter/counter.h"
#include "sol/sol.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

enum { STEPS = 12 };

static void check_values(const struct sample *sample)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *info = metric_info((enum metric)i);
        MUST(sample->absent[i] < ABSENCE_COUNT);
        if (!sample_has(sample, (enum metric)i))
            continue;
        double value = sample->value[i];
        MUST(isfinite(value));
        if (info->origin == ORIGIN_DERIVED && info->unit == UNIT_RATIO)
            MUST(value >= 0 && value <= 1);
        if (info->unit == UNIT_LABEL)
            MUST(label_word((enum metric)i, value));
    }
}

static void check_frame(const struct counter *counter, struct frame *frame)
{
    for (size_t i = 0; i < frame->count; i++) {
        struct reading *reading = &frame->readings[i];
        MUST(isfinite(reading->age) && reading->age >= 0);
        MUST(reading->sample.interval >= 0);
        MUST(reading->processes.count <= PROCESS_LIST_CAPACITY);
        sol_derive(&counter->devices[i], NULL, &reading->sample);
        check_values(&reading->sample);
        struct strbuf verdict = {0};
        sol_verdict(&counter->devices[i], &reading->sample, &verdict);
        MUST(verdict.length > 0);
        strbuf_free(&verdict);
    }
}

static void play(struct counter *counter)
{
    struct frame frame;
    if (counter->device_count > 16 || frame_init(&frame, counter->device_count) < 0)
        return;
    double span = counter->end - counter->begin;
    for (int i = 1; i <= STEPS; i++) {
        double until = counter->begin + span * i / STEPS;
        if (i == STEPS / 2)
            MUST(counter->ops->seek(counter, counter->begin + span / 3) == 0);
        int r = counter->ops->collect(counter, until, &frame);
        MUST(r == 0 || r == -ENODATA);
        if (r == 0)
            check_frame(counter, &frame);
    }
    frame_free(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("sim", MFD_CLOEXEC);
    MUST(fd >= 0);
    MUST(write(fd, data, size) == (ssize_t)size);
    char source[64];
    snprintf(source, sizeof(source), "sim:/proc/self/fd/%d", fd);
    struct counter *counter = NULL;
    struct counter_failure failure;
    if (counter_open(&counter, source, &failure) == 0) {
        play(counter);
        counter_close(counter);
    }
    close(fd);
    return 0;
}
