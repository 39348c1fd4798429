/* Numbers as people read them on the screen. Each returns `ret`, of at least FORMAT_SIZE bytes;
 * what is not known becomes "?". */
#pragma once

#include "metric/sample.h"

enum { FORMAT_SIZE = 40 };

/* As metric_put_human() writes it: "93.4 %", "53.3 GB/s", "1485 MHz". */
const char *format_value(enum metric metric, double value, char *ret);
const char *format_metric(const struct sample *sample, enum metric metric, char *ret);

const char *format_bytes(double bytes, char *ret);   /* short: "45.1G", powers of 1024 */
const char *format_span(double seconds, char *ret);  /* "30 s", "5 min", "2 h" */
const char *format_clock(double seconds, char *ret); /* "1:02:03.4", a position in a recording */
