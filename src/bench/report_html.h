/* Parts of the page: report_html.c and report_charts.c. */
#pragma once

#include "bench/report.h"

void report_put_tag(struct strbuf *out, const char *tag, const char *text);

/* What must hold for the decision, and what it risks. */
void report_put_conditions(const struct bench_report *report, struct strbuf *out);
/* Sections of charts. */
void report_put_comparison(const struct bench_report *report, struct strbuf *out);
void report_put_utilisation(const struct bench_report *report, struct strbuf *out);
void report_put_slowdowns(const struct bench_report *report, struct strbuf *out);
void report_put_time_lines(const struct bench_report *report, struct strbuf *out);
/* Line by line, within <pre>. */
void report_put_lines(struct strbuf *out, const char *text);
