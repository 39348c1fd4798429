/* The screen that people keep open, and the same as text. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "monitor/monitor.h"
#include "tui/prefs.h"

struct top_options {
    struct prefs prefs;
    const char *prefs_path; /* written on request; NULL: nowhere */
    const char *source;     /* as the person named it */
    double from; /* of a recording: where to begin, since 1970; NAN: at its beginning, and
                    for top_print() at its end */
    bool paused;
    double budget; /* of one core */
    int width;     /* of top_print() */
    int height;
};

/* Runs on the terminal until the person quits. Returns 0; -ENOTTY, -ENOTSUP as screen_open() does;
 * another −errno. Signals must be blocked for the monitor's threads: call top_block_signals()
 * before the monitor opens. */
MUST_CHECK int top_run(struct monitor *monitor, const struct top_options *options);
MUST_CHECK int top_block_signals(void);

/* One screen as text. */
MUST_CHECK int top_print(struct monitor *monitor, const struct top_options *options,
                         struct strbuf *out);
