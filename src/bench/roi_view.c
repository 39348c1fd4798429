#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/xml.h"
#include "bench/report_html.h"

/* 12,345.60 */
static void put_money(double value, struct strbuf *out)
{
    struct strbuf digits = {0};
    strbuf_printf(&digits, "%.2f", fabs(value));
    size_t whole = digits.length > 3 ? digits.length - 3 : 0;
    if (value < 0)
        strbuf_puts(out, "−");
    for (size_t i = 0; i < digits.length; i++) {
        strbuf_putc(out, digits.text[i]);
        if (i + 1 < whole && (whole - i - 1) % 3 == 0)
            strbuf_putc(out, ',');
    }
    strbuf_free(&digits);
}

static void put_ratio(double ratio, struct strbuf *out)
{
    if (isinf(ratio))
        strbuf_puts(out, "nothing to pay");
    else
        strbuf_printf(out, "%s%.0f %%", ratio < 0 ? "−" : "", fabs(ratio) * 100);
}

static void put_payback(double months, struct strbuf *out)
{
    if (isinf(months))
        strbuf_puts(out, "never");
    else
        strbuf_printf(out, "%.1f months", months);
}

static void put_watts(double watts, struct strbuf *out)
{
    if (isfinite(watts))
        strbuf_printf(out, "%.0f W", watts);
    else
        strbuf_puts(out, "not measured");
}

static void text_inputs(const struct roi_input *input, struct strbuf *out)
{
    const char *currency = input->currency;
    strbuf_printf(out, "Measured: %s against one after the other\n",
                  bench_mode_info(input->mode)->title);
    strbuf_printf(out, "  Θ = %.3f times the jobs per hour", input->theta);
    if (isfinite(input->theta_low))
        strbuf_printf(out, " (%s: %.3f to %.3f)", BENCH_CONFIDENCE, input->theta_low,
                      input->theta_high);
    strbuf_puts(out, "\n  power: exclusive ");
    put_watts(input->exclusive_watts, out);
    strbuf_puts(out, ", shared ");
    put_watts(input->shared_watts, out);
    strbuf_puts(out, ", idle ");
    put_watts(input->idle_watts, out);
    strbuf_puts(out, "\nGiven:\n");
    strbuf_printf(
        out, "  H = %g GPU hours a year, c_GPUh = %g %s, tariff = %g %s a kWh, PUE = %g\n",
        input->gpu_hours, input->gpu_hour_cost, currency, input->power_cost, currency, input->pue);
    strbuf_printf(out, "  adoption = %g %s once, operations = %g %s a year, over %g year%s\n",
                  input->adoption_cost, currency, input->operations_cost, currency, input->years,
                  input->years == 1 ? "" : "s");
}

static void text_case(const struct roi_input *input, double delta, const char *title,
                      struct strbuf *out)
{
    struct roi roi = roi_compute(input, delta);
    strbuf_printf(out, "\n%s (δ = %g)\n", title, delta);
    strbuf_printf(out, "  freed   = H · (1 − 1/Θ) = %g · (1 − 1/%.3f) = %.1f GPU hours a year\n",
                  input->gpu_hours, input->theta, roi.freed_hours);
    if (isfinite(roi.saved_kwh))
        strbuf_printf(out,
                      "  ΔkWh    = (H · P_exclusive − H/Θ · P_shared − freed · (1 − δ) · P_idle) ÷ "
                      "1000\n          = %.1f kWh a year\n",
                      roi.saved_kwh);
    else
        strbuf_puts(out, "  ΔkWh    is not known: power was not measured; it counts as 0\n");
    strbuf_puts(out, "  B       = freed · c_GPUh · δ + ΔkWh · PUE · tariff\n          = ");
    put_money(roi.hours_value, out);
    strbuf_puts(out, " + ");
    put_money(roi.power_value, out);
    strbuf_puts(out, " = ");
    put_money(roi.benefit, out);
    strbuf_printf(out, " %s a year\n  C       = adoption + operations · years = ", input->currency);
    put_money(roi.cost, out);
    strbuf_printf(out, " %s\n  ROI     = (B · years − C) ÷ C = ", input->currency);
    put_ratio(roi.ratio, out);
    strbuf_puts(out, "\n  payback = adoption ÷ ((B − operations) ÷ 12) = ");
    put_payback(roi.payback_months, out);
    strbuf_putc(out, '\n');
}

static void put_break_even(const struct roi_input *input, struct strbuf *out)
{
    double delta = roi_break_even(input);
    if (isnan(delta))
        strbuf_puts(out, "Freed hours are worth nothing at these prices.");
    else if (delta <= 0)
        strbuf_puts(out, "It pays even where no freed hour is used.");
    else if (delta > 1)
        strbuf_puts(out, "It does not pay, even where every freed hour is used.");
    else
        strbuf_printf(out, "It pays from %.0f %% of the freed hours used.", ceil(delta * 100));
}

void roi_text(const struct roi_input *input, struct strbuf *out)
{
    text_inputs(input, out);
    text_case(input, 0, "Freed hours unused", out);
    text_case(input, 1, "Freed hours fully used", out);
    strbuf_putc(out, '\n');
    put_break_even(input, out);
    strbuf_puts(out, "\n\nROI, freed hours fully used, if one figure were different:\n");
    struct roi_variation variations[ROI_VARIATIONS];
    roi_vary(input, variations);
    for (size_t i = 0; i < ROI_VARIATIONS; i++) {
        strbuf_printf(out, "  %-20s %10.4g: ", variations[i].name, variations[i].low);
        put_ratio(variations[i].ratio_low, out);
        strbuf_printf(out, "   %10.4g: ", variations[i].high);
        put_ratio(variations[i].ratio_high, out);
        strbuf_putc(out, '\n');
    }
    strbuf_puts(out, "Not in it: jobs that fail together under MPS, and what a slower single job\n"
                     "costs.\n");
}

static void json_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_add_number_digits(json, value, 9);
}

static void json_case(struct json *json, const struct roi_input *input, double delta)
{
    struct roi roi = roi_compute(input, delta);
    json_object_begin(json);
    json_number(json, "delta", delta);
    json_number(json, "freed_hours", roi.freed_hours);
    json_number(json, "saved_kwh", roi.saved_kwh);
    json_number(json, "hours_value", roi.hours_value);
    json_number(json, "power_value", roi.power_value);
    json_number(json, "benefit", roi.benefit);
    json_number(json, "cost", roi.cost);
    json_number(json, "roi_ratio", roi.ratio);
    json_number(json, "payback_months", roi.payback_months);
    json_object_end(json);
}

void roi_json(const struct roi_input *input, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "mode");
    json_add_text(&json, bench_mode_info(input->mode)->name);
    json_key(&json, "currency");
    json_add_text(&json, input->currency);
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"theta", input->theta},
        {"theta_low", input->theta_low},
        {"theta_high", input->theta_high},
        {"exclusive_watts", input->exclusive_watts},
        {"shared_watts", input->shared_watts},
        {"idle_watts", input->idle_watts},
        {"gpu_hours", input->gpu_hours},
        {"gpu_hour_cost", input->gpu_hour_cost},
        {"power_cost", input->power_cost},
        {"pue", input->pue},
        {"adoption_cost", input->adoption_cost},
        {"operations_cost", input->operations_cost},
        {"years", input->years},
        {"break_even_delta", roi_break_even(input)},
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        json_number(&json, numbers[i].key, numbers[i].value);
    json_key(&json, "cases");
    json_array_begin(&json);
    json_case(&json, input, 0);
    json_case(&json, input, 1);
    json_array_end(&json);
    struct roi_variation variations[ROI_VARIATIONS];
    roi_vary(input, variations);
    json_key(&json, "sensitivity");
    json_array_begin(&json);
    for (size_t i = 0; i < ROI_VARIATIONS; i++) {
        json_object_begin(&json);
        json_key(&json, "input");
        json_add_text(&json, variations[i].name);
        json_number(&json, "low", variations[i].low);
        json_number(&json, "high", variations[i].high);
        json_number(&json, "roi_ratio_low", variations[i].ratio_low);
        json_number(&json, "roi_ratio_high", variations[i].ratio_high);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

static void html_row(const char *title, double none, double all, struct strbuf *out)
{
    const double values[] = {none, all};
    strbuf_printf(out, "<tr><th>%s</th>", title);
    for (size_t i = 0; i < 2; i++)
        if (isfinite(values[i]))
            strbuf_printf(out, "<td>%.0f</td>", values[i]);
        else
            strbuf_puts(out, "<td>not known</td>");
    strbuf_puts(out, "</tr>\n");
}

static void html_money_row(const char *title, const struct roi_input *input, double none,
                           double all, struct strbuf *out)
{
    strbuf_printf(out, "<tr><th>%s</th><td>", title);
    put_money(none, out);
    strbuf_putc(out, ' ');
    xml_put_text(out, input->currency);
    strbuf_puts(out, "</td><td>");
    put_money(all, out);
    strbuf_putc(out, ' ');
    xml_put_text(out, input->currency);
    strbuf_puts(out, "</td></tr>\n");
}

static void put_price(double value, const char *currency, struct strbuf *out)
{
    put_money(value, out);
    strbuf_printf(out, " %s", currency);
}

static void put_prices(const struct roi_input *input, struct strbuf *out)
{
    struct strbuf words = {0};
    const char *currency = input->currency;
    strbuf_printf(&words, "%g GPU hours a year today, at ", input->gpu_hours);
    put_price(input->gpu_hour_cost, currency, &words);
    strbuf_puts(&words, " each; ");
    put_price(input->power_cost, currency, &words);
    strbuf_printf(&words, " a kWh, PUE %g; ", input->pue);
    put_price(input->adoption_cost, currency, &words);
    strbuf_puts(&words, " to introduce it and ");
    put_price(input->operations_cost, currency, &words);
    strbuf_printf(&words, " a year to run it, over %g year%s", input->years,
                  input->years == 1 ? "" : "s");
    xml_put_text(out, strbuf_text(&words));
    strbuf_free(&words);
}

void roi_html(const struct roi_input *input, struct strbuf *out)
{
    struct roi none = roi_compute(input, 0), all = roi_compute(input, 1);
    strbuf_puts(out, "<section><h2>Return</h2>\n<p class=\"lead\">");
    put_break_even(input, out);
    strbuf_puts(out, "</p>\n<p>Given: ");
    put_prices(input, out);
    strbuf_puts(out, ".</p>\n<table><thead><tr><th></th><th>freed hours unused</th><th>freed hours "
                     "fully used</th></tr></thead><tbody>\n");
    html_row("GPU hours freed a year", none.freed_hours, all.freed_hours, out);
    html_row("kWh saved a year", none.saved_kwh, all.saved_kwh, out);
    html_money_row("Benefit a year", input, none.benefit, all.benefit, out);
    html_money_row("Cost over all years", input, none.cost, all.cost, out);
    strbuf_puts(out, "<tr><th>Return on it</th><td>");
    put_ratio(none.ratio, out);
    strbuf_puts(out, "</td><td>");
    put_ratio(all.ratio, out);
    strbuf_puts(out, "</td></tr>\n<tr><th>Paid back after</th><td>");
    put_payback(none.payback_months, out);
    strbuf_puts(out, "</td><td>");
    put_payback(all.payback_months, out);
    strbuf_puts(out, "</td></tr>\n</tbody></table></section>\n");
}

void roi_html_formula(const struct roi_input *input, struct strbuf *out)
{
    strbuf_puts(out, "<section><h2>The return: the formula with its numbers</h2>\n<pre>");
    struct strbuf text = {0};
    roi_text(input, &text);
    report_put_lines(out, strbuf_text(&text));
    strbuf_free(&text);
    strbuf_puts(out, "</pre></section>\n");
}
