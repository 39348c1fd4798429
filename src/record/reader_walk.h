/* What the reader walks through: the samples and the lists of processes. */
#pragma once

#include "record/reader_state.h"

MUST_CHECK int reader_prepare_walks(struct record_reader *reader);
void reader_finish_walks(struct record_reader *reader);
