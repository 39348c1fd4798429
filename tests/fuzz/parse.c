#include <math.h>

#include "base/parse.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    double number = -1, seconds = -1;
    uint64_t count = 7, bytes = 7;
    if (parse_double(text, &number) == 0)
        MUST(isfinite(number));
    else
        MUST(number == -1);
    if (parse_duration(text, &seconds) == 0)
        MUST(isfinite(seconds) && seconds >= 0);
    else
        MUST(seconds == -1);
    if (parse_unsigned(text, &count) == 0)
        MUST(strspn(text, "0123456789") == strlen(text));
    else
        MUST(count == 7);
    if (parse_bytes(text, &bytes) < 0)
        MUST(bytes == 7);
    free(text);
    return 0;
}
