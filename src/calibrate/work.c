#include "calibrate/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/graph.h"

enum {
    THREADS = 256,
    BLOCKS_PER_SM = 8,
    ROUNDS = 2048,
    L2_PASSES = 64,
    LAUNCHES = 500,
    LOOK_STEPS = 16,
    VECTOR_BYTES = 16,
};

static const size_t STREAM_BYTES = (size_t)1 << 30;

/* Operations of one thread and round: 8 chains × 8 steps × 2; two numbers at once in FP16. */
static const double CHAIN_OPERATIONS = 128;

static int launch(struct work *work, void **parameters, char *why, size_t why_size)
{
    return gpu_launch(work->gpu, work->kernel, work->blocks, work->threads, parameters, why,
                      why_size);
}

static int step_read(struct work *work, char *why, size_t why_size)
{
    void *parameters[] = {&work->array[0], &work->count, &work->rounds, &work->array[1]};
    return launch(work, parameters, why, why_size);
}

static int step_write(struct work *work, char *why, size_t why_size)
{
    uint32_t value = 0x5a5a5a5a;
    void *parameters[] = {&work->array[0], &work->count, &value};
    return launch(work, parameters, why, why_size);
}

static int step_copy(struct work *work, char *why, size_t why_size)
{
    void *parameters[] = {&work->array[0], &work->array[1], &work->count};
    return launch(work, parameters, why, why_size);
}

static int step_triad(struct work *work, char *why, size_t why_size)
{
    float factor = 3;
    void *parameters[] = {&work->array[0], &work->array[1], &work->array[2], &work->count, &factor};
    return launch(work, parameters, why, why_size);
}

static int step_fp64(struct work *work, char *why, size_t why_size)
{
    double a = 0.999, b = 0.001;
    void *parameters[] = {&work->array[0], &work->rounds, &a, &b};
    return launch(work, parameters, why, why_size);
}

static int step_fp32(struct work *work, char *why, size_t why_size)
{
    float a = 0.999F, b = 0.001F;
    void *parameters[] = {&work->array[0], &work->rounds, &a, &b};
    return launch(work, parameters, why, why_size);
}

static int step_words(struct work *work, char *why, size_t why_size)
{
    uint32_t a = 0x3bff3bff, b = 0x14001400; /* as FP16: a little below 1, and 0.001 */
    void *parameters[] = {&work->array[0], &work->rounds, &a, &b};
    return launch(work, parameters, why, why_size);
}

static int step_tensor(struct work *work, char *why, size_t why_size)
{
    uint32_t seed = 0x3f803f01;
    double seed_64 = 0.75;
    void *parameters[] = {&work->array[0], &work->rounds,
                          work->kernel == KERNEL_TENSOR_FP64 ? (void *)&seed_64 : (void *)&seed};
    return launch(work, parameters, why, why_size);
}

static int step_product(struct work *work, char *why, size_t why_size)
{
    return blas_enqueue(work->product, why, why_size);
}

static int step_in(struct work *work, char *why, size_t why_size)
{
    struct gpu *gpu = work->gpu;
    return gpu_check(gpu->driver,
                     gpu->driver->copy_in(gpu->memory, gpu->host, work->count, gpu->stream),
                     "cuMemcpyHtoDAsync", why, why_size);
}

static int step_out(struct work *work, char *why, size_t why_size)
{
    struct gpu *gpu = work->gpu;
    return gpu_check(gpu->driver,
                     gpu->driver->copy_out(gpu->host, gpu->memory, work->count, gpu->stream),
                     "cuMemcpyDtoHAsync", why, why_size);
}

static int step_send(struct work *work, char *why, size_t why_size)
{
    struct gpu *gpu = work->gpu;
    return gpu_check(gpu->driver,
                     gpu->driver->peer_copy(gpu->peer_memory, gpu->peer_context, gpu->memory,
                                            gpu->context, work->count, gpu->stream),
                     "cuMemcpyPeerAsync", why, why_size);
}

static int step_launches(struct work *work, char *why, size_t why_size)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < LAUNCHES; i++)
        r = launch(work, NULL, why, why_size);
    return r;
}

static int enqueue_launches(void *work, char *why, size_t why_size)
{
    return step_launches(work, why, why_size);
}

static int step_graph(struct work *work, char *why, size_t why_size)
{
    return graph_enqueue(work->gpu, work->graph, why, why_size);
}

/* Elements of 16 bytes that `bytes` hold, as whole rounds of all threads. */
static uint64_t whole_rounds(const struct work *work, size_t bytes)
{
    uint64_t round = (uint64_t)4 * work->blocks * work->threads;
    uint64_t rounds = bytes / VECTOR_BYTES / round;
    return (rounds > 0 ? rounds : 1) * round;
}

/* False where the arrays are too small for so many blocks. */
static bool prepare_stream(struct work *work, unsigned arrays_moved)
{
    size_t bytes = util_min(work->gpu->memory_bytes / 3, STREAM_BYTES) & ~(size_t)0xffff;
    for (size_t i = 0; i < ARRAY_SIZE(work->array); i++)
        work->array[i] = work->gpu->memory + i * bytes;
    work->rounds = 1;
    work->count = whole_rounds(work, bytes);
    work->amount = (double)work->count * VECTOR_BYTES * arrays_moved;
    return work->count * VECTOR_BYTES <= bytes;
}

/* A third of the cache, so that it stays there. */
static int prepare_l2(struct work *work, char *why, size_t why_size)
{
    size_t bytes = work->gpu->l2_bytes / 3;
    work->array[0] = work->gpu->memory;
    work->array[1] = work->gpu->memory + work->gpu->memory_bytes - VECTOR_BYTES;
    while (work->blocks > work->gpu->sm_count &&
           (size_t)4 * VECTOR_BYTES * work->blocks * work->threads > bytes)
        work->blocks /= 2;
    if ((size_t)4 * VECTOR_BYTES * work->blocks * work->threads > bytes) {
        snprintf(why, why_size, "the L2 cache is too small for the kernel: %zu KiB",
                 work->gpu->l2_bytes >> 10);
        return -ENOTSUP;
    }
    work->rounds = L2_PASSES;
    work->count = whole_rounds(work, bytes);
    work->amount = (double)work->count * VECTOR_BYTES * L2_PASSES;
    return 0;
}

static void prepare_chains(struct work *work, double operations)
{
    work->rounds = ROUNDS;
    work->array[0] = work->gpu->memory;
    work->amount = operations * ROUNDS * work->blocks * work->threads;
}

/* `operations` of one warp's instruction; 4 in a round. */
static void prepare_own_tensor(struct work *work, enum gpu_kernel kernel, double operations)
{
    work->kernel = kernel;
    work->step = step_tensor;
    work->rounds = ROUNDS;
    work->array[0] = work->gpu->memory;
    work->amount = operations * 4 * ROUNDS * work->blocks * (work->threads / 32.0);
    work->old_tensor_path = work->gpu->capability >= 90;
    snprintf(work->how, sizeof(work->how), "own kernel, mma.sync%s",
             work->old_tensor_path ? " (about 2/3 of this chip's rate)" : "");
}

static int prepare_product(struct work *work, char *why, size_t why_size)
{
    int r = blas_prepare(work->blas, work->gpu, work->ceiling, &work->product, &work->amount, why,
                         why_size);
    if (r < 0)
        return r;
    size_t version = blas_version(work->blas);
    size_t major = version / 10000;
    snprintf(work->how, sizeof(work->how), "cuBLASLt %zu.%zu", major, version / 100 % 100);
    work->step = step_product;
    return 0;
}

/* The faster of cuBLASLt and the kernel of one's own: for some types the library has only the
 * instructions of older chips, and not the best of that. */
static int choose_tensor(struct work *work, enum gpu_kernel kernel, double operations, char *why,
                         size_t why_size)
{
    struct work own = *work;
    prepare_own_tensor(&own, kernel, operations);
    int r = work->blas ? prepare_product(work, why, why_size) : -ENOTSUP;
    if (r < 0) {
        if (r == -ENOTSUP)
            *work = own;
        return r == -ENOTSUP ? 0 : r;
    }
    double library_time = 0, own_time = 0;
    r = gpu_time(work->gpu, work_enqueue, work, 1, &library_time, why, why_size);
    for (int i = 0; r == 0 && i < 2; i++)
        r = gpu_time(work->gpu, work_enqueue, &own, 1, &own_time, why, why_size);
    if (r == 0 && own.amount / own_time > work->amount / library_time) {
        work_free(work);
        *work = own;
    }
    return r;
}

static int prepare_fp8(struct work *work, char *why, size_t why_size)
{
    if (work->gpu->capability < 89) {
        snprintf(why, why_size, "this chip has no FP8");
        return -ENOTSUP;
    }
    return work->blas ? prepare_product(work, why, why_size) : -ENOTSUP;
}

static int prepare_copies(struct work *work, int (*step)(struct work *, char *, size_t))
{
    work->step = step;
    work->count = util_min(work->gpu->host_bytes, work->gpu->memory_bytes);
    work->amount = (double)work->count;
    snprintf(work->how, sizeof(work->how), "copies of %llu MiB",
             (unsigned long long)work->count >> 20);
    return 0;
}

static int prepare_send(struct work *work, char *why, size_t why_size)
{
    if (!work->gpu->peer_memory) {
        snprintf(why, why_size,
                 "there is no second GPU with NVLink that is free among those chosen");
        return -ENOTSUP;
    }
    work->step = step_send;
    work->count = util_min(work->gpu->peer_bytes, work->gpu->memory_bytes);
    work->amount = (double)work->count;
    snprintf(work->how, sizeof(work->how), "copies of %llu MiB to a peer",
             (unsigned long long)work->count >> 20);
    return 0;
}

static void prepare_launches(struct work *work)
{
    work->kernel = KERNEL_EMPTY;
    work->step = step_launches;
    work->blocks = 1;
    work->threads = 32;
    work->amount = LAUNCHES;
}

/* Launched once before, so that its code is loaded when the graph is made. A driver that makes no
 * graph costs this ceiling alone. */
static int prepare_graph(struct work *work, char *why, size_t why_size)
{
    double seconds;
    prepare_launches(work);
    int r = gpu_time(work->gpu, work_enqueue, work, 1, &seconds, why, why_size);
    if (r < 0)
        return r;
    work->step = step_graph;
    r = graph_make(work->gpu, enqueue_launches, work, &work->graph, why, why_size);
    return r < 0 ? -ENOTSUP : 0;
}

static int prepare_units(struct work *work, enum gpu_kernel kernel,
                         int (*step)(struct work *, char *, size_t), double operations)
{
    work->kernel = kernel;
    work->step = step;
    prepare_chains(work, operations);
    return 0;
}

/* Memory is fastest with one of these many blocks on an SM, from a few that stay to as many as
 * there is work for; which one differs from chip to chip. */
static int prepare_memory(struct work *work, enum gpu_kernel kernel,
                          int (*step)(struct work *, char *, size_t), unsigned arrays_moved,
                          char *why, size_t why_size)
{
    static const unsigned blocks_per_sm[] = {BLOCKS_PER_SM, 32, 128, 480};
    struct work best = {0};
    double best_rate = 0;
    work->kernel = kernel;
    work->step = step;
    for (size_t i = 0; i < ARRAY_SIZE(blocks_per_sm); i++) {
        double seconds[2]; /* the first is not steady yet */
        work->blocks = work->gpu->sm_count * blocks_per_sm[i];
        if (!prepare_stream(work, arrays_moved))
            break;
        work->steps = LOOK_STEPS;
        int r = gpu_time(work->gpu, work_enqueue, work, 2, seconds, why, why_size);
        if (r < 0)
            return r;
        if (work->amount / seconds[1] > best_rate) {
            best_rate = work->amount / seconds[1];
            best = *work;
        }
    }
    *work = best;
    work->steps = 1;
    return 0;
}

static int prepare(struct work *work, char *why, size_t why_size)
{
    switch (work->ceiling) {
    case CEILING_HBM_READ:
        return prepare_memory(work, KERNEL_READ, step_read, 1, why, why_size);
    case CEILING_HBM_WRITE:
        return prepare_memory(work, KERNEL_WRITE, step_write, 1, why, why_size);
    case CEILING_HBM_COPY:
        return prepare_memory(work, KERNEL_COPY, step_copy, 2, why, why_size);
    case CEILING_HBM_TRIAD:
        return prepare_memory(work, KERNEL_TRIAD, step_triad, 3, why, why_size);
    case CEILING_L2_READ:
        work->kernel = KERNEL_READ;
        work->step = step_read;
        return prepare_l2(work, why, why_size);
    case CEILING_FP64:
        return prepare_units(work, KERNEL_FP64, step_fp64, CHAIN_OPERATIONS);
    case CEILING_FP32:
        return prepare_units(work, KERNEL_FP32, step_fp32, CHAIN_OPERATIONS);
    case CEILING_FP16:
        return prepare_units(work, KERNEL_FP16, step_words, 2 * CHAIN_OPERATIONS);
    case CEILING_INT32:
        return prepare_units(work, KERNEL_INT32, step_words, CHAIN_OPERATIONS);
    case CEILING_TENSOR_FP64:
        return choose_tensor(work, KERNEL_TENSOR_FP64, 2 * 8 * 8 * 4, why, why_size);
    case CEILING_TENSOR_TF32:
        return choose_tensor(work, KERNEL_TENSOR_TF32, 2 * 16 * 8 * 8, why, why_size);
    case CEILING_TENSOR_BF16:
        return choose_tensor(work, KERNEL_TENSOR_BF16, 2 * 16 * 8 * 16, why, why_size);
    case CEILING_TENSOR_FP8:
        return prepare_fp8(work, why, why_size);
    case CEILING_TENSOR_INT8:
        return choose_tensor(work, KERNEL_TENSOR_INT8, 2 * 16 * 8 * 32, why, why_size);
    case CEILING_PCIE_H2D:
        return prepare_copies(work, step_in);
    case CEILING_PCIE_D2H:
        return prepare_copies(work, step_out);
    case CEILING_NVLINK_SEND:
        return prepare_send(work, why, why_size);
    case CEILING_LAUNCH_RATE:
        prepare_launches(work);
        return 0;
    case CEILING_GRAPH_RATE:
        return prepare_graph(work, why, why_size);
    default:
        return -ENOTSUP;
    }
}

int work_prepare(struct work *work, struct gpu *gpu, struct blas *blas, enum ceiling ceiling,
                 char *why, size_t why_size)
{
    *work = (struct work){
        .gpu = gpu,
        .blas = blas,
        .ceiling = ceiling,
        .steps = 1,
        .blocks = gpu->sm_count * BLOCKS_PER_SM,
        .threads = THREADS,
        .how = "own kernel",
    };
    snprintf(why, why_size, "it takes cuBLASLt, which is not here");
    int r = prepare(work, why, why_size);
    if (r < 0)
        work_free(work);
    return r;
}

void work_free(struct work *work)
{
    blas_product_free(work->product);
    graph_free(work->gpu, work->graph);
    work->product = NULL;
    work->graph = NULL;
}

int work_enqueue(void *context, char *why, size_t why_size)
{
    struct work *work = context;
    int r = 0;
    for (unsigned i = 0; r == 0 && i < work->steps; i++) {
        r = work->step(work, why, why_size);
        /* The driver's queue is shorter than a second of small kernels. */
        if (r == 0 && i % LOOK_STEPS == LOOK_STEPS - 1)
            r = gpu_look_around(work->gpu, why, why_size);
    }
    return r;
}
