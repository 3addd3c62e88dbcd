"""How matrix instructions spread their operands over lanes and registers, as thread-value layouts.

One atom of an instruction of shape m x n x k; modes are written over the coordinates of the operand: a is M x K, b is
K x N, c is M x N (PTX ISA, 9.7.14.5 "Matrix Fragments for mma" and 9.7.15.5.1 for wgmma's accumulator).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from irc.layout.fragment import REPLICATED, Fragment, Mode
from irc.layout.shared import SharedLayout

LANES = 32
"""Threads of a warp."""

GROUP_WARPS = 4
"""Warps of a warp group, which issue wgmma together (PTX ISA, 9.7.15)."""

WARP_GROUP = GROUP_WARPS * LANES
"""Threads of a warp group."""

WGMMA_ROWS = 64
"""Rows of a wgmma."""


def wgmma_depth(element_bytes: int) -> int:
    """Elements of K that one wgmma multiplies: 32 bytes."""
    return 32 // element_bytes


WGMMA_COLUMNS = 256
"""Columns of a wgmma at most (PTX ISA, 9.7.15.2)."""


def is_wgmma_width(columns: int, *, of_integers: bool) -> bool:
    """Whether a wgmma can have so many columns: a multiple of 8; on integers of 8 bits 8, 24 or a multiple of 16 (PTX
    ISA, 9.7.15.2 "Matrix shape")."""
    fits = columns % 16 == 0 or columns in (8, 24) if of_integers else columns % 8 == 0
    return fits and 0 < columns <= WGMMA_COLUMNS


@dataclass(frozen=True)
class Atom:
    """A shape of mma.sync: lane modes and value modes of each operand for one warp.

    accumulators: the types of the sums, by that of the operands, as the IR spells both; f32 operands are read as tf32.
    """

    name: str
    m: int
    n: int
    k: int
    a: tuple[tuple[Mode, ...], tuple[Mode, ...]]
    b: tuple[tuple[Mode, ...], tuple[Mode, ...]]
    c: tuple[tuple[Mode, ...], tuple[Mode, ...]]
    accumulators: Mapping[str, tuple[str, ...]]

    @property
    def shape(self) -> str:
        """As PTX writes it."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def held(self) -> tuple[int, int, int]:
        """Elements of a, b and the accumulator that one thread holds."""
        a, b, c = (prod(mode.size for mode in values) for _, values in (self.a, self.b, self.c))
        return a, b, c


_C16 = ((Mode(4, 1, 2), Mode(8, 0, 1)), (Mode(2, 1, 1), Mode(2, 0, 8)))

ATOMS: dict[str, Atom] = {
    atom.name: atom
    for atom in (
        Atom(
            "m16n8k16",
            16,
            8,
            16,
            ((Mode(4, 1, 2), Mode(8, 0, 1)), (Mode(2, 1, 1), Mode(2, 0, 8), Mode(2, 1, 8))),
            ((Mode(4, 0, 2), Mode(8, 1, 1)), (Mode(2, 0, 1), Mode(2, 0, 8))),
            _C16,
            {"bf16": ("f32",), "f16": ("f32", "f16")},
        ),
        Atom(
            "m16n8k8_b16",
            16,
            8,
            8,
            ((Mode(4, 1, 2), Mode(8, 0, 1)), (Mode(2, 1, 1), Mode(2, 0, 8))),
            ((Mode(4, 0, 2), Mode(8, 1, 1)), (Mode(2, 0, 1),)),
            _C16,
            {"bf16": ("f32",), "f16": ("f32", "f16")},
        ),
        Atom(
            "m16n8k8",
            16,
            8,
            8,
            ((Mode(4, 1, 1), Mode(8, 0, 1)), (Mode(2, 0, 8), Mode(2, 1, 4))),
            ((Mode(4, 0, 1), Mode(8, 1, 1)), (Mode(2, 0, 4),)),
            _C16,
            {"f32": ("f32",), "f64": ("f64",)},
        ),
        Atom(
            "m16n8k32",
            16,
            8,
            32,
            ((Mode(4, 1, 4), Mode(8, 0, 1)), (Mode(4, 1, 1), Mode(2, 0, 8), Mode(2, 1, 16))),
            ((Mode(4, 0, 4), Mode(8, 1, 1)), (Mode(4, 0, 1), Mode(2, 0, 16))),
            _C16,
            {"i8": ("i32",)},
        ),
        Atom(
            "m16n8k16_b8",
            16,
            8,
            16,
            ((Mode(4, 1, 4), Mode(8, 0, 1)), (Mode(4, 1, 1), Mode(2, 0, 8))),
            ((Mode(4, 0, 4), Mode(8, 1, 1)), (Mode(4, 0, 1),)),
            _C16,
            {"i8": ("i32",)},
        ),
        Atom(
            "m8n8k4",
            8,
            8,
            4,
            ((Mode(4, 1, 1), Mode(8, 0, 1)), ()),
            ((Mode(4, 0, 1), Mode(8, 1, 1)), ()),
            ((Mode(4, 1, 2), Mode(8, 0, 1)), (Mode(2, 1, 1),)),
            {"f64": ("f64",)},
        ),
    )
}
"""The atoms of mma.sync, of those on the same operands the fastest first. m16n8k8 holds operands of 32 and 64 bits,
m16n8k8_b16 those of 16; m16n8k16_b8 those of 8. m16n8k8 of f64 is an instruction of sm_90 and
later (DMMA.16x8x8)."""

MMA_OPERANDS = tuple(dict.fromkeys(element for atom in ATOMS.values() for element in atom.accumulators))
"""The types of operands that mma.sync takes."""


def atoms_of(element: str, accumulator: str | None = None) -> list[Atom]:
    """Those of operands of a type, with sums of a type if it is given."""
    known = [atom for atom in ATOMS.values() if element in atom.accumulators]
    return [atom for atom in known if accumulator in (None, *atom.accumulators[element])]


def _repeats(atom: int, extent: int, dim: int, warps: int) -> tuple[list[Mode], list[Mode]]:
    """Warp modes, then value modes, that carry an atom of `atom` elements along `dim` over `extent`."""
    across = [Mode(warps, dim, atom)] if warps > 1 else []
    left = extent // (atom * warps)
    return across, [Mode(left, dim, atom * warps)] if left > 1 else []


def mma_accumulator(atom: Atom, shape: tuple[int, int], warps: tuple[int, int]) -> Fragment:
    """The accumulator over `warps` (along M, along N): atoms side by side, N repeats before M repeats."""
    across_m, more_m = _repeats(atom.m, shape[0], 0, warps[0])
    across_n, more_n = _repeats(atom.n, shape[1], 1, warps[1])
    return Fragment(shape, (*atom.c[0], *across_m, *across_n), (*atom.c[1], *more_n, *more_m))


def replicated(fragment: Fragment, parts: int) -> Fragment:
    """The same, once for each of so many parts of the warps."""
    copies = (Mode(parts, REPLICATED, 0),) if parts > 1 else ()
    return Fragment(fragment.shape, (*fragment.threads, *copies), fragment.values)


def mma_operand(atom: Atom, operand: str, extent: int, warps: tuple[int, int]) -> Fragment:
    """The operand "a" (`extent` x k) or "b" (k x `extent`) of one step of k; warps along the other dimension hold
    copies."""
    if operand == "a":
        across, more = _repeats(atom.m, extent, 0, warps[0])
        copies = [Mode(warps[1], REPLICATED, 0)] if warps[1] > 1 else []
        return Fragment((extent, atom.k), (*atom.a[0], *across, *copies), (*atom.a[1], *more))
    across, more = _repeats(atom.n, extent, 1, warps[1])
    copies = [Mode(warps[0], REPLICATED, 0)] if warps[0] > 1 else []
    return Fragment((atom.k, extent), (*atom.b[0], *copies, *across), (*atom.b[1], *more))


def warp_grid(fragment: Fragment) -> tuple[int, int]:
    """How many warps of an mma accumulator lie along M and along N."""
    threads, stride = [1, 1], 1
    for mode in fragment.threads:
        if stride >= LANES and not mode.is_replicated:
            threads[mode.dim] *= mode.size
        stride *= mode.size
    return threads[0], threads[1]


def wgmma_accumulator(shape: tuple[int, int], groups: int, *, paired: bool = False) -> Fragment:
    """The accumulator of m64nNk instructions over warp groups side by side along M; further rows of 64 x groups are
    more registers. `paired`: that of a left operand in registers whose rows are paired (`wgmma_operand`)."""
    threads = [Mode(4, 1, 2), Mode(8, 0, 1), Mode(4, 0, 16)]
    if groups > 1:
        threads.append(Mode(groups, 0, 64))
    values = [Mode(2, 1, 1), Mode(2, 0, 8), Mode(shape[1] // 8, 1, 8)]
    if paired:
        threads[1], values[1] = PAIRED_ROWS
    rows = shape[0] // (64 * groups)
    if rows > 1:
        values.append(Mode(rows, 0, 64 * groups))
    return Fragment(shape, tuple(threads), tuple(v for v in values if v.size > 1))


PAIRED_ROWS = Mode(8, 0, 2), Mode(2, 0, 1)
"""The lanes and registers of 16 rows of which a thread has neighbors, where the instruction has rows 8 apart."""


def wgmma_operand(shape: tuple[int, int], groups: int, *, paired: bool = False) -> Fragment:
    """The left operand in registers of one m64nNk16 over warp groups side by side along M (PTX ISA, 9.7.15.5.1): that
    of mma.sync, of 16 rows a warp. `paired`: the rows that are 8 apart in the instruction are neighbors in the tile,
    as those are that a thread gets of bytes which ldmatrix turns; the accumulator's rows are in the same order."""
    fragment = mma_operand(ATOMS["m16n8k16"], "a", shape[0], (groups * WARP_GROUP // LANES, 1))
    if not paired:
        return fragment
    (lane, _, *threads), (first, _, *values) = fragment.threads, fragment.values
    return Fragment(shape, (lane, PAIRED_ROWS[0], *threads), (first, PAIRED_ROWS[1], *values))


MATRIX = 8
"""Rows and columns of the matrices that a warp loads at once, of 16-bit elements (PTX ISA, 9.7.14.5.15 ldmatrix)."""


@dataclass(frozen=True)
class Matrices:
    """How ldmatrix loads a fragment, `count` matrices at a time. `rows`: those that the threads of a warp address; its
    values are the instructions. `strides`: where the registers of the fragment's value modes are, as it loads them."""

    rows: Fragment
    count: int
    strides: tuple[int, ...]


def matrices(fragment: Fragment, layout: SharedLayout, element_bytes: int) -> Matrices | None:
    """None where the fragment is none of matrices that ldmatrix loads, or their rows do not lie in one piece."""
    if element_bytes == 1:
        return _byte_matrices(fragment, layout)
    rows = _matrix_rows(fragment, layout, element_bytes)
    strides = tuple(prod(mode.size for mode in fragment.values[:at]) for at in range(len(fragment.values)))
    return None if rows is None else Matrices(rows, 4, strides)


def matrix_rows(shape: tuple[int, ...], along: int) -> Fragment:
    """A tile of 16-bit elements as ldmatrix reads it, in rows of matrices that lie along a dimension: 8 lanes address a
    matrix, and each of the others one that lies elsewhere alike."""
    lanes = Mode(MATRIX, 1 - along, 1), Mode(LANES // MATRIX, REPLICATED, 0)
    repeats = (Mode(shape[dim] // MATRIX, dim, MATRIX) for dim in (along, 1 - along))
    return Fragment(shape, lanes, (Mode(MATRIX, along, 1), *(mode for mode in repeats if mode.size > 1)))


def _byte_matrices(fragment: Fragment, layout: SharedLayout) -> Matrices | None:
    """Of bytes that are contiguous along the rows of a left operand: transposed as pairs, a matrix gives a thread two
    rows at two columns of K, the rows side by side in its register."""
    (lanes, threads), values = (fragment.threads[:2], fragment.threads[2:]), fragment.values
    k = Mode(2, 1, 1), Mode(2, 1, MATRIX)
    if lanes != (Mode(4, 1, 2), PAIRED_ROWS[0]) or values[:3] != (k[0], PAIRED_ROWS[1], k[1]):
        return None
    if layout.fastest != 0 or layout.run(0) < 2 * MATRIX:
        return None
    more = values[3:]
    together = Mode(2, REPLICATED, 0)
    if more and more[0].size % 2 == 0:
        size, dim, step = more[0]
        together, more = Mode(2, dim, step), (*([Mode(size // 2, dim, 2 * step)] if size > 2 else []), *more[1:])
    rows = Fragment(fragment.shape, (Mode(MATRIX, 1, 1), k[1], together, *threads), more)
    strides = 2, 1, *(prod(mode.size for mode in values[:at]) for at in range(2, len(values)))
    return Matrices(rows, 2 if together.is_replicated else 4, strides)


def _matrix_rows(fragment: Fragment, layout: SharedLayout, element_bytes: int) -> Fragment | None:
    """The rows that the threads of a warp address for 4 matrices that give them the fragment; its values are the
    instructions, in the order of the fragment's registers."""
    (threads, lanes), values = (fragment.threads[2:], fragment.threads[:2]), fragment.values
    if element_bytes != 2 or lanes != (Mode(4, 1, 2), Mode(8, 0, 1)) or values[:1] != (Mode(2, 1, 1),):
        return None
    along = layout.fastest
    others = (*threads, *values[1:])
    if layout.run(along) < MATRIX or any(mode.dim == along and mode.step % MATRIX for mode in others):
        return None
    if len(values) < 3 or values[1].size != 2 or values[2].size % 2:
        return None
    count, dim, step = values[2]
    left = [Mode(count // 2, dim, 2 * step)] if count > 2 else []
    rows = Mode(MATRIX, 1 - along, 1)
    return Fragment(fragment.shape, (rows, values[1], Mode(2, dim, step), *threads), (*left, *values[3:]))


FMA_RUN = 4
"""The longest run of neighbors along a dimension that a thread has of an accumulator of scalar multiply-adds."""


def fma_grid(shapes: Sequence[tuple[int, int]], threads: int) -> tuple[int, int]:
    """Threads along M and along N for accumulators of these shapes: a grid as square as it can be that divides all of
    them, of powers of two. The threads are a multiple of the grid's."""
    threads &= -threads
    tall, wide = ([shape[dim] for shape in shapes] for dim in (0, 1))
    columns = _threads_along(wide, 1 << (threads.bit_length() // 2))
    rows = _threads_along(tall, threads // columns)
    return rows, _threads_along(wide, threads // rows)


def _threads_along(extents: Sequence[int], most: int) -> int:
    """The largest power of two up to `most` that divides the extents, and leaves a thread a run of the longest."""
    most = min(most, max(extent // min(FMA_RUN, extent) for extent in extents))
    counts = (1 << bit for bit in reversed(range(most.bit_length())))
    return next(count for count in counts if all(extent % count == 0 for extent in extents))


def fma_accumulator(shape: tuple[int, int], threads: int, grid: tuple[int, int] | None = None) -> Fragment:
    """Scalar multiply-adds over a grid of threads along M and N, that of `fma_grid` where it is not given: a thread has
    runs of up to 4 x 4, neighbors along N."""
    rows, columns = grid or fma_grid([shape], threads)
    run = _run(shape[0], rows), _run(shape[1], columns)
    modes = [Mode(columns, 1, run[1]), Mode(rows, 0, run[0])]
    if rows * columns < threads:
        modes.append(Mode(threads // (rows * columns), REPLICATED, 0))
    values = [
        Mode(run[1], 1, 1),
        Mode(run[0], 0, 1),
        Mode(shape[1] // (run[1] * columns), 1, run[1] * columns),
        Mode(shape[0] // (run[0] * rows), 0, run[0] * rows),
    ]
    return Fragment(shape, tuple(m for m in modes if m.size > 1), tuple(v for v in values if v.size > 1))


def _run(extent: int, threads: int) -> int:
    """The longest run that divides what each of the threads has of the extent."""
    return next(run for run in (min(FMA_RUN, extent), 2, 1) if extent % (run * threads) == 0)
