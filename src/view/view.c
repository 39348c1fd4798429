#include "view/view.h"

#include <math.h>
#include <string.h>

const enum device_number view_identity[VIEW_IDENTITY_COUNT] = {
    DEVICE_PARENT,
    DEVICE_GPU_INSTANCE,
    DEVICE_COMPUTE_INSTANCE,
};

const struct view_form *view_form_by_name(const char *name)
{
    static const struct view_form *const forms[] = {&view_text, &view_json, &view_csv};
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

size_t view_metric_count(const struct view *view)
{
    return view->metrics ? view->metric_count : METRIC_COUNT;
}

enum metric view_metric(const struct view *view, size_t i)
{
    return view->metrics ? view->metrics[i] : (enum metric)i;
}

bool view_mark_begins(const struct view_frame *frame, const struct mark *mark)
{
    return mark->time >= frame->begin && mark->time < frame->time;
}

bool view_mark_holds(const struct view_frame *frame, const struct mark *mark)
{
    return view_mark_begins(frame, mark) || (mark->time < frame->time && mark->end > frame->begin);
}

double view_age(const struct reading *reading)
{
    return round(reading->age * 1e3) / 1e3;
}
