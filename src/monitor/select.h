/* Which devices `--gpu` means. Part of the monitor. */
#pragma once

#include "counter/counter.h"

/* `text`: comma-separated indices, UUIDs or unique starts of them, PCI addresses; NULL for all. An
 * index or a PCI address means the whole GPU, a UUID also a MIG instance.
 * On success *ret is an array, without repeats, that the caller frees.
 * Returns 0, -EINVAL (`failure` says which is unknown or ambiguous) or -ENOMEM. */
MUST_CHECK int select_devices(const struct counter *counter, const char *text, size_t **ret,
                              size_t *ret_count, struct counter_failure *failure);
