#include "view/view.h"

#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "metric/units.h"
#include "sol/sol.h"

struct column {
    const char *title;
    size_t width;
    bool left;
    void (*put)(const struct view_gpu *gpu, struct strbuf *out);
};

static void pad(struct strbuf *out, size_t count)
{
    while (count-- > 0)
        strbuf_putc(out, ' ');
}

static void put_cell(struct strbuf *out, const char *text, size_t width, bool left)
{
    size_t used = utf8_count(text);
    size_t missing = used < width ? width - used : 0;
    strbuf_putc(out, ' ');
    if (!left)
        pad(out, missing);
    strbuf_puts(out, text);
    if (left)
        pad(out, missing);
}

static const char *word_of(const struct sample *sample, enum metric metric)
{
    const char *word =
        sample_has(sample, metric) ? label_word(metric, sample->value[metric]) : NULL;
    return word ? word : "";
}

/* Unknown is not zero. */
static void put_scaled(const struct view_gpu *gpu, enum metric metric, double scale, int decimals,
                       struct strbuf *out)
{
    const struct sample *sample = &gpu->reading->sample;
    if (sample_has(sample, metric))
        strbuf_printf(out, "%.*f", decimals, sample->value[metric] * scale);
    else
        strbuf_putc(out, '-');
}

static void put_sol(const struct view_gpu *gpu, enum metric ratio, enum metric name,
                    struct strbuf *out)
{
    const struct sample *sample = &gpu->reading->sample;
    if (!sample_has(sample, ratio)) {
        strbuf_puts(out, "   -");
        return;
    }
    double percent = sample->value[ratio] * 100;
    strbuf_printf(out, "%4.*f %s", percent < 99.95 ? 1 : 0, percent, word_of(sample, name));
}

static void put_compute(const struct view_gpu *gpu, struct strbuf *out)
{
    put_sol(gpu, METRIC_COMPUTE_SOL, METRIC_COMPUTE_SOL_PIPE, out);
}

static void put_memory(const struct view_gpu *gpu, struct strbuf *out)
{
    put_sol(gpu, METRIC_MEMORY_SOL, METRIC_MEMORY_SOL_LEVEL, out);
}

static void put_bound(const struct view_gpu *gpu, struct strbuf *out)
{
    const char *word = word_of(&gpu->reading->sample, METRIC_BOUND);
    strbuf_puts(out, word[0] ? word : "-");
}

static void put_smi(const struct view_gpu *gpu, struct strbuf *out)
{
    put_scaled(gpu, METRIC_NVML_UTILIZATION, 100, 0, out);
}

static void put_sm(const struct view_gpu *gpu, struct strbuf *out)
{
    put_scaled(gpu, METRIC_SM_ACTIVE, 100, 1, out);
}

/* The effective clock, or NVML's with a star. */
static void put_clock(const struct view_gpu *gpu, struct strbuf *out)
{
    if (sample_has(&gpu->reading->sample, METRIC_EFFECTIVE_CLOCK)) {
        put_scaled(gpu, METRIC_EFFECTIVE_CLOCK, 1e-6, 0, out);
        return;
    }
    put_scaled(gpu, METRIC_SM_CLOCK, 1e-6, 0, out);
    if (sample_has(&gpu->reading->sample, METRIC_SM_CLOCK))
        strbuf_putc(out, '*');
}

/* A mean with a tilde. */
static void put_power(const struct view_gpu *gpu, struct strbuf *out)
{
    enum metric metric = sample_power(&gpu->reading->sample);
    put_scaled(gpu, metric, 1, 0, out);
    if (metric == METRIC_POWER_AVERAGE)
        strbuf_putc(out, '~');
}

static void put_memory_used(const struct view_gpu *gpu, struct strbuf *out)
{
    put_scaled(gpu, METRIC_MEMORY_USED, 0x1p-30, 1, out);
}

static void put_verdict(const struct view_gpu *gpu, struct strbuf *out)
{
    sol_verdict(gpu->device, &gpu->reading->sample, out);
}

enum { PLACE_WIDTH = 14, SHORTEST_VERDICT = 20 };

/* 72 columns before the verdict, which takes the rest. */
static const struct column columns[] = {
    {"COMPUTE %", 11, true, put_compute}, {"MEMORY %", 9, true, put_memory},
    {"BOUND", 7, true, put_bound},        {"SMI %", 5, false, put_smi},
    {"SM %", 5, false, put_sm},           {"MHz", 5, false, put_clock},
    {"W", 4, false, put_power},           {"GiB", 5, false, put_memory_used},
    {"VERDICT", 0, true, put_verdict},
};

/* Ends a line that began at `start`; on a terminal it does not wrap. */
static void end_line(struct view *view, size_t start, struct strbuf *out)
{
    while (out->length > start && out->text[out->length - 1] == ' ')
        strbuf_truncate(out, out->length - 1);
    const char *line = strbuf_text(out) + start;
    if (view->columns > 0 && !strbuf_failed(out) && utf8_count(line) > view->columns) {
        size_t kept = 0;
        for (size_t i = 1; i < view->columns; i++)
            kept += utf8_sequence_length(line + kept);
        strbuf_truncate(out, start + kept);
        strbuf_puts(out, "…");
    }
    strbuf_putc(out, '\n');
    view->lines++;
}

/* A column that would pass the edge of the terminal is left out, and so are those behind it: half a
 * number is a wrong one. Counts the columns in `used`. */
static bool fits(const struct view *view, size_t *used, size_t width)
{
    if (view->columns > 0 && *used + 1 + width > view->columns)
        return false;
    *used += 1 + width;
    return true;
}

static size_t least_width(const struct column *column)
{
    return column->width > 0 ? column->width : SHORTEST_VERDICT;
}

static size_t chosen_width(enum metric metric)
{
    size_t length = strlen(metric_info(metric)->name);
    return length > 10 ? length : 10;
}

static void write_header(struct view *view, struct strbuf *out)
{
    size_t start = out->length;
    size_t used = PLACE_WIDTH;
    view->lines = 0;
    strbuf_puts(out, "TIME       GPU");
    for (size_t i = 0; !view->metrics && i < ARRAY_SIZE(columns); i++) {
        if (!fits(view, &used, least_width(&columns[i])))
            break;
        put_cell(out, columns[i].title, columns[i].width, columns[i].left);
    }
    for (size_t i = 0; i < view->metric_count; i++) {
        size_t width = chosen_width(view->metrics[i]);
        if (!fits(view, &used, width))
            break;
        put_cell(out, metric_info(view->metrics[i])->name, width, false);
    }
    end_line(view, start, out);
}

static void put_columns(const struct view *view, const struct view_gpu *gpu, struct strbuf *cell,
                        struct strbuf *out)
{
    size_t used = PLACE_WIDTH;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        if (!fits(view, &used, least_width(&columns[i])))
            break;
        strbuf_clear(cell);
        columns[i].put(gpu, cell);
        put_cell(out, strbuf_text(cell), columns[i].width, columns[i].left);
    }
}

static void put_chosen(const struct view *view, const struct sample *sample, struct strbuf *cell,
                       struct strbuf *out)
{
    size_t used = PLACE_WIDTH;
    for (size_t i = 0; i < view->metric_count; i++) {
        enum metric metric = view->metrics[i];
        if (!fits(view, &used, chosen_width(metric)))
            break;
        strbuf_clear(cell);
        if (sample_has(sample, metric))
            metric_put_human(cell, metric, sample->value[metric]);
        put_cell(out, cell->length > 0 ? strbuf_text(cell) : "-", chosen_width(metric), false);
    }
}

/* What is said of a device that gave no values for this tick. */
static void put_silence(const struct reading *reading, struct strbuf *out)
{
    const struct absence_info *info = absence_info(reading_absence(reading->state));
    strbuf_printf(out, " %s for %.1f s: %s", reading_state_name(reading->state), reading->age,
                  info->reason);
    if (reading->error < 0 && reading->state == READING_FAILED)
        strbuf_printf(out, " (%s)", strerror(-reading->error));
}

static void write_gpu(struct view *view, const char *time, const struct view_gpu *gpu,
                      struct strbuf *out)
{
    char place[DEVICE_PLACE_SIZE];
    struct strbuf cell = {0};
    size_t start = out->length;
    strbuf_printf(out, "%-10s", time);
    put_cell(out, device_place(gpu->device, place), 3, false);
    if (gpu->reading->state != READING_OK)
        put_silence(gpu->reading, out);
    else if (view->metrics)
        put_chosen(view, &gpu->reading->sample, &cell, out);
    else
        put_columns(view, gpu, &cell, out);
    strbuf_free(&cell);
    end_line(view, start, out);
}

static bool any_sm_known(const struct process_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->process[i].sm_known)
            return true;
    return false;
}

static void put_sm_share(const struct process *process, struct strbuf *out)
{
    struct strbuf share = {0};
    if (process->sm_known)
        strbuf_printf(&share, "SM %.0f %%", process->sm_ratio * 100);
    put_cell(out, strbuf_text(&share), 8, false);
    strbuf_free(&share);
}

static void write_process(struct view *view, const struct process *process, bool with_sm,
                          struct strbuf *out)
{
    const struct process_description *description = view->describe(view->context, process->pid);
    size_t start = out->length;
    strbuf_printf(out, "               pid %-8d ", (int)process->pid);
    struct strbuf memory = {0};
    if (process->memory_known)
        metric_put_human(&memory, METRIC_MEMORY_USED, (double)process->memory_bytes);
    put_cell(out, memory.length > 0 ? strbuf_text(&memory) : "-", 9, false);
    strbuf_free(&memory);
    if (with_sm)
        put_sm_share(process, out);
    if (description->outside)
        strbuf_puts(out, "  not visible here: it has ended, or is of another container or host");
    else
        strbuf_printf(out, "  %-10s %s", description->user, description->command);
    end_line(view, start, out);
}

static void write_unowned(struct view *view, const struct view_gpu *gpu, struct strbuf *out)
{
    double bytes = reading_unowned_memory(gpu->reading);
    if (bytes == 0 || device_number(gpu->device, DEVICE_MIG_ENABLED, 0) == 1)
        return;
    size_t start = out->length;
    strbuf_puts(out, "               held by processes that are not listed: ");
    metric_put_human(out, METRIC_MEMORY_USED, bytes);
    end_line(view, start, out);
}

static void write_processes(struct view *view, const struct view_gpu *gpu, struct strbuf *out)
{
    const struct process_list *list = &gpu->reading->processes;
    bool with_sm = any_sm_known(list);
    for (size_t i = 0; i < list->count; i++)
        write_process(view, &list->process[i], with_sm, out);
    write_unowned(view, gpu, out);
    const char *note = !list->known      ? "processes are not known"
                       : list->truncated ? "and more processes"
                                         : NULL;
    if (!note)
        return;
    size_t start = out->length;
    strbuf_printf(out, "               %s", note);
    end_line(view, start, out);
}

static bool is_header_due(const struct view *view)
{
    return view->lines == 0 || (view->rows > 1 && view->lines + 1 >= view->rows);
}

static void write_marks(struct view *view, const struct view_frame *frame, struct strbuf *out)
{
    for (size_t i = 0; i < frame->mark_count; i++) {
        size_t start = out->length;
        if (!view_mark_begins(frame, &frame->marks[i]))
            continue;
        strbuf_printf(out, "-- %s", frame->marks[i].name);
        end_line(view, start, out);
    }
}

static void write_frame(struct view *view, const struct view_frame *frame, struct strbuf *out)
{
    char time[16];
    clock_format_time(frame->time, time, sizeof(time));
    if (is_header_due(view))
        write_header(view, out);
    write_marks(view, frame, out);
    for (size_t i = 0; i < frame->count; i++) {
        if (is_header_due(view))
            write_header(view, out);
        write_gpu(view, time, &frame->gpus[i], out);
        if (view->processes)
            write_processes(view, &frame->gpus[i], out);
    }
}

const struct view_form view_text = {.name = "text", .write = write_frame};
