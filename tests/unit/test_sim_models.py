"""The simulator's models of asynchronous hardware, against brute force and the formulas of the PTX ISA."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irc.interpreters.sim.matrix_fragments import (
    gather,
    matrix_elements,
    mma_fragments,
    multiply_add,
    round_tf32,
    scatter,
    truncate_tf32,
    wgmma_accumulator_rows,
    wgmma_operand_rows,
)
from irc.interpreters.sim.mbarrier import Mbarrier, MbarrierError
from irc.interpreters.sim.shared_matrix import Descriptor, swizzled
from irc.interpreters.sim.tensor_box import TensorBox
from irc.layout.instructions import ATOMS
from irc.layout.shared import Swizzle, panels

WIDTHS = {32: 1, 64: 2, 128: 3}
"""Bits of the swizzle of each width."""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hardware_swizzle_is_cutes_on_bytes(width: int) -> None:
    swizzle = Swizzle(WIDTHS[width], 4, 3)
    found = swizzled(np.arange(4096), width)
    assert found.tolist() == [swizzle(byte) for byte in range(4096)]


@given(st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1), st.sampled_from([0, *WIDTHS]))
def test_descriptors_survive_encoding(address: int, leading: int, stride: int, swizzle: int) -> None:
    descriptor = Descriptor(16 * address, 16 * leading, 16 * stride, swizzle)
    bits = descriptor.encode()
    assert -(2**63) <= bits < 2**63
    assert Descriptor.decode(bits) == descriptor


def test_a_descriptor_with_a_base_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="base offset"):
        Descriptor.decode(1 << 49)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("step", [0, 1])
def test_a_k_major_operand_is_a_tile_of_panels_along_k(width: int, size: int, step: int) -> None:
    """A tile of 128 rows in panels as wide as the swizzle, at the `step`-th 32 bytes of k."""
    if (step + 1) * 32 > width:
        return
    across = width // size
    tile = panels((128, across), 1, across, Swizzle(WIDTHS[width], (16 // size).bit_length() - 1, 3))
    descriptor = Descriptor(4096 + 32 * step, 16, 8 * width, width)
    found = descriptor.addresses(128, size, transposed=False)
    depth = 32 // size
    for row, k in product(range(128), range(depth)):
        assert found[row, k] == 4096 + tile((row, step * depth + k)) * size


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("step", [0, 2])
def test_an_mn_major_operand_is_a_tile_of_panels_along_its_rows(width: int, step: int) -> None:
    """A tile of 64 k x 128 rows of 16-bit elements, at the `step`-th 16 of k."""
    wide = width // 2
    tile = panels((64, 128), 1, wide, Swizzle(WIDTHS[width], 3, 3))
    descriptor = Descriptor(8192 + 16 * step * width, 64 * width, 8 * width, width)
    found = descriptor.addresses(128, 2, transposed=True)
    for row, k in product(range(128), range(16)):
        assert found[row, k] == 8192 + tile((16 * step + k, row)) * 2


def test_operands_without_a_swizzle_are_core_matrices_of_8_rows_of_16_bytes() -> None:
    """PTX ISA, "Shared Memory Matrix Layout": leading steps along k, stride along rows, of a K-major operand."""
    found = Descriptor(0, 128, 512, 0).addresses(64, 2, transposed=False)
    for row, k in product(range(64), range(16)):
        assert found[row, k] == row // 8 * 512 + k // 8 * 128 + row % 8 * 16 + k % 8 * 2
    found = Descriptor(0, 128, 512, 0).addresses(64, 2, transposed=True)
    for row, k in product(range(64), range(16)):
        assert found[row, k] == row // 8 * 512 + k // 8 * 128 + k % 8 * 16 + row % 8 * 2


@pytest.mark.parametrize("n", [8, 64, 256])
def test_wgmma_accumulators_lie_as_ptx_says(n: int) -> None:
    """9.7.15.5.1.1, the matrix fragments of the accumulator."""
    tile = np.arange(16 * n).reshape(16, n)
    registers = scatter(wgmma_accumulator_rows(n), tile)
    for lane, i in product(range(32), range(n // 2)):
        assert registers[lane, i] == tile[lane // 4 + 8 * (i // 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i // 4)]
    assert np.array_equal(gather(wgmma_accumulator_rows(n), registers), tile)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_register_operands_lie_as_ptx_says(size: int) -> None:
    """The four registers of a thread: columns in groups of 4 bytes, rows 8 apart, then 16 bytes of k further."""
    per = 4 // size
    tile = np.arange(16 * 32 // size).reshape(16, -1)
    registers = scatter(wgmma_operand_rows(size), tile)
    for lane, i in product(range(32), range(4 * per)):
        register, part = divmod(i, per)
        row = lane // 4 + 8 * (register % 2)
        column = lane % 4 * per + part + 4 * per * (register // 2)
        assert registers[lane, i] == tile[row, column]


@pytest.mark.parametrize("instruction", ATOMS)
def test_the_fragments_of_mma_make_its_product(instruction: str) -> None:
    rng = np.random.default_rng(0)
    a, b, c = mma_fragments(instruction)
    lhs, rhs = rng.standard_normal(a.shape), rng.standard_normal(b.shape)
    registers = scatter(a, lhs), scatter(b, rhs)
    assert np.array_equal(gather(a, registers[0]), lhs)
    product = multiply_add(gather(a, registers[0]), gather(b, registers[1]), np.zeros(c.shape))
    assert np.allclose(gather(c, scatter(c, product)), lhs @ rhs)


def test_the_b_fragment_of_tf32_is_ptxs() -> None:
    """b0 is (lane % 4, lane / 4), b1 four rows below it."""
    tile = np.arange(64).reshape(8, 8)
    registers = scatter(mma_fragments("m16n8k8")[1], tile)
    for lane, i in product(range(32), range(2)):
        assert registers[lane, i] == tile[lane % 4 + 4 * i, lane // 4]


def test_integer_products_wrap_and_float_products_round_once() -> None:
    lhs = np.full((1, 4), 127, np.int8)
    top = np.full((1, 1), 2**31 - 1, np.int32)
    assert multiply_add(lhs, lhs.T, top) == np.int32((2**31 - 1 + 4 * 127**2) - 2**32)
    small = np.array([[1.0, 2.0**-12, 2.0**-12]], np.float16)
    assert multiply_add(small, small.T, np.zeros((1, 1), np.float32)) == np.float32(1 + 2.0**-23)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_tf32_keeps_ten_bits(x: float) -> None:
    value = np.array([x], np.float32)
    low, near = truncate_tf32(value), round_tf32(value)
    assert (low.view(np.uint32) & 0x1FFF) == 0
    assert (near.view(np.uint32) & 0x1FFF) == 0
    assert abs(low[0]) <= abs(value[0])
    if np.isfinite(near[0]):
        assert abs(float(near[0]) - float(value[0])) <= abs(float(low[0]) - float(value[0]))


@pytest.mark.parametrize("transpose", [False, True])
def test_ldmatrix_hands_a_lane_two_neighbors_of_a_row_or_a_column(transpose: bool) -> None:
    table = matrix_elements(4, transpose=transpose)
    for lane, register in product(range(32), range(8)):
        matrix, row, column = table[lane, register]
        along, across = (row, column) if transpose else (column, row)
        assert (matrix, across, along) == (register // 2, lane // 4, lane % 4 * 2 + register % 2)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[TensorBox, tuple[int, ...]]:
    rank = draw(st.integers(1, 3))
    extents = tuple(draw(st.integers(1, 12)) for _ in range(rank))
    size = draw(st.sampled_from([1, 2, 4, 8]))
    swizzle = draw(st.sampled_from([0, 32, 64, 128]))
    inner = (swizzle or draw(st.sampled_from([16, 32, 48]))) // size
    box = (*(draw(st.integers(1, 6)) for _ in range(rank - 1)), inner)
    start = tuple(draw(st.integers(-4, 12)) for _ in range(rank))
    strides = tuple(prod(extents[d + 1 :]) for d in range(rank))
    return TensorBox(extents, strides, box, size, swizzle), start


@given(boxes())
def test_a_box_is_dense_and_counts_what_is_outside(case: tuple[TensorBox, tuple[int, ...]]) -> None:
    box, start = case
    offset, inside = box.elements(start)
    shared = box.shared(1024)
    assert box.bytes == len(offset) * box.element_bytes
    for i, at in enumerate(product(*(range(extent) for extent in box.box))):
        place = [s + a for s, a in zip(start, at, strict=True)]
        assert inside[i] == all(0 <= p < e for p, e in zip(place, box.extents, strict=True))
        assert offset[i] == sum(p * s for p, s in zip(place, box.strides, strict=True))
        byte = 1024 + i * box.element_bytes
        bits = WIDTHS.get(box.swizzle, 0)
        assert shared[i] == (Swizzle(bits, 4, 3)(byte) if bits else byte)
    assert len(np.unique(shared)) == len(shared)


@st.composite
def windows(draw: st.DrawFn) -> tuple[TensorBox, list[int], list[int], int]:
    """A box of pixels of a window, its places along each dimension of space, by how far they are moved, and which of them is the
    first."""
    rank = draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 7)) for _ in range(rank)]
    steps, counts = ([draw(st.integers(1, 3)) for _ in range(rank)] for _ in range(2))
    lower = [draw(st.integers(-3, 3)) for _ in range(rank)]
    slack = [draw(st.integers(0, step - 1)) for step in steps]
    numbers = zip(lower, counts, steps, extents, slack, strict=True)
    upper = [low + (count - 1) * step + more - (extent - 1) for low, count, step, extent, more in numbers]
    shape = (draw(st.integers(1, 3)), *extents, draw(st.sampled_from([8, 16, 24])))
    strides = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    box = (draw(st.integers(1, 30)), draw(st.sampled_from([8, 16])))
    first = draw(st.integers(0, shape[0] * prod(counts) - 1))
    moved = [draw(st.integers(0, 3)) for _ in range(rank)]
    return TensorBox(shape, strides, box, 2, 0, tuple(lower), tuple(upper), tuple(steps)), counts, moved, first


@given(windows())
def test_pixels_go_over_the_places_of_a_window(case: tuple[TensorBox, list[int], list[int], int]) -> None:
    """Pixel number i of an image is at its coordinates in a row-major array of the places, times the steps, from the lower corner on."""
    box, counts, moved, first = case
    numbers = list(zip(box.lower, box.steps, strict=True))

    def pixel(number: int) -> tuple[int, list[int]]:
        image, place = divmod(number, prod(counts))
        at = [int(i) for i in np.unravel_index(place, counts)]
        return image, [low + step * i for (low, step), i in zip(numbers, at, strict=True)]

    image, start = pixel(first)
    offset, inside = box.elements((image, *start, 8), moved)
    for i, (row, channel) in enumerate(product(*map(range, box.box))):
        image, space = pixel(first + row)
        place = [image, *(a + b for a, b in zip(space, moved, strict=True)), 8 + channel]
        assert inside[i] == all(0 <= p < e for p, e in zip(place, box.extents, strict=True))
        assert offset[i] == sum(p * s for p, s in zip(place, box.strides, strict=True))


def test_the_first_pixel_is_in_the_window() -> None:
    box = TensorBox((2, 5, 8), (40, 8, 1), (4, 8), 2, 0, (-1,), (-1,), (1,))
    with pytest.raises(ValueError, match=r"in the window \[-1\] to \[3\], found \[4\]"):
        box.elements((0, 4, 0), (0,))


def test_a_swizzled_box_fills_its_width() -> None:
    with pytest.raises(ValueError, match="fill its 128 bytes, found 64"):
        TensorBox((64, 64), (64, 1), (8, 32), 2, 128)


def test_a_fresh_barrier_passes_the_phase_before_its_first() -> None:
    barrier = Mbarrier(2)
    assert barrier.passes(1)
    assert not barrier.passes(0)
    assert not barrier.arrive()
    assert barrier.arrive()
    assert barrier.passes(0)
    assert not barrier.passes(1)


def test_a_phase_waits_for_bytes_in_either_order() -> None:
    barrier = Mbarrier(1)
    assert not barrier.complete(64)
    assert barrier.bytes == -64
    barrier.expect(128)
    assert not barrier.arrive()
    assert barrier.describe() == "phase 0 waits for 0 of 1 arrivals and 64 bytes"
    assert barrier.complete(64)
    assert barrier.phase == 1
    assert barrier.arrivals == 1


def test_misuse_of_a_barrier_is_an_error() -> None:
    barrier = Mbarrier(1)
    barrier.expect(16)
    barrier.arrive()
    with pytest.raises(MbarrierError, match="beyond the 1 of a phase, which still waits for 16 bytes"):
        barrier.arrive()
    with pytest.raises(MbarrierError, match="16 bytes more than"):
        barrier.complete(32)
    with pytest.raises(MbarrierError, match="counts up to"):
        Mbarrier(1).expect(1 << 20)
