/* Counts the calls of malloc() and its like in the whole process, its libraries included. */
#pragma once

#include <stdbool.h>

/* Sanitizers bring an allocator of their own: there is nothing to count then. */
bool allocations_are_counted(void);
unsigned long allocations_so_far(void);
