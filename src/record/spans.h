/* Spans that another program writes as JSON lines, {"name": …, "t0": …, "t1": …}, with times in
 * seconds since 1970: they become marks. Lines may still be added while they are read. */
#pragma once

#include <stddef.h>

#include "record/writer.h"

struct record_spans;

/* The file need not exist yet. Returns 0 or -ENOMEM. */
MUST_CHECK int record_spans_open(struct record_spans **ret, const char *path);
void record_spans_close(struct record_spans *spans);

/* Writes a mark for each line that has come whole since the last call; with `last`, for the rest
 * too, whose line end will not come.
 * Returns their number, or −errno with `why` filled: -ENOENT and others of open(); -EBADMSG: a line
 * is no span, and `why` names it (the other lines are taken); or what the writer returned. */
int record_spans_write(struct record_spans *spans, struct record_writer *writer, bool last,
                       char *why, size_t why_size);
