#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/xml.h"
#include "bench/report_html.h"

static void put_rounded(double value, int digits, struct strbuf *out)
{
    bool is_negative = value <= -0.5 * pow(10, -digits);
    strbuf_printf(out, "%s%.*f", is_negative ? "−" : "", digits, fabs(value));
}

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

static void put_unit(const char *currency, struct strbuf *out)
{
    strbuf_printf(out, "%s%s", currency[0] ? " " : "", currency);
}

/* 6,000.00, but 0.085: a price is stated to its last digit. */
static void put_price(double value, const char *currency, struct strbuf *out)
{
    if (fabs(value * 100 - round(value * 100)) < 1e-6)
        put_money(value, out);
    else
        strbuf_printf(out, "%.10g", value);
    put_unit(currency, out);
}

static void put_ratio(double ratio, struct strbuf *out)
{
    if (isinf(ratio)) {
        strbuf_puts(out, ratio > 0 ? "nothing to pay" : "a loss");
        return;
    }
    put_rounded(ratio * 100, 0, out);
    strbuf_puts(out, " %");
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
    strbuf_printf(out, "  Θ = %.3f times the jobs per hour", input->theta.value);
    if (isfinite(input->theta.low))
        strbuf_printf(out, " (%s: %.3f to %.3f)", BENCH_CONFIDENCE, input->theta.low,
                      input->theta.high);
    strbuf_puts(out, "\n  power: exclusive ");
    put_watts(input->exclusive_watts, out);
    strbuf_puts(out, ", shared ");
    put_watts(input->shared_watts, out);
    strbuf_puts(out, ", idle ");
    put_watts(input->idle_watts, out);
    if (!input->advised)
        strbuf_puts(out, "\n  rooftop report does not advise this mode");
    strbuf_puts(out, "\nGiven:\n");
    strbuf_printf(out, "  H = %.10g GPU hours a year, c_GPUh = %.10g", input->gpu_hours,
                  input->gpu_hour_cost);
    put_unit(currency, out);
    strbuf_printf(out, ", tariff = %.10g", input->power_cost);
    put_unit(currency, out);
    strbuf_printf(out, " a kWh, PUE = %.10g\n  adoption = %.10g", input->pue, input->adoption_cost);
    put_unit(currency, out);
    strbuf_printf(out, " once, operations = %.10g", input->operations_cost);
    put_unit(currency, out);
    strbuf_printf(out, " a year, over %.10g year%s\n", input->years, input->years == 1 ? "" : "s");
}

static void text_case(const struct roi_input *input, double delta, const char *title,
                      struct strbuf *out)
{
    struct roi roi = roi_compute(input, delta);
    strbuf_printf(out, "\n%s (δ = %g)\n", title, delta);
    strbuf_printf(out, "  freed   = H · (1 − 1/Θ) = %.10g · (1 − 1/%.3f) = ", input->gpu_hours,
                  input->theta.value);
    put_rounded(roi.freed_hours, 1, out);
    strbuf_puts(out, " GPU hours a year\n");
    if (isfinite(roi.saved_kwh)) {
        strbuf_puts(out,
                    "  ΔkWh    = (H · P_exclusive − H/Θ · P_shared − freed · (1 − δ) · P_idle) "
                    "÷ 1000\n          = ");
        put_rounded(roi.saved_kwh, 1, out);
        strbuf_puts(out, " kWh a year\n");
    } else
        strbuf_puts(out, "  ΔkWh    is not known: power was not measured; it counts as 0\n");
    strbuf_puts(out, "  B       = freed · c_GPUh · δ + ΔkWh · PUE · tariff\n          = ");
    put_money(roi.hours_value, out);
    strbuf_puts(out, " + ");
    put_money(roi.power_value, out);
    strbuf_puts(out, " = ");
    put_money(roi.benefit, out);
    put_unit(input->currency, out);
    strbuf_puts(out, " a year\n  C       = adoption + operations · years = ");
    put_money(roi.cost, out);
    put_unit(input->currency, out);
    strbuf_puts(out, "\n  ROI     = (B · years − C) ÷ C = ");
    put_ratio(roi.ratio, out);
    strbuf_puts(out, "\n  payback = adoption ÷ ((B − operations) ÷ 12) = ");
    put_payback(roi.payback_months, out);
    strbuf_putc(out, '\n');
}

static void put_break_even(const struct roi_input *input, struct strbuf *out)
{
    double delta = roi_break_even(input);
    if (isnan(delta))
        strbuf_puts(out, "It frees no GPU hours: this mode does not do more jobs per hour.");
    else if (delta == 0)
        strbuf_puts(out, "It pays even where no freed hour is used.");
    else if (isinf(delta))
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

void roi_put_json(const struct roi_input *input, struct json *json)
{
    struct strbuf conclusion = {0};
    put_break_even(input, &conclusion);
    json_object_begin(json);
    json_key(json, "mode");
    json_add_text(json, bench_mode_info(input->mode)->name);
    json_key(json, "advised");
    json_add_bool(json, input->advised);
    json_key(json, "currency");
    json_add_text(json, input->currency);
    json_key(json, "sentence");
    json_add_text(json, strbuf_text(&conclusion));
    strbuf_free(&conclusion);
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"theta", input->theta.value},
        {"theta_low", input->theta.low},
        {"theta_high", input->theta.high},
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
        json_number(json, numbers[i].key, numbers[i].value);
    json_key(json, "cases");
    json_array_begin(json);
    json_case(json, input, 0);
    json_case(json, input, 1);
    json_array_end(json);
    struct roi_variation variations[ROI_VARIATIONS];
    roi_vary(input, variations);
    json_key(json, "sensitivity");
    json_array_begin(json);
    for (size_t i = 0; i < ROI_VARIATIONS; i++) {
        json_object_begin(json);
        json_key(json, "input");
        json_add_text(json, variations[i].name);
        json_number(json, "low", variations[i].low);
        json_number(json, "high", variations[i].high);
        json_number(json, "roi_ratio_low", variations[i].ratio_low);
        json_number(json, "roi_ratio_high", variations[i].ratio_high);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

void roi_json(const struct roi_input *input, struct strbuf *out)
{
    struct json json = json_start(out);
    roi_put_json(input, &json);
    strbuf_putc(out, '\n');
}

static void html_row(const char *title, double none, double all, struct strbuf *out)
{
    const double values[] = {none, all};
    strbuf_printf(out, "<tr><th>%s</th>", title);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        strbuf_puts(out, "<td>");
        if (isfinite(values[i]))
            put_rounded(values[i], 0, out);
        else
            strbuf_puts(out, "not known");
        strbuf_puts(out, "</td>");
    }
    strbuf_puts(out, "</tr>\n");
}

static void html_money_row(const char *title, const struct roi_input *input, double none,
                           double all, struct strbuf *out)
{
    const double values[] = {none, all};
    strbuf_printf(out, "<tr><th>%s</th>", title);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        struct strbuf money = {0};
        put_money(values[i], &money);
        put_unit(input->currency, &money);
        report_put_tag(out, "td", strbuf_text(&money));
        strbuf_free(&money);
    }
    strbuf_puts(out, "</tr>\n");
}

static void put_prices(const struct roi_input *input, struct strbuf *out)
{
    struct strbuf words = {0};
    const char *currency = input->currency;
    strbuf_printf(&words, "%.10g GPU hours a year today, at ", input->gpu_hours);
    put_price(input->gpu_hour_cost, currency, &words);
    strbuf_puts(&words, " each; ");
    put_price(input->power_cost, currency, &words);
    strbuf_printf(&words, " a kWh, PUE %.10g; ", input->pue);
    put_price(input->adoption_cost, currency, &words);
    strbuf_puts(&words, " to introduce it and ");
    put_price(input->operations_cost, currency, &words);
    strbuf_printf(&words, " a year to run it, over %.10g year%s", input->years,
                  input->years == 1 ? "" : "s");
    xml_put_text(out, strbuf_text(&words));
    strbuf_free(&words);
}

void roi_html(const struct roi_input *input, struct strbuf *out)
{
    struct roi none = roi_compute(input, 0), all = roi_compute(input, 1);
    strbuf_printf(out, "<section><h2>Return</h2>\n<p class=\"lead\">%s: ",
                  bench_mode_info(input->mode)->title);
    put_break_even(input, out);
    if (!input->advised)
        strbuf_puts(out, " The measurements above do not advise this mode.");
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
