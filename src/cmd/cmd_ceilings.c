#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/ceiling_table.h"
#include "cmd/common.h"
#include "metric/units.h"
#include "store/ceiling.h"

/* So much less is worth a look at the GPU, where the repeats themselves differ by less. */
static const double SLOWER_RATIO = 0.05;

struct settings {
    struct watch_options watch;
    const char *format;
    bool check;
};

static const struct option_row options[] = {
    {.name = "check",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct settings, check),
     .help = "Only what has become slower; the exit status is 1 where something has"},
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_SOURCE(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

struct row {
    const struct device *device;
    struct ceilings found, shipped;
    struct ceiling_value best[CEILING_COUNT]; /* ever measured on this GPU */
    double neighbours[CEILING_COUNT];         /* median of other GPUs of this kind, or NAN */
};

/* A product that goes by mma.sync, for want of the library, says nothing of one that does not. */
static bool are_alike(const struct ceiling_value *a, const struct ceiling_value *b)
{
    return !strstr(a->how, "mma.sync") == !strstr(b->how, "mma.sync");
}

static void take_best(void *context, enum ceiling ceiling, const struct ceiling_value *value)
{
    struct row *row = context;
    struct ceiling_value *best = &row->best[ceiling];
    if (are_alike(value, &row->found.of[ceiling]) &&
        (best->origin == CEILING_UNKNOWN || value->value > best->value))
        *best = *value;
}

static int read_row(struct row *row, const struct device *device, char *why, size_t why_size)
{
    *row = (struct row){.device = device};
    ceilings_shipped(device, &row->shipped);
    int r = ceilings_find(device, &row->found, why, why_size);
    return r < 0 ? r : ceilings_each(device->text[DEVICE_UUID], take_best, row, why, why_size);
}

static void find_neighbours(struct row *rows, size_t count, struct row *row, double *values)
{
    for (size_t i = 0; i < CEILING_COUNT; i++) {
        size_t found = 0;
        double spread;
        row->neighbours[i] = NAN;
        for (size_t k = 0; k < count; k++)
            if (&rows[k] != row && rows[k].found.of[i].origin == CEILING_MEASURED &&
                are_alike(&rows[k].found.of[i], &row->found.of[i]) &&
                strcmp(rows[k].device->text[DEVICE_NAME], row->device->text[DEVICE_NAME]) == 0)
                values[found++] = rows[k].found.of[i].value;
        if (found > 0)
            calibration_summary(values, found, &row->neighbours[i], &spread);
    }
}

/* Launches, say, take as long as the host lets them: their repeats lie further apart. */
static bool is_slower(const struct row *row, enum ceiling ceiling, double than)
{
    const struct ceiling_value *value = &row->found.of[ceiling];
    double spread = fmax(value->spread, row->best[ceiling].spread);
    return isfinite(than) && value->value < than * (1 - fmax(SLOWER_RATIO, spread));
}

static size_t put_finding(const struct row *row, enum ceiling ceiling, double than,
                          const char *what, struct strbuf *out)
{
    double value = row->found.of[ceiling].value;
    if (!is_slower(row, ceiling, than))
        return 0;
    strbuf_printf(out, "slower: %s of GPU %u is %.0f %% below %s, ", ceiling_info(ceiling)->name,
                  row->device->index, (1 - value / than) * 100, what);
    ceiling_put_human(out, ceiling, than);
    strbuf_putc(out, '\n');
    return 1;
}

static double best_of(const struct row *row, enum ceiling ceiling)
{
    const struct ceiling_value *best = &row->best[ceiling];
    return best->origin == CEILING_MEASURED ? best->value : NAN;
}

/* How fast launches are is a matter of the host, and that of the shipped ones was another. */
static double shipped_of(const struct row *row, enum ceiling ceiling)
{
    const struct ceiling_value *shipped = &row->shipped.of[ceiling];
    bool comparable = shipped->origin == CEILING_SHIPPED && ceiling != CEILING_LAUNCH_RATE &&
                      are_alike(shipped, &row->found.of[ceiling]);
    return comparable ? shipped->value : NAN;
}

/* Returns how many there are. */
static size_t put_findings(const struct row *row, struct strbuf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < CEILING_COUNT; i++) {
        enum ceiling ceiling = (enum ceiling)i;
        if (row->found.of[i].origin != CEILING_MEASURED)
            continue;
        char what[96];
        struct tm day;
        time_t seconds = (time_t)row->best[i].time;
        localtime_r(&seconds, &day);
        strftime(what, sizeof(what), "the best that this GPU did, on %Y-%m-%d", &day);
        count += put_finding(row, ceiling, best_of(row, ceiling), what, out);
        count +=
            put_finding(row, ceiling, row->neighbours[i], "the other GPUs of this kind here", out);
        count += put_finding(row, ceiling, shipped_of(row, ceiling),
                             "what is shipped for this kind", out);
    }
    return count;
}

static bool was_calibrated(const struct row *row)
{
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (row->found.of[i].origin == CEILING_MEASURED)
            return true;
    return false;
}

static bool is_divided(const struct device *device)
{
    return device_number(device, DEVICE_MIG_ENABLED, 0) > 0;
}

static void put_text(const struct row *const *rows, size_t count, struct strbuf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct device *device = rows[i]->device;
        if (i > 0)
            strbuf_putc(out, '\n');
        ceiling_table_title(device, out);
        ceiling_table_put(device, &rows[i]->found, out);
        put_findings(rows[i], out);
        if (was_calibrated(rows[i]))
            continue;
        strbuf_puts(out, device_is_mig(device) || is_divided(device)
                             ? "Not measured: only whole GPUs are, and MIG is on.\n"
                             : "Not measured on this GPU yet: run 'rooftop calibrate'.\n");
    }
}

/* Returns how many findings there are. */
static size_t put_check(const struct row *const *rows, size_t count, struct strbuf *out)
{
    size_t findings = 0;
    for (size_t i = 0; i < count; i++) {
        const struct device *device = rows[i]->device;
        findings += put_findings(rows[i], out);
        if (was_calibrated(rows[i]) || device_is_mig(device))
            continue;
        strbuf_printf(out, "GPU %u was not measured%s\n", device->index,
                      is_divided(device)
                          ? ": it is divided into MIG instances, and only whole GPUs are."
                          : " yet: run 'rooftop calibrate'.");
    }
    if (findings == 0)
        strbuf_puts(out, "Nothing that was measured has become slower.\n");
    return findings;
}

static void put_json_ceiling(const struct row *row, enum ceiling ceiling, struct json *json)
{
    const struct ceiling_value *value = &row->found.of[ceiling];
    bool measured = value->origin == CEILING_MEASURED;
    const struct {
        const char *key, *word;
        double than;
    } others[] = {
        {"best", "itself", best_of(row, ceiling)},
        {"neighbours", "neighbours", row->neighbours[ceiling]},
        {"shipped", "shipped", shipped_of(row, ceiling)},
    };
    json_object_begin(json);
    ceiling_table_json(row->device, ceiling, value, json);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        json_key(json, others[i].key);
        json_add_number_digits(json, others[i].than, 6);
    }
    json_key(json, "slower_than");
    json_array_begin(json);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (measured && is_slower(row, ceiling, others[i].than))
            json_add_text(json, others[i].word);
    json_array_end(json);
    json_object_end(json);
}

static void put_json(const struct row *const *rows, size_t count, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(&json);
        json_key(&json, "index");
        json_add_integer(&json, rows[i]->device->index);
        json_key(&json, "uuid");
        json_add_text_or_null(&json, rows[i]->device->text[DEVICE_UUID]);
        json_key(&json, "name");
        json_add_text_or_null(&json, rows[i]->device->text[DEVICE_NAME]);
        json_key(&json, "ceilings");
        json_array_begin(&json);
        for (size_t k = 0; k < CEILING_COUNT; k++)
            if (rows[i]->found.of[k].origin != CEILING_UNKNOWN)
                put_json_ceiling(rows[i], (enum ceiling)k, &json);
        json_array_end(&json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

/* All GPUs that are here count as neighbours, also those that are not chosen. */
static int read_rows(const struct counter *counter, struct row *rows, double *values, char *why,
                     size_t why_size)
{
    for (size_t i = 0; i < counter->device_count; i++) {
        int r = read_row(&rows[i], &counter->devices[i], why, why_size);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < counter->device_count; i++)
        find_neighbours(rows, counter->device_count, &rows[i], values);
    return 0;
}

static int print(const struct command *command, const struct settings *settings,
                 const struct row *const *rows, size_t count)
{
    struct strbuf check = {0}, out = {0};
    size_t findings = put_check(rows, count, &check);
    if (settings->format[0] == 'j')
        put_json(rows, count, &out);
    else if (!settings->check)
        put_text(rows, count, &out);
    int code = output_all(command, out.length > 0 ? &out : &check);
    strbuf_free(&check);
    strbuf_free(&out);
    return code == EXIT_DONE && settings->check && findings > 0 ? EXIT_FAILED : code;
}

static int show(const struct command *command, const struct settings *settings,
                const struct monitor *monitor)
{
    const struct counter *counter = monitor_counter(monitor);
    CLEANUP_FREE struct row *rows = calloc(counter->device_count + 1, sizeof(*rows));
    CLEANUP_FREE double *values = calloc(counter->device_count + 1, sizeof(*values));
    CLEANUP_FREE const struct row **chosen = calloc(counter->device_count + 1, sizeof(*chosen));
    char why[512];
    if (!rows || !values || !chosen)
        return run_error(command, "out of memory");
    if (read_rows(counter, rows, values, why, sizeof(why)) < 0)
        return run_error(command, "%s", why);
    for (size_t i = 0; i < monitor_count(monitor); i++)
        chosen[i] = &rows[monitor_device(monitor, i) - counter->devices];
    return print(command, settings, chosen, monitor_count(monitor));
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    struct monitor *monitor;
    int code = watch_open(command, &settings.watch, 0, &monitor);
    if (code != EXIT_DONE)
        return code;
    code = show(command, &settings, monitor);
    monitor_close(monitor);
    return code;
}

const struct command command_ceilings = {
    .name = "ceilings",
    .summary = "List what each GPU can do at best, and which has become slower",
    .operands = "",
    .options = options,
    .more =
        "Ceilings are measured by 'rooftop calibrate'; where that was not done, those of another\n"
        "GPU of the same kind are shown, where some are shipped. A ceiling that is more than 5 %\n"
        "(and than its repeats differ) below its best, below the other GPUs of its kind or below\n"
        "what is shipped is named.\n\n"
        "  rooftop ceilings\n"
        "  rooftop ceilings --check || mail -s 'a slow GPU' root\n",
    .run = run,
};
