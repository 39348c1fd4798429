#include "calibrate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "calibrate/blas.h"
#include "calibrate/work.h"

enum { REPEATS = 5, MOST_STEPS = 100000 };
_Static_assert((int)REPEATS < (int)GPU_EVENTS, "a repeat has an event behind it");
static const double REPEAT_SECONDS = 0.2;
/* Until clocks and power are steady; the tensor cores heat the chip most. */
static const double WARM_SECONDS = 0.3;
static const double WARM_TENSOR_SECONDS = 2.5;
static const double PATIENCE = 20;

_Static_assert(CEILING_COUNT <= 32, "struct calibration_config's bits");

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void calibration_summary(double *rates, size_t count, double *ret_median, double *ret_spread)
{
    qsort(rates, count, sizeof(rates[0]), compare);
    double median = (rates[(count - 1) / 2] + rates[count / 2]) / 2;
    *ret_median = median;
    *ret_spread = (rates[count - 1] - rates[0]) / median;
}

static unsigned steps_for(double seconds, double step_seconds)
{
    double steps = ceil(seconds / step_seconds);
    return steps < 1 ? 1 : steps > MOST_STEPS ? MOST_STEPS : (unsigned)steps;
}

/* Sets how many steps make a repeat. */
static int warm_up(struct work *work, char *why, size_t why_size)
{
    double seconds = 0, spent = 0;
    bool tensor = work->ceiling >= CEILING_TENSOR_FP64 && work->ceiling <= CEILING_TENSOR_INT8;
    int r = gpu_time(work->gpu, work_enqueue, work, 1, &seconds, why, why_size);
    for (double left = tensor ? WARM_TENSOR_SECONDS : WARM_SECONDS; r == 0 && left > 0;
         left -= spent) {
        double step = r == 0 && spent > 0 ? spent / work->steps : seconds;
        work->steps = steps_for(fmin(left, REPEAT_SECONDS), step);
        r = gpu_time(work->gpu, work_enqueue, work, 1, &spent, why, why_size);
    }
    if (r == 0)
        work->steps = steps_for(REPEAT_SECONDS, spent / work->steps);
    return r;
}

static int measure(struct work *work, const struct calibration_hooks *hooks,
                   struct ceiling_value *ret, char *why, size_t why_size)
{
    const struct calibration_work told = {work->ceiling, work->old_tensor_path, work->how};
    double seconds[REPEATS], rates[REPEATS], sum = 0;
    int r = warm_up(work, why, why_size);
    if (r < 0)
        return r;
    hooks->begin(hooks->context, &told);
    r = gpu_time(work->gpu, work_enqueue, work, REPEATS, seconds, why, why_size);
    if (r < 0)
        return r;
    for (size_t i = 0; i < REPEATS; i++) {
        rates[i] = work->amount * work->steps / seconds[i];
        sum += seconds[i];
    }
    struct ceiling_value value = {
        .origin = CEILING_MEASURED,
        .ratio = NAN,
        .clock = NAN,
        .temperature = NAN,
        .power = NAN,
        .time = clock_realtime(),
    };
    calibration_summary(rates, REPEATS, &value.value, &value.spread);
    snprintf(value.how, sizeof(value.how), "%s", work->how);
    hooks->end(hooks->context, &told, work->amount * work->steps * REPEATS / sum, &value);
    *ret = value;
    return 0;
}

static int measure_all(const struct calibration_config *config, struct gpu *gpu, struct blas *blas,
                       struct calibration *ret, char *why, size_t why_size)
{
    for (size_t i = 0; i < CEILING_COUNT; i++) {
        if (!(config->wanted >> i & 1))
            continue;
        struct work work;
        config->hooks.next(config->hooks.context, (enum ceiling)i);
        int r = work_prepare(&work, gpu, blas, (enum ceiling)i, why, why_size);
        if (r == -ENOTSUP) {
            snprintf(ret->missing[i], sizeof(ret->missing[i]), "%s", why);
            continue;
        }
        if (r == 0) {
            r = measure(&work, &config->hooks, &ret->ceilings.of[i], why, why_size);
            work_free(&work);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* Memory that nobody wrote to holds zeros, which cost less power to move. */
static int fill_memory(void *context, char *why, size_t why_size)
{
    struct gpu *gpu = context;
    uint64_t count = gpu->memory_bytes / 8;
    uint32_t keep[2] = {0x807fffff, 0x807fffff}, set[2] = {0x3f000000, 0x3f000000};
    void *parameters[] = {&gpu->memory, &count, keep, set};
    return gpu_launch(gpu, KERNEL_FILL, gpu->sm_count * 8, 256, parameters, why, why_size);
}

static int run(const struct calibration_config *config, struct gpu *gpu, struct calibration *ret,
               char *why, size_t why_size)
{
    struct blas *blas = NULL;
    if (blas_open(&blas, why, why_size) == 0)
        snprintf(ret->library, sizeof(ret->library), "cuBLASLt %zu.%zu", blas_version(blas) / 10000,
                 blas_version(blas) / 100 % 100);
    int r = config->peer ? gpu_open_peer(gpu, config->peer, why, why_size) : 0;
    double seconds;
    if (r == 0 || r == -ENOTSUP)
        r = gpu_time(gpu, fill_memory, gpu, 1, &seconds, why, why_size);
    if (r == 0)
        r = measure_all(config, gpu, blas, ret, why, why_size);
    if (!gpu->hung)
        blas_close(blas);
    return r;
}

int calibrate(const struct calibration_config *config, struct calibration *ret, char *why,
              size_t why_size)
{
    *ret = (struct calibration){0};
    struct cuda_driver driver;
    struct gpu gpu;
    int r = cuda_driver_load(&driver, why, why_size);
    if (r < 0)
        return r;
    const struct gpu_patience patience = {config->hooks.idle, config->hooks.context,
                                          config->patience > 0 ? config->patience : PATIENCE};
    r = gpu_open(&gpu, &driver, config->uuid, &patience, why, why_size);
    if (r == 0) {
        r = run(config, &gpu, ret, why, why_size);
        gpu_close(&gpu);
    }
    if (!gpu.hung)
        cuda_driver_unload(&driver);
    return r;
}
