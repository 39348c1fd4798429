/* The part of cuBLASLt's binary interface that the calibration uses, as its reference manual states
 * it. Descriptors are opaque and made by the library; numbers of attributes and types are the
 * manual's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BLAS_OK = 0 };

enum blas_compute {
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_64F = 70,
    BLAS_COMPUTE_32I = 72,
    BLAS_COMPUTE_TF32 = 77,
};

enum blas_type {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_8I = 3,
    BLAS_R_32I = 10,
    BLAS_R_16BF = 14,
    BLAS_R_8F_E4M3 = 28,
};

enum {
    BLAS_DESC_TRANSPOSE_A = 3,
    BLAS_DESC_FAST_ACCUMULATION = 25,
    BLAS_PREFERENCE_WORKSPACE = 1,
    BLAS_TRANSPOSED = 1,
};

struct blas_algorithm {
    uint64_t data[8];
};

struct blas_heuristic {
    struct blas_algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

_Static_assert(sizeof(struct blas_algorithm) == 64, "cublasLtMatmulAlgo_t");
_Static_assert(sizeof(struct blas_heuristic) == 96, "cublasLtMatmulHeuristicResult_t");
_Static_assert(offsetof(struct blas_heuristic, state) == 72, "cublasLtMatmulHeuristicResult_t");
