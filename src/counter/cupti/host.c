#include "counter/cupti/host.h"

#include <errno.h>
#include <stdlib.h>

/* A host object keeps every counter that was ever added, and a name that the chip lacks spoils it:
 * each attempt takes an object of its own (0.1 ms). */
static int open_object(void **ret, const struct cupti_host *host)
{
    struct cupti_host_initialize open = {
        .size = CUPTI_SIZE(struct cupti_host_initialize, host),
        .kind = CUPTI_KIND_PM_SAMPLING,
        .chip = host->chip,
        .availability = host->availability,
    };
    if (host->cupti->host_initialize(&open) != CUPTI_OK)
        return -EIO;
    *ret = open.host;
    return 0;
}

static void close_object(void *object, const struct cupti *cupti)
{
    struct cupti_host_deinitialize close = {
        .size = CUPTI_SIZE(struct cupti_host_deinitialize, host),
        .host = object,
    };
    cupti->host_deinitialize(&close);
}

static int add_metrics(const struct cupti *cupti, void *object, const char *const *names,
                       size_t count)
{
    struct cupti_host_add_metrics add = {
        .size = CUPTI_SIZE(struct cupti_host_add_metrics, count),
        .host = object,
        .names = (const char **)names,
        .count = count,
    };
    return cupti->host_add_metrics(&add) == CUPTI_OK ? 0 : -ENOENT;
}

static int make_image(const struct cupti *cupti, void *object, struct cupti_config *config)
{
    struct cupti_host_config_size size = {
        .size = CUPTI_SIZE(struct cupti_host_config_size, config_size),
        .host = object,
    };
    if (cupti->host_config_size(&size) != CUPTI_OK || size.config_size == 0)
        return -EIO;
    config->size = size.config_size;
    config->image = malloc(config->size);
    if (!config->image)
        return -ENOMEM;
    struct cupti_host_config make = {
        .size = CUPTI_SIZE(struct cupti_host_config, config),
        .host = object,
        .config_size = config->size,
        .config = config->image,
    };
    return cupti->host_config(&make) == CUPTI_OK ? 0 : -EIO;
}

static int ask_passes(const struct cupti *cupti, struct cupti_config *config)
{
    struct cupti_host_passes ask = {
        .size = CUPTI_SIZE(struct cupti_host_passes, passes),
        .config_size = config->size,
        .config = config->image,
    };
    if (cupti->host_passes(&ask) != CUPTI_OK)
        return -EIO;
    config->passes = ask.passes;
    return 0;
}

int cupti_config_build(struct cupti_config *ret, const struct cupti_host *host,
                       const char *const *names, size_t count)
{
    struct cupti_config config = {0};
    int r = open_object(&config.host, host);
    if (r < 0)
        return r;
    r = add_metrics(host->cupti, config.host, names, count);
    if (r == 0)
        r = make_image(host->cupti, config.host, &config);
    if (r == 0)
        r = ask_passes(host->cupti, &config);
    if (r < 0) {
        cupti_config_free(&config, host->cupti);
        return r;
    }
    *ret = config;
    return 0;
}

void cupti_config_free(struct cupti_config *config, const struct cupti *cupti)
{
    if (config->host)
        close_object(config->host, cupti);
    free(config->image);
    *config = (struct cupti_config){0};
}

int cupti_count_passes(const struct cupti_host *host, const char *const *names, size_t count)
{
    struct cupti_config config;
    int r = cupti_config_build(&config, host, names, count);
    if (r < 0)
        return r;
    int passes = (int)config.passes;
    cupti_config_free(&config, host->cupti);
    return passes;
}
