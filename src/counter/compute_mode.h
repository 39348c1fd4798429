/* The one setting of a GPU that Rooftop changes, where the administrator asks for it. */
#pragma once

#include "counter/counter.h"

/* The mode in force now. Returns 0 or −errno with `failure` filled. */
MUST_CHECK int compute_mode_read(const char *uuid, enum compute_mode *ret,
                                 struct counter_failure *failure);

/* Sets it and reads it back. Returns 0 or −errno with `failure` filled: -EACCES: not as this
 * user. */
MUST_CHECK int compute_mode_set(const char *uuid, enum compute_mode mode,
                                struct counter_failure *failure);

/* As nvidia-smi calls it. */
const char *compute_mode_name(enum compute_mode mode);
