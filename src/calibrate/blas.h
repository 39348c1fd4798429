/* Matrix products by cuBLASLt, where it is on the machine. */
#pragma once

#include "calibrate/gpu.h"
#include "store/ceiling.h"

struct blas;

/* ROOFTOP_CUBLASLT overrides where it is looked for; the GPU's context must be current. Returns 0;
 * -ENOENT with `why` filled: it is not here. */
MUST_CHECK int blas_open(struct blas **ret, char *why, size_t why_size);
void blas_close(struct blas *blas);
/* As the library counts: 130100 is 13.1.0. */
size_t blas_version(const struct blas *blas);

struct blas_product;

/* A square product of a tensor type in the GPU's memory, with random operands; the fastest of the
 * ways that the library proposes is taken. `ret_operations` is of one product.
 * -ENOTSUP: the library has none for this type on this GPU. */
MUST_CHECK int blas_prepare(struct blas *blas, struct gpu *gpu, enum ceiling type,
                            struct blas_product **ret, double *ret_operations, char *why,
                            size_t why_size);
MUST_CHECK int blas_enqueue(struct blas_product *product, char *why, size_t why_size);
void blas_product_free(struct blas_product *product);
