#include "share/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "sol/bound.h"

/* Shorter stretches are no phases. */
static const double BLOCK = 1;

struct series {
    size_t count, room;
    float *values;
};

struct profiler {
    struct series series[METRIC_COUNT];
    bool failed;
    size_t samples, idle;
    double seconds;

    /* Of the block that is being filled. */
    double block, bound[LABEL_COUNT];
    struct mean {
        double sum, weight;
    } compute, memory;
    size_t phase_count;
    struct profile_phase phases[PROFILE_PHASES + 1];
};

int profiler_new(struct profiler **ret)
{
    struct profiler *profiler = calloc(1, sizeof(*profiler));
    if (!profiler)
        return -ENOMEM;
    *ret = profiler;
    return 0;
}

void profiler_free(struct profiler *profiler)
{
    for (size_t i = 0; profiler && i < METRIC_COUNT; i++)
        free(profiler->series[i].values);
    free(profiler);
}

static void append(struct profiler *profiler, struct series *series, double value)
{
    if (array_grow(&series->values, series->count, &series->room, sizeof(*series->values)) < 0)
        profiler->failed = true;
    else
        series->values[series->count++] = (float)value;
}

static void join(struct profile_phase *first, const struct profile_phase *second)
{
    double length = first->length + second->length;
    first->compute_sol =
        (first->compute_sol * first->length + second->compute_sol * second->length) / length;
    first->memory_sol =
        (first->memory_sol * first->length + second->memory_sol * second->length) / length;
    if (second->length > first->length)
        first->bound = second->bound;
    first->length = length;
}

static void remove_phase(struct profiler *profiler, size_t place)
{
    profiler->phase_count--;
    memmove(&profiler->phases[place], &profiler->phases[place + 1],
            (profiler->phase_count - place) * sizeof(profiler->phases[0]));
}

/* There is one more than fits: the shortest goes into the one before it. */
static void join_shortest(struct profiler *profiler)
{
    size_t shortest = 1;
    for (size_t i = 2; i < profiler->phase_count; i++)
        if (profiler->phases[i].length < profiler->phases[shortest].length)
            shortest = i;
    join(&profiler->phases[shortest - 1], &profiler->phases[shortest]);
    remove_phase(profiler, shortest);
}

static void add(struct mean *mean, const struct sample *sample, enum metric metric, double seconds)
{
    if (!sample_has(sample, metric))
        return;
    mean->sum += sample->value[metric] * seconds;
    mean->weight += seconds;
}

static double mean_of(const struct mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : 0;
}

static void end_block(struct profiler *profiler)
{
    size_t longest = 0;
    for (size_t i = 1; i < LABEL_COUNT; i++)
        if (profiler->bound[i] > profiler->bound[longest])
            longest = i;
    struct profile_phase phase = {
        .begin = profiler->seconds - profiler->block,
        .length = profiler->block,
        .bound = (enum label)longest,
        .compute_sol = mean_of(&profiler->compute),
        .memory_sol = mean_of(&profiler->memory),
    };
    struct profile_phase *last =
        profiler->phase_count > 0 ? &profiler->phases[profiler->phase_count - 1] : NULL;
    if (profiler->bound[longest] > 0 && last && last->bound == phase.bound)
        join(last, &phase);
    else if (profiler->bound[longest] > 0)
        profiler->phases[profiler->phase_count++] = phase;
    if (profiler->phase_count > PROFILE_PHASES)
        join_shortest(profiler);
    memset(profiler->bound, 0, sizeof(profiler->bound));
    profiler->block = 0;
    profiler->compute = profiler->memory = (struct mean){0};
}

void profiler_observe(void *context, const struct reading *reading, double interval)
{
    struct profiler *profiler = context;
    const struct sample *sample = &reading->sample;
    if (reading->state != READING_OK || interval <= 0)
        return;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        enum metric_unit unit = metric_info((enum metric)i)->unit;
        if (sample_has(sample, (enum metric)i) && unit != UNIT_LABEL && unit != UNIT_FLAGS &&
            metric_info((enum metric)i)->span != SPAN_TOTAL)
            append(profiler, &profiler->series[i], sample->value[i]);
    }
    profiler->samples++;
    double nvml = sample_get(sample, METRIC_NVML_UTILIZATION, 1);
    profiler->idle += sample_get(sample, METRIC_GRAPHICS_ACTIVE, nvml) < BOUND_IDLE;
    profiler->seconds += interval;
    profiler->block += interval;
    add(&profiler->compute, sample, METRIC_COMPUTE_SOL, interval);
    add(&profiler->memory, sample, METRIC_MEMORY_SOL, interval);
    if (sample_has(sample, METRIC_BOUND))
        profiler->bound[(size_t)sample->value[METRIC_BOUND]] += interval;
    /* Frames come a trifle before or after their time. */
    if (profiler->block >= BLOCK - interval / 2)
        end_block(profiler);
}

static int by_value(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

/* The nearest rank. */
static double percentile(const struct series *series, unsigned percent)
{
    size_t rank = (series->count * percent + 99) / 100;
    return (double)series->values[rank > 0 ? rank - 1 : 0];
}

static void spread(struct series *series, struct profile_spread *ret)
{
    if (series->count == 0)
        return;
    double sum = 0;
    for (size_t i = 0; i < series->count; i++)
        sum += (double)series->values[i];
    qsort(series->values, series->count, sizeof(series->values[0]), by_value);
    *ret = (struct profile_spread){
        .count = series->count,
        .mean = sum / (double)series->count,
        .p5 = percentile(series, 5),
        .p25 = percentile(series, 25),
        .p50 = percentile(series, 50),
        .p75 = percentile(series, 75),
        .p95 = percentile(series, 95),
        .max = percentile(series, 100),
    };
}

/* FNV-1a, 64 bits, over the words with a NUL behind each. */
static uint64_t hash_command(const char *const *command)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; command && *command; command++)
        for (const char *c = *command;; c++) {
            hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
            if (!*c)
                break;
        }
    return hash;
}

void profile_key(const char *const *command, const char *name, char ret[PROFILE_KEY_SIZE])
{
    if (name)
        utf8_clean(ret, PROFILE_KEY_SIZE, name);
    else
        snprintf(ret, PROFILE_KEY_SIZE, "%016llx", (unsigned long long)hash_command(command));
}

static void name_profile(const struct account *account, const char *name, struct profile *ret)
{
    struct strbuf words = {0};
    for (const char *const *word = account->command; *word; word++)
        strbuf_printf(&words, "%s%s", word == account->command ? "" : " ", *word);
    utf8_clean(ret->command, sizeof(ret->command), strbuf_text(&words));
    strbuf_free(&words);
    profile_key(account->command, name, ret->key);
}

int profiler_finish(struct profiler *profiler, const struct account *account, const char *name,
                    struct profile *ret)
{
    if (profiler->failed)
        return -ENOMEM;
    if (profiler->samples == 0 || account->gpu_count == 0)
        return -ENODATA;
    if (profiler->block > 0)
        end_block(profiler);
    const struct account_gpu *gpu = &account->gpus[0];
    *ret = (struct profile){
        .created = clock_realtime(),
        .wall_seconds = account->wall_seconds,
        .measured_seconds = profiler->seconds,
        .span_seconds = account_span_seconds(gpu),
        .exit_code = account->exit_code,
        .memory_peak_bytes = (double)gpu->memory_peak,
        .idle_ratio = (double)profiler->idle / (double)profiler->samples,
        .phase_count = profiler->phase_count,
    };
    if (!account_energy(gpu, &ret->energy_joules))
        ret->energy_joules = 0;
    name_profile(account, name, ret);
    snprintf(ret->gpu_name, sizeof(ret->gpu_name), "%s", gpu->device.text[DEVICE_NAME]);
    snprintf(ret->gpu_uuid, sizeof(ret->gpu_uuid), "%s", gpu->device.text[DEVICE_UUID]);
    memcpy(ret->phases, profiler->phases, profiler->phase_count * sizeof(ret->phases[0]));
    for (size_t i = 0; i < METRIC_COUNT; i++)
        spread(&profiler->series[i], &ret->metrics[i]);
    return 0;
}
