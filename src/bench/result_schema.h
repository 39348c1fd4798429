/* Part of result*.c. */
#pragma once

#include "record/database.h"

/* The columns of a trial before those of the measures. */
enum { RESULT_FIRST_MEASURE = 4 };

extern const struct database_kind result_kind;
extern const char result_select_trials[];
extern const char result_insert_trial[];
