"""The simulator's models of hardware against the hardware: hand-written kernels give the same on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.device_functions import BLOCK, FUNCTIONS, SPECIAL, function_kernel, instruction_kernel
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


def run_on_gpu(kernel: cuda.KernelOp, arrays: list[Array], result_bytes: int) -> Array:
    """The bytes of a kernel's last argument after a launch."""
    on = device()
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


def simulated(kernel: cuda.KernelOp, arrays: list[Array], result_bytes: int) -> Array:
    return run(kernel, *arrays, result_bytes)[-1].view(np.uint8)


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
    assert np.array_equal(run_on_gpu(parse_kernel(text), arrays, size), simulated(parse_kernel(text), arrays, size))


NARROW = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name", ["wgmma", "mma"])
def test_products_of_written_operands(name: str) -> None:
    a, b = (floats(64, 16), floats(32, 16)) if name == "wgmma" else (floats(16, 16), floats(16, 8))
    text, size, dtype = (WGMMA, 64 * 32 * 4, np.dtype(np.float32)) if name == "wgmma" else (MMA, 16 * 8 * 2, NARROW)
    arrays = [a.astype(NARROW), b.astype(NARROW)]
    found, wanted = (
        f(parse_kernel(text), arrays, size).view(dtype).astype(np.float64) for f in (run_on_gpu, simulated)
    )
    assert np.abs(found - wanted).max() <= 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_product(product: Product) -> None:
    """Tensor cores truncate sums, f8 to fewer bits than f32 has."""
    result = run_on_gpu(parse_kernel(product.text()), list(product.arrays()), M * N * product.dtype.itemsize)
    limits = {"i32": 0.0, "f32": 1e-3 if product.lhs.startswith("f8") else 1e-5, "f16": 4e-3}
    assert product.error(result.view(product.dtype).reshape(M, N)) <= limits[product.accumulator]


BLOCKS = 16
"""As many as the simulator runs at once, so that it asks for each instruction once."""


def instructed(name: str) -> Callable[..., Array]:
    """What the GPU's instruction gives for arrays, or numbers that all threads have."""
    kernel = instruction_kernel(name, BLOCKS)

    def function(*values: Array) -> Array:
        arrays = [np.broadcast_to(np.asarray(value, np.float32), BLOCKS * BLOCK) for value in values]
        found = run_on_gpu(kernel, arrays, 4 * BLOCKS * BLOCK).view(np.float32)
        return found if any(np.ndim(value) for value in values) else found[0]

    return function


def same_bits(a: Array, b: Array) -> Array:
    """One NaN is as good as another."""
    return (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("name", cuda.INSTRUCTIONS)
def test_an_instruction(name: str) -> None:
    """Bit for bit, or within the errors that PTX ISA gives."""
    row, rng = cuda.INSTRUCTIONS[name], np.random.default_rng(0)
    largest = 0.79 if name[:4] in ("sin.", "cos.") else 2 if name.startswith("ex2") else 37
    arrays: list[Array] = []
    for _ in row.operands:
        x = 10.0 ** rng.uniform(-8, largest, BLOCKS * BLOCK) * rng.choice([-1.0, 1.0], BLOCKS * BLOCK)
        x[: len(SPECIAL)] = rng.permutation(SPECIAL)
        arrays.append(x.astype(np.float32))
    found, wanted = instructed(name)(*arrays), row.meaning(*arrays)
    if row.is_exact:
        assert same_bits(found, wanted).all()
        return
    exact = wanted.astype(np.float64)
    most = np.maximum(row.absolute, (row.relative + 2**-24) * np.abs(exact)) + 2.0**-126
    inside = np.full(exact.shape, name[:4] not in ("sin.", "cos.")) | (np.abs(arrays[0]) < 6.29)
    with np.errstate(all="ignore"):
        good = same_bits(found, wanted) | (np.abs(found - exact) <= most)
    assert good[inside].all(), [(x[inside][~good[inside]], found[inside][~good[inside]]) for x in arrays]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_bit_for_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator asks the GPU for approximate instructions alone, and computes all else itself."""
    function = FUNCTIONS[name]
    arrays = function.arguments(BLOCKS * BLOCK)
    arrays[0][: len(SPECIAL)] = SPECIAL
    found = run_on_gpu(function_kernel(function, BLOCKS), arrays, 4 * BLOCKS * BLOCK).view(np.float32)
    for each, row in list(cuda.INSTRUCTIONS.items()):
        if not row.is_exact:
            monkeypatch.setitem(cuda.INSTRUCTIONS, each, replace(row, meaning=instructed(each)))
    wanted = simulated(function_kernel(function, BLOCKS), arrays, 4 * BLOCKS * BLOCK).view(np.float32)
    assert same_bits(found, wanted).all(), [x[~same_bits(found, wanted)] for x in arrays]
