"""Thread partitions of a tile: the fragments that a search for layouts compares.

A candidate gives each thread a run of neighbors along every dimension (of length 1 where there is nothing to gain),
lays the lanes of a warp side by side, then the warps, and repeats that over the rest of the tile in further registers.
It is CuTe's raked product of a layout of threads and one of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import prod

from irc.layout.fragment import REPLICATED, Fragment, Mode
from irc.layout.requests import WARP


def partition(
    shape: Sequence[int],
    order: Sequence[int],
    runs: Sequence[int],
    lanes: Sequence[int],
    warps: Sequence[int],
    copies: int = 1,
) -> Fragment:
    """Per dimension: `runs` neighbors in a thread, `lanes` threads of a warp, `warps`; the first dimension of `order`
    is the fastest among lanes and among registers. `copies` threads hold each element."""
    step = list(runs)
    threads: list[Mode] = []
    for counts in (lanes, warps):
        for dim in order:
            if counts[dim] > 1:
                _append(threads, Mode(counts[dim], dim, step[dim]))
                step[dim] *= counts[dim]
    if copies > 1:
        threads.append(Mode(copies, REPLICATED, 0))
    values = [Mode(runs[dim], dim, 1) for dim in order if runs[dim] > 1]
    values += [Mode(shape[dim] // step[dim], dim, step[dim]) for dim in order if shape[dim] > step[dim]]
    return Fragment(tuple(shape), tuple(threads), tuple(values))


def _append(modes: list[Mode], mode: Mode) -> None:
    """Adds a mode, or makes the last one longer where the new one goes on from there."""
    last = modes[-1] if modes else None
    if last is not None and last.dim == mode.dim and last.step * last.size == mode.step:
        modes[-1] = Mode(last.size * mode.size, mode.dim, last.step)
    else:
        modes.append(mode)


def blocked(shape: Sequence[int], order: Sequence[int], vector: int, threads: int) -> Fragment:
    """Threads side by side along the dimensions of `order` (fastest first), each with `vector` contiguous elements of
    the first of them; what is left over is more registers, outermost last."""
    runs = [1] * len(shape)
    if order:
        runs[order[0]] = min(vector, _binary(shape[order[0]]))
    return side_by_side(shape, order, runs, threads)


def side_by_side(shape: Sequence[int], order: Sequence[int], runs: Sequence[int], threads: int) -> Fragment:
    """Threads side by side along the dimensions of `order` (fastest first), each with runs of neighbors along them;
    what is left over is more registers."""
    lanes, left = _greedy(_room(shape, runs), order, threads)
    return partition(shape, order, runs, lanes, [1] * len(shape), left)


BANK_ROWS = 8
"""Rows of 128 bytes after which the widest swizzle repeats, and threads whose 16-byte accesses are one wavefront."""


def transposing(shape: tuple[int, int], source: int, run: int, width: int, threads: int) -> Fragment:
    """Threads that read a tile in vectors of `run` along dimension `source` and write it in vectors of up to `width`
    along the other one: each has a block of both.

    Eight threads write at a time, each a vector of a row of 128 bytes, of which the swizzle moves vector c of row r to
    c ^ (r mod 8). Their rows are multiples of `run` apart: `run` threads side by side along the written dimension, and
    the others along the one that is read, meet all banks. More of a warp along the dimension that is read makes longer
    lines of global memory."""
    target = 1 - source
    held = 1 << max(1, shape[0] * shape[1] // threads).bit_length() - 1
    runs = [1, 1]
    runs[target] = min(width, _binary(shape[target]), held)
    runs[source] = min(run, _binary(shape[source]), held // runs[target])
    order, room = (target, source), _room(shape, runs)
    lanes = [1, 1]
    lanes[target] = min(BANK_ROWS, max(1, runs[source]), room[target])
    lanes[source] = min(WARP // lanes[target], room[source])
    lanes[target] = min(WARP // lanes[source], room[target])
    warps, left = _greedy([n // used for n, used in zip(room, lanes, strict=True)], order, threads // prod(lanes))
    fragment = partition(shape, order, runs, lanes, warps, left)
    first = [mode for mode in fragment.values if mode.dim == source and mode.step == 1]
    rest = [mode for mode in fragment.values if mode not in first]
    return Fragment(fragment.shape, fragment.threads, (*first, *rest))


@cache
def candidates(
    shape: tuple[int, ...], threads: int, runs: tuple[tuple[int, ...], ...], orders: tuple[tuple[int, ...], ...]
) -> tuple[Fragment, ...]:
    """The fragments of a tile over `threads` threads. `runs[d]` are the lengths worth trying along dimension d,
    `orders` the orders of dimensions that accesses walk in, fastest first.

    Lanes follow one of the orders for a part of the warp and another one, or its reverse, for the rest: in two
    dimensions, that is every split of the lanes. Warps then go on in the first order, or come from its far end."""
    found = dict.fromkeys(_candidates(shape, threads, runs, orders))
    return tuple(found) or (blocked(shape, range(len(shape)), 1, threads),)


def _candidates(
    shape: tuple[int, ...], threads: int, runs: tuple[tuple[int, ...], ...], orders: tuple[tuple[int, ...], ...]
) -> Iterator[Fragment]:
    each = max(1, prod(shape) // threads)
    for held, order in product(product(*runs), orders):
        leads = not order or held[order[0]] > 1 or max(held) == 1
        if prod(held) > each or not leads:
            continue
        room = _room(shape, held)
        for lanes in _splits(room, order, orders, min(WARP, threads)):
            left = [n // used for n, used in zip(room, lanes, strict=True)]
            for outer in (order, order[::-1]):
                warps, copies = _greedy(left, outer, threads // prod(lanes))
                yield partition(shape, order, held, lanes, warps, copies)


def within_warps(
    fragment: Fragment, runs: tuple[tuple[int, ...], ...], orders: tuple[tuple[int, ...], ...]
) -> tuple[Fragment, ...]:
    """Fragments in which each warp holds what it holds in this one: partitions of the box that lies together in a warp.
    None where there are copies, or where other elements lie between those of the lanes."""
    lanes, warps = _lanes_and_warps(fragment.threads)
    box, rest = [1] * len(fragment.shape), list[Mode]()
    for mode in sorted((*lanes, *fragment.values), key=lambda m: m.step):
        if mode.is_replicated or (mode.step != box[mode.dim] and mode in lanes):
            return ()
        if mode.step == box[mode.dim]:
            box[mode.dim] *= mode.size
        else:
            rest.append(mode)
    if any(mode.is_replicated for mode in warps) or prod(mode.size for mode in lanes) != WARP:
        return ()
    inside = tuple(tuple(n for n in lengths if extent % n == 0) for lengths, extent in zip(runs, box, strict=True))
    found: list[Fragment] = []
    for part in candidates(tuple(box), WARP, inside, orders):
        threads = list(part.threads)
        for mode in warps:
            _append(threads, mode)
        if not any(mode.is_replicated for mode in threads):
            found.append(Fragment(fragment.shape, tuple(threads), (*part.values, *rest)))
    return tuple(found)


def _lanes_and_warps(modes: Sequence[Mode]) -> tuple[list[Mode], list[Mode]]:
    """The modes of threads, cut at the edge of a warp."""
    lanes: list[Mode] = []
    warps: list[Mode] = []
    stride = 1
    for size, dim, step in modes:
        inside = max(1, min(size, WARP // stride))
        if inside > 1:
            lanes.append(Mode(inside, dim, step))
        if size > inside:
            warps.append(Mode(size // inside, dim, inside * step))
        stride *= size
    return lanes, warps


def _splits(
    room: Sequence[int], order: tuple[int, ...], orders: tuple[tuple[int, ...], ...], count: int
) -> list[tuple[int, ...]]:
    """The ways to lay `count` lanes: a part along `order`, the rest along another order or from the far end of one."""
    found: dict[tuple[int, ...], None] = {}
    for bits in reversed(range(count.bit_length())):
        first, over = _greedy(room, order, 1 << bits)
        left = [n // used for n, used in zip(room, first, strict=True)]
        for other in (*orders, *(o[::-1] for o in orders)):
            second, _ = _greedy(left, other, (count >> bits) * over)
            found[tuple(a * b for a, b in zip(first, second, strict=True))] = None
    most = max(map(prod, found), default=1)
    return [split for split in found if prod(split) == most]


def _greedy(room: Sequence[int], order: Sequence[int], count: int) -> tuple[list[int], int]:
    """`count` threads along the dimensions in order, as many as fit each; and how many are left over."""
    taken = [1] * len(room)
    for dim in order:
        taken[dim] = min(_binary(count), room[dim])
        count //= taken[dim]
    return taken, count


def _room(shape: Sequence[int], runs: Sequence[int]) -> list[int]:
    """The threads that can lie along each dimension: the largest powers of two that divide what the runs leave."""
    return [_binary(n // run) if n % run == 0 else 1 for n, run in zip(shape, runs, strict=True)]


def _binary(n: int) -> int:
    return n & -n
