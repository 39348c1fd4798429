/* What sharing returns, from what a bench measured and what things cost here. Pure functions.
 *
 *   Θ       jobs per hour in the mode ÷ jobs per hour one after the other
 *   H       GPU hours a year that the jobs take one after the other
 *   freed   H · (1 − 1/Θ)
 *   δ       the part of the freed hours that is really used: 0 to 1
 *   ΔkWh    (H · P_exclusive − H/Θ · P_shared − freed · (1 − δ) · P_idle) ÷ 1000
 *   B       freed · c_GPUh · δ + ΔkWh · PUE · tariff       a year
 *   C       adoption + operations · years
 *   ROI     (B · years − C) ÷ C
 *   payback adoption ÷ ((B − operations) ÷ 12)             months
 *
 * Every price is given by who asks; there is none in here. */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "bench/result.h"
#include "bench/verdict.h"

struct roi_input {
    enum bench_mode mode;
    bool advised; /* by the decision of the result */
    struct measure_ratio theta;
    double exclusive_watts, shared_watts, idle_watts; /* NAN where not known */
    double gpu_hours;                                 /* a year */
    double gpu_hour_cost;
    double power_cost; /* a kWh */
    double pue;
    double adoption_cost;   /* once */
    double operations_cost; /* a year */
    double years;
    const char *currency;
};

struct roi {
    double delta;
    double freed_hours;
    double saved_kwh;      /* a year; NAN where power is not known */
    double hours_value;    /* a year */
    double power_value;    /* a year, 0 where not known */
    double benefit;        /* a year */
    double cost;           /* over all years */
    double ratio;          /* ROI; INFINITY, or −INFINITY for a loss, where nothing is to be paid */
    double payback_months; /* INFINITY: never */
};

/* Takes Θ and the powers of the mode from the result. Returns 0, or -ENODATA with `why` filled. */
MUST_CHECK int roi_take(struct roi_input *input, const struct bench_summary *summary,
                        double idle_watts, char *why, size_t why_size);

struct roi roi_compute(const struct roi_input *input, double delta);
/* The part of the freed hours from which on it pays: 0 where it does without any, INFINITY where it
 * never does; NAN where no hours are freed. */
double roi_break_even(const struct roi_input *input);

/* One input varied, and what ROI becomes at δ = 1. */
struct roi_variation {
    const char *name;
    double low, high;             /* of the input */
    double ratio_low, ratio_high; /* of ROI there */
};

enum { ROI_VARIATIONS = 6 };
/* Θ over its interval, the others by 20 % down and up. */
void roi_vary(const struct roi_input *input, struct roi_variation ret[ROI_VARIATIONS]);

/* The formula with its numbers. */
void roi_text(const struct roi_input *input, struct strbuf *out);
void roi_json(const struct roi_input *input, struct strbuf *out);
/* The same as a value within other JSON. */
void roi_put_json(const struct roi_input *input, struct json *json);
/* Parts of an HTML page: what it returns at which prices, and how that is computed. */
void roi_html(const struct roi_input *input, struct strbuf *out);
void roi_html_formula(const struct roi_input *input, struct strbuf *out);
