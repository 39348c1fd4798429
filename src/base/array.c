#include "base/array.h"

#include <errno.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

int array_grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return 0;
    void *elements;
    memcpy(&elements, array, sizeof(elements));
    size_t more = *room ? 2 * *room : FIRST_ROOM;
    void *grown = reallocarray(elements, more, size);
    if (!grown)
        return -ENOMEM;
    memcpy(array, &grown, sizeof(grown));
    *room = more;
    return 0;
}
