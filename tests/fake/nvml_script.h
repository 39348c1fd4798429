/* The script of the fake NVML; nvml.c says how it is written. */
#pragma once

#include <stdbool.h>

#include "counter/nvml_abi.h"

enum fake_function {
#define NVML_FUNCTION(name, parameters) FAKE_##name,
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
    FAKE_FUNCTION_COUNT,
    FAKE_ANY = FAKE_FUNCTION_COUNT, /* "*" */
    FAKE_GONE,                      /* "gone" and "here" */
    FAKE_XID,
    FAKE_PROCESSES, /* first argument: enum fake_list */
    FAKE_IGNORED,   /* a line of a transcript that sets nothing */
};

enum fake_list { FAKE_COMPUTE, FAKE_GRAPHICS, FAKE_MPS };

enum { FAKE_DEVICES = 256, FAKE_ARGUMENTS = 2, FAKE_NUMBERS = 8, FAKE_WHATEVER = 0xFFFFFFF0 };

struct fake_number {
    uint64_t whole;
    double real;
    double per_second; /* what it grows by from the entry's moment on */
};

struct fake_process {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance;
    uint32_t compute_instance;
};

/* One line: what a call answers from a moment on. */
struct fake_entry {
    double at;
    enum fake_function function;
    uint32_t argument[FAKE_ARGUMENTS]; /* FAKE_WHATEVER where the line names none */
    nvml_return result;
    char *hang; /* the file that ends the wait, or NULL */
    char *text; /* a value in quotes, or NULL */
    struct fake_number number[FAKE_NUMBERS];
    unsigned number_count;
    struct fake_process *processes;
    unsigned process_count;
};

struct fake_device {
    bool is_mig;
    unsigned gpu;   /* among the devices: itself, or the instance's GPU */
    unsigned index; /* of a GPU as NVML counts, of an instance its place */
    struct fake_entry *entries;
    unsigned entry_count;
};

struct fake_script {
    struct fake_device devices[FAKE_DEVICES]; /* GPUs, each with its instances behind it */
    unsigned device_count;
    struct fake_device system; /* what no device's line says */
    nvml_return init;
    char *clock_file;
    char *log_file;
    bool follow;             /* the script is read anew when it changes */
    bool living;             /* processes that there are not are not listed */
    unsigned process_layout; /* bytes of a process in the newest list */
};

/* Reads the file, or gives one H200 where there is none. Prints what is wrong, and aborts. */
void fake_script_read(struct fake_script *script, const char *path);
void fake_script_free(struct fake_script *script);

/* The last line that holds at the moment, or NULL. A hang is a line of its own: the answer after it
 * is that of the other lines. */
const struct fake_entry *fake_find(const struct fake_device *device, enum fake_function function,
                                   double now, uint32_t first, uint32_t second);

const struct fake_entry *fake_find_hang(const struct fake_device *device,
                                        enum fake_function function, double now, uint32_t first,
                                        uint32_t second);

/* The lines of a GPU that is called by that name, NULL-terminated, or NULL. */
const char *const *fake_preset(const char *name);
