#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* strtod takes hexadecimal, "inf" and leading blanks: none of them is what a person meant. */
static bool starts_number(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    if (*text == '0' && (text[1] == 'x' || text[1] == 'X'))
        return false;
    return isdigit((unsigned char)*text) || *text == '.';
}

static int parse_leading(const char *text, double *ret, const char **ret_rest)
{
    if (!starts_number(text))
        return -EINVAL;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text)
        return -EINVAL;
    if (!isfinite(value))
        return -ERANGE;
    *ret = value;
    *ret_rest = end;
    return 0;
}

int parse_double(const char *text, double *ret)
{
    double value;
    const char *rest;
    int r = parse_leading(text, &value, &rest);
    if (r < 0)
        return r;
    if (*rest)
        return -EINVAL;
    *ret = value;
    return 0;
}

int parse_unsigned(const char *text, uint64_t *ret)
{
    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno == ERANGE)
        return -ERANGE;
    if (*end)
        return -EINVAL;
    *ret = value;
    return 0;
}

struct suffix {
    const char *text;
    double factor;
};

static int parse_with_suffix(const char *text, const struct suffix *suffixes, size_t count,
                             double *ret)
{
    double value;
    const char *rest;
    int r = parse_leading(text, &value, &rest);
    if (r < 0)
        return r;
    if (value < 0)
        return -ERANGE;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rest, suffixes[i].text) == 0) {
            *ret = value * suffixes[i].factor;
            return 0;
        }
    return -EINVAL;
}

int parse_duration(const char *text, double *ret_seconds)
{
    static const struct suffix suffixes[] = {
        {"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600},
    };
    return parse_with_suffix(text, suffixes, ARRAY_SIZE(suffixes), ret_seconds);
}

int parse_bytes(const char *text, uint64_t *ret_bytes)
{
    static const struct suffix suffixes[] = {
        {"", 1},       {"B", 1},        {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},
        {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},   {"GiB", 0x1p30},
        {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12},
    };
    double value;
    int r = parse_with_suffix(text, suffixes, ARRAY_SIZE(suffixes), &value);
    if (r < 0)
        return r;
    if (value >= 0x1p63)
        return -ERANGE;
    *ret_bytes = (uint64_t)value;
    return 0;
}
