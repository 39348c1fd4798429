/* The folder in which this host's sharing is kept: leases, and the pipes and logs of MPS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "counter/counter.h"

/* Fills the failure, with `advice` for what to do, and returns `error`. */
int share_fail(struct counter_failure *failure, int error, const char *advice, const char *format,
               ...) PRINTF_LIKE(4, 5);

/* Finds and makes the folder: /run/rooftop/share for root, else rooftop/share in $XDG_RUNTIME_DIR
 * or /run/user/UID, or /tmp/rooftop-UID/share; where $ROOFTOP_RUNTIME_DIR is set, rooftop/share in
 * that. It must be this user's own, and closed to writing by others.
 * Returns 0, or −errno with `failure` filled. */
MUST_CHECK int place_open(char *ret, size_t size, struct counter_failure *failure);

/* Makes a folder for this user alone, where it does not exist. Returns 0 or −errno. */
MUST_CHECK int place_make_folder(const char *path);

/* The first folder on the way to `path`, itself included, that this user cannot enter (that other
 * users cannot, where `others` is set); false where all are open. */
bool place_find_closed(const char *path, bool others, char *ret, size_t size);
