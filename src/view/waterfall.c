#include "view/waterfall.h"

#include "base/json.h"
#include "metric/units.h"
#include "sol/tensor_path.h"

/* A clock that is known for less of it is said to be. */
static const double ALL_THE_TIME = 0.95;

static void put_title(const struct device *device, struct strbuf *out)
{
    if (device_is_mig(device))
        strbuf_printf(out, "GPU %.0f, MIG instance %u: %s", device->number[DEVICE_PARENT],
                      device->index, device->text[DEVICE_NAME]);
    else
        strbuf_printf(out, "GPU %u: %s", device->index, device->text[DEVICE_NAME]);
}

static void put_step(const struct fall *fall, enum fall_step step, struct strbuf *out)
{
    if (step == FALL_CLOCK && !fall_knows_clock(fall)) {
        strbuf_printf(out, "  %-9s        -        -        -  not known: %s\n", fall_name(step),
                      absence_info(fall->no_clock)->reason);
        return;
    }
    strbuf_printf(out, "  %-9s  %5.1f %%  %5.1f %%  %5.1f %%  %s", fall_name(step),
                  fall_factor(fall, step) * 100, fall_left(fall, step) * 100,
                  fall_lost(fall, step) * 100, fall_meaning(step));
    if (step == FALL_CLOCK && fall->clock_seconds < ALL_THE_TIME * fall->seconds)
        strbuf_printf(out, " (known for %.1f s)", fall->clock_seconds);
    strbuf_putc(out, '\n');
    if (fall_lost(fall, step) < VIEW_WORTH_ADVICE)
        return;
    strbuf_puts(out, "             ");
    fall_advice(fall, step, out);
    strbuf_putc(out, '\n');
}

static void put_flops(const struct fall *fall, struct strbuf *out)
{
    if (fall->peak_seconds <= 0)
        return;
    strbuf_puts(out, "  that is ");
    metric_put_human(out, METRIC_ACHIEVED_FLOPS, fall->achieved_flops / fall->flops_seconds);
    strbuf_puts(out, " of ");
    metric_put_human(out, METRIC_PEAK_FLOPS, fall->peak_flops / fall->peak_seconds);
    strbuf_puts(out, ", if the work was of the type that is assumed");
    if (fall->old_path_seconds > fall->peak_seconds / 2) {
        strbuf_puts(out, "; about ");
        metric_put_human(out, METRIC_ACHIEVED_FLOPS,
                         TENSOR_OLD_RATE * fall->achieved_flops / fall->flops_seconds);
        strbuf_puts(out, ", if by mma.sync");
    }
    strbuf_putc(out, '\n');
}

static void put_gpu(const struct view_fall *view, struct strbuf *out)
{
    const struct fall *fall = view->fall;
    put_title(view->device, out);
    if (fall->seconds <= 0) {
        strbuf_printf(out, "\n  no waterfall: %s\n", absence_info(fall->no_step)->reason);
        return;
    }
    strbuf_printf(out, ", %.1f s\n  step        factor     left     lost\n", fall->seconds);
    for (int step = 0; step < FALL_STEPS; step++)
        put_step(fall, (enum fall_step)step, out);
    strbuf_printf(out, "  %-9s           %5.1f %%           of the peak%s\n", "achieved",
                  fall_left(fall, FALL_PIPE) * 100,
                  fall_knows_clock(fall) ? "" : " at the clock that there was");
    put_flops(fall, out);
}

void view_falls_text(const struct view_falls *falls, struct strbuf *out)
{
    for (size_t i = 0; i < falls->count; i++) {
        if (i > 0)
            strbuf_putc(out, '\n');
        put_gpu(&falls->falls[i], out);
    }
}

static void add_ratio(struct json *json, const char *key, bool known, double value)
{
    json_key(json, key);
    if (known)
        json_add_number_digits(json, value, 6);
    else
        json_add_null(json);
}

static void add_step(struct json *json, const struct fall *fall, enum fall_step step)
{
    bool known = fall->seconds > 0 && (step != FALL_CLOCK || fall_knows_clock(fall));
    enum absence why = step == FALL_CLOCK ? fall->no_clock : fall->no_step;
    struct strbuf advice = {0};
    json_object_begin(json);
    json_key(json, "step");
    json_add_text(json, fall_name(step));
    add_ratio(json, "factor_ratio", known, fall_factor(fall, step));
    add_ratio(json, "left_ratio", known, fall_left(fall, step));
    add_ratio(json, "lost_ratio", known, fall_lost(fall, step));
    json_key(json, known ? "advice" : "absent");
    if (known)
        fall_advice(fall, step, &advice);
    json_add_text(json, known ? strbuf_text(&advice) : absence_info(why)->word);
    json_object_end(json);
    strbuf_free(&advice);
}

static void add_gpu(struct json *json, const struct view_fall *view)
{
    const struct fall *fall = view->fall;
    const struct device *device = view->device;
    bool flops = fall->flops_seconds > 0;
    json_object_begin(json);
    json_key(json, "index");
    json_add_integer(json, device->index);
    json_key(json, "uuid");
    json_add_text_or_null(json, device->text[DEVICE_UUID]);
    json_key(json, "name");
    json_add_text_or_null(json, device->text[DEVICE_NAME]);
    json_key(json, "seconds");
    json_add_number_digits(json, fall->seconds, 6);
    json_key(json, "clock_known");
    json_add_bool(json, fall_knows_clock(fall));
    json_key(json, "clock_seconds");
    json_add_number_digits(json, fall->clock_seconds, 6);
    add_ratio(json, "achieved_ratio", fall->seconds > 0, fall_left(fall, FALL_PIPE));
    add_ratio(json, "achieved_flops_per_second", flops, fall->achieved_flops / fall->flops_seconds);
    add_ratio(json, "peak_flops_per_second", fall->peak_seconds > 0,
              fall->peak_flops / fall->peak_seconds);
    json_key(json, "steps");
    json_array_begin(json);
    for (int step = 0; step < FALL_STEPS; step++)
        add_step(json, fall, (enum fall_step)step);
    json_array_end(json);
    json_object_end(json);
}

void view_falls_json(const struct view_falls *falls, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "begin");
    json_add_number(&json, falls->begin);
    json_key(&json, "end");
    json_add_number(&json, falls->end);
    json_key(&json, "gpus");
    json_array_begin(&json);
    for (size_t i = 0; i < falls->count; i++)
        add_gpu(&json, &falls->falls[i]);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}
