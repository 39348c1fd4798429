#include "monitor/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_INDEX = 4 }; /* digits */

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

struct pci_address {
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned function;
    bool any_domain;
    bool any_function;
};

/* "0000:41:00.0"; the domain and the function can be left out. */
static bool parse_pci(const char *text, struct pci_address *ret)
{
    size_t length = strlen(text);
    if (strspn(text, "0123456789abcdefABCDEF:.") != length)
        return false;
    struct pci_address address = {0};
    const char *rest = text;
    address.any_domain = strchr(text, ':') == strrchr(text, ':');
    int used = 0;
    if (!address.any_domain) {
        if (sscanf(rest, "%8x:%n", &address.domain, &used) != 1 || used == 0)
            return false;
        rest += used;
        used = 0;
    }
    if (sscanf(rest, "%2x:%2x%n", &address.bus, &address.device, &used) != 2 || used == 0)
        return false;
    rest += used;
    address.any_function = rest[0] == '\0';
    used = 0;
    if (!address.any_function &&
        (sscanf(rest, ".%1x%n", &address.function, &used) != 1 || rest[used] != '\0'))
        return false;
    *ret = address;
    return true;
}

static bool pci_matches(const struct device *device, const struct pci_address *wanted)
{
    struct pci_address has;
    if (device_is_mig(device) || !parse_pci(device->text[DEVICE_PCI_ADDRESS], &has))
        return false;
    return has.bus == wanted->bus && has.device == wanted->device &&
           (wanted->any_domain || has.domain == wanted->domain) &&
           (wanted->any_function || has.function == wanted->function);
}

static int fail(struct counter_failure *failure, const char *text, const char *what)
{
    snprintf(failure->reason, sizeof(failure->reason), "--gpu: '%s' %s", text, what);
    snprintf(failure->advice, sizeof(failure->advice), "rooftop list shows the GPUs");
    return -EINVAL;
}

/* "2", or "2/0" for an instance. A short number is no start of a UUID: --gpu 7 must not mean
 * GPU-7… */
static bool is_place(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= LONGEST_INDEX && (text[digits] == '\0' || text[digits] == '/');
}

/* Returns how many devices it means, with one of them in *ret. */
static size_t find_place(const struct counter *counter, const char *text, size_t *ret)
{
    char place[DEVICE_PLACE_SIZE];
    for (size_t i = 0; i < counter->device_count; i++)
        if (strcmp(device_place(&counter->devices[i], place), text) == 0) {
            *ret = i;
            return 1;
        }
    return 0;
}

static size_t find_pci(const struct counter *counter, const struct pci_address *address,
                       size_t *ret)
{
    size_t matches = 0;
    for (size_t i = 0; i < counter->device_count; i++)
        if (pci_matches(&counter->devices[i], address)) {
            *ret = i;
            matches++;
        }
    return matches;
}

/* The whole UUID wins: older drivers make a MIG instance's from that of its GPU. */
static size_t find_uuid(const struct counter *counter, const char *text, size_t *ret)
{
    size_t matches = 0;
    for (size_t i = 0; i < counter->device_count; i++) {
        const char *uuid = counter->devices[i].text[DEVICE_UUID];
        if (!uuid_matches(uuid, text))
            continue;
        *ret = i;
        if (strcasecmp(uuid, text) == 0)
            return 1;
        matches++;
    }
    return matches;
}

static int find_device(const struct counter *counter, const char *text, size_t *ret,
                       struct counter_failure *failure)
{
    struct pci_address address;
    size_t matches;
    if (is_place(text))
        matches = find_place(counter, text, ret);
    else if (parse_pci(text, &address))
        matches = find_pci(counter, &address, ret);
    else
        matches = find_uuid(counter, text, ret);
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
        size_t device = 0;
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
