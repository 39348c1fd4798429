"""Kernels of mma.sync in their purest form, as PTX that the driver compiles: the tensor path of
before Hopper, with as many loads from shared memory (ldmatrix) as are asked for."""
import ctypes

CHAINS = 4  # independent products of a warp
BLOCKS, THREADS = 132 * 8, 256
FLOP = 2 * 16 * 8 * 16  # of one mma.m16n8k16

KERNEL = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry old_path(.param .u64 out, .param .u32 rounds)
{
    .shared .align 16 .b8 tile[16384];
    .reg .b32 %%a<5>, %%n, %%address;
    .reg .b64 %%out;
    .reg .pred %%more;
    .reg .f32 %%c<%(accumulators)d>;
    mov.u32 %%a0, %%tid.x;
    mov.u32 %%a1, %%a0;
    mov.u32 %%a2, %%a0;
    mov.u32 %%a3, %%a0;
    mov.u32 %%a4, tile;
    and.b32 %%address, %%a0, 31;
    shl.b32 %%address, %%address, 4;
    add.u32 %%address, %%address, %%a4;
    ld.param.u32 %%n, [rounds];
    ld.param.u64 %%out, [out];
    %(zeros)s
again:
    %(round)s
    xor.b32 %%address, %%address, 512;
    sub.u32 %%n, %%n, 1;
    setp.ne.u32 %%more, %%n, 0;
    @%%more bra again;
    %(sums)s
    setp.eq.f32 %%more, %%c0, 0f4640e6b7;
    @%%more st.global.f32 [%%out], %%c0;
    ret;
}
"""
LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0,%a1,%a2,%a3}, [%address];"
PRODUCT = ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{%c{0},%c{1},%c{2},%c{3}}}, "
           "{{%a0,%a1,%a2,%a3}}, {{%a{4},%a{5}}}, {{%c{0},%c{1},%c{2},%c{3}}};")


def source(loads):
    """One round is a product of each chain, after `loads` loads of a whole operand."""
    count = 4 * CHAINS
    products = [PRODUCT.format(*range(4 * k, 4 * k + 4), k % 2, 2 + k % 2) for k in range(CHAINS)]
    return KERNEL % {
        "accumulators": count,
        "zeros": "\n    ".join("mov.f32 %%c%d, 0f00000000;" % i for i in range(count)),
        "round": "\n    ".join([LOAD] * loads + products),
        "sums": "\n    ".join("add.f32 %%c0, %%c0, %%c%d;" % i for i in range(1, count)),
    }


def step(torch, loads, rounds):
    """A function that launches it on PyTorch's current stream, and the FLOPs of a launch."""
    torch.zeros(1, device="cuda")  # PyTorch's context is the current one now
    cuda = ctypes.CDLL("libcuda.so.1")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    text = ctypes.create_string_buffer(source(loads).encode())
    for result in (cuda.cuModuleLoadData(ctypes.byref(module), text),
                   cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"old_path")):
        if result:
            raise RuntimeError("CUDA error %d" % result)
    out = torch.zeros(1, device="cuda")
    values = (ctypes.c_uint64(out.data_ptr()), ctypes.c_uint32(rounds))
    arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))

    def launch(keep=(out, values)):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        result = cuda.cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, arguments, None)
        if result:
            raise RuntimeError("CUDA error %d" % result)

    return launch, BLOCKS * (THREADS // 32) * rounds * CHAINS * FLOP


if __name__ == "__main__":
    print(source(1))
