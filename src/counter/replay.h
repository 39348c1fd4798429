/* Plays a recording: "replay:FILE". */
#pragma once

#include "counter/counter.h"

extern const struct counter_ops replay_counter;
