#include "store/ceiling.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct ceiling_info infos[] = {
#define CEILING(id, name, unit, help) {name, CEILING_##unit, help},
#include "store/ceiling.def"
#undef CEILING
};

const struct ceiling_info *ceiling_info(enum ceiling ceiling)
{
    return &infos[ceiling];
}

enum ceiling ceiling_by_name(const char *name)
{
    for (size_t i = 0; i < CEILING_COUNT; i++)
        if (strcmp(infos[i].name, name) == 0)
            return (enum ceiling)i;
    return CEILING_COUNT;
}

enum ceiling ceiling_of_tensor(enum label type)
{
    switch (type) {
    case LABEL_TYPE_FP64:
        return CEILING_TENSOR_FP64;
    case LABEL_TYPE_TF32:
        return CEILING_TENSOR_TF32;
    case LABEL_TYPE_BF16:
        return CEILING_TENSOR_BF16;
    case LABEL_TYPE_FP8:
        return CEILING_TENSOR_FP8;
    case LABEL_TYPE_INT8:
        return CEILING_TENSOR_INT8;
    default:
        return CEILING_COUNT;
    }
}

static void take_newer(void *context, enum ceiling ceiling, const struct ceiling_value *value)
{
    struct ceiling_value *have = &((struct ceilings *)context)->of[ceiling];
    if (have->origin != CEILING_MEASURED || value->time >= have->time)
        *have = *value;
}

static int read_store(const char *path, const char *uuid, struct ceilings *ceilings, char *why,
                      size_t why_size)
{
    struct ceiling_store *store;
    int r = ceiling_store_open_to_read(&store, path, why, why_size);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = ceiling_store_each(store, uuid, take_newer, ceilings);
    if (r < 0)
        snprintf(why, why_size, "%s: %s", path, strerror(-r));
    ceiling_store_close(store);
    return r;
}

int ceilings_find(const struct device *device, struct ceilings *ret, char *why, size_t why_size)
{
    ceilings_shipped(device, ret);
    int r =
        read_store("/var/lib/rooftop/ceilings.db", device->text[DEVICE_UUID], ret, why, why_size);
    struct strbuf path = {0};
    if (ceiling_store_path(&path) == 0) {
        int own = read_store(path.text, device->text[DEVICE_UUID], ret, why, why_size);
        r = own < 0 ? own : r;
    }
    strbuf_free(&path);
    return r;
}
