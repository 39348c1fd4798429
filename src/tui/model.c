#include "tui/model.h"

#include <errno.h>
#include <string.h>

static const double HOLD_SECONDS = 0.5;

static void free_devices(struct model_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        history_free(devices[i].history);
    free(devices);
}

void model_free(struct model *model)
{
    free_devices(model->devices, model->device_count);
    free(model->nested);
    free(model->marks);
    *model = (struct model){0};
}

/* Each GPU, and behind it its MIG instances; instances whose GPU is not shown come last. */
static void set_order(const struct device *const *devices, size_t count, size_t *order,
                      bool *nested)
{
    size_t placed = 0;
    for (size_t i = 0; i < count; i++) {
        if (device_is_mig(devices[i]))
            continue;
        nested[placed] = false;
        order[placed++] = i;
        for (size_t j = 0; j < count; j++)
            if (device_is_mig(devices[j]) &&
                devices[j]->number[DEVICE_PARENT] == (double)devices[i]->index) {
                nested[placed] = true;
                order[placed++] = j;
            }
    }
    for (size_t j = 0; j < count; j++) {
        bool found = false;
        for (size_t i = 0; i < placed && !found; i++)
            found = order[i] == j;
        if (!found) {
            nested[placed] = false;
            order[placed++] = j;
        }
    }
}

static bool same_device(const struct device *a, const struct device *b)
{
    return a->text[DEVICE_UUID][0] && strcmp(a->text[DEVICE_UUID], b->text[DEVICE_UUID]) == 0;
}

/* The history of the device in the old list, which then has it no more. */
static struct history *take_history(struct model *model, const struct device *device)
{
    for (size_t i = 0; i < model->device_count; i++)
        if (model->devices[i].history && same_device(&model->devices[i].device, device)) {
            struct history *history = model->devices[i].history;
            model->devices[i].history = NULL;
            return history;
        }
    return NULL;
}

static int make_histories(struct model *model, struct model_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        devices[i].history = take_history(model, &devices[i].device);
        if (devices[i].history)
            continue;
        int r = history_new(&devices[i].history, MODEL_HISTORY_BYTES / count);
        if (r < 0)
            return r;
    }
    return 0;
}

int model_set_devices(struct model *model, const struct device *const *devices, size_t count)
{
    struct model_device *list = calloc(count + 1, sizeof(*list));
    bool *nested = calloc(count + 1, sizeof(*nested));
    size_t *order = calloc(count + 1, sizeof(*order));
    int r = list && nested && order ? 0 : -ENOMEM;
    if (r == 0) {
        set_order(devices, count, order, nested);
        for (size_t i = 0; i < count; i++) {
            list[i].device = *devices[order[i]];
            list[i].source = order[i];
            sample_reset(&list[i].reading.sample, ABSENT_FIRST_SAMPLE);
        }
        r = make_histories(model, list, count);
    }
    free(order);
    if (r < 0) {
        if (list)
            free_devices(list, count);
        free(nested);
        return r;
    }
    free_devices(model->devices, model->device_count);
    free(model->nested);
    model->devices = list;
    model->nested = nested;
    model->device_count = count;
    return 0;
}

static void take_sample(struct model_device *device, const struct sample *sample, double time)
{
    const struct sample last = device->reading.sample;
    device->reading.sample = *sample;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        enum metric metric = (enum metric)i;
        bool holds = sample->absent[i] == ABSENT_NO_NEW_SAMPLE && sample_has(&last, metric) &&
                     time - device->value_time[i] <= HOLD_SECONDS;
        if (holds)
            sample_set(&device->reading.sample, metric, last.value[i]);
        else if (sample_has(sample, metric))
            device->value_time[i] = time;
    }
}

void model_add(struct model *model, size_t source, const struct reading *reading)
{
    for (size_t i = 0; i < model->device_count; i++)
        if (model->devices[i].source == source) {
            struct model_device *device = &model->devices[i];
            device->reading.state = reading->state;
            device->reading.error = reading->error;
            device->reading.age = reading->age;
            process_list_copy(&device->reading.processes, &reading->processes);
            take_sample(device, &reading->sample, model->time);
            history_add(device->history, model->time, &device->reading.sample);
            return;
        }
}

bool model_awaits_devices(const struct model *model)
{
    for (size_t i = 0; i < model->device_count; i++) {
        enum reading_state state = model->devices[i].reading.state;
        if (state == READING_NONE || state == READING_STALE)
            return true;
    }
    return false;
}

bool model_awaits_counters(const struct model *model)
{
    for (size_t i = 0; i < model->device_count; i++) {
        unsigned absence = model->devices[i].reading.sample.absent[METRIC_SM_ACTIVE];
        if (absence == ABSENT_NO_NEW_SAMPLE || absence == ABSENT_FIRST_SAMPLE)
            return true;
    }
    return false;
}

void model_forget(struct model *model)
{
    for (size_t i = 0; i < model->device_count; i++)
        history_clear(model->devices[i].history);
}

int model_mark(struct model *model, const struct mark *mark)
{
    if (model->mark_count == MODEL_MAX_MARKS)
        return -ENOSPC;
    struct mark *marks = realloc(model->marks, (model->mark_count + 1) * sizeof(*marks));
    if (!marks)
        return -ENOMEM;
    model->marks = marks;
    size_t place = model->mark_count++;
    for (; place > 0 && marks[place - 1].time > mark->time; place--)
        marks[place] = marks[place - 1];
    marks[place] = *mark;
    return 0;
}

const struct mark *model_mark_at(const struct model *model, double time)
{
    const struct mark *found = NULL;
    for (size_t i = 0; i < model->mark_count && model->marks[i].time <= time + 1e-6; i++)
        found = &model->marks[i];
    bool over = found && found->end > found->time && found->end < time - model->interval;
    return over ? NULL : found;
}

double model_begin(const struct model *model)
{
    if (model->recorded)
        return model->begin;
    double begin = model->time;
    for (size_t i = 0; i < model->device_count; i++) {
        double first = history_begin(model->devices[i].history);
        if (first > 0 && first < begin)
            begin = first;
    }
    return begin;
}

double model_end(const struct model *model)
{
    return model->recorded ? model->end : model->time;
}

void model_sample(const struct model *model, size_t device, double time, struct sample *ret)
{
    const struct model_device *row = &model->devices[device];
    if (time == 0 || time >= model->time - 1e-6)
        *ret = row->reading.sample;
    else if (!history_at(row->history, time, ret))
        sample_reset(ret, ABSENT_NOT_RECORDED);
}
