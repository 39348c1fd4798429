/* How fast a recording is written and read, and how large it is.
 *
 * usage: bench_record FILE; makes FILE anew and prints lines of name, value and unit. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "record/format.h"
#include "record/reader.h"
#include "record/writer.h"

enum { DEVICES = 8, MOMENTS = 10000, MEASURED = 30, SEEKS = 200 };

static const double BEGIN = 1.78e9;
static const double INTERVAL = 0.1;

/* What a Hopper GPU gives: about thirty metrics, of which most change from sample to sample. */
static void make_sample(struct sample *sample, unsigned device, unsigned moment)
{
    struct record_columns columns = record_columns();
    sample_reset(sample, ABSENT_NEEDS_CUPTI);
    sample->time = BEGIN + moment * INTERVAL;
    sample->interval = INTERVAL;
    for (size_t i = 0; i < columns.count && i < MEASURED; i++)
        sample_set(sample, columns.metric[i], (double)((moment * 7919 + device * 31 + i) % 10007));
}

static int write_recording(struct record_writer *writer)
{
    unsigned number[DEVICES];
    int r = 0;
    for (unsigned d = 0; d < DEVICES && r >= 0; d++) {
        struct device device = {.index = d};
        char uuid[DEVICE_TEXT_SIZE];
        snprintf(uuid, sizeof(uuid), "GPU-%08u-0000-4000-8000-000000000000", d);
        device_set_text(&device, DEVICE_UUID, uuid);
        device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
        r = record_writer_device(writer, &device, &number[d]);
    }
    for (unsigned m = 0; m < MOMENTS && r >= 0; m++) {
        for (unsigned d = 0; d < DEVICES && r >= 0; d++) {
            struct sample sample;
            make_sample(&sample, d, m);
            r = record_writer_sample(writer, number[d], &sample);
        }
        if (m % 10 == 9 && r >= 0) /* once a second, as the recorder does */
            r = record_writer_commit(writer);
    }
    return r;
}

static int bench_write(const char *path)
{
    char why[256];
    struct record_writer *writer;
    struct record_writer_options options = {.replace = true, .interval = INTERVAL};
    if (record_writer_open(&writer, path, &options, why, sizeof(why)) < 0) {
        fprintf(stderr, "%s: %s\n", path, why);
        return -1;
    }
    double began = clock_monotonic();
    int r = write_recording(writer);
    int closed = record_writer_close(writer);
    double seconds = clock_monotonic() - began;
    struct stat status;
    if (r < 0 || closed < 0 || stat(path, &status) < 0) {
        fprintf(stderr, "%s: could not be written: %s\n", path, strerror(-r));
        return -1;
    }
    printf("recording: samples written a second, a commit each second of %d GPUs\t%.0f\t\n",
           DEVICES, DEVICES * MOMENTS / seconds);
    printf("recording: size of a sample of %d metrics\t%.0f\tbytes\n", MEASURED,
           (double)status.st_size / (DEVICES * MOMENTS));
    return 0;
}

static int bench_read(struct record_reader *reader)
{
    unsigned long count = 0;
    size_t gpu;
    struct sample sample;
    double began = clock_monotonic();
    while (record_reader_sample(reader, BEGIN + MOMENTS, &gpu, &sample) == 1)
        count++;
    double seconds = clock_monotonic() - began;
    if (count != DEVICES * MOMENTS) {
        fprintf(stderr, "%lu samples were read of %d\n", count, DEVICES * MOMENTS);
        return -1;
    }
    printf("recording: samples read a second\t%.0f\t\n", (double)count / seconds);

    began = clock_monotonic();
    for (unsigned i = 0; i < SEEKS; i++) {
        double time = BEGIN + i * 7919 % MOMENTS * INTERVAL;
        if (record_reader_seek(reader, time) < 0 ||
            record_reader_sample_at(reader, i % DEVICES, time, &sample) != 1) {
            fputs("a seek failed\n", stderr);
            return -1;
        }
    }
    printf("recording: seek\t%.3f\tms\n", 1e3 * (clock_monotonic() - began) / SEEKS);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: bench_record FILE\n", stderr);
        return 2;
    }
    char why[256];
    struct record_reader *reader;
    if (bench_write(argv[1]) < 0)
        return 1;
    if (record_reader_open(&reader, argv[1], why, sizeof(why)) < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], why);
        return 1;
    }
    int r = bench_read(reader);
    record_reader_close(reader);
    return r < 0 ? 1 : 0;
}
