/* The compute mode of a shared GPU. In EXCLUSIVE_PROCESS a program that gets round MPS is refused
 * by the driver, where in the default mode it runs without limits until it is seen. What the mode
 * was before is noted in the daemon's folder until it is set back: whoever was killed meanwhile
 * leaves the note to the next. */
#pragma once

#include <stdbool.h>

#include "share/mps.h"

/* Under the daemon's lock. Notes the mode and sets EXCLUSIVE_PROCESS; where that is set already,
 * nothing. Returns 0 or −errno with `failure` filled. */
MUST_CHECK int mode_close(const struct mps *mps, struct counter_failure *failure);

/* Under the daemon's lock. Sets what the note says, where there is one and nobody has set another
 * mode since. Returns 0, or −errno with `failure` filled and the note kept. */
MUST_CHECK int mode_restore(const struct mps *mps, struct counter_failure *failure);

bool mode_is_noted(const struct mps *mps);
/* The same for the daemon's folder of that name below `parent`. */
bool mode_is_noted_in(const char *parent, const char *name);
