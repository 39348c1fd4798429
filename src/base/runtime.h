/* Where the programs of one user meet: sockets and tables that last as long as the machine runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RUNTIME_FOLDERS = 3 };

/* The folders where they may be, the best place first, from 0 to RUNTIME_FOLDERS − 1; false where
 * there is no such place. A program outside the login session finds one inside it, and the other
 * way round. */
bool runtime_folder(unsigned which, char *ret, size_t size);
/* True where ROOFTOP_RUNTIME_DIR, which leaves no other place, says it. */
bool runtime_is_chosen(void);
