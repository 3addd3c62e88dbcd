"""What ops say of their iteration dimensions and accesses, against what the interpreter computes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

import irc
from irc.dialects import nd
from irc.interpreters.nd.interpreter import evaluate_op
from irc.ir.dtypes import element_of
from irc.ir.iteration import (
    CONTRACTIONS,
    Access,
    Iteration,
    IterationInterface,
    Kind,
    Pattern,
    is_broadcast,
    pattern_of,
    permutation_of,
)
from irc.support.windows import placed
from irc.tiling.index_maps import applied, constant, lin_of, new_dim, substitute

Array = np.ndarray[Any, Any]

JOINED: dict[str, Callable[[Array, int], Array]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "argmax": np.argmax,
    "argmin": np.argmin,
}
SCANNED: dict[str, Callable[[Array, int], Array]] = {"sum": np.cumsum, "prod": np.cumprod}


def by_iteration(op: IterationInterface, arrays: Sequence[Array]) -> Array:
    """The result of an op, computed at every point of its iteration from the elements that the point reads."""
    iteration = op.iteration()
    points = [np.asarray(at) for at in np.indices([dim.extent for dim in iteration.dims])]
    elements = [_read(access, x, arrays, iteration, points) for access, x in zip(iteration.inputs, arrays, strict=True)]
    values = _computed(op, [element for element, _ in elements], [inside for _, inside in elements], iteration)
    if iteration.segments is not None:
        values = _in_segments(values, iteration, points, arrays[iteration.segments.ends])
    stored = [i for i, dim in enumerate(iteration.dims) if dim.kind in (Kind.PARALLEL, Kind.SCAN)]
    if iteration.segments is not None and iteration.segments.number not in iteration.result.used_dims():
        values = values.sum(iteration.segments.number, keepdims=True)  # a point is in one segment, or in none
    for i in reversed(range(len(iteration.dims))):
        if i not in stored:
            monoid = iteration.dims[i].monoid
            assert monoid is not None
            values = JOINED[monoid](values, i)
        elif iteration.dims[i].kind is Kind.SCAN:
            values = SCANNED[str(iteration.dims[i].monoid)](values, i)
    return _placed(op.results[0], iteration, values, stored)


def _in_segments(values: Array, iteration: Iteration, points: list[Array], ends: Array) -> Array:
    """The values of the points that there are, and 0 of others."""
    assert iteration.segments is not None
    number, along = points[iteration.segments.number], points[iteration.segments.along]
    starts = np.concatenate([[0], ends])
    return np.where((starts[number] <= along) & (along < starts[number + 1]), values, 0)


def _read(
    access: Access, x: Array, arrays: Sequence[Array], iteration: Iteration, points: list[Array]
) -> tuple[Array, Array]:
    """The element that each point reads of an operand, and whether there is one."""
    shape = tuple(dim.extent for dim in iteration.dims)
    inside = np.ones(shape, bool)
    for bound in access.inside:
        value: Any = bound.expr.eval(points, [])  # pyright: ignore[reportArgumentType]
        inside &= (bound.low <= value) & (value < bound.high)
    symbols = [_read(iteration.inputs[i], arrays[i], arrays, iteration, points)[0] for i in access.indices]
    coords = [np.broadcast_to(e.eval(points, symbols), shape) for e in access.map.results]  # pyright: ignore
    is_index = [not e.used_dims() and bool(symbols) for e in access.map.results]
    if 0 in x.shape:
        assert not inside.any()
        return np.zeros(shape, x.dtype), inside
    for at, extent, indexed in zip(coords, x.shape, is_index, strict=True):
        assert indexed or not inside.any() or 0 <= at[inside].min() <= at[inside].max() < extent
    elements = x[tuple(np.clip(at, 0, extent - 1) for at, extent in zip(coords, x.shape, strict=True))]
    elements = np.broadcast_to(elements, shape)
    return (elements if access.outside is None else np.where(inside, elements, access.outside)), inside


def _computed(op: IterationInterface, elements: list[Array], inside: list[Array], iteration: Iteration) -> Array:
    """What each point makes of the elements that it read."""
    match op.PATTERN:
        case Pattern.PRODUCT | Pattern.CONVOLUTION | Pattern.GROUPED:
            return elements[0] * elements[1]
        case Pattern.ELEMENTWISE | Pattern.MADE:
            return evaluate_op(op, elements, "float64")[0]
        case Pattern.REDUCE | Pattern.SCAN:
            return elements[0]
        case Pattern.WINDOW:
            monoid = next(dim.monoid for dim in iteration.dims if dim.kind is Kind.WINDOW)
            return np.where(inside[0], elements[0], {"sum": 0, "max": -np.inf, "min": np.inf}[str(monoid)])
        case Pattern.MOVE:
            indices = {i for access in iteration.inputs for i in access.indices}
            value, found = np.zeros_like(elements[0]), np.zeros_like(inside[0])
            for i in [i for i in range(len(elements)) if i not in indices]:
                value, found = np.where(inside[i] & ~found, elements[i], value), found | inside[i]
            assert found.all()
            return value


def _placed(result: SSAValue, iteration: Iteration, values: Array, stored: list[int]) -> Array:
    """The values where the iteration says that they lie in the result; each place gets one."""
    points: list[Any] = [0] * len(iteration.dims)
    for i, at in zip(stored, np.indices(values.shape), strict=True):
        points[i] = at
    at = tuple(np.broadcast_to(e.eval(points, []), values.shape) for e in iteration.result.results)
    found, times = np.zeros(nd.shape_of(result), values.dtype), np.zeros(nd.shape_of(result), int)
    found[at] = values
    np.add.at(times, at, 1)
    assert (times == 1).all()
    return found


def value(shape: Sequence[int], element: Attribute = f64) -> SSAValue:
    return test.TestOp(result_types=[nd.tensor(shape, element)]).results[0]


Draw = Callable[[st.SearchStrategy[Any]], Any]
EXTENTS = st.lists(st.integers(0, 4), max_size=4)
LONG = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def _axes(draw: Draw, rank: int) -> list[int]:
    return sorted(draw(st.sets(st.integers(0, rank - 1)))) if rank else []


def _reshape(draw: Draw) -> nd.NdOp:
    factors = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=5))
    shapes: list[list[int]] = []
    for _ in range(2):
        cuts = sorted(draw(st.lists(st.integers(0, len(factors)), max_size=3)))
        ends = [0, *cuts, len(factors)]
        shapes.append([int(np.prod(factors[a:b])) for a, b in pairwise(ends)])
    return nd.ReshapeOp(value(shapes[0]), shapes[1])


def _slice(draw: Draw) -> nd.NdOp:
    shape = draw(EXTENTS)
    ends = [sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
    steps = [draw(st.integers(1, 3)) for _ in shape]
    return nd.SliceOp(value(shape), [a for a, _ in ends], [b for _, b in ends], steps)


def _pad(draw: Draw) -> nd.NdOp:
    shape = draw(EXTENTS)
    low, high = ([draw(st.integers(0, 2)) for _ in shape] for _ in range(2))
    return nd.PadOp(value(shape), value([]), low, high)


def _concat(draw: Draw) -> nd.NdOp:
    shape = draw(LONG)
    axis = draw(st.integers(0, len(shape) - 1))
    extents = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    return nd.ConcatOp([value([*shape[:axis], n, *shape[axis + 1 :]]) for n in extents], axis)


def _broadcast(draw: Draw) -> nd.NdOp:
    shape = draw(EXTENTS)
    dims = _axes(draw, len(shape))
    return nd.BroadcastOp(value([draw(st.sampled_from([1, shape[dim]])) for dim in dims]), shape, dims)


def _reduce_window(draw: Draw) -> nd.NdOp:
    shape = draw(LONG)
    numbers: dict[str, Any] = {
        name: [draw(st.integers(least, most)) for _ in shape]
        for name, (least, most) in {
            "window": (1, 2),
            "strides": (1, 3),
            "low": (0, 2),
            "high": (0, 2),
            "dilation": (1, 2),
            "input_dilation": (1, 2),
        }.items()
    }
    monoid = draw(st.sampled_from(["sum", "max", "min"]))
    return nd.ReduceWindowOp(value(shape), numbers.pop("window"), monoid=monoid, **numbers)


def _take(draw: Draw) -> nd.NdOp:
    shape = draw(LONG)
    return nd.TakeOp(value(shape), value(draw(EXTENTS)[:2], i64), draw(st.integers(0, len(shape) - 1)))


def _take_along(draw: Draw) -> nd.NdOp:
    shape = draw(LONG)
    axis = draw(st.integers(0, len(shape) - 1))
    return nd.TakeAlongOp(value(shape), value([*shape[:axis], draw(st.integers(0, 3)), *shape[axis + 1 :]], i64), axis)


def _matmul(draw: Draw) -> nd.NdOp:
    batch, m, n, k = (draw(EXTENTS)[:2] for _ in range(4))
    sides: list[list[int]] = []
    numbers: list[list[int]] = []
    for free in (m, n):
        extents = [*batch, *free, *k]
        order = draw(st.permutations(range(len(extents))))
        sides.append([extents[i] for i in order])
        numbers += [[order.index(i) for i in range(len(batch))]]
        numbers += [[order.index(len(batch) + len(free) + i) for i in range(len(k))]]
    lhs_batch, lhs_contract, rhs_batch, rhs_contract = numbers
    return nd.MatmulOp(
        value(sides[0]),
        value(sides[1]),
        lhs_batch=lhs_batch,
        rhs_batch=rhs_batch,
        lhs_contract=lhs_contract,
        rhs_contract=rhs_contract,
    )


def _grouped_matmul(draw: Draw) -> nd.NdOp:
    groups, *extents = (draw(st.integers(1, 4)) for _ in range(4))
    rows, inner, columns = extents
    of_lhs = draw(st.integers(0, 1))
    lhs = [inner, rows] if of_lhs == 0 else [rows, inner]
    contracts_rows = draw(st.booleans())
    sides = [lhs[of_lhs], columns] if contracts_rows else [inner, columns, groups]
    order = draw(st.permutations(range(len(sides))))
    numbers: dict[str, Any] = {"lhs_contract": of_lhs, "rhs_contract": order.index(0)}
    numbers |= {} if contracts_rows else {"rhs_group": order.index(2)}
    return nd.GroupedMatmulOp(value(lhs), value([sides[i] for i in order]), value([groups], i64), **numbers)


def _conv(draw: Draw) -> nd.NdOp:
    rank, groups = draw(st.integers(0, 2)), draw(st.integers(1, 2))
    strides, dilation, apart = ([draw(st.integers(1, 3)) for _ in range(rank)] for _ in range(3))
    low, high = ([draw(st.integers(0, 2)) for _ in range(rank)] for _ in range(2))
    channels, outputs = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    of_images = draw(st.integers(1, 2)) if groups == 1 else 1
    x = [of_images * draw(st.integers(1, 2)), groups * channels, *(draw(st.integers(1, 5)) for _ in range(rank))]
    kernel = [groups * of_images * outputs, channels, *(draw(st.integers(1, 3)) for _ in range(rank))]
    parts = [draw(st.sampled_from([p for p in range(1, n + 1) if n % p == 0])) for n in kernel[1:]]
    x_axes, kernel_axes, result_axes = (draw(st.permutations(range(rank + 2))) for _ in range(3))
    return nd.ConvOp(
        value(placed(x, x_axes)),
        value(placed(kernel, kernel_axes)),
        strides=strides,
        low=low,
        high=high,
        dilation=dilation,
        input_dilation=apart,
        groups=groups,
        x_axes=x_axes,
        kernel_axes=kernel_axes,
        result_axes=result_axes,
        flipped=draw(st.booleans()),
        batch_groups=of_images,
        parts=parts[: draw(st.integers(0, len(parts)))],
    )


def _elementwise(draw: Draw) -> nd.NdOp:
    x, y, c = (value(draw(st.shared(EXTENTS, key="shape")), element) for element in (f64, f64, i1))
    return draw(st.sampled_from([nd.AddOp(x, y), nd.WhereOp(c, x, y), nd.NegOp(x), nd.LessOp(x, y), nd.CastOp(x, f32)]))


def _joined(op: Callable[..., nd.NdOp], element: Attribute = f64) -> Callable[[Draw], nd.NdOp]:
    def build(draw: Draw) -> nd.NdOp:
        shape = draw(LONG)
        return op(value(shape, element), _axes(draw, len(shape)))

    return build


def _along(op: Callable[..., nd.NdOp]) -> Callable[[Draw], nd.NdOp]:
    def build(draw: Draw) -> nd.NdOp:
        shape = draw(LONG)
        return op(value(shape), draw(st.integers(0, len(shape) - 1)))

    return build


def _permute(draw: Draw) -> nd.NdOp:
    shape = draw(EXTENTS)
    return nd.PermuteOp(value(shape), draw(st.permutations(range(len(shape)))))


def _flip(draw: Draw) -> nd.NdOp:
    shape = draw(EXTENTS)
    return nd.FlipOp(value(shape), _axes(draw, len(shape)))


def _iota(draw: Draw) -> nd.NdOp:
    shape = draw(LONG)
    return nd.IotaOp(nd.tensor(shape, f64), draw(st.integers(0, len(shape) - 1)))


DRAWN: dict[str, Callable[[Draw], nd.NdOp]] = {
    "elementwise": _elementwise,
    "nd.extent": lambda draw: nd.ExtentOp(521, draw(EXTENTS)),
    "nd.iota": _iota,
    "nd.constant": lambda draw: nd.ConstantOp.splat(3.5, nd.tensor(draw(EXTENTS), f64)),
    "nd.broadcast": _broadcast,
    "nd.reduce_window": _reduce_window,
    "nd.permute": _permute,
    "nd.reshape": _reshape,
    "nd.slice": _slice,
    "nd.pad": _pad,
    "nd.concat": _concat,
    "nd.flip": _flip,
    "nd.take": _take,
    "nd.take_along": _take_along,
    "nd.matmul": _matmul,
    "nd.grouped_matmul": _grouped_matmul,
    "nd.conv": _conv,
    **{op.name: _joined(op) for op in (nd.SumOp, nd.ProdOp, nd.MaxOp, nd.MinOp)},
    **{op.name: _joined(op, i1) for op in (nd.AnyOp, nd.AllOp)},
    **{op.name: _along(op) for op in (nd.ArgmaxOp, nd.ArgminOp, nd.CumsumOp, nd.CumprodOp)},
}


@pytest.mark.parametrize("name", DRAWN)
@examples(40)
@given(data=st.data())
def test_an_op_is_what_its_points_compute(name: str, data: st.DataObject) -> None:
    op = DRAWN[name](data.draw)
    op.verify()
    assert isinstance(op, IterationInterface)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    arrays = [_array(rng, operand) for operand in op.operands]
    (expected,) = evaluate_op(op, arrays, "float64")
    np.testing.assert_allclose(by_iteration(op, arrays), expected)


def _array(rng: np.random.Generator, operand: SSAValue) -> Array:
    """Indices are also out of range; where groups end does not fall."""
    shape, element = nd.shape_of(operand), element_of(operand.type)
    if element.is_integer:
        found = rng.integers(-2, 7, shape)
        is_of_groups = any(isinstance(use.operation, nd.GroupedMatmulOp) for use in operand.uses)
        return np.sort(found) if is_of_groups else found
    return rng.integers(0, 2, shape).astype(bool) if element.kind == "bool" else rng.normal(size=shape)


@given(data=st.data())
def test_roles_of_a_product_are_what_its_accesses_share(data: st.DataObject) -> None:
    iteration = _matmul(data.draw).iteration()  # pyright: ignore[reportAttributeAccessIssue]
    lhs, rhs = (access.map.used_dims() for access in iteration.inputs)
    for i, dim in enumerate(iteration.dims):
        shared = {"b": (True, True), "m": (True, False), "n": (False, True), "k": (True, True)}[dim.role]
        assert (i in lhs, i in rhs) == shared and (dim.kind is Kind.REDUCE) == (dim.role == "k")
        assert (i in iteration.result.used_dims()) == (dim.role != "k")


def test_names_and_extents() -> None:
    product = nd.MatmulOp(value([4, 8, 2, 3]), value([3, 4, 5, 2]), lhs_batch=[0], rhs_batch=[1], lhs_contract=[2, 3], rhs_contract=[3, 0])  # fmt: skip
    iteration = product.iteration()
    assert [dim.name for dim in iteration.dims] == ["b0", "m0", "n0", "k0", "k1"]
    assert [iteration.extent(role) for role in "bmnk"] == [4, 8, 5, 6]
    assert iteration.roles(iteration.inputs[1].map) == ("k", "b", "n", "k")
    assert iteration.extents("k") == (2, 3) and iteration.points == 4 * 8 * 5 * 6
    assert iteration.axes(iteration.result, "n") == (2,)
    assert [iteration.axes(access.map, "k") for access in iteration.inputs] == [(2, 3), (3, 0)]
    (summed,) = nd.SumOp(value([4, 8, 2]), [0, 2]).iteration().inputs
    assert str(summed.map) == "(d0, d1, d2) -> (d0, d1, d2)"
    assert [dim.name for dim in nd.SumOp(value([4, 8, 2]), [0, 2]).iteration().dims] == ["r0", "d0", "r1"]


@pytest.mark.parametrize(
    "op",
    [
        nd.ReshapeOp(value([4, 6]), [3, 2, 4]),
        nd.ReshapeOp(value([2, 1, 12]), [8, 3]),
        nd.SliceOp(value([9, 5]), [1, 0], [8, 5], [3, 2]),
        nd.FlipOp(value([3, 4]), [1]),
        nd.BroadcastOp(value([1, 4]), [3, 4], [0, 1]),
        nd.MatmulOp(
            value([2, 3, 4]), value([4, 2, 2]), lhs_batch=[0], rhs_batch=[1], lhs_contract=[2], rhs_contract=[0]
        ),
    ],
    ids=lambda op: op.name,
)
def test_accesses_are_the_same_in_tiling(op: IterationInterface) -> None:
    iteration = op.iteration()
    dims = [new_dim(dim.extent) for dim in iteration.dims]
    for access in iteration.inputs:
        read = applied(access.map, tuple(map(lin_of, dims)))
        for at in product(*(range(dim.extent) for dim in iteration.dims)):
            place = dict(zip(dims, map(constant, at), strict=True))
            assert [substitute(lin, place).const for lin in read] == list(access.map.eval(at, ()))


def test_every_op_that_says_how_it_iterates_is_drawn() -> None:
    others = {
        op.name for op in nd.Nd.operations if issubclass(op, IterationInterface) and not issubclass(op, nd.Elementwise)
    }
    assert others == DRAWN.keys() - {"elementwise"}


def test_an_op_that_kernels_do_not_hold_says_nothing() -> None:
    assert pattern_of(nd.SortOp(value([4]), 0)) is None
    assert pattern_of(nd.MeanOp(value([4]), [0])) is None


@pytest.mark.parametrize(
    ("op", "permutation", "repeats"),
    [
        (nd.PermuteOp(value([2, 3, 4]), [2, 0, 1]), (2, 0, 1), False),
        (nd.SliceOp(value([4, 3]), [0, 0], [4, 3]), (0, 1), False),
        (nd.SliceOp(value([4, 3]), [0, 0], [2, 3]), None, False),
        (nd.FlipOp(value([4, 3]), [0]), None, False),
        (nd.BroadcastOp(value([4]), [3, 4], [1]), None, True),
        (nd.BroadcastOp(value([4, 1]), [4, 3], [0, 1]), None, True),
        (nd.BroadcastOp(value([1, 4]), [1, 4], [0, 1]), (0, 1), False),
        (nd.ReshapeOp(value([4, 3]), [3, 4]), None, False),
        (nd.TakeOp(value([4, 3]), value([2], i64)), None, False),
        (nd.NegOp(value([4])), None, False),
    ],
    ids=lambda of: getattr(of, "name", str(of)),
)
def test_what_a_move_does_to_axes(op: nd.NdOp, permutation: tuple[int, ...] | None, repeats: bool) -> None:
    assert (permutation_of(op), is_broadcast(op)) == (permutation, repeats)


BELOW_ND = ["fusion", "configs", "tiling", "scheduling", "passes/kernel", "passes/tile"]


@pytest.mark.parametrize("folder", BELOW_ND)
def test_passes_below_nd_ask_how_ops_iterate(folder: str) -> None:
    """No source names an op but those whose scalars it computes: elementwise and made ones."""
    scalars = {Pattern.ELEMENTWISE, Pattern.MADE}
    names = {op.name for op in nd.Nd.operations if issubclass(op, IterationInterface) and op.PATTERN not in scalars}
    sources = list((Path(irc.__file__).parent / folder).glob("*.py"))
    assert sources
    found = {(source.name, name) for source in sources for name in names if f'"{name}"' in source.read_text()}
    assert not found


def test_passes_below_nd_know_no_class_of_a_contraction() -> None:
    """But where it is built anew: for a layout of its operands, as a convolution of one tap or at one place of windows, and where a
    loop of a program becomes a batch."""
    classes = [op for op in nd.Nd.operations if issubclass(op, IterationInterface) and op.PATTERN in CONTRACTIONS]
    assert nd.MatmulOp in classes
    named = re.compile("|".join(rf"\b{op.__name__}\b|\b{re.escape(op.name)}\b" for op in classes))
    sources = [source for folder in BELOW_ND for source in (Path(irc.__file__).parent / folder).glob("*.py")]
    assert {source.name for source in sources if named.search(source.read_text())} == {
        "arrange_convolutions.py",
        "batched_ops.py",
        "points.py",
        "pools.py",
    }
