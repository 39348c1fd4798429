#include "rooftop.h"

#include <errno.h>
#include <string.h>

#include "api/handle.h"

int rooftop_metric_count(void)
{
    return METRIC_COUNT;
}

int rooftop_metric_id(const char *name)
{
    enum metric metric = metric_by_name(name);
    return metric == METRIC_COUNT ? -ENOENT : (int)metric;
}

static const struct metric_info *info_of(int metric)
{
    return metric >= 0 && metric < METRIC_COUNT ? metric_info((enum metric)metric) : NULL;
}

const char *rooftop_metric_name(int metric)
{
    const struct metric_info *info = info_of(metric);
    return info ? info->name : NULL;
}

const char *rooftop_metric_unit(int metric)
{
    const struct metric_info *info = info_of(metric);
    return info ? metric_unit_name(info->unit) : NULL;
}

const char *rooftop_metric_span(int metric)
{
    const struct metric_info *info = info_of(metric);
    return info ? metric_span_name(info->span) : NULL;
}

const char *rooftop_metric_help(int metric)
{
    const struct metric_info *info = info_of(metric);
    return info ? info->help : NULL;
}

/* The sample that holds the metric; NULL: no such device or metric. */
static const struct sample *sample_of(const rooftop *handle, size_t device, int metric)
{
    const struct reading *reading = handle_reading(handle, device);
    return reading && info_of(metric) ? &reading->sample : NULL;
}

int rooftop_read(const rooftop *handle, size_t device, int metric, double *ret)
{
    const struct sample *sample = sample_of(handle, device, metric);
    if (!sample)
        return -EINVAL;
    if (!sample_has(sample, (enum metric)metric))
        return -ENODATA;
    *ret = sample->value[metric];
    return 0;
}

/* As snprintf() would. */
static int give_text(const char *from, char *text, size_t size)
{
    size_t length = strlen(from);
    if (size > 0) {
        size_t fits = util_min(length, size - 1);
        memcpy(text, from, fits);
        text[fits] = '\0';
    }
    return (int)length;
}

static int give_flags(double value, char *text, size_t size)
{
    struct strbuf words = {0};
    flags_words(value, ",", &words);
    int r = strbuf_failed(&words) ? -ENOMEM : give_text(strbuf_text(&words), text, size);
    strbuf_free(&words);
    return r;
}

int rooftop_read_words(const rooftop *handle, size_t device, int metric, char *text, size_t size)
{
    const struct metric_info *info = info_of(metric);
    if (!info || (info->unit != UNIT_LABEL && info->unit != UNIT_FLAGS))
        return -EINVAL;
    double value;
    int r = rooftop_read(handle, device, metric, &value);
    if (r < 0)
        return r;
    if (info->unit == UNIT_FLAGS)
        return give_flags(value, text, size);
    const char *word = label_word((enum metric)metric, value);
    return word ? give_text(word, text, size) : -ENODATA;
}

static const struct absence_info *absence_of(const rooftop *handle, size_t device, int metric)
{
    const struct sample *sample = sample_of(handle, device, metric);
    if (!sample || sample_has(sample, (enum metric)metric))
        return NULL;
    return absence_info((enum absence)sample->absent[metric]);
}

const char *rooftop_missing_word(const rooftop *handle, size_t device, int metric)
{
    const struct absence_info *absence = absence_of(handle, device, metric);
    return absence ? absence->word : NULL;
}

const char *rooftop_missing_reason(const rooftop *handle, size_t device, int metric)
{
    const struct absence_info *absence = absence_of(handle, device, metric);
    return absence ? absence->reason : NULL;
}

const char *rooftop_missing_advice(const rooftop *handle, size_t device, int metric)
{
    const struct absence_info *absence = absence_of(handle, device, metric);
    return absence ? absence->advice : NULL;
}
