/* Reads a recording, in order of time. The file may be anybody's: whatever it holds is checked,
 * rows that make no sense are left out, and values that cannot be true are marked so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "metric/device.h"
#include "metric/mark.h"
#include "metric/process.h"
#include "metric/sample.h"

struct record_reader;

/* Returns 0 or −errno, with `why` filled: -ENOENT and others of open(); -EBADMSG: no recording,
 * or a damaged one; -ENOTSUP: written by a newer Rooftop in a format that this one cannot read. */
MUST_CHECK int record_reader_open(struct record_reader **ret, const char *path, char *why,
                                  size_t why_size);
void record_reader_close(struct record_reader *reader);

/* The devices; a device's place is its `gpu` below. */
size_t record_reader_device_count(const struct record_reader *reader);
const struct device *record_reader_devices(const struct record_reader *reader);
/* In order of time. */
size_t record_reader_mark_count(const struct record_reader *reader);
const struct mark *record_reader_marks(const struct record_reader *reader);
/* Copies a fact of the whole recording, "" where there is none. */
void record_reader_meta(struct record_reader *reader, const char *key, char *ret, size_t size);
/* Time of the first sample, and of the last sample or outage; both 0 in an empty recording. */
double record_reader_begin(const struct record_reader *reader);
double record_reader_end(const struct record_reader *reader);
/* Usual seconds between two samples of a device, 0 where that cannot be told. */
double record_reader_interval(const struct record_reader *reader);

/* What comes next is later than `after`. */
int record_reader_seek(struct record_reader *reader, double after);
/* Lets go of the file until more is asked for: a recorder that still writes it can commit. */
void record_reader_rest(struct record_reader *reader);

/* Each gives the next one of its kind that is not later than `until`. Returns 1, 0 where none is
 * left until then, or −errno where the file is damaged. */
int record_reader_sample(struct record_reader *reader, double until, size_t *ret_gpu,
                         struct sample *ret);
struct record_outage {
    double time;
    size_t gpu;
    char state[16];
    int error; /* −errno or 0 */
};
int record_reader_outage(struct record_reader *reader, double until, struct record_outage *ret);
int record_reader_processes(struct record_reader *reader, double until, size_t *ret_gpu,
                            struct process_list *ret);

/* The last sample (or list) of a device that is not later than `time`. Return as above. */
int record_reader_sample_at(struct record_reader *reader, size_t gpu, double time,
                            struct sample *ret);
int record_reader_processes_at(struct record_reader *reader, size_t gpu, double time,
                               struct process_list *ret);

/* What is known of the process of that number at that time; false where nothing is. */
bool record_reader_describe(struct record_reader *reader, pid_t pid, double time,
                            struct process_description *ret);
