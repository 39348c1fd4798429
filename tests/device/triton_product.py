"""A matrix product in Triton, whose block decides which tensor instructions it is made of."""
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = a + rows[:, None] * n + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for _ in range(0, n, DEPTH):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += DEPTH
        right += DEPTH * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16))


def product(n, rows, columns, warps):
    a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    b, c = torch.randn_like(a), torch.empty_like(a)
    grid = (n // rows, n // columns)
    return (lambda: kernel[grid](a, b, c, n, rows, columns, 64, num_warps=warps, num_stages=3), 5,
            2 * n**3, "bf16")
