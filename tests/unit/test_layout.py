"""Layouts against brute force: fragments, vectors of accesses, swizzles and bank conflicts, instruction layouts."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.analysis.async_copies import AsyncCopy, copy_fragment
from irc.layout.access import MemoryAccess
from irc.layout.affine import least
from irc.layout.candidates import blocked, transposing
from irc.layout.cute import Layout
from irc.layout.exchange import exchange, led_by, move_cycles, side_cycles, swizzles
from irc.layout.fragment import REPLICATED, Fragment, Mode, is_same
from irc.layout.instructions import (
    ATOMS,
    WARP_GROUP,
    fma_accumulator,
    fma_grid,
    mma_accumulator,
    mma_operand,
    wgmma_accumulator,
)
from irc.layout.requests import WIDEST, lines, sectors, wavefronts
from irc.layout.shared import Swizzle, panels, plain
from irc.layout.traffic import global_traffic, shared_traffic, shared_vector

powers = st.integers(0, 6).map(lambda n: 1 << n)


@st.composite
def blocked_fragments(draw: st.DrawFn) -> Fragment:
    shape = draw(st.lists(powers, min_size=1, max_size=3).filter(lambda s: prod(s) <= 4096))
    order = draw(st.permutations(range(len(shape))))
    vector = draw(st.sampled_from([1, 2, 4, 8]))
    threads = draw(st.sampled_from([32, 64, 128]))
    return blocked(shape, order, vector, threads)


def held(fragment: Fragment) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """Who holds each element."""
    owners: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for thread, value in product(range(fragment.thread_count), range(fragment.value_count)):
        owners.setdefault(fragment.coordinate(thread, value), []).append((thread, value))
    return owners


@given(blocked_fragments())
def test_a_blocked_fragment_holds_every_element_equally_often(fragment: Fragment) -> None:
    owners = held(fragment)
    assert len(owners) == prod(fragment.shape)
    copies = {len(at) for at in owners.values()}
    assert copies == {fragment.thread_count * fragment.value_count // prod(fragment.shape)}


@given(blocked_fragments())
def test_strides_are_cute_strides_of_the_colexicographic_index(fragment: Fragment) -> None:
    assert Fragment.from_layout(fragment.shape, fragment.layout) == fragment
    for thread, value in product((0, 1, 7, 31), range(fragment.value_count)):
        at = fragment.coordinate(thread, value)
        assert fragment.layout((thread, value)) == sum(c * prod(fragment.shape[:d]) for d, c in enumerate(at))


@given(blocked_fragments())
def test_arrays_of_coordinates_are_those_of_each_thread(fragment: Fragment) -> None:
    threads, values = np.arange(fragment.thread_count)[:, None], np.arange(fragment.value_count)
    at = fragment.coordinates(threads, values)
    for thread, value in product((0, 3, 31), range(fragment.value_count)):
        assert tuple(int(a[thread, value]) for a in at) == fragment.coordinate(thread, value)


@given(blocked_fragments(), st.data())
def test_a_projection_holds_what_the_fragment_meets(fragment: Fragment, data: st.DataObject) -> None:
    dims = data.draw(st.sets(st.integers(0, len(fragment.shape) - 1)))
    small = fragment.project(dims)
    for thread in range(0, fragment.thread_count, 5):
        met = {
            tuple(0 if d in dims else c for d, c in enumerate(fragment.coordinate(thread, v)))
            for v in range(fragment.value_count)
        }
        own = [small.coordinate(thread, v) for v in range(small.value_count)]
        assert set(own) == met
        assert len(own) == len(met)


@given(blocked_fragments(), st.data())
def test_a_slice_stays_in_its_thread(fragment: Fragment, data: st.DataObject) -> None:
    dim = data.draw(st.integers(0, len(fragment.shape) - 1))
    extent = data.draw(powers.filter(lambda n: n <= fragment.shape[dim]))
    part = fragment.slice(dim, extent)
    if part is None:
        return
    for thread in range(0, fragment.thread_count, 3):
        whole = {fragment.coordinate(thread, v) for v in range(fragment.value_count)}
        assert {part.coordinate(thread, v) for v in range(part.value_count)} == {c for c in whole if c[dim] < extent}


def test_a_mode_across_two_dimensions_is_refused() -> None:
    with pytest.raises(ValueError, match="does not walk along one dimension"):
        Fragment.from_layout((4, 4), Layout(((8,), ()), ((1,), ())))


# Accesses


@st.composite
def accesses(draw: st.DrawFn) -> tuple[MemoryAccess, tuple[int, ...], int]:
    """A strided view read through a map with splits, merges and shifts, a tile of it, and the tile's dimension to vectorize."""
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    split = draw(st.sampled_from([2, 4, 8, 12, 16]))
    shift = draw(st.sampled_from([0, 1, 2, 8]))
    exprs = draw(
        st.sampled_from(
            [
                (d0, d1 + shift),
                (d1, d0 + shift),
                (d0, d1 // split, d1 % split),
                (d1 // split, d0, d1 % split),
                (d0, d1 * 2),
                (d0 % split, d1),
            ]
        )
    )
    extents = tuple(draw(st.sampled_from([8, 12, 16, 24, 64])) for _ in exprs)
    pitch = draw(st.sampled_from([0, 1, 8]))
    strides = [1]
    for extent in reversed(extents[1:]):
        strides.insert(0, strides[0] * extent + pitch)
    checked = frozenset(draw(st.sets(st.integers(0, len(exprs) - 1))))
    offsets = (draw(st.sampled_from([1, 4, 8, 16])), draw(st.sampled_from([1, 4, 8, 16])))
    access = MemoryAccess(AffineMap(2, 0, exprs), extents, tuple(strides), checked, 2, 16, offsets, ())
    return access, (16, 16), draw(st.integers(0, 1))


@given(accesses())
def test_a_vector_is_contiguous_aligned_and_inside_or_outside_as_a_whole(
    case: tuple[MemoryAccess, tuple[int, ...], int],
) -> None:
    access, shape, dim = case
    length = access.vector(dim, shape[dim])
    for multiple in range(3):
        origin = [o * multiple for o in access.offsets]
        for start in range(0, shape[dim], length):
            for other in range(0, shape[1 - dim], 5):
                addresses: list[int] = []
                inside: set[bool] = set()
                for r in range(length):
                    local = [other, other]
                    local[dim] = start + r
                    at = access.map.eval([o + x for o, x in zip(origin, local, strict=True)], [])
                    addresses.append(sum(c * s for c, s in zip(at, access.strides, strict=True)))
                    inside.add(all(0 <= at[d] < access.extents[d] for d in access.checked))
                assert addresses == list(range(addresses[0], addresses[0] + length))
                assert addresses[0] % length == 0
                assert len(inside) == 1


def test_a_row_major_array_is_read_in_16_byte_vectors_along_rows_only() -> None:
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    access = MemoryAccess(AffineMap(2, 0, (d0, d1)), (100, 4096), (4096, 1), frozenset([0]), 2, 16, (64, 64), ())
    assert (access.vector(1, 64), access.vector(0, 64)) == (8, 1)
    assert access.is_contiguous(1)
    assert not access.is_contiguous(0)


def test_a_gather_has_no_vectors_along_what_it_gathers() -> None:
    d1, s0 = AffineExpr.dimension(1), AffineExpr.symbol(0)
    rows = AffineMap(2, 1, (s0, d1))
    by_row = MemoryAccess(rows, (64, 64), (64, 1), frozenset(), 4, 16, (4, 4), (1,), (frozenset([0]),))
    by_element = MemoryAccess(rows, (64, 64), (64, 1), frozenset(), 4, 16, (4, 4), (1,), (frozenset([0, 1]),))
    assert (by_row.vector(1, 32), by_element.vector(1, 32)) == (4, 1)
    assert not by_element.is_contiguous(1)


def test_rows_of_a_view_at_any_byte_or_in_two_dimensions_have_no_words() -> None:
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    anywhere = MemoryAccess(AffineMap(2, 0, (d0, d1)), (64, 63), (63, 1), frozenset(), 2, 2, (64, 64), ())
    wrapped = MemoryAccess(
        AffineMap(2, 0, (d0, d1 // 7, d1 % 7)), (64, 9, 7), (63, 7, 1), frozenset(), 2, 16, (64, 64), ()
    )
    assert not anywhere.is_row(1)
    assert not wrapped.is_row(1)


def test_least() -> None:
    d0 = AffineExpr.dimension(0)
    assert least(d0 * 3 + -2) == -2
    assert least((d0 + -5) // 2) == -3
    assert least(d0 * -1 + 7) < 0


# Shared memory


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5))
def test_a_swizzle_is_a_permutation(bits: int, base: int, more: int) -> None:
    swizzle = Swizzle(bits, base, bits + more)
    size = 1 << (base + 2 * bits + more)
    assert sorted(map(swizzle, range(size))) == list(range(size))


def test_panels_are_what_a_128_byte_swizzle_takes() -> None:
    layout = panels((64, 256), 1, 64, Swizzle(3, 3, 3))
    assert layout.modes == (((64, 64),), ((64, 1), (4, 4096)))
    offsets = {layout((k, n)) for k in range(64) for n in range(256)}
    assert offsets == set(range(64 * 256))
    assert layout.run(1) == 8


def test_a_shared_layout_composes_with_its_swizzle() -> None:
    layout = panels((64, 128), 1, 64, Swizzle(3, 3, 3))
    rows = layout.compose(Layout((8, 128), (4, 64)))
    assert all(rows((i, j)) == layout((4 * i, j)) for i in range(8) for j in range(0, 128, 5))


def test_a_column_read_conflicts_without_a_swizzle_and_not_with_the_best_one() -> None:
    rows = blocked((64, 64), (1, 0), 8, 256)
    columns = blocked((64, 64), (0, 1), 8, 256)
    bare = shared_traffic(rows, plain((64, 64), (0, 1)), 1, 2)
    assert bare.units > 4 * bare.ideal
    best = exchange(rows, columns, 2)
    assert (best.writes.units, best.reads.units) == (best.writes.ideal, best.reads.ideal)


def test_both_sides_of_a_transpose_of_sub_blocks_are_16_byte_accesses_without_conflicts() -> None:
    shape = (128, 128)
    rows = Fragment(shape, (Mode(8, 1, 8), Mode(16, 0, 8), Mode(2, 1, 64)), (Mode(8, 1, 1), Mode(8, 0, 1)))
    columns = blocked(shape, (0, 1), 8, 256)
    best = exchange(rows, columns, 2)
    for side in (best.writes, best.reads):
        assert (side.vector, side.requests, side.units) == (8, 64, 256)


@given(blocked_fragments().filter(lambda f: len(f.shape) == 2), st.sampled_from([1, 2, 4, 8]))
def test_an_exchange_layout_gives_every_element_its_own_place(source: Fragment, size: int) -> None:
    target = blocked(source.shape, (0, 1), 4, source.thread_count)
    layout = exchange(source, target, size).layout
    places = {layout(at) for at in product(*map(range, source.shape))}
    assert places == set(range(prod(source.shape)))


@given(blocked_fragments().filter(lambda f: len(f.shape) == 2), st.sampled_from([1, 2, 4, 8]))
@examples(30)
def test_no_other_layout_of_an_exchange_costs_less(source: Fragment, size: int) -> None:
    target = blocked(source.shape, (0, 1), 16 // size, source.thread_count)
    best = exchange(source, target, size)
    for order in ((0, 1), (1, 0)):
        for swizzle in (*swizzles(2, prod(source.shape), 4), Swizzle(2, 0, 2), Swizzle(1, 1, 3)):
            layout = plain(source.shape, order, swizzle)
            cycles = 0.0
            for own in (source, target):
                fragment = led_by(own, order[0])
                side = shared_traffic(fragment, layout, shared_vector(fragment, layout, size), size)
                held = fragment.thread_count * fragment.value_count
                cycles += side_cycles(side) + move_cycles(held, own == fragment, side.vector, size)
            assert best.cycles <= cycles


# Requests, against counting byte by byte


def banks_by_hand(starts: list[int], width: int) -> int:
    """Wavefronts of one request: lanes in groups that fill 128 bytes; in each, the most distinct words of a bank."""
    group = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    total = 0
    for first in range(0, len(starts), group):
        words = {byte // 4 for start in starts[first : first + group] for byte in range(start, start + width)}
        total += max(Counter(word % 32 for word in words).values())
    return total


@given(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.lists(st.integers(0, 400), min_size=32, max_size=32), min_size=1, max_size=3),
)
def test_requests_are_counted_as_by_hand(width: int, numbers: list[list[int]]) -> None:
    addresses = np.array(numbers, dtype=np.int64) * width
    for row, found in zip(addresses.tolist(), wavefronts(addresses, width).tolist(), strict=True):
        assert found == banks_by_hand(row, width)
    for unit, count in ((32, sectors), (128, lines)):
        for row, found in zip(addresses.tolist(), count(addresses, width).tolist(), strict=True):
            assert found == len({byte // unit for start in row for byte in range(start, start + width)})


@given(blocked_fragments(), st.sampled_from([1, 2, 4, 8]), st.data())
def test_the_traffic_of_shared_memory_is_that_of_all_warps(fragment: Fragment, size: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(fragment.shape))))
    vector_bits = min(shared_vector(fragment, plain(fragment.shape, order), size).bit_length() - 1, 4)
    chosen = data.draw(st.sampled_from(swizzles(vector_bits, prod(fragment.shape), 1)))
    layout = plain(fragment.shape, order, chosen)
    vector = shared_vector(fragment, layout, size)
    found = shared_traffic(fragment, layout, vector, size)
    requests = [
        [layout(fragment.coordinate(first + lane, value)) * size for lane in range(32)]
        for first in range(0, fragment.thread_count, 32)
        for value in range(0, fragment.value_count, vector)
    ]
    assert found.requests == len(requests)
    assert found.units == sum(banks_by_hand(starts, vector * size) for starts in requests)


@given(accesses(), st.sampled_from([(0, 1), (1, 0)]), st.sampled_from([1, 2, 8]))
def test_the_traffic_of_global_memory_is_that_of_all_warps(
    case: tuple[MemoryAccess, tuple[int, ...], int], order: tuple[int, int], vector: int
) -> None:
    access, shape, _ = case
    fragment = blocked(shape, order, vector, 64)
    found = global_traffic(fragment, access)

    def address(thread: int, value: int) -> int:
        at = access.map.eval(list(fragment.coordinate(thread, value)), [])
        return 2 * sum(c * s for c, s in zip(at, access.strides, strict=True))

    requests = [
        {
            byte // 32
            for lane in range(32)
            for start in [address(first + lane, value)]
            for byte in range(start, start + 2 * found.vector)
        }
        for first in range(0, 64, 32)
        for value in range(0, fragment.value_count, found.vector)
    ]
    assert found.requests == len(requests)
    assert found.units == pytest.approx(sum(map(len, requests)))
    everything = {address(t, v) // 32 for t in range(64) for v in range(fragment.value_count)}
    assert found.ideal == len(everything)


# Instructions


def ptx_operand(name: str, operand: str, lane: int, i: int) -> tuple[int, int]:
    """The row and column of element i of a lane, as the PTX ISA's figures of the mma fragments give them."""
    group, within = lane >> 2, lane % 4
    if name == "m8n8k4":
        return {"a": (group, within), "b": (within, group), "c": (group, within * 2 + i)}[operand]
    run = {"m16n8k8": 1, "m16n8k8_b16": 2, "m16n8k16": 2, "m16n8k16_b8": 4, "m16n8k32": 4}[name]
    if operand == "c":
        return (group + 8 * (i // 2), within * 2 + i % 2)
    if operand == "b":
        return (within * run + i % run + (i // run) * 4 * run, group)
    row = group + 8 * ((i // run) % 2)
    return (row, within * run + i % run + (i // (2 * run)) * 4 * run)


@pytest.mark.parametrize("name", ATOMS)
def test_mma_fragments_are_those_of_the_ptx_isa(name: str) -> None:
    atom = ATOMS[name]
    shapes = {"a": (atom.m, atom.k), "b": (atom.k, atom.n), "c": (atom.m, atom.n)}
    for operand, modes in (("a", atom.a), ("b", atom.b), ("c", atom.c)):
        fragment = Fragment(shapes[operand], *modes)
        for lane, i in product(range(32), range(fragment.value_count)):
            assert fragment.coordinate(lane, i) == ptx_operand(name, operand, lane, i)


@pytest.mark.parametrize("warps", [(1, 1), (2, 2), (4, 1), (1, 4)])
def test_mma_operands_meet_the_accumulator(warps: tuple[int, int]) -> None:
    atom = ATOMS["m16n8k16"]
    acc = mma_accumulator(atom, (128, 64), warps)
    rows, columns = mma_operand(atom, "a", 128, warps), mma_operand(atom, "b", 64, warps)
    assert all(len(owners) == 1 for owners in held(acc).values())
    for warp in range(warps[0] * warps[1]):
        lanes = range(32 * warp, 32 * warp + 32)
        covered = {acc.coordinate(t, v) for t in lanes for v in range(acc.value_count)}
        a = {rows.coordinate(t, v)[0] for t in lanes for v in range(rows.value_count)}
        b = {columns.coordinate(t, v)[1] for t in lanes for v in range(columns.value_count)}
        assert covered == set(product(a, b))


def test_the_wgmma_accumulator_is_that_of_the_ptx_isa() -> None:
    fragment = wgmma_accumulator((128, 64), 2)
    for thread, i in product(range(256), range(fragment.value_count)):
        group, lane, warp = thread // 128, thread % 32, thread % 128 // 32
        row = 64 * group + 16 * warp + lane // 4 + 8 * (i // 2 % 2)
        assert fragment.coordinate(thread, i) == (row, 8 * (i // 4) + lane % 4 * 2 + i % 2)


fma_extents = st.sampled_from([3, 4, 16, 20, 32, 48, 64, 80, 112, 128, 144, 176, 192])


@given(fma_extents, fma_extents, st.sampled_from([32, 128, 256]))
def test_the_fma_accumulator_covers_its_tile(rows: int, columns: int, threads: int) -> None:
    fragment = fma_accumulator((rows, columns), threads)
    assert fragment.thread_count == threads
    assert len(held(fragment)) == rows * columns
    assert Mode(0, 0, 0) not in fragment.values
    assert fragment.extents == (rows, columns) and not fragment.has_holes


@given(fma_extents, st.lists(fma_extents, min_size=2, max_size=3), st.sampled_from([32, 128, 256]))
def test_fma_accumulators_of_one_grid_have_the_same_rows(rows: int, columns: list[int], threads: int) -> None:
    shapes = [(rows, n) for n in columns]
    grid = fma_grid(shapes, threads)
    first, *others = (fma_accumulator(shape, threads, grid).project([1]) for shape in shapes)
    assert all(is_same(first, other) for other in others)


def test_fma_accumulators_of_80_columns_spread_over_all_threads() -> None:
    assert fma_grid([(64, 80)], 256) == fma_grid([(64, 128), (64, 80)], 256) == (16, 16)


@given(st.integers(1, 300), st.sampled_from([1, 2, 4, 8]))
def test_swizzles_stay_inside_their_buffer(elements: int, size: int) -> None:
    assert all(swizzle(at) < elements for swizzle in swizzles(0, elements, size) for at in range(elements))


def test_fragments_know_their_extents() -> None:
    fragment = Fragment(
        (64, 80), (Mode(4, 1, 2), Mode(8, 0, 1), Mode(2, REPLICATED, 0)), (Mode(2, 1, 1), Mode(8, 0, 8))
    )
    assert fragment.extents == (64, 8)
    assert not fragment.has_holes
    assert Fragment((8, 2), (Mode(4, 0, 2),), (Mode(2, 1, 1),)).has_holes


def test_vectors_are_aligned_in_every_row() -> None:
    """Rows of 20 elements of 2 bytes begin at multiples of 8 bytes, and runs of 20 are not made of words of 16."""
    halves, words = (Fragment((4, 40), (Mode(4, 0, 1),), (Mode(n, 1, 1), Mode(40 // n, 1, n))) for n in (20, 8))
    assert shared_vector(words, plain((4, 40), (1, 0)), 2) == 8
    assert shared_vector(words, plain((4, 20), (1, 0)), 2) == 4
    assert shared_vector(halves, plain((4, 40), (1, 0)), 2) == 4


@pytest.mark.parametrize("shape", [(64, 96), (64, 80), (32, 176)])
def test_a_turned_tile_of_any_columns_is_spread_over_all_threads(shape: tuple[int, int]) -> None:
    fragment = transposing(shape, 1, 16, 16, WARP_GROUP)
    assert fragment.thread_count == WARP_GROUP
    assert len(held(fragment)) == prod(shape)


@given(
    st.sampled_from([16, 48, 80, 112, 176]), st.sampled_from([16, 64, 80, 192]), st.sampled_from([128, 192, 256, 384])
)
def test_threads_copy_every_run_of_a_tile(inner: int, outer: int, threads: int) -> None:
    fragment = copy_fragment((outer, inner), AsyncCopy(1, 8), threads)
    assert fragment.thread_count == threads and fragment.vector == (1, 8)
    assert len(held(fragment)) == inner * outer


@pytest.mark.parametrize(
    ("shape", "source", "run", "size"),
    [
        ((32, 128), 1, 4, 4),
        ((128, 32), 0, 4, 4),
        ((32, 128), 1, 2, 4),
        ((32, 64), 1, 1, 4),
        ((128, 128), 1, 16, 1),
        ((128, 64), 1, 16, 1),
        ((128, 256), 1, 4, 1),
        ((128, 128), 1, 1, 1),
    ],
)
def test_a_turned_tile_is_written_without_conflicts(shape: tuple[int, int], source: int, run: int, size: int) -> None:
    fragment = transposing(shape, source, run, WIDEST // size, WARP_GROUP)
    assert fragment.vector[0] == source or run == 1
    rows = panels(shape, 1 - source, 128 // size, Swizzle(3, (WIDEST // size).bit_length() - 1, 3))
    led = led_by(fragment, 1 - source)
    vector = shared_vector(led, rows, size)
    traffic = shared_traffic(led, rows, vector, size)
    assert vector * size == WIDEST
    assert traffic.units == traffic.ideal
