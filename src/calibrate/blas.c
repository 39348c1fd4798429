#include "calibrate/blas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "calibrate/blas_abi.h"

/* Bytes of the GPU's memory that the library may use beside the matrices. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;
enum { LARGEST = 8192, SMALLEST = 1024, WAYS = 6 };

struct blas_functions {
    size_t (*version)(void);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*description_create)(void **description, int compute, int scale_type);
    int (*description_set)(void *description, int attribute, const void *value, size_t size);
    int (*description_destroy)(void *description);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t size);
    int (*preference_destroy)(void *preference);
    int (*heuristic)(void *handle, void *description, void *a, void *b, void *c, void *d,
                     void *preference, int wanted, struct blas_heuristic *ways, int *found);
    int (*product)(void *handle, void *description, const void *alpha, cuda_pointer a,
                   void *a_layout, cuda_pointer b, void *b_layout, const void *beta, cuda_pointer c,
                   void *c_layout, cuda_pointer d, void *d_layout,
                   const struct blas_algorithm *algorithm, cuda_pointer workspace,
                   size_t workspace_bytes, void *stream);
};

struct blas {
    struct dso dso;
    struct blas_functions call;
    void *handle;
};

struct product_type {
    enum ceiling ceiling;
    enum blas_type operand, result, scale;
    enum blas_compute compute;
    size_t operand_bytes, result_bytes;
    uint32_t keep[2], set[2]; /* of each 8 random bytes: see rooftop_fill */
};

static const struct product_type types[] = {
    {CEILING_TENSOR_FP64,
     BLAS_R_64F,
     BLAS_R_64F,
     BLAS_R_64F,
     BLAS_COMPUTE_64F,
     8,
     8,
     {0xffffffff, 0x800fffff},
     {0, 0x3fe00000}},
    {CEILING_TENSOR_TF32,
     BLAS_R_32F,
     BLAS_R_32F,
     BLAS_R_32F,
     BLAS_COMPUTE_TF32,
     4,
     4,
     {0x807fffff, 0x807fffff},
     {0x3f000000, 0x3f000000}},
    {CEILING_TENSOR_BF16,
     BLAS_R_16BF,
     BLAS_R_16BF,
     BLAS_R_32F,
     BLAS_COMPUTE_32F,
     2,
     2,
     {0x807f807f, 0x807f807f},
     {0x3f003f00, 0x3f003f00}},
    {CEILING_TENSOR_FP8,
     BLAS_R_8F_E4M3,
     BLAS_R_16BF,
     BLAS_R_32F,
     BLAS_COMPUTE_32F,
     1,
     2,
     {0x87878787, 0x87878787},
     {0x30303030, 0x30303030}},
    {CEILING_TENSOR_INT8,
     BLAS_R_8I,
     BLAS_R_32I,
     BLAS_R_32I,
     BLAS_COMPUTE_32I,
     1,
     4,
     {0xffffffff, 0xffffffff},
     {0, 0}},
};

struct blas_product {
    struct blas *blas;
    struct gpu *gpu;
    const struct product_type *type;
    uint64_t size;
    void *description;
    void *operand, *result; /* layouts */
    cuda_pointer a, b, c, workspace;
    struct blas_heuristic ways[WAYS];
    int way_count;
    int way; /* in use */
};

#define BLAS_SYMBOL(member, symbol) DSO_REQUIRED(struct blas_functions, member, symbol)

static const struct dso_symbol symbols[] = {
    BLAS_SYMBOL(version, "cublasLtGetVersion"),
    BLAS_SYMBOL(create, "cublasLtCreate"),
    BLAS_SYMBOL(destroy, "cublasLtDestroy"),
    BLAS_SYMBOL(description_create, "cublasLtMatmulDescCreate"),
    BLAS_SYMBOL(description_set, "cublasLtMatmulDescSetAttribute"),
    BLAS_SYMBOL(description_destroy, "cublasLtMatmulDescDestroy"),
    BLAS_SYMBOL(layout_create, "cublasLtMatrixLayoutCreate"),
    BLAS_SYMBOL(layout_destroy, "cublasLtMatrixLayoutDestroy"),
    BLAS_SYMBOL(preference_create, "cublasLtMatmulPreferenceCreate"),
    BLAS_SYMBOL(preference_set, "cublasLtMatmulPreferenceSetAttribute"),
    BLAS_SYMBOL(preference_destroy, "cublasLtMatmulPreferenceDestroy"),
    BLAS_SYMBOL(heuristic, "cublasLtMatmulAlgoGetHeuristic"),
    BLAS_SYMBOL(product, "cublasLtMatmul"),
};

struct attempt {
    struct blas *blas;
    char *why;
    size_t why_size;
    int result;
};

static bool try_path(void *context, const char *path)
{
    struct attempt *attempt = context;
    const char *const candidates[] = {path, NULL};
    attempt->result =
        dso_open(&attempt->blas->dso, "ROOFTOP_CUBLASLT", candidates, symbols, ARRAY_SIZE(symbols),
                 &attempt->blas->call, attempt->why, attempt->why_size);
    return attempt->result < 0;
}

static int load(struct blas *blas, char *why, size_t why_size)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    static const char *const patterns[] = {
        "/usr/local/cuda/{lib64,lib}/libcublasLt.so.1?",
        "/usr/local/cuda-*/{lib64,lib}/libcublasLt.so.1?",
        "/opt/cuda/lib64/libcublasLt.so.1?",
        "/opt/nvidia/hpc_sdk/Linux_*/*/math_libs/*/lib64/libcublasLt.so.1?",
        "/usr/{local/,}lib/python3*/dist-packages/nvidia/{cublas,cu1?}/lib/libcublasLt.so.1?",
        "/usr/{local/,}lib{,64}/python3*/site-packages/nvidia/{cublas,cu1?}/lib/libcublasLt.so.1?",
        NULL,
    };
    static const struct library_places places = {
        names,
        patterns,
        "/lib{,64}/python3*/site-packages/nvidia/{cublas,cu1?}/lib/libcublasLt.so.1?",
    };
    struct attempt attempt = {blas, why, why_size, -ENOENT};
    const char *named = secure_getenv("ROOFTOP_CUBLASLT");
    if (named && named[0])
        try_path(&attempt, named);
    else
        library_search(&places, try_path, &attempt);
    return attempt.result;
}

int blas_open(struct blas **ret, char *why, size_t why_size)
{
    struct blas *blas = calloc(1, sizeof(*blas));
    if (!blas)
        return -ENOMEM;
    int r = load(blas, why, why_size);
    if (r == 0) {
        int status = blas->call.create(&blas->handle);
        if (status != BLAS_OK) {
            snprintf(why, why_size, "cublasLtCreate: cuBLAS status %d", status);
            r = -ENOENT;
        }
    }
    if (r < 0) {
        blas->handle = NULL;
        blas_close(blas);
        return -ENOENT;
    }
    *ret = blas;
    return 0;
}

void blas_close(struct blas *blas)
{
    if (!blas)
        return;
    if (blas->handle)
        blas->call.destroy(blas->handle);
    dso_close(&blas->dso);
    free(blas);
}

size_t blas_version(const struct blas *blas)
{
    return blas->call.version();
}

static const struct product_type *find_type(enum ceiling ceiling)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (types[i].ceiling == ceiling)
            return &types[i];
    return NULL;
}

/* The largest power of two whose three matrices fit. */
static void place_matrices(struct blas_product *product)
{
    const struct product_type *type = product->type;
    struct gpu *gpu = product->gpu;
    size_t room = gpu->memory_bytes - WORKSPACE_BYTES;
    uint64_t size = LARGEST;
    while (size > SMALLEST && size * size * (2 * type->operand_bytes + type->result_bytes) > room)
        size /= 2;
    product->size = size;
    product->workspace = gpu->memory;
    product->a = gpu->memory + WORKSPACE_BYTES;
    product->b = product->a + size * size * type->operand_bytes;
    product->c = product->b + size * size * type->operand_bytes;
}

static int fill_operands(struct blas_product *product, char *why, size_t why_size)
{
    const struct product_type *type = product->type;
    uint64_t count = 2 * product->size * product->size * type->operand_bytes / 8;
    void *parameters[] = {&product->a, &count, (void *)type->keep, (void *)type->set};
    return gpu_launch(product->gpu, KERNEL_FILL, product->gpu->sm_count * 8, 256, parameters, why,
                      why_size);
}

static int describe(struct blas_product *product)
{
    const struct blas_functions *call = &product->blas->call;
    const struct product_type *type = product->type;
    int32_t transposed = BLAS_TRANSPOSED;
    int8_t fast = 1;
    int status =
        call->description_create(&product->description, (int)type->compute, (int)type->scale);
    if (status == BLAS_OK)
        status = call->description_set(product->description, BLAS_DESC_TRANSPOSE_A, &transposed,
                                       sizeof(transposed));
    if (status == BLAS_OK && type->operand == BLAS_R_8F_E4M3)
        status = call->description_set(product->description, BLAS_DESC_FAST_ACCUMULATION, &fast,
                                       sizeof(fast));
    if (status == BLAS_OK)
        status = call->layout_create(&product->operand, (int)type->operand, product->size,
                                     product->size, (int64_t)product->size);
    if (status == BLAS_OK)
        status = call->layout_create(&product->result, (int)type->result, product->size,
                                     product->size, (int64_t)product->size);
    return status;
}

static int propose(struct blas_product *product)
{
    const struct blas_functions *call = &product->blas->call;
    void *preference = NULL;
    uint64_t workspace = WORKSPACE_BYTES;
    int status = call->preference_create(&preference);
    if (status != BLAS_OK)
        return status;
    status =
        call->preference_set(preference, BLAS_PREFERENCE_WORKSPACE, &workspace, sizeof(workspace));
    if (status == BLAS_OK)
        status = call->heuristic(product->blas->handle, product->description, product->operand,
                                 product->operand, product->result, product->result, preference,
                                 WAYS, product->ways, &product->way_count);
    call->preference_destroy(preference);
    return status;
}

int blas_enqueue(struct blas_product *product, char *why, size_t why_size)
{
    static const float one = 1, zero = 0;
    static const double one_64 = 1, zero_64 = 0;
    static const int32_t one_int = 1, zero_int = 0;
    const struct product_type *type = product->type;
    const void *alpha = &one, *beta = &zero;
    if (type->scale == BLAS_R_64F)
        alpha = &one_64, beta = &zero_64;
    else if (type->scale == BLAS_R_32I)
        alpha = &one_int, beta = &zero_int;
    int status = product->blas->call.product(
        product->blas->handle, product->description, alpha, product->a, product->operand,
        product->b, product->operand, beta, product->c, product->result, product->c,
        product->result, &product->ways[product->way].algorithm, product->workspace,
        WORKSPACE_BYTES, product->gpu->stream);
    if (status == BLAS_OK)
        return 0;
    snprintf(why, why_size, "cublasLtMatmul: cuBLAS status %d", status);
    return -ENOTSUP;
}

static int enqueue(void *product, char *why, size_t why_size)
{
    return blas_enqueue(product, why, why_size);
}

/* The second time counts: the first loads the code. */
static int choose_way(struct blas_product *product, char *why, size_t why_size)
{
    double best = 0;
    int chosen = -1;
    for (product->way = 0; product->way < product->way_count; product->way++) {
        if (product->ways[product->way].state != BLAS_OK)
            continue;
        double seconds = 0;
        int r = gpu_time(product->gpu, enqueue, product, 1, &seconds, why, why_size);
        if (r == 0)
            r = gpu_time(product->gpu, enqueue, product, 1, &seconds, why, why_size);
        if (r < 0 && r != -ENOTSUP)
            return r;
        if (r == 0 && (chosen < 0 || seconds < best)) {
            chosen = product->way;
            best = seconds;
        }
    }
    product->way = chosen;
    return chosen < 0 ? -ENOTSUP : 0;
}

int blas_prepare(struct blas *blas, struct gpu *gpu, enum ceiling ceiling,
                 struct blas_product **ret, double *ret_operations, char *why, size_t why_size)
{
    struct blas_product *product = calloc(1, sizeof(*product));
    if (!product)
        return -ENOMEM;
    product->blas = blas;
    product->gpu = gpu;
    product->type = find_type(ceiling);
    int r = product->type ? 0 : -ENOTSUP;
    if (r == 0) {
        place_matrices(product);
        int status = describe(product);
        if (status == BLAS_OK)
            status = propose(product);
        snprintf(why, why_size, "cuBLASLt has no product of this type here (status %d)", status);
        r = status == BLAS_OK && product->way_count > 0 ? 0 : -ENOTSUP;
    }
    if (r == 0)
        r = fill_operands(product, why, why_size);
    if (r == 0)
        r = choose_way(product, why, why_size);
    if (r < 0) {
        blas_product_free(product);
        return r;
    }
    double size = (double)product->size;
    *ret_operations = 2 * size * size * size;
    *ret = product;
    return 0;
}

void blas_product_free(struct blas_product *product)
{
    if (!product)
        return;
    const struct blas_functions *call = &product->blas->call;
    if (product->operand)
        call->layout_destroy(product->operand);
    if (product->result)
        call->layout_destroy(product->result);
    if (product->description)
        call->description_destroy(product->description);
    free(product);
}
