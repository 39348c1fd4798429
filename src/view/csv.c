#include "view/view.h"

#include <string.h>

#include "metric/units.h"
#include "sol/sol.h"

/* As RFC 4180 quotes: only where it is needed, a quote doubled. */
static void put_field(struct strbuf *out, const char *text)
{
    strbuf_putc(out, ',');
    if (!text[strcspn(text, ",\"\r\n")]) {
        strbuf_puts(out, text);
        return;
    }
    strbuf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}

static void put_number(struct strbuf *out, double value, enum metric_unit unit)
{
    strbuf_printf(out, ",%.*g", metric_digits(unit), value);
}

static void write_header(const struct view *view, struct strbuf *out)
{
    strbuf_puts(out, "time,index,uuid,name");
    for (size_t i = 0; i < VIEW_IDENTITY_COUNT; i++)
        put_field(out, device_number_field(view_identity[i])->name);
    strbuf_puts(out, ",state,age_seconds");
    for (size_t i = 0; i < view_metric_count(view); i++)
        put_field(out, metric_info(view_metric(view, i))->name);
    strbuf_puts(out, ",marks,verdict\n");
}

static void write_identity(const struct device *device, struct strbuf *out)
{
    strbuf_printf(out, ",%u", device->index);
    put_field(out, device->text[DEVICE_UUID]);
    put_field(out, device->text[DEVICE_NAME]);
    for (size_t i = 0; i < VIEW_IDENTITY_COUNT; i++) {
        if (device_knows(device, view_identity[i]))
            put_number(out, device->number[view_identity[i]], UNIT_COUNT);
        else
            strbuf_putc(out, ',');
    }
}

static void write_value(struct strbuf *out, enum metric metric, double value)
{
    enum metric_unit unit = metric_info(metric)->unit;
    if (unit == UNIT_FLAGS) {
        strbuf_putc(out, ',');
        flags_words(value, " ", out);
    } else if (unit != UNIT_LABEL)
        put_number(out, value, unit);
    else {
        const char *word = label_word(metric, value);
        put_field(out, word ? word : "");
    }
}

static void write_marks(const struct view_frame *frame, struct strbuf *out)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < frame->mark_count; i++)
        if (view_mark_holds(frame, &frame->marks[i]))
            strbuf_printf(&names, "%s%s", names.length > 0 ? "; " : "", frame->marks[i].name);
    put_field(out, strbuf_text(&names));
    strbuf_free(&names);
}

static void write_gpu(const struct view *view, const struct view_frame *frame,
                      const struct view_gpu *gpu, struct strbuf *out)
{
    const struct sample *sample = &gpu->reading->sample;
    strbuf_printf(out, "%.*g", metric_digits(UNIT_SECONDS), frame->time);
    write_identity(gpu->device, out);
    put_field(out, reading_state_name(gpu->reading->state));
    put_number(out, view_age(gpu->reading), UNIT_SECONDS);
    for (size_t i = 0; i < view_metric_count(view); i++) {
        enum metric metric = view_metric(view, i);
        if (sample_has(sample, metric))
            write_value(out, metric, sample->value[metric]);
        else
            strbuf_putc(out, ',');
    }
    write_marks(frame, out);
    struct strbuf verdict = {0};
    if (gpu->reading->state == READING_OK)
        sol_verdict(gpu->device, sample, &verdict);
    put_field(out, strbuf_text(&verdict));
    strbuf_free(&verdict);
    strbuf_putc(out, '\n');
}

static void write_frame(struct view *view, const struct view_frame *frame, struct strbuf *out)
{
    if (view->lines == 0)
        write_header(view, out);
    for (size_t i = 0; i < frame->count; i++)
        write_gpu(view, frame, &frame->gpus[i], out);
    view->lines += frame->count + 1;
}

const struct view_form view_csv = {.name = "csv", .write = write_frame};
