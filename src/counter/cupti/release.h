/* Asks the rooftop processes of this host to leave the GPUs' counters to others for a while. */
#pragma once

#include "base/util.h"

/* Helpers that were asked, and those of other users, which may not be. Looks into `root`/proc (""
 * for the real one). Returns 0 or −errno. */
MUST_CHECK int cupti_release(const char *root, unsigned seconds, unsigned *ret_asked,
                             unsigned *ret_refused);
