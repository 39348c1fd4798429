/* Ceilings and what the counters said of them, as text and JSON. */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "calibrate/witness.h"
#include "store/ceiling.h"

/* "GPU 0  NVIDIA H200  GPU-…" */
void ceiling_table_title(const struct device *device, struct strbuf *out);

/* One line each, of those that are known. */
void ceiling_table_put(const struct device *device, const struct ceilings *ceilings,
                       struct strbuf *out);
/* What is known of one, as members of an open object. */
void ceiling_table_json(const struct device *device, enum ceiling ceiling,
                        const struct ceiling_value *value, struct json *json);

/* The counters beside the truth. */
void ceiling_table_put_errors(const struct witness_row *rows, size_t count, struct strbuf *out);
void ceiling_table_json_errors(const struct witness_row *rows, size_t count, struct json *json);
