/* Values as numbers for machines and as words for people. */
#pragma once

#include "metric/metric.h"

/* The significant digits that a value of this unit is written with where a program reads it. */
int metric_digits(enum metric_unit unit);

/* Adds the value as a person reads it: "93.4 %", "12.3 GiB", "4.35 TB/s", "1326 MHz", "tensor". */
void metric_put_human(struct strbuf *out, enum metric metric, double value);
