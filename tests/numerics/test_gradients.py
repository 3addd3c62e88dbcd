"""Reverse mode against central differences in float64: every rule on random shapes, its gradient too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from numerics.gradients import Case, check_gradients, gradient_function, weighted_sum
from xdsl.ir import Operation

from irc.autodiff.gradients import CONSTANT, REFUSED, RULES
from irc.dialects import nd
from irc.dialects.nd import Nd
from irc.dialects.nd.table import ROWS
from irc.ir.dtypes import element_named
from irc.support.windows import placed

Array = np.ndarray[Any, Any]


def normal(rng: Random, shape: Sequence[int]) -> Array:
    return np.array(np.random.default_rng(rng.randrange(2**32)).standard_normal(shape))


def positive(rng: Random, shape: Sequence[int]) -> Array:
    return np.abs(normal(rng, shape)) + 0.2


def integers(rng: Random, shape: Sequence[int], most: int) -> Array:
    """Also some that have to be clamped."""
    return np.random.default_rng(rng.randrange(2**32)).integers(-1, most + 1, shape)


def extents(rng: Random, least: int = 0, most: int = 3) -> list[int]:
    return [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(least, most))]


def unary(op: Callable[..., Any], make: Callable[[Random, Sequence[int]], Array] = normal) -> Callable[[Random], Case]:
    return lambda rng: Case([make(rng, extents(rng, most=2))], op)


def binary(op: Callable[..., Any], make: Callable[[Random, Sequence[int]], Array] = normal) -> Callable[[Random], Case]:
    def case(rng: Random) -> Case:
        shape = extents(rng, most=2)
        return Case([make(rng, shape), make(rng, shape)], op)

    return case


def divided(op: Callable[..., Any]) -> Callable[[Random], Case]:
    """Quotients that stay between two integers while an element is moved."""

    def case(rng: Random) -> Case:
        divisor = positive(rng, extents(rng, most=2))
        quotient = np.random.default_rng(rng.randrange(2**32)).uniform(0.25, 0.75, divisor.shape)
        return Case([(rng.randint(-3, 3) + quotient) * divisor, divisor], op)

    return case


def where(rng: Random) -> Case:
    shape = extents(rng)
    return Case([normal(rng, shape) > 0, normal(rng, shape), normal(rng, shape)], nd.WhereOp)


def clamp(rng: Random) -> Case:
    shape = extents(rng)
    return Case([normal(rng, shape) for _ in range(3)], nd.ClampOp)


def cast(rng: Random) -> Case:
    return Case([normal(rng, extents(rng))], lambda x: nd.CastOp(x, element_named("f64")))


def axes_of(rng: Random, rank: int) -> list[int]:
    return sorted(rng.sample(range(rank), rng.randint(0, rank)))


def reduction(op: Callable[..., Any], *more: Any) -> Callable[[Random], Case]:
    def case(rng: Random) -> Case:
        shape = extents(rng)
        axes = axes_of(rng, len(shape))
        return Case([normal(rng, shape)], lambda x: op(x, axes, *more))

    return case


def var(rng: Random) -> Case:
    shape, correction = [*extents(rng, most=2), 3], rng.randint(0, 2)
    axes = [*axes_of(rng, len(shape) - 1), len(shape) - 1]
    return Case([normal(rng, shape)], lambda x: nd.VarOp(x, axes, correction))


def product(rng: Random) -> Case:
    """Zeros among the elements."""
    case = reduction(nd.ProdOp)(rng)
    return Case([with_zeros(rng, case.arrays[0])], case.build)


def with_zeros(rng: Random, x: Array) -> Array:
    return np.where(np.random.default_rng(rng.randrange(2**32)).random(x.shape) < 0.3, 0.0, x)


def along(op: Callable[..., Any], *more: Any) -> Callable[[Random], Case]:
    def case(rng: Random) -> Case:
        shape = extents(rng, 1)
        axis = rng.randrange(len(shape))
        return Case([normal(rng, shape)], lambda x: op(x, axis, *more))

    return case


def cumprod(rng: Random) -> Case:
    case = along(nd.CumprodOp)(rng)
    return Case([with_zeros(rng, case.arrays[0])], case.build)


def topk(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    k = rng.randint(0, shape[axis])
    return Case([normal(rng, shape)], lambda x: nd.TopkOp(x, k, axis))


def broadcast(rng: Random) -> Case:
    shape = extents(rng)
    rank = len(shape) + rng.randint(0, 2)
    dims = rng.sample(range(rank), len(shape))
    target = [rng.choice((1, 2, 3)) for _ in range(rank)]
    for axis, dim in enumerate(dims):
        target[dim] = shape[axis] if shape[axis] > 1 else target[dim]
    return Case([normal(rng, shape)], lambda x: nd.BroadcastOp(x, target, dims))


def permute(rng: Random) -> Case:
    shape = extents(rng)
    order = rng.sample(range(len(shape)), len(shape))
    return Case([normal(rng, shape)], lambda x: nd.PermuteOp(x, order))


def reshape(rng: Random) -> Case:
    shape = extents(rng)
    return Case([normal(rng, shape)], lambda x: nd.ReshapeOp(x, [1, int(np.prod(shape))]))


def slices(rng: Random) -> Case:
    shape = [rng.choice((1, 4, 7)) for _ in range(rng.randint(0, 2))]
    starts = [rng.randint(0, extent) for extent in shape]
    stops = [rng.randint(start, extent) for start, extent in zip(starts, shape, strict=True)]
    steps = [rng.randint(1, 3) for _ in shape]
    return Case([normal(rng, shape)], lambda x: nd.SliceOp(x, starts, stops, steps))


def pad(rng: Random) -> Case:
    shape = extents(rng, most=2)
    low, high = [rng.randint(0, 2) for _ in shape], [rng.randint(0, 2) for _ in shape]
    return Case([normal(rng, shape), normal(rng, ())], lambda x, value: nd.PadOp(x, value, low, high))


def concat(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    shapes = [[*shape[:axis], rng.randint(0, 3), *shape[axis + 1 :]] for _ in range(rng.randint(1, 3))]
    return Case([normal(rng, s) for s in shapes], lambda *xs: nd.ConcatOp(xs, axis))


def flip(rng: Random) -> Case:
    shape = extents(rng)
    axes = axes_of(rng, len(shape))
    return Case([normal(rng, shape)], lambda x: nd.FlipOp(x, axes))


def tile(rng: Random) -> Case:
    shape = extents(rng, most=2)
    reps = [rng.randint(1, 3) for _ in shape]
    return Case([normal(rng, shape)], lambda x: nd.TileOp(x, reps))


def triangle(op: Callable[..., Any]) -> Callable[[Random], Case]:
    def case(rng: Random) -> Case:
        k = rng.randint(-2, 2)
        return Case([normal(rng, [*extents(rng, most=1), 3, 4])], lambda x: op(x, k))

    return case


def take(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    indices = integers(rng, extents(rng, most=2), shape[axis])
    return Case([normal(rng, shape), indices], lambda x, i: nd.TakeOp(x, i, axis))


def reorder(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    order = np.array(rng.sample(range(shape[axis]), shape[axis]))
    return Case([normal(rng, shape), order, np.argsort(order)], lambda x, o, i: nd.ReorderOp(x, o, i, axis))


def take_along(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    indices = integers(rng, [*shape[:axis], rng.randint(1, 3), *shape[axis + 1 :]], shape[axis])
    return Case([normal(rng, shape), indices], lambda x, i: nd.TakeAlongOp(x, i, axis))


def scatter_add(rng: Random) -> Case:
    shape = extents(rng, 1)
    axis = rng.randrange(len(shape))
    indices = integers(rng, extents(rng, most=2), shape[axis])
    updates = normal(rng, [*shape[:axis], *indices.shape, *shape[axis + 1 :]])
    return Case([normal(rng, shape), indices, updates], lambda x, i, u: nd.ScatterAddOp(x, i, u, axis))


def matmul(rng: Random) -> Case:
    """Axes of all three kinds in any order in both operands."""
    kinds = [(rng.choice(("batch", "lhs", "rhs", "contract")), rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
    lhs = [i for i, (kind, _) in enumerate(kinds) if kind != "rhs"]
    rhs = [i for i, (kind, _) in enumerate(kinds) if kind != "lhs"]
    rng.shuffle(lhs)
    rng.shuffle(rhs)
    pairs = {what: [i for i, (kind, _) in enumerate(kinds) if kind == what] for what in ("batch", "contract")}
    numbers: dict[str, Any] = {
        f"{side}_{what}": [axes.index(i) for i in pairs[what]]
        for side, axes in (("lhs", lhs), ("rhs", rhs))
        for what in pairs
    }
    arrays = [normal(rng, [kinds[i][1] for i in axes]) for axes in (lhs, rhs)]
    return Case(arrays, lambda a, b: nd.MatmulOp(a, b, **numbers))


def grouped_matmul(rng: Random) -> Case:
    """Of either form, with axes in any order; some rows are in no group."""
    groups, rows, inner, columns = (rng.randint(1, 4) for _ in range(4))
    of_lhs, contracts_rows = rng.randrange(2), rng.random() < 0.5
    lhs = [inner, rows] if of_lhs == 0 else [rows, inner]
    sides = [lhs[of_lhs], columns] if contracts_rows else [inner, columns, groups]
    order = rng.sample(range(len(sides)), len(sides))
    numbers: dict[str, Any] = {"lhs_contract": of_lhs, "rhs_contract": order.index(0)}
    numbers |= {} if contracts_rows else {"rhs_group": order.index(2)}
    ends = np.sort(integers(rng, [groups], rows + 1))
    arrays = [normal(rng, lhs), normal(rng, [sides[i] for i in order]), ends]
    return Case(arrays, lambda a, b, e: nd.GroupedMatmulOp(a, b, e, **numbers))


def conv(rng: Random) -> Case:
    rank, groups = rng.randint(0, 2), rng.randint(1, 2)
    of_images = 1 if groups > 1 else rng.randint(1, 2)
    x = [of_images * rng.randint(1, 2), groups * rng.randint(1, 2), *(rng.randint(1, 4) for _ in range(rank))]
    kernel = [of_images * groups * rng.randint(1, 2), x[1] // groups, *(rng.randint(1, 3) for _ in range(rank))]
    numbers: dict[str, Any] = {
        "strides": [rng.randint(1, 3) for _ in range(rank)],
        "low": [rng.randint(0, 4) for _ in range(rank)],
        "high": [rng.randint(0, 4) for _ in range(rank)],
        "dilation": [rng.randint(1, 2) for _ in range(rank)],
        "input_dilation": [rng.randint(1, 3) for _ in range(rank)],
    }
    orders = [rng.sample(range(rank + 2), rank + 2) for _ in range(3)]
    numbers |= dict(zip(("x_axes", "kernel_axes", "result_axes"), orders, strict=True))
    numbers |= {"groups": groups, "batch_groups": of_images, "flipped": rng.random() < 0.5}
    arrays = [normal(rng, placed(shape, axes)) for shape, axes in zip((x, kernel), orders, strict=False)]
    return Case(arrays, lambda a, b: nd.ConvOp(a, b, **numbers))


def reduce_window(rng: Random) -> Case:
    shape = extents(rng, least=1)
    limits = {"strides": (1, 3), "low": (0, 2), "high": (0, 2), "dilation": (1, 2)}
    numbers: dict[str, Any] = {name: [rng.randint(*ends) for _ in shape] for name, ends in limits.items()}
    window, monoid = [rng.randint(1, 2) for _ in shape], rng.choice(("sum", "max", "min"))
    if monoid == "sum":
        numbers["input_dilation"] = [rng.randint(1, 2) for _ in shape]
    else:  # of windows that have an element each: others are infinite, whose differences are none
        numbers |= {"dilation": [1 for _ in shape], **{side: [size - 1 for size in window] for side in ("low", "high")}}
    return Case([normal(rng, shape)], lambda x: nd.ReduceWindowOp(x, window, monoid=monoid, **numbers))


def attention(rng: Random) -> Case:
    batch = extents(rng, most=1)
    queries = [extent * rng.randint(1, 2) for extent in batch]
    rows = [*queries, *extents(rng, 1, 1)]
    arrays = [normal(rng, shape) for shape in ([*rows, 3], [*batch, 4, 3], [*batch, 4, 2])]
    return scored(rng, nd.AttentionOp, arrays, rows)


def scored(rng: Random, op: Callable[..., Any], arrays: list[Array], rows: list[int]) -> Case:
    """Keys that are seen by their places, by a bias of bools, or with one of floats."""
    options = {"causal": rng.random() < 0.5, "scale": 0.5, "window": rng.choice((0, 0, 1, 2))}
    options["soft_cap"] = rng.choice((0.0, 0.0, 0.6))
    bias = rng.choice(("none", "floats", "bools"))
    if bias == "none":
        return Case(arrays, lambda *operands: op(*operands, **options))
    biases = normal(rng, [*rows, 4])
    seen = biases > -0.5
    if op is nd.AttentionLogSumExpOp:  # which is -inf where all is hidden
        seen |= np.eye(rows[-1], 4, dtype=bool)
    arrays = [*arrays, biases if bias == "floats" else seen]
    return Case(arrays, lambda *operands: op(*operands[:-1], **options, bias=operands[-1]))


def of_scores(rng: Random, weights: bool) -> Case:
    """Queries have more batches than keys, or as many."""
    batch, more = extents(rng, most=1), extents(rng, most=1)
    rows = [*batch, *more, rng.randint(1, 4)]
    arrays = [normal(rng, [*rows, 3]), normal(rng, [*batch, 4, 3])]
    if weights:
        return scored(rng, nd.AttentionWeightsOp, [*arrays, normal(rng, rows)], rows)
    return scored(rng, nd.AttentionLogSumExpOp, arrays, rows)


PLAIN = [op for op in RULES if op in ROWS and op not in (nd.GeluOp, nd.LeakyReluOp)]


def domain(op: type[Operation]) -> Callable[[Random, Sequence[int]], Array]:
    """Any numbers, or positive ones where the op of the table has poles or no value among the others."""
    points = np.linspace(-3, 3, 13)
    row = ROWS[op]
    with np.errstate(all="ignore"):
        values = row.numpy(*([points] if len(row.parameters) == 1 else np.meshgrid(points, points)))
    return normal if np.isfinite(values).all() else positive


CASES: dict[type[Operation], Callable[[Random], Case]] = {
    **{op: unary(op, domain(op)) for op in PLAIN if issubclass(op, nd.UnaryOp)},
    nd.TanOp: unary(nd.TanOp, positive),
    nd.GeluOp: lambda rng: unary(lambda x: nd.GeluOp(x, rng.choice(("none", "tanh"))))(rng),
    nd.LeakyReluOp: unary(lambda x: nd.LeakyReluOp(x, 0.1)),
    **{op: binary(op, domain(op)) for op in PLAIN if issubclass(op, nd.BinaryOp)},
    nd.FloorDivOp: divided(nd.FloorDivOp),
    nd.ModOp: divided(nd.ModOp),
    nd.Atan2Op: binary(nd.Atan2Op, positive),
    nd.WhereOp: where,
    nd.ClampOp: clamp,
    nd.CastOp: cast,
    nd.BroadcastOp: broadcast,
    nd.PermuteOp: permute,
    nd.ReshapeOp: reshape,
    nd.SliceOp: slices,
    nd.PadOp: pad,
    nd.ConcatOp: concat,
    nd.FlipOp: flip,
    nd.TileOp: tile,
    nd.TrilOp: triangle(nd.TrilOp),
    nd.TriuOp: triangle(nd.TriuOp),
    nd.TakeOp: take,
    nd.ReorderOp: reorder,
    nd.TakeAlongOp: take_along,
    nd.ScatterAddOp: scatter_add,
    nd.SumOp: reduction(nd.SumOp),
    nd.MeanOp: reduction(nd.MeanOp),
    nd.MaxOp: reduction(nd.MaxOp),
    nd.MinOp: reduction(nd.MinOp),
    nd.ProdOp: product,
    nd.VarOp: var,
    nd.CumsumOp: along(nd.CumsumOp),
    nd.CumprodOp: cumprod,
    nd.SortOp: along(nd.SortOp),
    nd.TopkOp: topk,
    nd.MatmulOp: matmul,
    nd.GroupedMatmulOp: grouped_matmul,
    nd.ConvOp: conv,
    nd.ReduceWindowOp: reduce_window,
    nd.SoftmaxOp: along(nd.SoftmaxOp),
    nd.LogSoftmaxOp: along(nd.LogSoftmaxOp),
    nd.LayerNormOp: along(nd.LayerNormOp, 0.1),
    nd.RmsNormOp: along(nd.RmsNormOp, 0.1),
    nd.AttentionOp: attention,
    nd.AttentionLogSumExpOp: lambda rng: of_scores(rng, weights=False),
    nd.AttentionWeightsOp: lambda rng: of_scores(rng, weights=True),
}


def test_every_op_has_a_rule_or_a_reason():
    for op in Nd.operations:
        assert issubclass(op, nd.NdOp)
        known = [op in RULES, op in REFUSED, issubclass(op, CONSTANT)]
        assert sum(known) == 1, f"{op.name}: expected one of a rule, a refusal, and being constant; found {known}"
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
@given(st.integers(0, 2**32))
@examples(12, one_in=3)
def test_rule(op: type[Operation], seed: int):
    case = CASES[op](Random(seed))
    check_gradients(weighted_sum(case), case.arrays, case.floats)


@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
@given(st.integers(0, 2**32))
@examples(5, one_in=2)
def test_rule_of_the_rule(op: type[Operation], seed: int):
    case = CASES[op](Random(seed))
    check_gradients(gradient_function(weighted_sum(case), case.floats), case.arrays, case.floats)
