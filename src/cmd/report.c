#include "cmd/report.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

enum { TEXT_INDENT = 22, TEXT_WIDTH = 100 };

static const char *level_word(enum finding_level level)
{
    static const char *const words[] = {"ok", "note", "mend"};
    return words[level];
}

void report_section(struct report *report, const struct device *device, const char *title, ...)
{
    struct section *sections =
        realloc(report->sections, (report->count + 1) * sizeof(*report->sections));
    if (!sections) {
        report->failed = true;
        return;
    }
    report->sections = sections;
    struct section *section = &sections[report->count++];
    *section = (struct section){.device = device};
    va_list args;
    va_start(args, title);
    vsnprintf(section->title, sizeof(section->title), title, args);
    va_end(args);
}

static struct finding *add(struct report *report, enum finding_level level, const char *topic,
                           const char *text, va_list args)
{
    if (report->failed)
        return NULL;
    struct section *section = &report->sections[report->count - 1];
    struct finding *findings =
        realloc(section->findings, (section->count + 1) * sizeof(*section->findings));
    if (!findings) {
        report->failed = true;
        return NULL;
    }
    section->findings = findings;
    struct finding *finding = &findings[section->count++];
    *finding = (struct finding){.level = level, .topic = topic};
    vsnprintf(finding->text, sizeof(finding->text), text, args);
    return finding;
}

struct finding *report_add(struct report *report, enum finding_level level, const char *topic,
                           const char *text, ...)
{
    va_list args;
    va_start(args, text);
    struct finding *finding = add(report, level, topic, text, args);
    va_end(args);
    return finding;
}

void report_advise(struct report *report, enum finding_level level, const char *topic,
                   const char *advice, const char *text, ...)
{
    va_list args;
    va_start(args, text);
    struct finding *finding = add(report, level, topic, text, args);
    va_end(args);
    if (finding)
        snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
}

bool report_has_mend(const struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        for (size_t k = 0; k < report->sections[i].count; k++)
            if (report->sections[i].findings[k].level == FINDING_MEND)
                return true;
    return false;
}

static bool is_about(const struct finding *finding, int metric)
{
    return finding->absent && finding->absent[metric] == finding->absence;
}

/* Words, broken into lines that begin under the first. The cursor is at TEXT_INDENT. */
static void put_wrapped(struct strbuf *out, const char *text)
{
    size_t column = TEXT_INDENT;
    while (*text) {
        char word[512];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        size_t width = utf8_count(word);
        if (column > TEXT_INDENT && column + 1 + width > TEXT_WIDTH) {
            strbuf_printf(out, "\n%*s", TEXT_INDENT, "");
            column = TEXT_INDENT;
        } else if (column > TEXT_INDENT) {
            strbuf_putc(out, ' ');
            column++;
        }
        strbuf_puts(out, word);
        column += width;
        text += length;
        text += strspn(text, " ");
    }
    strbuf_putc(out, '\n');
}

static void put_finding(const struct finding *finding, struct strbuf *out)
{
    struct strbuf text = {0};
    strbuf_puts(&text, finding->text);
    const char *separator = ": ";
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (!is_about(finding, i))
            continue;
        strbuf_printf(&text, "%s%s", separator, metric_info((enum metric)i)->name);
        separator = ", ";
    }
    strbuf_printf(out, "  %-4s  %-12s  ", level_word(finding->level), finding->topic);
    put_wrapped(out, strbuf_text(&text));
    if (finding->advice[0]) {
        strbuf_clear(&text);
        strbuf_printf(&text, "-> %s", finding->advice);
        strbuf_printf(out, "%*s", TEXT_INDENT, "");
        put_wrapped(out, strbuf_text(&text));
    }
    strbuf_free(&text);
}

void report_write_text(const struct report *report, struct strbuf *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct section *section = &report->sections[i];
        strbuf_printf(out, "%s%s\n", i > 0 ? "\n" : "", section->title);
        for (size_t k = 0; k < section->count; k++)
            put_finding(&section->findings[k], out);
    }
}

static void add_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_add_text_or_null(json, text);
}

static void write_finding(const struct finding *finding, struct json *json)
{
    json_object_begin(json);
    add_text(json, "level", level_word(finding->level));
    add_text(json, "topic", finding->topic);
    add_text(json, "text", finding->text);
    add_text(json, "advice", finding->advice);
    if (finding->absent) {
        add_text(json, "reason", absence_info(finding->absence)->word);
        json_key(json, "metrics");
        json_array_begin(json);
        for (int i = 0; i < METRIC_COUNT; i++)
            if (is_about(finding, i))
                json_add_text(json, metric_info((enum metric)i)->name);
        json_array_end(json);
    }
    json_object_end(json);
}

static void write_section(const struct section *section, struct json *json)
{
    json_object_begin(json);
    add_text(json, "title", section->title);
    if (section->device) {
        json_key(json, "index");
        json_add_integer(json, section->device->index);
        add_text(json, "uuid", section->device->text[DEVICE_UUID]);
        add_text(json, "name", section->device->text[DEVICE_NAME]);
    }
    json_key(json, "findings");
    json_array_begin(json);
    for (size_t i = 0; i < section->count; i++)
        write_finding(&section->findings[i], json);
    json_array_end(json);
    json_object_end(json);
}

void report_write_json(const struct report *report, int exit_code, struct strbuf *out)
{
    struct json json = json_start(out);
    json_object_begin(&json);
    json_key(&json, "exit_code");
    json_add_integer(&json, exit_code);
    json_key(&json, "sections");
    json_array_begin(&json);
    for (size_t i = 0; i < report->count; i++)
        write_section(&report->sections[i], &json);
    json_array_end(&json);
    json_object_end(&json);
    strbuf_putc(out, '\n');
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->sections[i].findings);
    free(report->sections);
    *report = (struct report){0};
}
