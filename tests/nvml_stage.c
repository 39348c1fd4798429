#include "nvml_stage.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"

static _Atomic double time_now; /* threads of the source read it */

static double stage_time(void)
{
    return time_now;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

static void path_of(const struct stage *stage, const char *name, char *ret, size_t size)
{
    snprintf(ret, size, "%s/%s", stage->folder, name);
}

void stage_put_file(struct stage *stage, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", stage->folder, path);
    for (char *slash = strchr(full + strlen(stage->folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    write_file(full, text);
}

void stage_add_to_file(struct stage *stage, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", stage->folder, path);
    FILE *file = fopen(full, "ae");
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

static void make_folder(struct stage *stage)
{
    if (stage->folder[0])
        return;
    strcpy(stage->folder, "/tmp/rooftop-nvml-XXXXXX");
    if (!mkdtemp(stage->folder))
        abort();
}

void stage_set_time(struct stage *stage, double seconds)
{
    char path[128];
    char text[32];
    char whole[160];
    make_folder(stage);
    path_of(stage, "clock", path, sizeof(path));
    snprintf(whole, sizeof(whole), "%s.new", path);
    snprintf(text, sizeof(text), "%.6f\n", seconds);
    write_file(whole, text);
    if (rename(whole, path) < 0)
        abort();
    time_now = seconds;
}

static void choose_library(const char *library)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/lib%s.so", getenv("FAKE_ROOT"), library);
    setenv("ROOFTOP_NVML", library[0] == '/' ? library : path, 1);
}

int stage_open(struct stage *stage, const char *library, const char *script)
{
    make_folder(stage);
    stage_set_time(stage, 0);
    char text[16384];
    char path[128];
    if (stage->fake_is_plain)
        snprintf(text, sizeof(text), "%s", script);
    else
        snprintf(text, sizeof(text), "clock %s/clock\nlog %s/log\n%s", stage->folder, stage->folder,
                 script);
    path_of(stage, "script", path, sizeof(path));
    write_file(path, text);
    setenv("FAKE_NVML_SCRIPT", path, 1);
    setenv("ROOFTOP_HOST_ROOT", stage->folder, 1);
    choose_library(library);

    sample_reset(&stage->sample, ABSENT_FIRST_SAMPLE);
    int r = nvml_counter.open(&stage->counter, NULL, &stage->failure);
    if (r < 0)
        return r;
    struct nvml *nvml = stage_nvml(stage);
    if (!ticker_stop(&nvml->event_ticker) || !ticker_stop(&nvml->link_ticker))
        abort();
    nvml_poll_events(nvml); /* its thread may not have come to it */
    nvml->now = stage_time;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

void stage_close(struct stage *stage)
{
    counter_close(stage->counter);
    if (stage->folder[0])
        nftw(stage->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    *stage = (struct stage){0};
}

int stage_read(struct stage *stage, size_t device)
{
    return nvml_counter.read(stage->counter, device, &stage->sample, &stage->processes);
}

unsigned stage_count_calls(struct stage *stage, const char *call)
{
    char path[128];
    char line[256];
    unsigned count = 0;
    path_of(stage, "log", path, sizeof(path));
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        count += strncmp(line, call, strlen(call)) == 0;
    if (file)
        fclose(file);
    return count;
}

struct nvml *stage_nvml(struct stage *stage)
{
    return nvml_of(stage->counter);
}

void stage_open_or_fail(struct stage *stage, const char *library, const char *script)
{
    if (stage_open(stage, library, script) < 0)
        fail_msg("%s", stage->failure.reason);
}

void stage_read_at(struct stage *stage, double seconds, size_t device)
{
    stage_set_time(stage, seconds);
    assert_int_equal(stage_read(stage, device), 0);
}

void stage_expect(const struct stage *stage, enum metric metric, double value)
{
    const struct sample *sample = &stage->sample;
    const char *name = metric_info(metric)->name;
    if (!sample_has(sample, metric))
        fail_msg("%s is %s", name, absence_info(sample->absent[metric])->word);
    if (fabs(sample->value[metric] - value) > fabs(value) * 1e-12)
        fail_msg("%s is %.17g, not %.17g", name, sample->value[metric], value);
}

void stage_expect_missing(const struct stage *stage, enum metric metric, enum absence reason)
{
    const struct sample *sample = &stage->sample;
    if (sample->absent[metric] != reason)
        fail_msg("%s is %s (%g), not %s", metric_info(metric)->name,
                 absence_info(sample->absent[metric])->word, sample->value[metric],
                 absence_info(reason)->word);
}
