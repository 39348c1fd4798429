/* Ceilings: what a GPU can do at best, as it was measured on this very one, or as it is shipped for
 * its kind. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "metric/device.h"
#include "metric/metric.h"

enum ceiling {
#define CEILING(id, name, unit, help) CEILING_##id,
#include "store/ceiling.def"
#undef CEILING
    CEILING_COUNT
};

enum ceiling_unit {
    CEILING_BYTES_PER_SECOND,
    CEILING_FLOPS_PER_SECOND,
    CEILING_PER_SECOND,
};

struct ceiling_info {
    const char *name;
    enum ceiling_unit unit;
    const char *help;
};

const struct ceiling_info *ceiling_info(enum ceiling ceiling);
/* The ceiling of that name, or CEILING_COUNT. */
enum ceiling ceiling_by_name(const char *name);
/* The pipe that does a ceiling's work, and the type of its numbers; false of memory, links and
 * launches. */
bool ceiling_arithmetic(enum ceiling ceiling, enum label *ret_pipe, enum label *ret_type);
/* The tensor cores' ceiling for operands of a type (LABEL_TYPE_…), or CEILING_COUNT. */
enum ceiling ceiling_of_tensor(enum label type);

/* The datasheet's figure, in the ceiling's unit: for tensor types and units of arithmetic at the
 * clock that it assumes, for links after the line code. False where there is none. */
bool ceiling_datasheet(const struct device *device, enum ceiling ceiling, double *ret);

/* "4.35 TB/s", "671 TFLOP/s", "671 TOP/s", "312 k/s" */
void ceiling_put_human(struct strbuf *out, enum ceiling ceiling, double value);

enum ceiling_origin {
    CEILING_UNKNOWN,
    CEILING_SHIPPED,  /* measured by others, on another GPU of the same kind: see `how` */
    CEILING_MEASURED, /* on this GPU */
};

/* What is not known is NAN or "". The value counts only where the origin is not CEILING_UNKNOWN. */
struct ceiling_value {
    enum ceiling_origin origin;
    double value;       /* median of the repeats, in the ceiling's unit */
    double spread;      /* largest − smallest repeat, as a part of the value */
    double ratio;       /* what the counters said meanwhile: the pipe, level or link, 0 to 1 */
    double clock;       /* hertz: the effective clock where it was seen, else NVML's */
    double temperature; /* °C */
    double power;       /* W */
    double time;        /* seconds since 1970 */
    char driver[32];
    char how[96]; /* "cuBLASLt 13.1", "measured on one H200, bf16 8192 by cuBLASLt" */
};

struct ceilings {
    struct ceiling_value of[CEILING_COUNT];
};

/* For each ceiling what was measured on this GPU last, by this user or by root; else what is
 * shipped for its kind; else CEILING_UNKNOWN. Returns 0; −errno where a store is there and cannot
 * be read: the rest is filled all the same, and `why` says what is wrong. */
int ceilings_find(const struct device *device, struct ceilings *ret, char *why, size_t why_size);

/* Calls back for all that was ever measured on a GPU, of each store oldest first. Returns as above.
 */
int ceilings_each(const char *uuid,
                  void (*each)(void *context, enum ceiling ceiling,
                               const struct ceiling_value *value),
                  void *context, char *why, size_t why_size);

/* What is shipped for this kind of GPU; nothing for a MIG instance. */
void ceilings_shipped(const struct device *device, struct ceilings *ret);

struct ceiling_store;

/* Adds the path of the store that is written: $XDG_DATA_HOME/rooftop/ceilings.db where that is set,
 * else /var/lib/rooftop/ceilings.db as root, else ~/.local/share/rooftop/ceilings.db.
 * Returns 0 or -ENOENT (nobody's home is known). */
MUST_CHECK int ceiling_store_path(struct strbuf *out);

/* Opens the file to write, and makes it and its folders where they are missing. Returns 0 or −errno
 * with `why` filled. */
MUST_CHECK int ceiling_store_open(struct ceiling_store **ret, const char *path, char *why,
                                  size_t why_size);
/* Opens a file that is there. -ENOENT where it is not, or is empty. */
MUST_CHECK int ceiling_store_open_to_read(struct ceiling_store **ret, const char *path, char *why,
                                          size_t why_size);
void ceiling_store_close(struct ceiling_store *store);

/* Adds the ceilings that are measured, all or none. Returns 0 or −errno. */
MUST_CHECK int ceiling_store_add(struct ceiling_store *store, const char *uuid,
                                 const struct ceilings *ceilings);

/* Calls back for all of a GPU that is plausible, oldest first. Returns 0 or −errno. */
MUST_CHECK int ceiling_store_each(struct ceiling_store *store, const char *uuid,
                                  void (*each)(void *context, enum ceiling ceiling,
                                               const struct ceiling_value *value),
                                  void *context);
