"""Factorizations of small matrices as torch takes them apart for irc: each is what torch's own op gives, for tall, wide,
empty and batched matrices, and its errors are torch's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from irc_frontend.torch.factorizations import FACTORIZATIONS, MOST, checks_stay
from irc_frontend.torch.symmetric_factorizations import SYMMETRIC

aten = torch.ops.aten

SHAPES = [(5, 5), (1, 1), (0, 0), (2, 5, 5), (0, 5, 5), (2, 0, 0), (4, 6), (6, 4), (2, 3, 7, 3), (3, 0), (0, 3)]
SQUARE = [shape for shape in SHAPES if shape[-1] == shape[-2]]
BOTH = (False, True)


def drawn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def expect_same(op: Any, *args: Any, **options: Any) -> None:
    found, expected = {**FACTORIZATIONS, **SYMMETRIC}[op](*args, **options), op(*args, **options)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    expect_strides(found, expected)


def expect_strides(found: Any, expected: Any) -> None:
    """They are the same along each axis of several elements."""
    if not isinstance(found, Tensor):
        for pair in zip(found, expected, strict=True):
            expect_strides(*pair)
    elif found.numel():
        axes = [axis for axis, extent in enumerate(found.shape) if extent > 1]
        assert [*map(found.stride, axes)] == [*map(expected.stride, axes)]


@pytest.mark.parametrize("shape", SHAPES)
def test_matrices_are_factorized_as_by_torch(shape: Sequence[int]) -> None:
    x = drawn(*shape)
    expect_same(aten.linalg_lu_factor_ex.default, x)
    expect_same(aten.linalg_lu.default, x)
    packed, pivots, _ = torch.linalg.lu_factor_ex(x)
    for data, order in product(BOTH, BOTH):
        expect_same(aten.lu_unpack.default, packed, pivots, data, order)
    for mode in ("reduced", "complete", "r"):
        expect_same(aten.linalg_qr.default, x, mode)
    expect_same(aten.geqrf.default, x)


def test_without_pivots() -> None:
    x = drawn(2, 4, 4) + 4 * torch.eye(4)
    packed, pivots, info = FACTORIZATIONS[aten.linalg_lu_factor_ex.default](x, pivot=False)
    assert pivots.tolist() == [[1, 2, 3, 4]] * 2
    assert info.tolist() == [0, 0]
    lower, upper = packed.tril(-1) + torch.eye(4, dtype=x.dtype), packed.triu()
    torch.testing.assert_close(lower @ upper, x)


@pytest.mark.parametrize("shape", SHAPES)
def test_reflections_are_multiplied_as_by_torch(shape: Sequence[int]) -> None:
    packed, taus = torch.geqrf(drawn(*shape))
    if shape[-2] >= shape[-1]:
        expect_same(aten.linalg_householder_product.default, packed, taus)
    for left, is_turned in product(BOTH, BOTH):
        m = shape[-2]
        if m and shape[-1]:
            y = drawn(*shape[:-2], *((m, 3) if left else (3, m)))
            expect_same(aten.ormqr.default, packed, taus, y, left, is_turned)


def test_a_column_that_is_reflected_already() -> None:
    expect_same(aten.geqrf.default, torch.tensor([[-2.0, 3.0], [0.0, 4.0], [0.0, 0.0]]))


@pytest.mark.parametrize("shape", SQUARE)
def test_systems_are_solved_as_by_torch(shape: Sequence[int]) -> None:
    x, n = drawn(*shape), shape[-1]
    packed, pivots = torch.linalg.lu_factor(x)
    expect_same(aten.linalg_inv_ex.default, x)
    expect_same(aten._linalg_solve_ex.default, x, drawn(*shape[:-1]))
    for left, other in product(BOTH, BOTH):
        b = drawn(*shape[:-2], *((n, 3) if left else (3, n)))
        expect_same(aten.linalg_lu_solve.default, packed, pivots, b, left=left, adjoint=other)
        expect_same(aten._linalg_solve_ex.default, x, b, left=left)
        for upper in BOTH:
            expect_same(aten.linalg_solve_triangular.default, x, b, upper=upper, left=left, unitriangular=other)
            if left:
                for is_turned in BOTH:
                    expect_same(aten.triangular_solve.default, b, x, upper, is_turned, other)


def test_systems_of_one_matrix_and_a_batch() -> None:
    x, b = drawn(4, 4), drawn(3, 4, 2)
    expect_same(aten._linalg_solve_ex.default, x, b)
    expect_same(aten.linalg_solve_triangular.default, x, b, upper=True)
    expect_same(aten.linalg_lu_solve.default, *torch.linalg.lu_factor(x), b)


@pytest.mark.parametrize("is_turned", BOTH)
@pytest.mark.parametrize("shape", SQUARE)
def test_determinants_have_the_factors_that_their_gradients_take(shape: Sequence[int], is_turned: bool) -> None:
    x = drawn(*shape).mT.contiguous().mT if is_turned else drawn(*shape)
    expect_same(aten._linalg_det.default, x)
    expect_same(aten._linalg_slogdet.default, x)


@pytest.mark.parametrize("upper", BOTH)
@pytest.mark.parametrize("shape", SQUARE)
def test_positive_matrices_are_factorized_as_by_torch(shape: Sequence[int], upper: bool) -> None:
    x = drawn(*shape) @ drawn(*shape).mT + torch.eye(shape[-1])
    expect_same(aten.linalg_cholesky_ex.default, x + drawn(*shape).tril(-1).mT * (not upper), upper=upper)
    if checks_stay():
        expect_same(aten.cholesky.default, x, upper)
    root = torch.linalg.cholesky(x, upper=upper)
    expect_same(aten.cholesky_solve.default, drawn(*shape[:-1], 2), root, upper)
    expect_same(aten.cholesky_inverse.default, root, upper)


def test_the_first_pivot_that_fails_is_named() -> None:
    x = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, -1, -1])), torch.diag(torch.tensor([-1.0, 1, 1]))])
    assert FACTORIZATIONS[aten.linalg_cholesky_ex.default](x)[1].tolist() == [0, 2, 1]
    singular = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, 0, 0])), torch.zeros(3, 3)])
    assert FACTORIZATIONS[aten.linalg_lu_factor_ex.default](singular)[2].tolist() == [0, 2, 1]


@pytest.mark.parametrize("scale", [1, 0.1, 0])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (0, 0), (40, 5, 5), (20, 8, 8), (0, 2, 2), (2, 0, 0)])
def test_symmetric_matrices_have_blocks_of_two(shape: Sequence[int], scale: float) -> None:
    """The smaller their diagonals, the more."""
    x = drawn(*shape)
    x = x + x.mT - (1 - scale) * torch.diag_embed((x + x.mT).diagonal(dim1=-2, dim2=-1))
    expect_same(aten.linalg_ldl_factor_ex.default, x.tril())
    packed, pivots = torch.linalg.ldl_factor_ex(x)[:2]
    if x.numel() > 1:
        assert (pivots < 0).any() or scale
        expect_same(aten.linalg_ldl_solve.default, packed, pivots, drawn(*shape[:-1], 3))


def test_symmetric_matrices_without_a_pivot() -> None:
    expect_same(aten.linalg_ldl_factor_ex.default, torch.zeros(3, 3))
    expect_same(aten.linalg_ldl_factor_ex.default, torch.diag(torch.tensor([2.0, 0.0, 1.0])))


@pytest.mark.parametrize("x", [torch.eye(MOST + 1), torch.eye(2, dtype=torch.complex64)])
def test_others_stay_whole(x: Tensor) -> None:
    assert all(op in FACTORIZATIONS for op in (aten.linalg_inv_ex.default, aten.linalg_qr.default))
    assert FACTORIZATIONS[aten.linalg_inv_ex.default](x) is NotImplemented
    assert FACTORIZATIONS[aten.linalg_qr.default](x) is NotImplemented


FAILING: list[tuple[Callable[[Tensor], Any], Tensor]] = [
    (torch.linalg.inv, torch.zeros(3, 3)),
    (torch.linalg.cholesky, -torch.eye(3)),
    (torch.cholesky, -torch.eye(3)),
    (lambda x: torch.linalg.solve_ex(x, x, check_errors=True).result, torch.zeros(3, 3)),
]


@pytest.mark.parametrize(("function", "x"), FAILING)
def test_errors_are_those_of_torch(function: Callable[[Tensor], Any], x: Tensor) -> None:
    with pytest.raises(RuntimeError) as expected:
        function(x)
    if not checks_stay():
        with contextlib.suppress(RuntimeError):
            torch.compile(function, backend="aot_eager")(x)
            pytest.skip("this torch drops the check from its graphs")
    with pytest.raises(RuntimeError) as found:
        torch.compile(function, backend="irc")(x)
    assert (type(found.value), str(found.value)) == (type(expected.value), str(expected.value))


def test_results_of_a_program_lie_as_those_of_torch() -> None:
    """So what is traced of their strides holds: a view of the transpose as a row, and the transpose itself."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        inverse = torch.linalg.inv(x)
        return inverse, inverse.mT.view(-1), torch.linalg.cholesky(x).mT, *torch.linalg.qr(x)

    x = drawn(2, 4, 4) @ drawn(2, 4, 4).mT + 4 * torch.eye(4)
    found, expected = torch.compile(function, backend="irc")(x), function(x)
    torch.testing.assert_close(found, expected)
    expect_strides(found, expected)
