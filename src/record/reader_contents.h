/* What the reader keeps in memory: all but the samples and the lists of processes. */
#pragma once

#include "record/reader_state.h"

MUST_CHECK int reader_load_contents(struct record_reader *reader);
