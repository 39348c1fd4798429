#include "counter/cupti/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int cupti_session_open(struct cupti_session *ret, const struct cupti *cupti, size_t device)
{
    struct cupti_pm_enable enable = {
        .size = CUPTI_SIZE(struct cupti_pm_enable, session),
        .device = device,
    };
    int r = cupti->pm_enable(&enable);
    if (r == CUPTI_OK)
        *ret = (struct cupti_session){.cupti = cupti, .device = device, .object = enable.session};
    return r;
}

static int on_session(struct cupti_session *session, int (*call)(struct cupti_pm_session *))
{
    struct cupti_pm_session argument = {
        .size = CUPTI_SIZE(struct cupti_pm_session, session),
        .session = session->object,
    };
    return call(&argument);
}

static int set_config(struct cupti_session *session, const struct cupti_sampling *sampling)
{
    double ticks_per_second = sampling->trigger == CUPTI_TRIGGER_TIME ? 1e9 : sampling->sysclk;
    struct cupti_pm_set_config set = {
        .size = CUPTI_SIZE(struct cupti_pm_set_config, append),
        .session = session->object,
        .config_size = session->config->size,
        .config = session->config->image,
        .buffer_size = sampling->buffer_size,
        .interval = (uint64_t)(sampling->interval * ticks_per_second),
        .trigger = sampling->trigger,
        .append = CUPTI_KEEP_OLDEST,
    };
    return session->cupti->pm_set_config(&set);
}

static int empty_image(struct cupti_session *session)
{
    struct cupti_pm_image_initialize initialize = {
        .size = CUPTI_SIZE(struct cupti_pm_image_initialize, image),
        .session = session->object,
        .image_size = session->image_size,
        .image = session->image,
    };
    return session->cupti->pm_image_initialize(&initialize);
}

static int make_image(struct cupti_session *session, size_t max_samples)
{
    struct cupti_pm_image_size ask = {
        .size = CUPTI_SIZE(struct cupti_pm_image_size, image_size),
        .session = session->object,
        .names = (const char **)session->names,
        .count = session->name_count,
        .max_samples = (uint32_t)max_samples,
    };
    int r = session->cupti->pm_image_size(&ask);
    if (r != CUPTI_OK)
        return r;
    free(session->image);
    session->image = malloc(ask.image_size);
    session->image_size = ask.image_size;
    return session->image ? empty_image(session) : -ENOMEM;
}

int cupti_session_configure(struct cupti_session *session, const struct cupti_config *config,
                            const char *const *names, size_t name_count,
                            const struct cupti_sampling *sampling)
{
    session->config = config;
    session->names = names;
    session->name_count = name_count;
    int r = set_config(session, sampling);
    return r == CUPTI_OK ? make_image(session, sampling->max_samples) : r;
}

int cupti_session_start(struct cupti_session *session)
{
    int r = on_session(session, session->cupti->pm_start);
    session->started = session->fresh = r == CUPTI_OK;
    return r;
}

static int decode(struct cupti_session *session, bool *ret_overflow)
{
    struct cupti_pm_decode decode = {
        .size = CUPTI_SIZE(struct cupti_pm_decode, overflow),
        .session = session->object,
        .image = session->image,
        .image_size = session->image_size,
    };
    int r = session->cupti->pm_decode(&decode);
    *ret_overflow = decode.overflow || r == CUPTI_OUT_OF_MEMORY;
    return *ret_overflow ? CUPTI_OK : r;
}

static int evaluate(const struct cupti_session *session, size_t index, double *values)
{
    struct cupti_host_evaluate evaluate = {
        .size = CUPTI_SIZE(struct cupti_host_evaluate, values),
        .host = session->config->host,
        .image = session->image,
        .image_size = session->image_size,
        .index = index,
        .names = (const char **)session->names,
        .count = session->name_count,
        .values = values,
    };
    return session->cupti->host_evaluate(&evaluate);
}

static int find_span(const struct cupti_session *session, size_t index, struct cupti_values *values)
{
    struct cupti_pm_sample_info ask = {
        .size = CUPTI_SIZE(struct cupti_pm_sample_info, end),
        .session = session->object,
        .image = session->image,
        .image_size = session->image_size,
        .index = index,
    };
    int r = session->cupti->pm_sample_info(&ask);
    if (r != CUPTI_OK)
        return r;
    if (values->samples == 0)
        values->begin = ask.begin;
    values->end = ask.end;
    return CUPTI_OK;
}

/* The sampler's intervals are equal, so the mean of the samples is the mean over time. */
static int add_samples(struct cupti_session *session, size_t completed, struct cupti_values *values)
{
    double one[CUPTI_MAX_NAMES];
    size_t finite[CUPTI_MAX_NAMES] = {0};
    memset(values->value, 0, sizeof(values->value));
    size_t first = session->fresh ? 1 : 0;
    session->fresh = false;
    for (size_t sample = first; sample < completed; sample++) {
        int r = evaluate(session, sample, one);
        if (r == CUPTI_OK)
            r = find_span(session, sample, values);
        if (r != CUPTI_OK)
            return r;
        values->samples++;
        for (size_t i = 0; i < session->name_count; i++)
            if (isfinite(one[i])) {
                values->value[i] += one[i];
                finite[i]++;
            }
    }
    for (size_t i = 0; i < session->name_count; i++)
        values->value[i] = finite[i] ? values->value[i] / (double)finite[i] : NAN;
    return CUPTI_OK;
}

int cupti_session_collect(struct cupti_session *session, struct cupti_values *values)
{
    values->samples = 0;
    int r = decode(session, &values->overflow);
    if (r != CUPTI_OK)
        return r;
    struct cupti_pm_image_info info = {
        .size = CUPTI_SIZE(struct cupti_pm_image_info, completed),
        .image = session->image,
        .image_size = session->image_size,
    };
    r = session->cupti->pm_image_info(&info);
    if (r != CUPTI_OK || info.completed == 0)
        return r;
    r = add_samples(session, info.completed, values);
    return r == CUPTI_OK ? empty_image(session) : r;
}

int cupti_session_stop(struct cupti_session *session)
{
    if (!session->started)
        return CUPTI_OK;
    session->started = false;
    return on_session(session, session->cupti->pm_stop);
}

int cupti_session_close(struct cupti_session *session)
{
    if (!session->object)
        return CUPTI_OK;
    cupti_session_stop(session);
    int r = on_session(session, session->cupti->pm_disable);
    free(session->image);
    *session = (struct cupti_session){0};
    return r;
}

int cupti_availability(const struct cupti *cupti, size_t device, uint8_t **ret)
{
    struct cupti_pm_availability ask = {
        .size = CUPTI_SIZE(struct cupti_pm_availability, image),
        .device = device,
    };
    int r = cupti->pm_availability(&ask);
    if (r != CUPTI_OK)
        return r;
    ask.image = malloc(ask.image_size ? ask.image_size : 1);
    if (!ask.image)
        return -ENOMEM;
    r = cupti->pm_availability(&ask);
    if (r != CUPTI_OK) {
        free(ask.image);
        return r;
    }
    *ret = ask.image;
    return CUPTI_OK;
}
