/* A recording may be anybody's file: whatever is in it, what comes out of it is sane. */
#include "counter/counter.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "fuzz.h"

enum { MOST_FRAMES = 50 };

static void check_frame(const struct frame *frame)
{
    for (size_t i = 0; i < frame->count; i++) {
        const struct reading *reading = &frame->readings[i];
        MUST(isfinite(reading->age) && reading->age >= 0);
        MUST(reading->processes.count <= PROCESS_LIST_CAPACITY);
        for (int m = 0; m < METRIC_COUNT; m++) {
            MUST(reading->sample.absent[m] < ABSENCE_COUNT);
            if (sample_has(&reading->sample, (enum metric)m))
                MUST(isfinite(reading->sample.value[m]));
        }
    }
}

static void play(struct counter *counter)
{
    MUST(isfinite(counter->begin) && isfinite(counter->end) && counter->begin <= counter->end);
    for (size_t i = 0; i < counter->mark_count; i++)
        MUST(counter->marks[i].end >= counter->marks[i].time);
    struct frame frame = {0};
    MUST(frame_init(&frame, counter->device_count) == 0);
    double step = (counter->end - counter->begin) / MOST_FRAMES;
    int r = 0;
    for (int i = 0; i < MOST_FRAMES && r == 0; i++) {
        r = counter->ops->collect(counter, counter->begin + i * step, &frame);
        if (r == 0)
            check_frame(&frame);
    }
    struct process_description description;
    (void)counter->ops->describe(counter, 4242, &description);
    if (counter->ops->seek(counter, (counter->begin + counter->end) / 2) == 0 &&
        counter->ops->collect(counter, counter->end, &frame) == 0)
        check_frame(&frame);
    frame_free(&frame);
}

static char path[64];

static void forget_file(void)
{
    unlink(path);
}

/* SQLite wants a real path: one in memory, which each run writes anew. */
static void write_file(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        snprintf(path, sizeof(path), "%s/rooftop-fuzz-%d.roof", fuzz_folder(), (int)getpid());
        atexit(forget_file);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    MUST(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_file(data, size);
    char source[96];
    snprintf(source, sizeof(source), "replay:%s", path);
    struct counter *counter;
    struct counter_failure failure;
    if (counter_open(&counter, source, &failure) == 0) {
        play(counter);
        counter_close(counter);
    } else
        MUST(failure.reason[0]);
    return 0;
}
