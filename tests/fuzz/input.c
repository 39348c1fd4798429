#include "tui/input.h"
#include "fuzz.h"

/* Every input comes to an end, takes no more than there is, and lies on the screen. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    while (size > 0) {
        struct input input, whole;
        size_t taken = input_parse(bytes, size, false, &input);
        size_t taken_whole = input_parse(bytes, size, true, &whole);
        MUST(taken <= size && taken_whole > 0 && taken_whole <= size);
        MUST(whole.x >= 0 && whole.y >= 0);
        if (taken > 0)
            MUST(taken == taken_whole && input.code == whole.code);
        bytes += taken_whole;
        size -= taken_whole;
    }
    return 0;
}
