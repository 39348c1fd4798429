#include "counter/sim_value.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"

struct suffix {
    const char *text;
    double factor;
};

/* A number with one of the suffixes, or without. */
static int parse_suffixed(const char *text, const struct suffix *suffixes, size_t count,
                          double *ret)
{
    size_t length = strlen(text);
    double factor = 1;
    for (size_t i = 0; i < count; i++) {
        size_t tail = strlen(suffixes[i].text);
        if (length > tail && strcmp(text + length - tail, suffixes[i].text) == 0) {
            factor = suffixes[i].factor;
            length -= tail;
            break;
        }
    }
    char number[64];
    if (length >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, length);
    number[length] = '\0';
    double value;
    int r = parse_double(number, &value);
    if (r == 0)
        *ret = value * factor;
    return r;
}

static int parse_hertz(const char *text, double *ret)
{
    static const struct suffix units[] = {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}};
    return parse_suffixed(text, units, ARRAY_SIZE(units), ret);
}

static int parse_ratio(const char *text, double *ret)
{
    static const struct suffix percent[] = {{"%", 0.01}};
    return parse_suffixed(text, percent, ARRAY_SIZE(percent), ret);
}

static int parse_size(const char *text, double *ret)
{
    uint64_t bytes;
    int r = parse_bytes(text, &bytes);
    if (r == 0)
        *ret = (double)bytes;
    return r;
}

static int parse_flags(const char *text, double *ret)
{
    uint64_t bits = 0;
    if (strcmp(text, "none") == 0)
        text = "";
    while (*text) {
        char word[64];
        size_t length = strcspn(text, "+");
        if (length >= sizeof(word))
            return -EINVAL;
        memcpy(word, text, length);
        word[length] = '\0';
        int bit = flags_bit(word);
        if (bit < 0)
            return -EINVAL;
        bits |= UINT64_C(1) << bit;
        text += length + (text[length] == '+');
    }
    *ret = (double)bits;
    return 0;
}

int sim_value_parse(enum metric_unit unit, const char *text, double *ret)
{
    switch (unit) {
    case UNIT_BYTES:
    case UNIT_BYTES_PER_SECOND:
        return parse_size(text, ret);
    case UNIT_HERTZ:
        return parse_hertz(text, ret);
    case UNIT_RATIO:
        return parse_ratio(text, ret);
    case UNIT_FLAGS:
        return parse_flags(text, ret);
    default:
        return parse_double(text, ret);
    }
}

const char *sim_value_form(enum metric_unit unit)
{
    switch (unit) {
    case UNIT_BYTES:
    case UNIT_BYTES_PER_SECOND:
        return "bytes such as 512 or 8G";
    case UNIT_HERTZ:
        return "hertz such as 1980MHz";
    case UNIT_RATIO:
        return "a ratio such as 0.93 or 93%";
    case UNIT_FLAGS:
        return "words such as power_cap+thermal, or none";
    default:
        return "a number";
    }
}
