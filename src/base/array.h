/* Arrays that grow as they are filled. */
#pragma once

#include <stddef.h>

#include "base/util.h"

/* Room for one more behind `count` elements of that size. `array` is the address of the pointer to
 * the first, `room` for how many there is memory. Returns 0, or -ENOMEM with the array as it was.
 */
MUST_CHECK int array_grow(void *array, size_t count, size_t *room, size_t size);
