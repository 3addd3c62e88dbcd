"""Coordinates as combinations of dimensions: they are what numbers give, in one form for what is equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from drawing import examples
from hypothesis import given
from hypothesis import strategies as st

from irc.tiling.index_maps import (
    ZERO,
    Div,
    DomainDim,
    Lin,
    constant,
    delinearize,
    lin_of,
    linearize,
    substitute,
)

DIMS = (DomainDim(-1, 6), DomainDim(-2, 10), DomainDim(-3, 4))
"""Dimensions of the drawn expressions."""

Values = Mapping[DomainDim, int]
Made = tuple[Lin, Callable[[Values], int]]
"""An expression, and what it is at a point."""


def value_at(lin: Lin, at: Values) -> int:
    """What the terms of an expression say that it is."""
    total = lin.const
    for atom, factor in lin.terms:
        if isinstance(atom, Div):
            total += factor * (value_at(atom.value, at) // atom.by)
        else:
            assert isinstance(atom, DomainDim)
            total += factor * at[atom]
    return total


def made_of_dim(dim: DomainDim) -> Made:
    return lin_of(dim), lambda at: at[dim]


def made_of_number(number: int) -> Made:
    return constant(number), lambda at: number


def added(a: Made, b: Made) -> Made:
    return a[0] + b[0], lambda at: a[1](at) + b[1](at)


def multiplied(a: Made, by: int) -> Made:
    return a[0] * by, lambda at: a[1](at) * by


def divided(a: Made, by: int) -> Made:
    return a[0] // by, lambda at: a[1](at) // by


def remainder(a: Made, by: int) -> Made:
    return a[0] % by, lambda at: a[1](at) % by


LEAVES = st.sampled_from(DIMS).map(made_of_dim) | st.integers(-5, 40).map(made_of_number)
DIVISORS = st.sampled_from([1, 2, 3, 4, 6, 12])
EXPRESSIONS: st.SearchStrategy[Made] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(added, inner, inner),
        st.builds(multiplied, inner, st.integers(-4, 12)),
        st.builds(divided, inner, DIVISORS),
        st.builds(remainder, inner, DIVISORS),
    ),
    max_leaves=8,
)
POINTS = st.fixed_dictionaries({dim: st.integers(0, dim.extent - 1) for dim in DIMS})


def is_normal(lin: Lin) -> bool:
    """Whether adding the terms one by one, in any order, gives the same terms: each atom once, none of them 0."""
    backwards = ZERO
    for atom, factor in reversed(lin.terms):
        backwards = Lin(((atom, factor),), 0) + backwards
    inner = all(is_normal(atom.value) for atom, _ in lin.terms if isinstance(atom, Div))
    return inner and backwards.terms == lin.terms and all(factor for _, factor in lin.terms)


@examples(300)
@given(EXPRESSIONS, POINTS)
def test_expressions_are_what_numbers_give(made: Made, at: Values) -> None:
    lin, value = made
    assert is_normal(lin)
    assert value_at(lin, at) == value(at)


@examples(200)
@given(EXPRESSIONS, EXPRESSIONS, POINTS)
def test_a_dimension_is_replaced(made: Made, other: Made, at: Values) -> None:
    replaced = substitute(made[0], {DIMS[0]: other[0]})
    assert is_normal(replaced)
    inside = other[1](at)
    if 0 <= inside < DIMS[0].extent:  # what was simplified by the range of the dimension holds within it
        assert value_at(replaced, at) == made[1]({**at, DIMS[0]: inside})


@examples(100)
@given(st.lists(st.sampled_from([1, 2, 3, 5, 8]), min_size=1, max_size=4), st.integers(0, 239))
def test_linearizing_again_cancels(shape: list[int], number: int) -> None:
    dim = DomainDim(-4, 240)
    coords = delinearize(lin_of(dim), shape)
    assert linearize(coords, shape) == lin_of(dim)
    numbers = [value_at(coord, {dim: number}) for coord in coords]
    assert all(0 <= found < extent for found, extent in zip(numbers[1:], shape[1:], strict=True))


def test_equal_sums_are_one_expression() -> None:
    a, b, c = map(lin_of, DIMS)
    sums = [a * 3 + b + c * 2 + 7, c + b + a * 3 + 7 + c, (a + b) * 3 + b * -2 + c * 2 + 7]
    assert all(one == other and hash(one) == hash(other) for one, other in pairwise(sums))
    assert a * 2 + b + a * -2 == b
    assert a * 0 == ZERO
