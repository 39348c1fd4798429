/* A libcupti and a libcuda in one, for ROOFTOP_CUPTI and ROOFTOP_CUDA. What they answer follows
 * the file that ROOFTOP_FAKE_CUPTI names, read anew at each Enable, so that a test can change it in
 * the middle. Lines, all optional:
 *
 *   devices N                   GPUs, default 1; UUIDs GPU-00000000-0000-4000-8000-00000000000N
 *   chip NAME                   default GH100
 *   passes N                    counters that fit one pass, default 16
 *   lacks TEXT                  the chip has no counter whose name holds TEXT
 *   value TEXT NUMBER           counters whose name holds TEXT have that value; else 0
 *   driver N                    cuDriverGetVersion's, default 13000
 *   result CALL NUMBER [DEVICE] the call fails so: cuinit, initialize, enable, availability,
 * config, start, decode hang CALL [DEVICE]          the call never returns hold CALL FILE the call
 * is logged, and returns when the file is there overflow N                  the Nth decoding of a
 * session overflows lock FILE                   one process at a time can configure, as on a real
 * GPU log FILE                    a line for each Enable and Disable
 *
 * As on the H200, the first sample of a session holds nothing. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "counter/cupti/abi.h"

#define EXPORT __attribute__((visibility("default"), used))

enum { MAX_RULES = 32, MAX_TEXT = 128 };

struct rule {
    char word[16];
    char text[MAX_TEXT];
    double number;
    int device; /* -1: all */
};

static struct script {
    int devices;
    int driver;
    char chip[32];
    size_t passes;
    unsigned overflow;
    char log[MAX_TEXT];
    char lock[MAX_TEXT];
    char held[16];
    char hold[MAX_TEXT];
    size_t rule_count;
    struct rule rules[MAX_RULES];
} script;

struct session {
    int device;
    double interval;
    double started; /* or when the last sample that was decoded ended */
    unsigned decodings;
    bool decoded; /* a sample */
    int lock;
    size_t max_samples;
};

struct image {
    size_t samples;
    size_t max_samples;
    uint64_t begin;
    uint64_t step;
    bool first; /* of the session */
};

struct config {
    size_t count;
};

static void read_line(const char *line)
{
    char word[16];
    struct rule rule = {.device = -1};
    int used = 0;
    if (sscanf(line, "%15s %n", word, &used) < 1)
        return;
    const char *rest = line + used;
    if (strcmp(word, "devices") == 0)
        script.devices = atoi(rest);
    else if (strcmp(word, "chip") == 0)
        sscanf(rest, "%31s", script.chip);
    else if (strcmp(word, "passes") == 0)
        script.passes = strtoul(rest, NULL, 10);
    else if (strcmp(word, "driver") == 0)
        script.driver = atoi(rest);
    else if (strcmp(word, "overflow") == 0)
        script.overflow = (unsigned)atoi(rest);
    else if (strcmp(word, "lock") == 0)
        sscanf(rest, "%127s", script.lock);
    else if (strcmp(word, "hold") == 0)
        sscanf(rest, "%15s %127s", script.held, script.hold);
    else if (strcmp(word, "log") == 0)
        sscanf(rest, "%127s", script.log);
    else if (script.rule_count < MAX_RULES) {
        memcpy(rule.word, word, sizeof(word));
        if (strcmp(word, "hang") == 0)
            sscanf(rest, "%127s %d", rule.text, &rule.device);
        else
            sscanf(rest, "%127s %lf %d", rule.text, &rule.number, &rule.device);
        script.rules[script.rule_count++] = rule;
    }
}

static void read_script(void)
{
    script = (struct script){.devices = 1, .driver = 13000, .chip = "GH100", .passes = 16};
    const char *path = getenv("ROOFTOP_FAKE_CUPTI");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        read_line(line);
    fclose(file);
}

static void write_log(const char *what, int device)
{
    FILE *file = script.log[0] ? fopen(script.log, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s %d\n", what, device);
    fclose(file);
}

static int follow(const char *call, int device)
{
    if (strcmp(script.held, call) == 0) {
        write_log(call, device);
        while (access(script.hold, F_OK) != 0)
            usleep(1000);
    }
    for (size_t i = 0; i < script.rule_count; i++) {
        const struct rule *rule = &script.rules[i];
        if (strcmp(rule->text, call) != 0 || (rule->device >= 0 && rule->device != device))
            continue;
        while (strcmp(rule->word, "hang") == 0)
            pause();
        if (strcmp(rule->word, "result") == 0)
            return (int)rule->number;
    }
    return CUPTI_OK;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    read_script();
    return follow("cuinit", -1);
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = script.driver;
    return 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = script.devices;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < script.devices ? 0 : 101;
}

EXPORT int cuDeviceGetUuid(unsigned char uuid[16], int device)
{
    memset(uuid, 0, 16);
    uuid[6] = 0x40;
    uuid[8] = 0x80;
    uuid[15] = (unsigned char)(device + 1);
    return 0;
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_OK;
}

EXPORT int cuptiGetErrorMessage(int result, const char **text)
{
    *text = result == CUPTI_INSUFFICIENT_PRIVILEGES ? "insufficient privileges" : "some error";
    return CUPTI_OK;
}

EXPORT int cuptiProfilerInitialize(struct cupti_profiler_initialize *p)
{
    (void)p;
    return follow("initialize", -1);
}

EXPORT int cuptiDeviceGetChipName(struct cupti_chip_name *p)
{
    p->chip = script.chip;
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetSupportedChips(struct cupti_supported_chips *p)
{
    static const char *const chips[] = {"GH100"};
    p->count = 1;
    p->chips = chips;
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostInitialize(struct cupti_host_initialize *p)
{
    if (strcmp(p->chip, script.chip) != 0)
        return CUPTI_INVALID_CHIP;
    p->host = calloc(1, sizeof(struct config));
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostDeinitialize(struct cupti_host_deinitialize *p)
{
    free(p->host);
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(struct cupti_host_add_metrics *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < script.rule_count; k++)
            if (strcmp(script.rules[k].word, "lacks") == 0 &&
                strstr(p->names[i], script.rules[k].text))
                return CUPTI_INVALID_METRIC_NAME;
    ((struct config *)p->host)->count += p->count;
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(struct cupti_host_config_size *p)
{
    p->config_size = sizeof(struct config);
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetConfigImage(struct cupti_host_config *p)
{
    memcpy(p->config, p->host, sizeof(struct config));
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetNumOfPasses(struct cupti_host_passes *p)
{
    size_t count = ((struct config *)p->config)->count;
    p->passes = (count + script.passes - 1) / script.passes;
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct cupti_host_evaluate *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->values[i] = 0;
        bool bare = ((const struct image *)p->image)->first && p->index == 0;
        for (size_t k = 0; k < script.rule_count && !bare; k++)
            if (strcmp(script.rules[k].word, "value") == 0 &&
                strstr(p->names[i], script.rules[k].text))
                p->values[i] = script.rules[k].number;
    }
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingGetCounterAvailability(struct cupti_pm_availability *p)
{
    p->image_size = 8;
    return follow("availability", (int)p->device);
}

EXPORT int cuptiPmSamplingEnable(struct cupti_pm_enable *p)
{
    read_script();
    int result = follow("enable", (int)p->device);
    if (result != CUPTI_OK)
        return result;
    struct session *session = calloc(1, sizeof(*session));
    session->device = (int)p->device;
    session->lock = -1;
    p->session = session;
    write_log("enable", session->device);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingDisable(struct cupti_pm_session *p)
{
    struct session *session = p->session;
    write_log("disable", session->device);
    if (session->lock >= 0)
        close(session->lock);
    free(session);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingSetConfig(struct cupti_pm_set_config *p)
{
    struct session *session = p->session;
    if (((const struct config *)p->config)->count > script.passes)
        return CUPTI_NOT_SUPPORTED;
    if (script.lock[0] && session->lock < 0) {
        session->lock = open(script.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (flock(session->lock, LOCK_EX | LOCK_NB) < 0)
            return CUPTI_HARDWARE_BUSY;
    }
    session->interval = (double)p->interval * 1e-9;
    return follow("config", session->device);
}

EXPORT int cuptiPmSamplingStart(struct cupti_pm_session *p)
{
    struct session *session = p->session;
    session->started = now();
    return follow("start", session->device);
}

EXPORT int cuptiPmSamplingStop(struct cupti_pm_session *p)
{
    (void)p;
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingGetCounterDataSize(struct cupti_pm_image_size *p)
{
    ((struct session *)p->session)->max_samples = p->max_samples;
    p->image_size = sizeof(struct image);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingCounterDataImageInitialize(struct cupti_pm_image_initialize *p)
{
    *(struct image *)p->image =
        (struct image){.max_samples = ((struct session *)p->session)->max_samples};
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingDecodeData(struct cupti_pm_decode *p)
{
    struct session *session = p->session;
    struct image *image = (struct image *)p->image;
    int result = follow("decode", session->device);
    if (result != CUPTI_OK)
        return result;
    session->decodings++;
    p->overflow = session->decodings == script.overflow;
    size_t samples = (size_t)((now() - session->started) / session->interval);
    if (samples > image->max_samples - image->samples)
        samples = image->max_samples - image->samples;
    image->first = !session->decoded;
    session->decoded = session->decoded || samples > 0;
    image->begin = (uint64_t)(session->started * 1e9);
    image->step = (uint64_t)(session->interval * 1e9);
    image->samples += samples;
    session->started += (double)samples * session->interval;
    p->stop_reason = CUPTI_STOP_END;
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingGetCounterDataInfo(struct cupti_pm_image_info *p)
{
    const struct image *image = (const struct image *)p->image;
    p->total = image->max_samples;
    p->populated = p->completed = image->samples;
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingCounterDataGetSampleInfo(struct cupti_pm_sample_info *p)
{
    const struct image *image = (const struct image *)p->image;
    p->begin = image->begin + p->index * image->step;
    p->end = p->begin + image->step;
    return CUPTI_OK;
}
