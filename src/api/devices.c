#include "rooftop.h"

#include <errno.h>
#include <string.h>

#include "api/handle.h"
#include "sol/sol.h"

/* Texts first, then numbers. */
static const struct device_field *field_at(size_t field)
{
    if (field < DEVICE_TEXT_COUNT)
        return device_text_field((enum device_text)field);
    if (field < rooftop_field_count())
        return device_number_field((enum device_number)(field - DEVICE_TEXT_COUNT));
    return NULL;
}

size_t rooftop_field_count(void)
{
    return (size_t)DEVICE_TEXT_COUNT + DEVICE_NUMBER_COUNT;
}

const char *rooftop_field_name(size_t field)
{
    const struct device_field *found = field_at(field);
    return found ? found->name : NULL;
}

const char *rooftop_field_help(size_t field)
{
    const struct device_field *found = field_at(field);
    return found ? found->help : NULL;
}

static const struct device *device_at(const rooftop *handle, size_t device)
{
    return device < monitor_count(handle->monitor) ? monitor_device(handle->monitor, device) : NULL;
}

const char *rooftop_device_text(const rooftop *handle, size_t device, const char *field)
{
    const struct device *found = device_at(handle, device);
    for (size_t i = 0; found && i < DEVICE_TEXT_COUNT; i++)
        if (strcmp(device_text_field((enum device_text)i)->name, field) == 0)
            return found->text[i];
    return NULL;
}

int rooftop_device_number(const rooftop *handle, size_t device, const char *field, double *ret)
{
    const struct device *found = device_at(handle, device);
    for (size_t i = 0; found && i < DEVICE_NUMBER_COUNT; i++) {
        enum device_number number = (enum device_number)i;
        if (strcmp(device_number_field(number)->name, field) != 0)
            continue;
        if (!device_knows(found, number))
            return -ENODATA;
        *ret = found->number[number];
        return 0;
    }
    return -EINVAL;
}

int rooftop_device_index(const rooftop *handle, size_t device)
{
    const struct device *found = device_at(handle, device);
    return found ? (int)found->index : -EINVAL;
}

const char *rooftop_device_state(const rooftop *handle, size_t device)
{
    const struct reading *reading = handle_reading(handle, device);
    return reading ? reading_state_name(reading->state) : NULL;
}

double rooftop_device_age(const rooftop *handle, size_t device)
{
    const struct reading *reading = handle_reading(handle, device);
    return reading ? reading->age : -1;
}

const char *rooftop_verdict(rooftop *handle, size_t device)
{
    const struct reading *reading = handle_reading(handle, device);
    if (!reading)
        return NULL;
    WITH_PLAIN_NUMBERS;
    strbuf_clear(&handle->verdict);
    sol_verdict(device_at(handle, device), &reading->sample, &handle->verdict);
    return strbuf_failed(&handle->verdict) ? NULL : strbuf_text(&handle->verdict);
}

int rooftop_process_count(const rooftop *handle, size_t device)
{
    const struct reading *reading = handle_reading(handle, device);
    if (!reading)
        return -EINVAL;
    return reading->processes.known ? (int)reading->processes.count : -ENODATA;
}

_Static_assert(ROOFTOP_PROCESS_COMPUTE == PROCESS_COMPUTE &&
                   ROOFTOP_PROCESS_GRAPHICS == PROCESS_GRAPHICS &&
                   ROOFTOP_PROCESS_MPS_CLIENT == PROCESS_MPS_CLIENT &&
                   ROOFTOP_PROCESS_MPS_SERVER == PROCESS_MPS_SERVER,
               "the public names of the kinds of processes");

const struct rooftop_process *rooftop_process_at(rooftop *handle, size_t device, size_t process)
{
    const struct reading *reading = handle_reading(handle, device);
    if (!reading || !reading->processes.known || process >= reading->processes.count)
        return NULL;
    const struct process *seen = &reading->processes.process[process];
    const struct process_description *description = monitor_describe(handle->monitor, seen->pid);
    handle->process = (struct rooftop_process){
        .pid = seen->pid,
        .kinds = seen->kinds,
        .memory_known = seen->memory_known,
        .memory_bytes = seen->memory_known ? seen->memory_bytes : 0,
        .outside = description->outside,
        .start_time = description->start_time,
        .user = description->user,
        .command = description->command,
        .container = description->container,
        .cgroup = description->cgroup,
    };
    return &handle->process;
}
