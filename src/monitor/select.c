#include "monitor/select.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

static bool has_prefix(const char *text, const char *prefix)
{
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* A UUID can be given without its "GPU-" or "MIG-". */
static bool uuid_matches(const char *uuid, const char *text)
{
    const char *bare = strchr(uuid, '-');
    return has_prefix(uuid, text) || (bare && has_prefix(bare + 1, text));
}

/* "0000:41:00.0" is the driver's "00000000:41:00.0"; the domain and the function can be left out.
 */
static bool pci_matches(const char *address, const char *text)
{
    size_t address_length = strlen(address);
    size_t length = strlen(text);
    if (!strchr(text, ':') || length > address_length)
        return false;
    return strcasecmp(address + address_length - length, text) == 0;
}

static int fail(struct counter_failure *failure, const char *text, const char *what)
{
    snprintf(failure->reason, sizeof(failure->reason), "--gpu: '%s' %s", text, what);
    snprintf(failure->advice, sizeof(failure->advice), "rooftop list shows the GPUs");
    return -EINVAL;
}

static int find_device(const struct counter *counter, const char *text, size_t *ret,
                       struct counter_failure *failure)
{
    uint64_t index;
    bool is_index = parse_unsigned(text, &index) == 0;
    size_t matches = 0;
    for (size_t i = 0; i < counter->device_count; i++) {
        const struct device *device = &counter->devices[i];
        if (is_index && !device_is_mig(device) && device->index == index) {
            *ret = i;
            return 0;
        }
        if (uuid_matches(device->text[DEVICE_UUID], text) ||
            pci_matches(device->text[DEVICE_PCI_ADDRESS], text)) {
            *ret = i;
            matches++;
        }
    }
    if (matches == 1)
        return 0;
    return fail(failure, text, matches ? "means more than one GPU" : "is no GPU here");
}

static bool contains(const size_t *list, size_t count, size_t value)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

static int select_named(const struct counter *counter, char *words, size_t *list, size_t *ret_count,
                        struct counter_failure *failure)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        size_t device;
        int r = find_device(counter, word, &device, failure);
        if (r < 0)
            return r;
        if (!contains(list, count, device))
            list[count++] = device;
    }
    *ret_count = count;
    return count ? 0 : fail(failure, "", "names no GPU");
}

int select_devices(const struct counter *counter, const char *text, size_t **ret, size_t *ret_count,
                   struct counter_failure *failure)
{
    size_t *list = calloc(counter->device_count + 1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    size_t count = counter->device_count;
    int r = 0;
    if (text) {
        CLEANUP_FREE char *words = strdup(text);
        r = words ? select_named(counter, words, list, &count, failure) : -ENOMEM;
    } else
        for (size_t i = 0; i < count; i++)
            list[i] = i;
    if (r < 0) {
        free(list);
        return r;
    }
    *ret = list;
    *ret_count = count;
    return 0;
}
