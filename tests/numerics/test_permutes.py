"""Permutations of any rank, size and element type on the simulator, alone and fused, are exact."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest
from drawing import examples, long, slow
from hypothesis import assume, example, given
from hypothesis import strategies as st

import irc
from irc.dialects import tile
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.lowering import lower
from irc.driver.program import parse

ELEMENTS = {"i8": np.int8, "i16": np.int16, "f32": np.float32, "i64": np.int64}
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 67, 131, 203)
MAX_ELEMENTS = 40_000
"""Elements that the simulator permutes in a fraction of a second."""


def program(extents: Sequence[int], order: Sequence[int], element: str, result: str, body: str) -> str:
    shape = ", ".join(map(str, extents))
    permuted = ", ".join(str(extents[axis]) for axis in order)
    return f"func f(x: {element}[{shape}]) -> {result}[{permuted}] {{\n  return {body}\n}}\n"


def values(extents: Sequence[int], element: str) -> np.ndarray:
    return np.random.default_rng(prod(extents)).integers(-100, 100, extents).astype(ELEMENTS[element])


def check_permute(extents: Sequence[int], order: Sequence[int], element: str) -> None:
    text = program(extents, order, element, element, f"permute(x, {list(order)})")
    x = values(extents, element)
    assert np.array_equal(irc.compile(text, target="sim")(x), x.transpose(order))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    extents: list[int] = draw(st.lists(st.sampled_from(EXTENTS), min_size=2, max_size=6))
    assume(prod(extents) <= MAX_ELEMENTS)
    return extents, draw(st.permutations(range(len(extents))))


@example(([13, 11, 203], [1, 0, 2]), "i16")
@examples(60, one_in=2)
@given(cases(), st.sampled_from(sorted(ELEMENTS)))
def test_permutes(case: tuple[list[int], list[int]], element: str) -> None:
    check_permute(*case, element)


@long(6)
@pytest.mark.parametrize("element", ["i8", "i16", "f32"])
@pytest.mark.parametrize(
    ("extents", "order"),
    [
        ((13, 67, 5, 29), (0, 3, 2, 1)),
        ((3, 89, 7, 11, 3), (4, 2, 1, 0, 3)),
        ((53, 3, 17, 29), (1, 3, 0, 2)),
        ((41, 11, 17, 3), (1, 3, 2, 0)),
        ((7, 37, 19, 12), (3, 2, 0, 1)),
        ((2, 523, 3, 13), (3, 0, 2, 1)),
        ((100, 20, 6, 2), (2, 1, 3, 0)),
        ((12, 20, 8, 3, 3), (4, 2, 3, 0, 1)),
        ((130, 4, 6), (2, 1, 0)),
        ((15, 2, 15, 3), (1, 3, 2, 0)),
    ],
)
def test_rows_of_merged_prime_dimensions(extents: tuple[int, ...], order: tuple[int, ...], element: str) -> None:
    """Runs of a row in the result that go on in another dimension of the operand, and rows of merged dimensions that do
    not begin at equal distances."""
    check_permute(extents, order, element)


def test_a_tile_of_one_element_for_each_thread() -> None:
    x = values((31, 5, 1, 10), "f32")
    text = program(x.shape, (1, 2, 3, 0), "f32", "f32", "permute(x, [1, 2, 3, 0])")
    assert np.array_equal(irc.compile(text, target="sim")(x), x.transpose(1, 2, 3, 0))


@long(2)
@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize(
    ("extents", "order"), [((131, 259), (1, 0)), ((3, 137, 71), (0, 2, 1)), ((37, 5, 61), (2, 1, 0))]
)
def test_rows_that_begin_anywhere(extents: tuple[int, ...], order: tuple[int, ...], element: str) -> None:
    """Tiles inside the arrays and over their ends, whose rows in the result begin at every byte of a word."""
    check_permute(extents, order, element)


@pytest.mark.parametrize(("others", "is_staged"), [("", True), (" + permute(y, [1, 0])", False)])
def test_boxes_are_for_kernels_that_load_one_array(others: str, is_staged: bool) -> None:
    text = f"func f(x: i16[131, 259], y: i16[131, 259]) -> i16[259, 131] {{\n  return permute(x, [1, 0]){others}\n}}\n"
    x = values((131, 259), "i16")
    assert np.array_equal(irc.compile(text, target="sim")(x, x), x.T * (1 if is_staged else 2))
    loads = [op for op in lower(parse(text, "f.irc"), "tile", arch="sm_90a").walk() if isinstance(op, tile.LoadOp)]
    assert [op.through is not None for op in loads] == [is_staged] * len(loads) != []


@long(2)
@pytest.mark.parametrize(
    ("extents", "function", "elements"),
    [
        ((96, 40, 176), "cos(sigmoid({}))", 8192),
        ((96, 40, 176), "sigmoid({})", 16384),
        ((128, 2, 128), "cos(sigmoid({}))", 16384),
        ((97, 2, 177), "cos(sigmoid({}))", 8192),
    ],
)
def test_tiles_of_several_arrays_are_halved_where_they_are_fuller_then(
    extents: tuple[int, int, int], function: str, elements: int
) -> None:
    """96 x 176 fill 0.69 of tiles of 128 x 128. Where little is computed they stay, for the length of runs; where rows
    begin within sectors, tiles are as their registers allow."""
    a, b, c = extents
    text = f"""func f(x: f16[{a}, {b}, {c}], y: f16[{c}, {b}, {a}]) -> f16[{b}, {c}, {a}] {{
  return permute({function.format("x + permute(y, [2, 1, 0])")}, [1, 2, 0])
}}
"""
    loops = [op for op in lower(parse(text, "f.irc"), "tile", arch="sm_90a").walk() if isinstance(op, tile.ForTilesOp)]
    assert [prod(op.step_values) for op in loops] == [elements]
    x, y = (values(shape, "i8").astype(np.float16) / 16 for shape in ((a, b, c), (c, b, a)))
    expected = irc.compile(text, target="interpret")(x, y)
    np.testing.assert_allclose(irc.compile(text, target="sim")(x, y), expected, atol=1e-3)


@example(([1, 2, 8, 3, 8, 13], [0, 5, 1, 2, 4, 3]), "i8", "f32")
@examples(30, one_in=2)
@given(cases(), st.sampled_from(["i8", "i16", "f32"]), st.sampled_from(["i16", "f32", "i64"]))
def test_permutes_with_arithmetic_on_both_sides(case: tuple[list[int], list[int]], element: str, result: str) -> None:
    extents, order = case
    body = f"cast(permute(x + x, {list(order)}), {result}) - 1"
    x = values(extents, element)
    wanted = (x + x).transpose(order).astype(ELEMENTS[result]) - 1
    assert np.array_equal(irc.compile(program(extents, order, element, result, body), target="sim")(x), wanted)


@slow
@examples(30, one_in=4)
@given(st.sampled_from(EXTENTS[3:]), st.sampled_from(EXTENTS[3:]), st.sampled_from(EXTENTS[3:]), st.data())
def test_sums_of_slices_in_other_orders(a: int, b: int, c: int, data: st.DataObject) -> None:
    """Rows of slices begin anywhere; three operands are walked in three directions."""
    assume(a * b * c <= MAX_ELEMENTS)
    element = data.draw(st.sampled_from(sorted(ELEMENTS)))
    text = (
        f"func f(x: {element}[{a + 1}, {b}, {c + 3}], y: {element}[{c}, {a}, {b}], z: {element}[{b}]) -> "
        f"{element}[{b}, {c}, {a}] {{\n"
        f"  return permute(x[1:, :, 2:{c + 2}], [1, 2, 0]) + permute(y, [2, 0, 1]) + broadcast(z, [{b}, {c}, {a}], dims=[0])\n}}\n"
    )
    x, y, z = (values(s, element) for s in ((a + 1, b, c + 3), (c, a, b), (b,)))
    wanted = x[1:, :, 2 : c + 2].transpose(1, 2, 0) + y.transpose(2, 0, 1) + z[:, None, None]
    assert np.array_equal(irc.compile(text, target="sim")(x, y, z), wanted)


SUMS = {
    "three orders": (
        "x: {0}[{a}, {b}, {c}], y: {0}[{a}, {c}, {b}]",
        "{0}[{b}, {c}, {a}]",
        "permute(x + permute(y, [0, 2, 1]), [1, 2, 0])",
    ),
    "one order": (
        "x: {0}[{a}, {b}, {c}], y: {0}[{b}, {a}, {c}]",
        "{0}[{a}, {b}, {c}]",
        "x + permute(y, [1, 0, 2])",
    ),
    "two orders": (
        "x: {0}[{a}, {b}, {c}], y: {0}[{a}, {c}, {b}]",
        "{0}[{a}, {b}, {c}]",
        "x + permute(y, [0, 2, 1])",
    ),
}


@long(6)
@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize(("a", "b", "c"), [(3, 137, 71), (67, 33, 41), (20, 48, 64)])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_arrays_in_several_orders(name: str, a: int, b: int, c: int, element: str) -> None:
    """Rows begin at any element of a word, in arrays that do not end with one."""
    parameters, result, body = (part.format(element, a=a, b=b, c=c) for part in SUMS[name])
    text = f"func f({parameters}) -> {result} {{\n  return {body}\n}}\n"
    x = values((a, b, c), element)
    y = values((b, a, c) if name == "one order" else (a, c, b), element)
    wanted = x + (y.transpose(1, 0, 2) if name == "one order" else y.transpose(0, 2, 1))
    wanted = wanted.transpose(1, 2, 0) if name == "three orders" else wanted
    assert np.array_equal(irc.compile(text, target="sim")(x, y), wanted)


@long(2)
@pytest.mark.parametrize(("element", "most"), [("i16", 1.25), ("f32", 1.05)])
def test_arrays_in_three_orders_are_moved_in_runs(element: str, most: float) -> None:
    """A tile has runs along each order: a tile of two dimensions would meet a sector for each element of the third."""
    parameters, result, body = (part.format(element, a=64, b=96, c=48) for part in SUMS["three orders"])
    text = f"func f({parameters}) -> {result} {{\n  return {body}\n}}\n"
    x, y = values((64, 96, 48), element), values((64, 48, 96), element)
    (kernel,) = irc.compile(text, target="sim", arch="sm_90a").statistics(x, y)
    assert 32 * kernel.sectors() <= most * 3 * x.nbytes


@pytest.mark.parametrize("name", ["three orders", "two orders"])
def test_rows_that_begin_anywhere_are_loaded_in_whole_words(name: str) -> None:
    parameters, result, body = (part.format("i16", a=67, b=65, c=133) for part in SUMS[name])
    module = lower(parse(f"func f({parameters}) -> {result} {{\n  return {body}\n}}\n", "f.irc"), "tile", arch="sm_90a")
    loads = [op for op in module.walk() if isinstance(op, tile.LoadOp)]
    assert any(op.across is not None for op in loads)


SIDE_BY_SIDE = """
func f(p: bf16[2, 2, 64, 64], a: bf16[2, 2, 64, 16], b: bf16[2, 2, 64, 16], x: bf16[128, 32]) -> (bf16[128, 64], bf16[64, 32]) {
    u = reshape(p @ a, [1, 2, 2, 64, 16])
    v = reshape(transpose(p) @ b, [1, 2, 2, 64, 16])
    y = reshape(permute(concat([u, v], axis=0), [1, 3, 0, 2, 4]), [128, 64])
    return y, transpose(y) @ x
}
"""


def test_products_side_by_side_in_the_order_of_a_matrix() -> None:
    """As gradients of queries, keys and values: one kernel puts them into it, the last product reads it transposed."""
    module = lower(parse(SIDE_BY_SIDE, "f.irc"), "kernel", arch="sm_90a")
    kinds = [op.kind for op in module.walk() if isinstance(op, FusedOp)]
    assert kinds == [Anchor.MATMUL, Anchor.MATMUL, Anchor.PERMUTE, Anchor.MATMUL]
    found, wanted = (irc.compile(SIDE_BY_SIDE, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-2, 3, spec.shape).astype(spec.dtype) for spec in found.arguments]
    for one, other in zip(found(*arrays), wanted(*arrays), strict=True):
        assert np.array_equal(one, other)
