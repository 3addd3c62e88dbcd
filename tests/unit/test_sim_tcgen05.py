"""tcgen05 on the simulator: what comes by TMA, in every type, major and swizzle, is multiplied, and each mistake is
found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sim_kernels import fails, kernel_of, parse_kernel, run
from sim_tcgen05_kernels import COLUMNS, PRODUCTS, M, N, Product

from irc.dialects.cuda import KernelOp
from irc.driver.program import new_context
from irc.interpreters.sim import Kernel, Memory, Span
from irc.interpreters.sim.shared_matrix import Descriptor
from irc.ir.parser import parse_ir
from irc.ir.targets import set_target
from irc.passes.cuda.lower_dots import LowerDotsPass

BF16 = PRODUCTS[0]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_product(product: Product) -> None:
    result = run(parse_kernel(product.text()), *product.arrays(), M * N * product.dtype.itemsize)[2]
    found = result.view(product.dtype).reshape(M, N)
    assert product.error(found) <= (0.0 if product.accumulator == "i32" else 1e-6)


LAYOUTS = {
    "a": {False: "(128,64):(64,1)", True: "((64,2),64):((1,4096),64)"},
    "b": {False: "(64,64):(1,64)", True: "(64,64):(64,1)"},
}
"""The operands of bf16 in shared memory, by their major."""


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("majors", ["kk", "kn", "mk", "mn"])
def test_a_dot_of_layouts(majors: str, lazy: bool) -> None:
    """What lower-dots makes of a product finds its operands."""
    product = Product("bf16", "bf16", majors=majors)
    types: list[str] = []
    dot: list[str] = []
    for operand in product.operands:
        layout = f"#tile.shared<{LAYOUTS[operand.name][operand.transposed]} swizzle(3,3,3)>"
        types.append(f"!cuda.matrix<bf16, {layout}>")
        dot.append(f"%p{operand.name} = cuda.shared {{offset = {operand.base}}}")
        dot.append(f"%i{operand.name} = arith.index_cast %p{operand.name} : i32 to index")
        dot.append(f"%m{operand.name} = cuda.matrix %i{operand.name} from [%c0, %c0] : {types[-1]}")
    shape = f'shape = array<i64: {M}, {N}, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>, overwrites'
    dot.append(f"cuda.dot %tensor[%c0], %ma, %mb by %t {{{shape}}} : i32, {', '.join(types)}")
    text = product.text()
    before, after = text.index("%a_base"), text.index("cuda.tcgen05_commit")
    context = new_context()
    module = parse_ir(context, "\n".join((text[:before], *dot, text[after:])), "test")
    set_target(module, "sm_100a")
    LowerDotsPass().apply(context, module)
    kernel = next(op for op in module.ops if isinstance(op, KernelOp))
    result = Memory.empty("result", M * N * 4)
    spans = [Span(memory, 0, memory.size) for memory in (*(Memory.of("x", x) for x in product.arrays()), result)]
    Kernel(kernel).launch(spans, lazy=lazy)
    assert product.error(result.data[: result.size].view(np.float32).reshape(M, N)) <= 1e-6


def without(text: str, line: str, which: int = 0) -> str:
    """The kernel without one of the lines that have these words."""
    lines = text.split("\n")
    found = [at for at, each in enumerate(lines) if line in each]
    del lines[found[which]]
    return "\n".join(lines)


MISTAKES: Sequence[tuple[str, str, str]] = (
    (without(BF16.text(), "cuda.barrier_wait %done"), "race", "no wait for a cuda.tcgen05_commit"),
    (without(BF16.text(), "cuda.tcgen05_fence_after", 1), "protocol", "no cuda.tcgen05_fence_after since the wait"),
    (without(BF16.text(), "cuda.tcgen05_fence_before", 1), "protocol", "no cuda.tcgen05_fence_before behind"),
    (without(BF16.text(), "cuda.sync", 1), "race", "may still read"),
    (without(BF16.text(), "cuda.barrier_wait %full"), "race", "cuda.tcgen05_mma"),
    (without(BF16.text(), "cuda.tcgen05_dealloc"), "protocol", "without a cuda.tcgen05_dealloc of 64 columns"),
    (BF16.text().replace("%da0, %db0, %no", "%da0, %db0, %yes"), "uninitialized", "no product has written"),
    (
        BF16.text().replace(f"columns = {COLUMNS}", "columns = 32"),
        "out of bounds",
        "columns 0 to 63 of Tensor Memory, which are not allocated",
    ),
    (BF16.text().replace("%own -> ", "%tensor -> "), "out of bounds", "from lane 0 of Tensor Memory"),
    (BF16.text().replace("cuda.tcgen05_descriptor", "cuda.descriptor"), "unsupported", "matrix descriptor of tcgen05"),
    (
        BF16.text().replace(
            "cuda.tcgen05_relinquish", "cuda.tcgen05_relinquish\ncuda.tcgen05_alloc %slot {columns = 32}"
        ),
        "protocol",
        "has executed cuda.tcgen05_relinquish",
    ),
)


@pytest.mark.parametrize("text, kind, message", MISTAKES)
def test_a_mistake(text: str, kind: str, message: str) -> None:
    error = fails(parse_kernel(text), *BF16.arrays(), M * N * 4)
    assert error.kind == kind and message in error.message, error


def twice() -> str:
    """The kernel with a product more, which overwrites what threads have loaded."""
    a, b = BF16.operands
    again = f"""
  scf.if %first {{
    cuda.tcgen05_fence_after
    %a_again = cuda.shared {{offset = {a.base}}}
    %da = cuda.tcgen05_descriptor %a_again {a.descriptor()}
    %b_again = cuda.shared {{offset = {b.base}}}
    %db = cuda.tcgen05_descriptor %b_again {b.descriptor()}
    cuda.tcgen05_mma %tensor, %da, %db, %no {{n = {N}, lhs_type = bf16, rhs_type = bf16}}
    cuda.tcgen05_commit %done
  }}
  %s1 = arith.constant 1 : i32
  cuda.barrier_wait %done, %s1
"""
    before, sync, after = BF16.text().rpartition("  cuda.sync\n")
    return f"{before}{sync}{again}{after}"


@pytest.mark.parametrize(
    "line, which, kind, message",
    [
        ("cuda.sync", 1, "race", "may still read"),
        ("cuda.tcgen05_fence_before", 1, "protocol", "no cuda.tcgen05_fence_before behind"),
        ("cuda.tcgen05_fence_after", 2, "protocol", "no cuda.tcgen05_fence_after since they met"),
        ("cuda.barrier_wait %done", 1, "race", "no wait for a cuda.tcgen05_commit"),
    ],
)
def test_a_product_over_sums_that_were_loaded(line: str, which: int, kind: str, message: str) -> None:
    run(parse_kernel(twice()), *BF16.arrays(), M * N * 4)
    error = fails(parse_kernel(without(twice(), line, which)), *BF16.arrays(), M * N * 4)
    assert error.kind == kind and message in error.message, error


def test_products_without_a_commit() -> None:
    text = without(without(BF16.text(), "cuda.tcgen05_commit"), "cuda.barrier_wait %done")
    text = without(without(text, "cuda.tcgen05_load"), "cuda.tcgen05_dealloc")
    text = without(text, "cuda.store")
    error = fails(parse_kernel(text), *BF16.arrays(), M * N * 4)
    assert error.kind == "protocol", error


def test_more_columns_than_there_are() -> None:
    body = """
      %slot = cuda.shared {offset = 0 : i64}
      cuda.tcgen05_alloc %slot {columns = 512}
      cuda.tcgen05_alloc %slot {columns = 32}
    """
    error = fails(kernel_of(body, "%x: !cuda.ptr<i32>", block=32, clauses="shared 64"), np.zeros(1, np.int32))
    assert error.kind == "deadlock" and "32 free columns of Tensor Memory" in error.message, error


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_descriptors_are_read_back(swizzle: int) -> None:
    descriptor = Descriptor(0x1230, 0x440, 1024, swizzle)
    bits = descriptor.encode_tcgen05()
    assert bits >> 46 & 7 == 1
    assert Descriptor.decode_tcgen05(bits) == descriptor
