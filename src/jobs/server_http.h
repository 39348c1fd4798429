/* GET over loopback, with a deadline. Part of jobs/server. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/* Connects to 127.0.0.1 or ::1 and nothing else. `until` is of clock_monotonic(). Adds the body of
 * an answer of any status. Returns the HTTP status, or −errno: -ETIMEDOUT, -ECONNREFUSED, -EPROTO
 * (it is not HTTP), -EFBIG. */
MUST_CHECK int server_get(bool ipv6, unsigned port, const char *path, double until,
                          struct strbuf *body);

/* Splits an answer that is whole; pure. Adds its body and returns the status, or -EPROTO. */
MUST_CHECK int server_split_answer(const char *text, size_t length, struct strbuf *body);
