"""wgmma on the simulator, end to end: what comes by TMA, in every type, major and swizzle, is multiplied.

`tests/gpu/test_gpu_simulator.py` runs the same kernels on a GPU.
"""

from __future__ import annotations

import pytest
from sim_kernels import counted, parse_kernel, run
from sim_wgmma_kernels import PRODUCTS, M, N, Product

TOLERANCES = {"i32": 0.0, "f32": 1e-6, "f16": 2e-3}


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_product(product: Product) -> None:
    result = run(parse_kernel(product.text()), *product.arrays(), M * N * product.dtype.itemsize)[2]
    found = result.view(product.dtype).reshape(M, N)
    assert product.error(found) <= TOLERANCES[product.accumulator]


def test_counts_of_copies_and_products() -> None:
    product = Product("bf16", "bf16", (128, 128), "kn", "f32")
    counts = counted(parse_kernel(product.text()), *product.arrays(), M * N * 4)
    assert counts["cuda.wgmma"].instructions == 4
    assert counts["cuda.tma_load"].sectors == counts["cuda.tma_load"].ideal_sectors == 64 * 128 // 32
    assert counts["cuda.tma_load"].requests == 1
