#include <string.h>

#include "cmd/common.h"
#include "cmd/completion.h"
#include "metric/device.h"
#include "metric/metric.h"
#include "record/format.h"
#include "tui/keys.h"

static const char introduction[] =
    "# Metrics\n"
    "\n"
    "Every metric that Rooftop knows. `rooftop stat --format json` and `csv`, the library and the\n"
    "recordings use these names. This page is made by `rooftop reference metrics` from the tables\n"
    "in src/metric; a test compares them.\n"
    "\n"
    "- A **ratio** goes from 0 to 1; screens show it in %.\n"
    "- Span **instant**: the value at the sample's time. **interval**: the mean since the sample\n"
    "  before. **total**: a counter that only grows.\n"
    "- **Unknown is not zero**: a value that is missing is null in JSON and empty in CSV, and has\n"
    "  one of the reasons at the end of this page. `rooftop doctor` says which, for the GPU "
    "here.\n";

static void add_metrics(struct strbuf *out, enum metric_origin origin)
{
    strbuf_puts(out, "\n| name | unit | span | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *info = metric_info((enum metric)i);
        if (info->origin == origin)
            strbuf_printf(out, "| `%s` | %s | %s | %s |\n", info->name,
                          metric_unit_name(info->unit), metric_span_name(info->span), info->help);
    }
}

static void add_words(struct strbuf *out)
{
    strbuf_puts(out, "\n| metric | word | meaning |\n|---|---|---|\n");
#define LABEL(metric, id, word, help)                                                              \
    strbuf_printf(out, "| `%s` | `%s` | %s |\n", metric_info(METRIC_##metric)->name, word, help);
#include "metric/label.def"
#undef LABEL
#define THROTTLE(bit, word, help)                                                                  \
    strbuf_printf(out, "| `%s` | `%s` | %s |\n", metric_info(METRIC_THROTTLE_REASONS)->name, word, \
                  help);
#include "metric/throttle.def"
#undef THROTTLE
}

static void add_device(struct strbuf *out)
{
    strbuf_puts(out, "\n| name | meaning |\n|---|---|\n");
    for (int i = 0; i < DEVICE_TEXT_COUNT; i++) {
        const struct device_field *field = device_text_field((enum device_text)i);
        strbuf_printf(out, "| `%s` | %s |\n", field->name, field->help);
    }
    for (int i = 0; i < DEVICE_NUMBER_COUNT; i++) {
        const struct device_field *field = device_number_field((enum device_number)i);
        strbuf_printf(out, "| `%s` | %s |\n", field->name, field->help);
    }
}

static void add_absences(struct strbuf *out)
{
    strbuf_puts(out, "\n| word | reason | what to do |\n|---|---|---|\n");
    for (int i = ABSENT_NO + 1; i < ABSENCE_COUNT; i++) {
        const struct absence_info *info = absence_info((enum absence)i);
        strbuf_printf(out, "| `%s` | %s | %s |\n", info->word, info->reason, info->advice);
    }
}

static void reference_metrics(struct strbuf *out)
{
    strbuf_puts(out, introduction);
    strbuf_puts(out, "\n## Measured\n\nRead from the GPU by a source; a recording holds them.\n");
    add_metrics(out, ORIGIN_MEASURED);
    strbuf_puts(out, "\n## Derived\n\nComputed from the measured ones, live and in a replay alike; "
                     "docs/SOL.md says how.\n");
    add_metrics(out, ORIGIN_DERIVED);
    strbuf_puts(out,
                "\n## Words\n\nWhat metrics of unit label (one word) and flags (several) say.\n");
    add_words(out);
    strbuf_puts(out,
                "\n## What stays true of a device\n\nShown by `rooftop list`, and kept once in a "
                "recording.\n");
    add_device(out);
    strbuf_puts(out, "\n## Why a value is missing\n");
    add_absences(out);
}

/* As the man page of top has them. */
static void reference_keys(struct strbuf *out)
{
    const char *section = "";
    for (int i = ACTION_NONE + 1; i < ACTION_COUNT; i++) {
        const struct action_info *info = action_info((enum action)i);
        char keys[KEYS_TEXT_SIZE];
        if (strcmp(section, info->section) != 0)
            strbuf_printf(out, "%s## %s\n", section[0] ? "\n" : "", info->section);
        section = info->section;
        strbuf_puts(out, "\n*");
        for (const char *c = action_keys((enum action)i, keys); *c; c++) {
            if (*c == '\\' || *c == '<' || *c == '*' || *c == '_')
                strbuf_putc(out, '\\');
            strbuf_putc(out, *c);
        }
        strbuf_printf(out, "*\n\t%s\n", info->help);
    }
}

static const struct reference {
    const char *name;
    void (*print)(struct strbuf *out);
} references[] = {
    {"metrics", reference_metrics},     {"format", record_describe_format},
    {"keys", reference_keys},           {"completion-bash", completion_bash},
    {"completion-zsh", completion_zsh}, {"completion-fish", completion_fish},
};

static const struct option_row options[] = {OPTIONS_END};

static int print(const struct command *command, const struct reference *reference)
{
    struct strbuf out = {0};
    reference->print(&out);
    int code = output_all(command, &out);
    strbuf_free(&out);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    int operands;
    int result = options_parse(command, argc, argv, NULL, &operands);
    if (result != OPTIONS_GO)
        return result;
    if (argc - operands != 1)
        return usage_error(command, "it prints one thing, and needs its name");
    for (size_t i = 0; i < ARRAY_SIZE(references); i++)
        if (strcmp(references[i].name, argv[operands]) == 0)
            return print(command, &references[i]);
    return usage_error(command, "there is no reference '%s'", argv[operands]);
}

const struct command command_reference = {
    .name = "reference",
    .summary = "Print what the tables in the program say",
    .operands = "WHAT",
    .options = options,
    .more = "WHAT is metrics (docs/METRICS.md), format (docs/FORMAT.md), keys\n"
            "(rooftop-top(1)), completion-bash, completion-zsh or completion-fish.\n",
    .run = run,
    .hidden = true,
};
