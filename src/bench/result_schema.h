/* Part of result*.c. */
#pragma once

#include <sqlite3.h>

/* The columns of a trial before those of the measures. */
enum { RESULT_FIRST_MEASURE = 4 };

extern const char result_schema[];
extern const char result_select_trials[];
extern const char result_insert_trial[];

/* 0 where the file is a result, 1 where it is empty, or −errno. */
int result_check_identity(sqlite3 *database);
