#include "tui/format.h"

#include <math.h>
#include <stdio.h>

#include "metric/units.h"

static const char *unknown(char *ret)
{
    snprintf(ret, FORMAT_SIZE, "?");
    return ret;
}

const char *format_value(enum metric metric, double value, char *ret)
{
    if (isnan(value))
        return unknown(ret);
    struct strbuf text = {0};
    metric_put_human(&text, metric, value);
    snprintf(ret, FORMAT_SIZE, "%s", strbuf_text(&text));
    strbuf_free(&text);
    return ret;
}

const char *format_metric(const struct sample *sample, enum metric metric, char *ret)
{
    return format_value(metric, sample_get(sample, metric, NAN), ret);
}

const char *format_bytes(double bytes, char *ret)
{
    static const char prefixes[] = "BKMGTPE";
    if (isnan(bytes))
        return unknown(ret);
    size_t prefix = 0;
    while (bytes >= 1024 * 0.9995 && prefix + 2 < sizeof(prefixes)) {
        bytes /= 1024;
        prefix++;
    }
    int digits = prefix == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(ret, FORMAT_SIZE, "%.*f%c", digits, bytes, prefixes[prefix]);
    return ret;
}

const char *format_span(double seconds, char *ret)
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    if (isnan(seconds))
        return unknown(ret);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (seconds >= units[i].seconds) {
            snprintf(ret, FORMAT_SIZE, "%.4g %s", floor(seconds / units[i].seconds * 10) / 10,
                     units[i].unit);
            return ret;
        }
    snprintf(ret, FORMAT_SIZE, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    return ret;
}

const char *format_clock(double seconds, char *ret)
{
    if (isnan(seconds))
        return unknown(ret);
    double tenths = floor(fabs(seconds) * 10 + 0.5);
    double whole = floor(tenths / 10);
    int hours = (int)fmin(whole / 3600, 99999);
    int minutes = (int)fmod(whole / 60, 60);
    int rest = (int)fmod(whole, 60);
    int tenth = (int)fmod(tenths, 10);
    const char *sign = seconds < 0 && tenths > 0 ? "-" : "";
    if (hours > 0)
        snprintf(ret, FORMAT_SIZE, "%s%d:%02d:%02d.%d", sign, hours, minutes, rest, tenth);
    else
        snprintf(ret, FORMAT_SIZE, "%s%d:%02d.%d", sign, minutes, rest, tenth);
    return ret;
}
