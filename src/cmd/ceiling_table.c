#include "cmd/ceiling_table.h"

#include <math.h>
#include <stdio.h>

#include "metric/units.h"

static const char *const unit_words[] = {
    [CEILING_BYTES_PER_SECOND] = "bytes_per_second",
    [CEILING_FLOPS_PER_SECOND] = "flops_per_second",
    [CEILING_PER_SECOND] = "per_second",
};

static const char *const origin_words[] = {
    [CEILING_UNKNOWN] = "unknown",
    [CEILING_SHIPPED] = "shipped",
    [CEILING_MEASURED] = "measured",
};

void ceiling_table_title(const struct device *device, struct strbuf *out)
{
    strbuf_printf(out, "GPU %u  %s  %s\n", device->index, device->text[DEVICE_NAME],
                  device->text[DEVICE_UUID]);
}

/* A column, right-aligned; the degree sign is two bytes of one column. */
static void put_metric(struct strbuf *out, int width, enum metric metric, double value)
{
    struct strbuf text = {0};
    if (isfinite(value))
        metric_put_human(&text, metric, value);
    else
        strbuf_puts(&text, "-");
    int bytes = metric == METRIC_TEMPERATURE && isfinite(value) ? width + 1 : width;
    strbuf_printf(out, "  %*s", bytes, strbuf_text(&text));
    strbuf_free(&text);
}

static void put_line(const struct device *device, enum ceiling ceiling,
                     const struct ceiling_value *value, struct strbuf *out)
{
    struct strbuf text = {0};
    double datasheet;
    ceiling_put_human(&text, ceiling, value->value);
    strbuf_printf(out, "%-12s  %12s", ceiling_info(ceiling)->name, strbuf_text(&text));
    strbuf_free(&text);
    put_metric(out, 6, METRIC_COMPUTE_SOL, value->spread);
    put_metric(out, 9, METRIC_COMPUTE_SOL,
               ceiling_datasheet(device, ceiling, &datasheet) ? value->value / datasheet : NAN);
    put_metric(out, 7, METRIC_COMPUTE_SOL, value->ratio);
    put_metric(out, 8, METRIC_SM_CLOCK, value->clock);
    put_metric(out, 6, METRIC_TEMPERATURE, value->temperature);
    put_metric(out, 6, METRIC_POWER, value->power);
    strbuf_printf(out, "  %s\n", value->how);
}

void ceiling_table_put(const struct device *device, const struct ceilings *ceilings,
                       struct strbuf *out)
{
    strbuf_printf(out, "%-12s  %12s  %6s  %9s  %7s  %8s  %6s  %6s  %s\n", "ceiling", "value",
                  "spread", "datasheet", "counter", "clock", "temp.", "power", "how");
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (ceilings->of[i].origin != CEILING_UNKNOWN)
            put_line(device, (enum ceiling)i, &ceilings->of[i], out);
}

static void number(struct json *json, const char *key, double value, int digits)
{
    json_key(json, key);
    json_add_number_digits(json, value, digits);
}

void ceiling_table_json(const struct device *device, enum ceiling ceiling,
                        const struct ceiling_value *value, struct json *json)
{
    const struct ceiling_info *info = ceiling_info(ceiling);
    double datasheet;
    json_key(json, "ceiling");
    json_add_text(json, info->name);
    json_key(json, "unit");
    json_add_text(json, unit_words[info->unit]);
    json_key(json, "origin");
    json_add_text(json, origin_words[value->origin]);
    number(json, "value", value->value, 6);
    number(json, "spread_ratio", value->spread, 4);
    number(json, "datasheet", ceiling_datasheet(device, ceiling, &datasheet) ? datasheet : NAN, 6);
    number(json, "counter_ratio", value->ratio, 6);
    number(json, "clock_hertz", value->clock, 6);
    number(json, "temperature_celsius", value->temperature, 4);
    number(json, "power_watts", value->power, 5);
    number(json, "time", value->time, 15);
    json_key(json, "driver_version");
    json_add_text_or_null(json, value->driver);
    json_key(json, "how");
    json_add_text_or_null(json, value->how);
}

static const char *note_of(const struct witness_row *row)
{
    if (isnan(row->seen))
        return "the counter is missing";
    if (row->old_tensor_path)
        return "mma.sync on this chip: the pipe is busy at about 2/3 of its rate";
    if (row->nvml_clock)
        return "truth at NVML's clock: too low where the GPU ran slower";
    if (row->metric == METRIC_PCIE_RX || row->metric == METRIC_PCIE_TX ||
        row->metric == METRIC_NVLINK_TX)
        return "the link counts its protocol too";
    return "";
}

static bool is_ratio(const struct witness_row *row)
{
    return metric_info(row->metric)->unit == UNIT_RATIO;
}

/* Points of a ratio, per cent of a rate. */
static double error_of(const struct witness_row *row)
{
    return is_ratio(row) ? (row->seen - row->known) * 100 : (row->seen / row->known - 1) * 100;
}

void ceiling_table_put_errors(const struct witness_row *rows, size_t count, struct strbuf *out)
{
    strbuf_printf(out, "%-12s  %-28s  %11s  %11s  %11s  %7s\n", "work", "counter", "true",
                  "counted", "error", "samples");
    for (size_t i = 0; i < count; i++) {
        const struct witness_row *row = &rows[i];
        char error[32] = "-";
        if (!isnan(row->seen))
            snprintf(error, sizeof(error), "%+.2f %s", error_of(row), is_ratio(row) ? "pt" : "%");
        strbuf_printf(out, "%-12s  %-28s", ceiling_info(row->ceiling)->name,
                      metric_info(row->metric)->name);
        put_metric(out, 11, row->metric, row->known);
        put_metric(out, 11, row->metric, row->seen);
        strbuf_printf(out, "  %11s  %7zu", error, row->samples);
        const char *note = note_of(row);
        strbuf_printf(out, "%s%s\n", note[0] ? "  " : "", note);
    }
}

void ceiling_table_json_errors(const struct witness_row *rows, size_t count, struct json *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        const struct witness_row *row = &rows[i];
        json_object_begin(json);
        json_key(json, "ceiling");
        json_add_text(json, ceiling_info(row->ceiling)->name);
        json_key(json, "metric");
        json_add_text(json, metric_info(row->metric)->name);
        number(json, "true", row->known, 9);
        number(json, "counted", row->seen, 9);
        number(json, is_ratio(row) ? "error_points" : "error_percent", error_of(row), 4);
        json_key(json, "samples");
        json_add_integer(json, (int64_t)row->samples);
        json_key(json, "note");
        json_add_text_or_null(json, note_of(row));
        json_object_end(json);
    }
    json_array_end(json);
}
