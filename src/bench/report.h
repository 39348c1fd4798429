/* A result for people and for programs. */
#pragma once

#include "bench/result.h"
#include "bench/roi.h"
#include "bench/verdict.h"

struct bench_report {
    const struct result *result;
    const struct bench_summary *summary;
    struct bench_decision decision;
    const struct roi_input *roi; /* NULL: nothing of money */
};

struct bench_report_form {
    const char *name;
    void (*write)(const struct bench_report *report, struct strbuf *out);
};

/* The form of that name, or NULL. */
const struct bench_report_form *bench_report_form(const char *name);

void bench_report_text(const struct bench_report *report, struct strbuf *out);
/* One object with all measures, jobs and trials. */
void bench_report_json(const struct bench_report *report, struct strbuf *out);
/* A line for each trial, mode and measure: long, for a spreadsheet's pivot table. */
void bench_report_csv(const struct bench_report *report, struct strbuf *out);
/* One page that needs nothing else. */
void bench_report_html(const struct bench_report *report, struct strbuf *out);

/* For the forms. The result has trials of the mode. */
bool bench_report_has(const struct bench_report *report, int mode);
/* Some job of some trial failed. */
bool bench_report_has_failures(const struct bench_report *report);
/* "a GPU fault took down a and b together; …" where one did. */
void bench_report_put_fault(const struct bench_report *report, const struct bench_trial *trial,
                            struct strbuf *out);
/* What the clock of this result is worth; NULL where the effective one is known of every mode. */
const char *bench_report_clock_note(const struct bench_report *report);
/* The measure is known of a mode. */
bool bench_report_knows(const struct bench_report *report, enum measure measure);
