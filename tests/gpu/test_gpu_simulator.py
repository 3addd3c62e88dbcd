"""The simulator's models of hardware against the hardware: hand-written kernels give the same on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.sim_async_kernels import CLUSTER, COPY_ASYNC, MMA, RING, ROUND_TRIP, WGMMA
from unit.sim_kernels import parse_kernel, run
from unit.sim_wgmma_kernels import PRODUCTS, M, N, Product

from irc.codegen import compile_kernel
from irc.dialects import cuda
from irc.ir.dtypes import element_of
from irc.ir.properties import values_of
from irc.runtime.device import Stream
from irc.runtime.driver import device, is_present, present_arch
from irc.runtime.launches import Cells, Slots
from irc.runtime.plan import Buffer, Launch, TensorMap

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not is_present() or present_arch() != "sm_90a", reason="no GPU of sm_90 is present"),
]

Array = np.ndarray[Any, Any]


def parameter(type: Any, index: int, size: int) -> Buffer | TensorMap:
    """What a launch takes for an argument: an address or a tensor map."""
    buffer = Buffer("argument", index, 0, size)
    if not isinstance(type, cuda.TensorMapType):
        return buffer
    lists = (values_of(type.extents), values_of(type.strides), values_of(type.box))
    return TensorMap(buffer, element_of(type.element).name, *lists, type.swizzle.data)


def run_on_gpu(text: str, arrays: list[Array], result_bytes: int) -> Array:
    """The bytes of a kernel's last argument after a launch."""
    kernel, on = parse_kernel(text), device()
    on.use()
    compiled = compile_kernel(kernel, present_arch())
    shared = 0 if kernel.shared is None else kernel.shared.value.data
    stream: Stream = on.take_stream()
    host = [np.ascontiguousarray(array).view(np.uint8).reshape(-1) for array in arrays]
    host.append(np.zeros(result_bytes, np.uint8))
    memories = [on.allocate(max(content.size, 16), stream) for content in host]
    for memory, content in zip(memories, host, strict=True):
        on.copy(memory.address, content.ctypes.data, content.size, stream)
    parameters = [
        parameter(argument.type, index, content.size)
        for index, (argument, content) in enumerate(zip(kernel.arguments, host, strict=True))
    ]
    launch = Launch(
        compiled.name,
        values_of(kernel.grid),  # pyright: ignore[reportArgumentType]
        kernel.block.value.data,
        values_of(kernel.cluster) or (1, 1, 1),  # pyright: ignore[reportArgumentType]
        shared,
        tuple(parameters),
        0,
    )
    cells = Cells([launch], Slots(len(host), 0), on.map_encoder, len(host))
    cells.place(tuple(memory.address for memory in memories))
    loaded = on.load(compiled.compilation.cubin, compiled.name, shared)
    on.kernel_call(launch, loaded, cells.parameters[0]).enqueue(stream)
    on.copy(host[-1].ctypes.data, memories[-1].address, result_bytes, stream)
    on.synchronize(stream)
    on.give_stream(stream)
    return host[-1]


def simulated(text: str, arrays: list[Array], result_bytes: int) -> Array:
    return run(parse_kernel(text), *arrays, result_bytes)[-1].view(np.uint8)


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


EXACT: dict[str, tuple[str, list[Array], int]] = {
    "round trip": (ROUND_TRIP, [floats(8, 40)], 8 * 40 * 4),
    "ring": (RING, [floats(40, 32)], 32 * 4),
    "cluster": (CLUSTER, [floats(8, 32)], 2 * 8 * 32 * 4),
    "cp.async": (COPY_ASYNC, [floats(512)], 512 * 4),
}


@pytest.mark.parametrize("name", EXACT)
def test_copies_give_the_same_bits(name: str) -> None:
    text, arrays, size = EXACT[name]
    assert np.array_equal(run_on_gpu(text, arrays, size), simulated(text, arrays, size))


NARROW = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", ["wgmma", "mma"])
def test_products_of_written_operands(name: str) -> None:
    a, b = (floats(64, 16), floats(32, 16)) if name == "wgmma" else (floats(16, 16), floats(16, 8))
    text, size, dtype = (WGMMA, 64 * 32 * 4, np.dtype(np.float32)) if name == "wgmma" else (MMA, 16 * 8 * 2, NARROW)
    arrays = [a.astype(NARROW), b.astype(NARROW)]
    found, wanted = (f(text, arrays, size).view(dtype).astype(np.float64) for f in (run_on_gpu, simulated))
    assert np.abs(found - wanted).max() <= 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_product(product: Product) -> None:
    """Tensor cores truncate sums, f8 to fewer bits than f32 has."""
    result = run_on_gpu(product.text(), list(product.arrays()), M * N * product.dtype.itemsize)
    limits = {"i32": 0.0, "f32": 1e-3 if product.lhs.startswith("f8") else 1e-5, "f16": 4e-3}
    assert product.error(result.view(product.dtype).reshape(M, N)) <= limits[product.accumulator]
