/* What `rooftop doctor` found: findings under titles, as text or JSON. */
#pragma once

#include "base/strbuf.h"
#include "metric/device.h"
#include "metric/metric.h"

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_MEND };

struct finding {
    enum finding_level level;
    const char *topic; /* one word */
    char text[512];
    char advice[320]; /* what to do, or "" */
    /* The metrics that it is about: those with `absence` in `absent`, or NULL. */
    const uint8_t *absent;
    enum absence absence;
};

struct section {
    char title[256];
    const struct device *device; /* or NULL */
    size_t count;
    struct finding *findings;
};

struct report {
    size_t count;
    struct section *sections;
    bool failed; /* out of memory: the report is not whole */
};

/* The section that report_add() adds to from now on. What `device` points to, and the tables that
 * findings point to, must outlive the report. */
void report_section(struct report *report, const struct device *device, const char *title, ...)
    PRINTF_LIKE(3, 4);
/* Valid until the next call. NULL where there is no memory: the report then knows. */
struct finding *report_add(struct report *report, enum finding_level level, const char *topic,
                           const char *text, ...) PRINTF_LIKE(4, 5);
/* The same, and what to do. */
void report_advise(struct report *report, enum finding_level level, const char *topic,
                   const char *advice, const char *text, ...) PRINTF_LIKE(5, 6);

/* Something is to be mended. */
bool report_has_mend(const struct report *report);

void report_write_text(const struct report *report, struct strbuf *out);
void report_write_json(const struct report *report, int exit_code, struct strbuf *out);
void report_free(struct report *report);
