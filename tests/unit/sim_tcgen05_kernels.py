"""Kernels that multiply one tile by tcgen05: operands of any type, major and swizzle come by TMA, sums are in Tensor
Memory."""

from __future__ import annotations

from sim_wgmma_kernels import TYPES, Operand, TileProduct

M, N = 128, 64
COLUMNS = 64


def kernel_text(a: Operand, b: Operand, accumulator: str) -> str:
    """Lines that stand alone, so that tests can leave one out."""
    steps = a.k * a.size // 32
    array = f"!cuda.registers<{N} x {accumulator}>"
    majors = "".join(f", transpose_{side} = true" for side, operand in (("lhs", a), ("rhs", b)) if operand.transposed)
    suffix = f"{{n = {N}, lhs_type = {a.element}, rhs_type = {b.element}{majors}}}"
    products: list[str] = []
    for i in range(steps):
        products.append(f"%ao{i} = arith.constant {i * a.step()} : i64\n%da{i} = arith.addi %da, %ao{i} : i64")
        products.append(f"%bo{i} = arith.constant {i * b.step()} : i64\n%db{i} = arith.addi %db, %bo{i} : i64")
        products.append(f"cuda.tcgen05_mma %tensor, %da{i}, %db{i}, {'%yes' if i else '%no'} {suffix}")
    return f"""
cuda.kernel @product(%a: {a.type}, %b: {b.type}, %c: !cuda.ptr<{accumulator}>)
    grid [1, 1, 1] block 128 shared 131072 writes [0, 0, 1] {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %columns = arith.constant {N} : index
  %s0 = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %yes = arith.constant true
  %no = arith.constant false
  %t = cuda.thread_id
  %warp = arith.shrui %t, %c5 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %leads = arith.cmpi eq, %warp, %c0 : index
  %full = cuda.shared {{offset = 130048}}
  %done = cuda.shared {{offset = 130056}}
  %slot = cuda.shared {{offset = 130064}}
  %found = cuda.registers : !cuda.registers<1 x i32>
  %sums = cuda.registers : {array}
  scf.if %leads {{
    cuda.tcgen05_alloc %slot {{columns = {COLUMNS}}}
    cuda.tcgen05_relinquish
  }}
  scf.if %first {{
    cuda.barrier_init %full {{count = 1}}
    cuda.barrier_init %done {{count = 1}}
    cuda.fence_barrier_init
  }}
  cuda.tcgen05_fence_before
  cuda.sync
  cuda.tcgen05_fence_after
  cuda.shared_load %slot -> %found[%c0] : !cuda.registers<1 x i32>
  %tensor = cuda.get %found[%c0] : !cuda.registers<1 x i32>
  scf.if %first {{
    cuda.barrier_expect %full {{bytes = {a.bytes + b.bytes}}}
    {a.loads()}
    {b.loads()}
    cuda.barrier_wait %full, %s0
    %a_base = cuda.shared {{offset = {a.base}}}
    %da = cuda.tcgen05_descriptor %a_base {a.descriptor()}
    %b_base = cuda.shared {{offset = {b.base}}}
    %db = cuda.tcgen05_descriptor %b_base {b.descriptor()}
    {chr(10).join(products)}
    cuda.tcgen05_commit %done
  }}
  cuda.barrier_wait %done, %s0
  cuda.tcgen05_fence_after
  %rows = arith.shli %warp, %c5 : index
  %below = arith.index_cast %rows : index to i32
  %high = arith.shli %below, %sixteen : i32
  %own = arith.addi %tensor, %high : i32
  cuda.tcgen05_load %own -> %sums[%c0] {{count = {N}}} : {array}
  %line = arith.muli %t, %columns : index
  scf.for %j = %c0 to %columns step %c1 {{
    %at = arith.addi %line, %j : index
    cuda.store %sums[%j], %c[%at] : {array} -> !cuda.ptr<{accumulator}>
  }}
  cuda.tcgen05_fence_before
  cuda.sync
  scf.if %leads {{
    cuda.tcgen05_dealloc %tensor {{columns = {COLUMNS}}}
  }}
  cuda.return
}}
"""


class Product(TileProduct):
    shape = M, N
    base = 65536

    def text(self) -> str:
        return kernel_text(*self.operands, self.accumulator)


PRODUCTS: tuple[Product, ...] = (
    *(Product(t, t, accumulator="i32" if t == "i8" else "f32") for t in TYPES),
    *(Product("bf16", "bf16", (w, w), majors) for w in (0, 32, 64, 128) for majors in ("kk", "kn", "mk", "mn")),
    Product("f8E4M3FN", "f8E5M2", (64, 64)),
)
"""Every type, every major with every swizzle, types of 8 bits that mix."""
