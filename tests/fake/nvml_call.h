/* How the fake's functions answer: begin() finds the script's line, end() gives its result. */
#pragma once

#include "nvml_script.h"

/* The names of the real library, which it shows to whoever loads it. */
#pragma GCC visibility push(default)
#define NVML_FUNCTION(name, parameters) nvml_return name parameters;
#include "counter/nvml_functions.def"
#undef NVML_FUNCTION
const char *nvmlErrorString(nvml_return result);
#pragma GCC visibility pop

enum { NONE = FAKE_WHATEVER };

/* Under the lock, which begin() takes and end() gives back. */
extern struct fake_script script;

/* One call: what is asked of whom, and when. */
struct call {
    struct fake_device *device;
    double now;
    const struct fake_entry *entry; /* NULL where no line says anything */
    nvml_return result;
};

struct call begin(struct fake_device *device, enum fake_function function, const char *name,
                  uint32_t first, uint32_t second);
nvml_return end(const struct call *call);

#define BEGIN(device, name, first, second)                                                         \
    begin((struct fake_device *)(device), FAKE_##name, #name, first, second)

/* The i-th number of the line. */
uint64_t whole(const struct call *call, unsigned i);
double real(const struct call *call, unsigned i);

/* The device's place in the script, or -1. */
int number_of(const struct fake_device *device);

/* For calls that no line of the script is about. */
void fake_log(const char *name);
