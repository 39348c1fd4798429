/* Kernels with known work. calibrate.ptx is made from this file by kernels/generate.sh, and is what
 * the program holds: it needs no compiler. Where a kernel's result is not wanted, it is stored under a
 * condition that never holds but that the compiler cannot know. */

typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void

__device__ static u64 first()
{
    return blockIdx.x * (u64)blockDim.x + threadIdx.x;
}

__device__ static u64 stride()
{
    return gridDim.x * (u64)blockDim.x;
}

KERNEL rooftop_empty()
{
}

__device__ static unsigned scramble(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

/* Random words, with bits cleared and set so that they are numbers of a type between 0.5 and 1 with a
 * random sign: the power that arithmetic draws depends on its operands. */
KERNEL rooftop_fill(uint2 *out, u64 count, uint2 keep, uint2 set)
{
    for (u64 i = first(); i < count; i += stride()) {
        unsigned x = scramble((unsigned)i * 2 + 1), y = scramble((unsigned)i * 2 + 2);
        out[i] = make_uint2((x & keep.x) | set.x, (y & keep.y) | set.y);
    }
}

/* `count` is a multiple of 4 × threads. .cg: past L1, since it is the L2 that is meant where the
 * array is small; `passes` times over it. */
KERNEL rooftop_read(const uint4 *in, u64 count, unsigned passes, unsigned *out)
{
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (unsigned pass = 0; pass < passes; pass++)
        for (u64 i = first(); i < count; i += 4 * stride()) {
            uint4 v[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                v[k] = __ldcg(in + i + k * stride());
#pragma unroll
            for (int k = 0; k < 4; k++) {
                sum.x ^= v[k].x;
                sum.y ^= v[k].y;
                sum.z ^= v[k].z;
                sum.w ^= v[k].w;
            }
        }
    if ((sum.x & sum.y & sum.z & sum.w) == 0x12345678)
        *out = 1;
}

KERNEL rooftop_write(uint4 *out, u64 count, unsigned value)
{
    uint4 v = make_uint4(value, value, value, value);
    for (u64 i = first(); i < count; i += stride())
        out[i] = v;
}

KERNEL rooftop_copy(uint4 *out, const uint4 *in, u64 count)
{
    for (u64 i = first(); i < count; i += 2 * stride()) {
        uint4 a = in[i], b = in[i + stride()];
        out[i] = a;
        out[i + stride()] = b;
    }
}

KERNEL rooftop_triad(float4 *out, const float4 *a, const float4 *b, u64 count, float s)
{
    for (u64 i = first(); i < count; i += stride()) {
        float4 x = a[i], y = b[i];
        out[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
    }
}

/* Chains of multiply-adds, 8 of them side by side in a thread, 64 to a round. */
enum { CHAINS = 8, STEPS = 8 };

KERNEL rooftop_fp64(double *out, unsigned rounds, double a, double b)
{
    double x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = threadIdx.x + k;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                x[k] = fma(x[k], a, b);
    double sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    if (sum == 12345.678)
        *out = sum;
}

KERNEL rooftop_fp32(float *out, unsigned rounds, float a, float b)
{
    float x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = threadIdx.x + k;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                x[k] = fmaf(x[k], a, b);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    if (sum == 12345.678f)
        *out = sum;
}

/* Two numbers to a register. */
KERNEL rooftop_fp16(unsigned *out, unsigned rounds, unsigned a, unsigned b)
{
    unsigned x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = 0x3c003800 + threadIdx.x + k;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x[k]) : "r"(a), "r"(b));
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum ^= x[k];
    if (sum == 0x12345678)
        *out = sum;
}

KERNEL rooftop_int32(int *out, unsigned rounds, int a, int b)
{
    int x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = threadIdx.x + k;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++)
                asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(x[k]) : "r"(a), "r"(b));
    int sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        sum ^= x[k];
    if (sum == 0x12345678)
        *out = sum;
}

/* Tensor products of each warp's own registers, 4 side by side. From Hopper on these instructions
 * reach about two thirds of the tensor cores' rate only. */
enum { TILES = 4 };

#define TENSOR_FLOAT(name, shape, a_registers, b_registers)                                         \
    KERNEL name(float *out, unsigned rounds, unsigned seed)                                         \
    {                                                                                               \
        float c[TILES][4] = {};                                                                     \
        unsigned a0 = seed + threadIdx.x, b0 = seed ^ threadIdx.x;                                  \
        for (unsigned round = 0; round < rounds; round++)                                           \
            _Pragma("unroll") for (int k = 0; k < TILES; k++) asm volatile(                         \
                "mma.sync.aligned." shape " {%0,%1,%2,%3}, " a_registers ", " b_registers           \
                ", {%0,%1,%2,%3};"                                                                  \
                : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])                        \
                : "r"(a0), "r"(b0));                                                                \
        float sum = 0;                                                                              \
        _Pragma("unroll") for (int k = 0; k < TILES; k++) sum += c[k][0] + c[k][1];                 \
        if (sum == 12345.678f)                                                                      \
            *out = sum;                                                                             \
    }

TENSOR_FLOAT(rooftop_tensor_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", "{%4,%5,%4,%5}", "{%4,%5}")
TENSOR_FLOAT(rooftop_tensor_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", "{%4,%5,%4,%5}", "{%4,%5}")

KERNEL rooftop_tensor_int8(int *out, unsigned rounds, unsigned seed)
{
    int c[TILES][4] = {};
    unsigned a = seed + threadIdx.x, b = seed ^ threadIdx.x;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int k = 0; k < TILES; k++)
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, "
                         "{%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};"
                         : "+r"(c[k][0]), "+r"(c[k][1]), "+r"(c[k][2]), "+r"(c[k][3])
                         : "r"(a), "r"(b));
    int sum = 0;
#pragma unroll
    for (int k = 0; k < TILES; k++)
        sum ^= c[k][0] ^ c[k][1];
    if (sum == 0x12345678)
        *out = sum;
}

KERNEL rooftop_tensor_fp64(double *out, unsigned rounds, double seed)
{
    double c[TILES][2] = {};
    double a = seed * threadIdx.x, b = seed;
    for (unsigned round = 0; round < rounds; round++)
#pragma unroll
        for (int k = 0; k < TILES; k++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, "
                         "{%0,%1};"
                         : "+d"(c[k][0]), "+d"(c[k][1])
                         : "d"(a), "d"(b));
    double sum = 0;
#pragma unroll
    for (int k = 0; k < TILES; k++)
        sum += c[k][0] + c[k][1];
    if (sum == 12345.678)
        *out = sum;
}
