"""Einstein's summation, on nodes: operands are joined from left to right, each pair by one product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from irc_frontend.elementwise import apply, astype
from irc_frontend.graph import Node, fail
from irc_frontend.linear import contract, product_element
from irc_frontend.promotion import common_element
from irc_frontend.reduction import reduce
from irc_frontend.slicing import index
from irc_frontend.structure import permute, reshape
from irc_frontend.subscripts import parsed


class Term(NamedTuple):
    """An array and the index of each of its axes."""

    node: Node
    indices: str

    @property
    def extents(self) -> dict[str, int]:
        return dict(zip(self.indices, self.node.shape, strict=True))


def einsum(subscripts: str, operands: Sequence[Node]) -> Node:
    """The sum over all indices that the result does not have of the product of the operands.

    Of several operands it has the element type of their matrix product, of one that of its sum."""
    inputs, output = parsed(subscripts, operands)
    terms = _spread([_diagonal(Term(node, indices)) for node, indices in zip(operands, inputs, strict=True)])
    if len(terms) == 1:
        joined = _summed(terms[0], output, None)
    else:
        joined = _product(terms, output)
    return permute(joined.node, [joined.indices.index(index) for index in output])


def _product(terms: Sequence[Term], output: str) -> Term:
    element = common_element("multiply", [term.node for term in terms])
    if element == "bool":
        raise fail(f"cannot multiply {terms[0].node.type}", "cast it to a type of numbers")
    terms = [Term(astype(term.node, element), term.indices) for term in terms]
    if not _is_matrix_product(terms, output):
        # What a matrix product does inside: i8 and u8 are multiplied and summed as i32, f8 as f32.
        element = product_element(element)
        terms = [Term(astype(term.node, element), term.indices) for term in terms]
    joined = terms[0]
    for position, term in enumerate(terms[1:], 1):
        kept = set(output).union(*(later.indices for later in terms[position + 1 :]))
        left = _summed(joined, kept | set(term.indices), element)
        joined = _join(left, _summed(term, kept | set(joined.indices), element), kept)
    return joined


def _is_matrix_product(terms: Sequence[Term], output: str) -> bool:
    """Whether one product does it: two operands, a sum over indices of both, and over no others."""
    if len(terms) != 2:
        return False
    common = set(terms[0].indices) & set(terms[1].indices)
    return bool(common - set(output)) and set(terms[0].indices + terms[1].indices) <= common | set(output)


def _diagonal(term: Term) -> Term:
    """The term without an index that it has twice: the diagonals of those axes."""
    twice = next((index for index, count in Counter(term.indices).items() if count > 1), None)
    if twice is None:
        return term
    first = term.indices.index(twice)
    second = term.indices.index(twice, first + 1)
    extent, other = term.node.shape[first], term.node.shape[second]
    if extent != other:
        raise fail(f"einsum: the extents of {twice!r} differ: {extent} and {other}")
    rest = [axis for axis in range(term.node.rank) if axis not in (first, second)]
    last = permute(term.node, [*rest, first, second])
    flat = reshape(last, [*last.shape[:-2], extent * extent])
    indices = "".join(term.indices[axis] for axis in rest) + twice
    return _diagonal(Term(index(flat, (Ellipsis, slice(None, None, extent + 1))) if extent else flat, indices))


def _spread(terms: Sequence[Term]) -> list[Term]:
    """The terms without axes of extent 1 that other terms have more elements along."""
    known: dict[str, int] = {}
    for term in terms:
        for letter, extent in term.extents.items():
            other = known.setdefault(letter, extent)
            if 1 not in (other, extent) and other != extent:
                raise fail(f"einsum: the extents of {letter!r} differ: {other} and {extent}")
            known[letter] = extent if other == 1 else other
    return [_without(term, [x for x, n in term.extents.items() if n == 1 != known[x]]) for term in terms]


def _without(term: Term, letters: Collection[str]) -> Term:
    kept = [(letter, extent) for letter, extent in term.extents.items() if letter not in letters]
    return Term(reshape(term.node, [extent for _, extent in kept]), "".join(letter for letter, _ in kept))


def _summed(term: Term, kept: Collection[str], element: str | None) -> Term:
    """The term summed, as elements of that type, over the indices that nothing else has."""
    axes = [axis for axis, index in enumerate(term.indices) if index not in kept]
    if not axes:
        return term
    return Term(reduce("sum", term.node, axes, element=element), "".join(i for i in term.indices if i in kept))


def _join(a: Term, b: Term, kept: Collection[str]) -> Term:
    """The product of two terms, summed over the indices that both have and nothing else needs."""
    common = [index for index in a.indices if index in b.indices]
    batch, inner = [i for i in common if i in kept], [i for i in common if i not in kept]
    free_a = [index for index in a.indices if index not in common]
    free_b = [index for index in b.indices if index not in common]
    order = "".join([*batch, *free_a, *free_b])
    if not inner:
        return Term(apply("mul", _aligned(a, order), _aligned(b, order)), order)
    axes = [tuple(term.indices.index(i) for i in group) for group in (batch, inner) for term in (a, b)]
    return Term(contract(a.node, b.node, axes[0], axes[1], axes[2], axes[3]), order)


def _aligned(term: Term, order: str) -> Node:
    """The array with its axes in the order, and axes of extent 1 for the indices that it does not have."""
    present = [index for index in order if index in term.indices]
    node = permute(term.node, [term.indices.index(index) for index in present])
    return reshape(node, [term.extents.get(index, 1) for index in order])
