#include "metric/units.h"

#include <math.h>

#include "base/clock.h"

int metric_digits(enum metric_unit unit)
{
    switch (unit) {
    case UNIT_RATIO:
    case UNIT_WATTS:
    case UNIT_CELSIUS:
        return 6;
    case UNIT_HERTZ:
    case UNIT_BYTES_PER_SECOND:
    case UNIT_FLOPS_PER_SECOND:
        return 9;
    default:
        return 15; /* a byte in a petabyte, and 10 µs of the time since 1970 */
    }
}

/* About three digits, with the prefix that brings the number below `step`. */
static void put_scaled(struct strbuf *out, double value, double step, const char *const *units)
{
    const char *const *first = units;
    while (fabs(value) >= step * 0.9995 && units[1]) {
        value /= step;
        units++;
    }
    int decimals = units == first || fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    strbuf_printf(out, "%.*f %s", decimals, value, *units);
}

static void put_bytes(struct strbuf *out, double value)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
    put_scaled(out, value, 1024, units);
}

static void put_byte_rate(struct strbuf *out, double value)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    put_scaled(out, value, 1000, units);
}

static void put_flop_rate(struct strbuf *out, double value)
{
    static const char *const units[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", NULL};
    put_scaled(out, value, 1000, units);
}

static void put_time(struct strbuf *out, double value)
{
    char text[16];
    clock_format_time(value, text, sizeof(text));
    strbuf_puts(out, text);
}

void metric_put_human(struct strbuf *out, enum metric metric, double value)
{
    const char *word;
    switch (metric_info(metric)->unit) {
    case UNIT_RATIO:
        strbuf_printf(out, "%.*f %%", value >= 0.9995 ? 0 : 1, value * 100);
        break;
    case UNIT_BYTES:
        put_bytes(out, value);
        break;
    case UNIT_BYTES_PER_SECOND:
        put_byte_rate(out, value);
        break;
    case UNIT_FLOPS_PER_SECOND:
        put_flop_rate(out, value);
        break;
    case UNIT_HERTZ:
        strbuf_printf(out, "%.0f MHz", value / 1e6);
        break;
    case UNIT_WATTS:
        strbuf_printf(out, "%.0f W", value);
        break;
    case UNIT_JOULES:
        strbuf_printf(out, "%.0f J", value);
        break;
    case UNIT_CELSIUS:
        strbuf_printf(out, "%.0f °C", value);
        break;
    case UNIT_SECONDS:
        put_time(out, value);
        break;
    case UNIT_DURATION:
        strbuf_printf(out, "%.1f s", value);
        break;
    case UNIT_COUNT:
        strbuf_printf(out, "%.15g", value);
        break;
    case UNIT_LABEL:
        word = label_word(metric, value);
        strbuf_puts(out, word ? word : "?");
        break;
    case UNIT_FLAGS:
        flags_words(value, " ", out);
        break;
    }
}
