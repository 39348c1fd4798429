/* Reads a recording through, as the replay does, and checks what every reader relies on. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "record/reader.h"

/* A name for the input's file, of this process alone. */
static inline const char *recording_path(void)
{
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof(path), "%s/fuzz-%d.roof", fuzz_folder(), (int)getpid());
    return path;
}

static inline void check_text(const char *text)
{
    for (; *text; text++)
        MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static inline void check_sample(const struct sample *sample)
{
    MUST(sample->time > 0 && sample->time < 1e12);
    MUST(sample->interval >= 0 && sample->interval < 1e7);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        MUST(sample->absent[i] < ABSENCE_COUNT);
        MUST(!sample_has(sample, (enum metric)i) || isfinite(sample->value[i]));
    }
}

static inline void check_contents(const struct record_reader *reader)
{
    const struct device *devices = record_reader_devices(reader);
    for (size_t i = 0; i < record_reader_device_count(reader); i++)
        for (size_t k = 0; k < DEVICE_TEXT_COUNT; k++)
            check_text(devices[i].text[k]);
    const struct mark *marks = record_reader_marks(reader);
    for (size_t i = 0; i < record_reader_mark_count(reader); i++) {
        MUST(isfinite(marks[i].time) && marks[i].end >= marks[i].time && isfinite(marks[i].end));
        MUST(i == 0 || marks[i].time >= marks[i - 1].time);
        check_text(marks[i].name);
    }
    MUST(isfinite(record_reader_begin(reader)) && isfinite(record_reader_end(reader)));
    MUST(record_reader_interval(reader) >= 0);
}

static inline void walk_recording(struct record_reader *reader)
{
    struct sample sample;
    struct process_list list;
    struct record_outage outage;
    size_t gpu, count = record_reader_device_count(reader);
    for (int i = 0; i < 10000 && record_reader_sample(reader, 1e13, &gpu, &sample) == 1; i++) {
        MUST(gpu < count);
        check_sample(&sample);
    }
    for (int i = 0; i < 1000 && record_reader_outage(reader, 1e13, &outage) == 1; i++)
        MUST(outage.gpu < count);
    for (int i = 0; i < 1000 && record_reader_processes(reader, 1e13, &gpu, &list) == 1; i++) {
        MUST(gpu < count && list.count <= PROCESS_LIST_CAPACITY);
        struct process_description description;
        for (size_t k = 0; k < list.count; k++)
            if (record_reader_describe(reader, list.process[k].pid, 1e13, &description))
                check_text(description.command);
    }
    double middle = (record_reader_begin(reader) + record_reader_end(reader)) / 2;
    MUST(record_reader_seek(reader, middle) == 0);
    for (size_t i = 0; i < count && i < 4; i++) {
        if (record_reader_sample_at(reader, i, middle, &sample) == 1)
            check_sample(&sample);
        (void)!record_reader_processes_at(reader, i, middle, &list);
    }
    if (record_reader_sample(reader, 1e13, &gpu, &sample) == 1)
        MUST(sample.time > middle);
}

static inline void read_recording(const char *path)
{
    struct record_reader *reader = NULL;
    char why[512] = "";
    int r = record_reader_open(&reader, path, why, sizeof(why));
    MUST(r <= 0 && (r == 0) == (reader != NULL) && (r == 0 || why[0]));
    if (r == 0) {
        check_contents(reader);
        walk_recording(reader);
    }
    record_reader_close(reader);
}
