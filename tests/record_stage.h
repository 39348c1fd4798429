/* A folder with a recording, which a test writes, alters and reads. */
#pragma once

#include "cmocka_test.h"
#include "record/reader.h"
#include "record/writer.h"

static const double T0 = 1796051131.9413; /* has no exact double */

struct folder {
    char path[64];
    char file[96];
    char why[512];
};

/* What sets a test up, and what tears it down. */
int record_stage_open(void **state);
int record_stage_close(void **state);

struct record_writer *open_writer(struct folder *folder);
struct record_writer *open_with_device(struct folder *folder);
struct record_reader *open_reader(struct folder *folder);
/* Runs SQL on the file, as anybody could. */
void alter(const struct folder *folder, const char *sql);

struct device example_device(unsigned index);
/* Values that a double holds only just, and absences of every kind. */
struct sample example_sample(unsigned gpu, unsigned n);
/* The first samples of GPU 0. */
void write_samples(struct record_writer *writer, unsigned count);
void assert_same_sample(const struct sample *read, const struct sample *written);
