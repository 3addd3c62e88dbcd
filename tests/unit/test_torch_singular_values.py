"""Singular values, eigenvalues and their vectors as torch takes them apart for irc: values are torch's, vectors are
orthogonal and give the matrix back, for tall, wide, empty, batched, singular and badly scaled matrices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from drawing import long
from torch import Tensor

from irc_frontend.torch.factorizations import MOST, checks_stay
from irc_frontend.torch.singular_values import SINGULAR, _rounds  # pyright: ignore[reportPrivateUsage]

pytestmark = pytest.mark.skipif(not checks_stay(), reason="with this torch singular values stay whole")

aten = torch.ops.aten

SHAPES = [(5, 5), (1, 1), (2, 3, 6, 4), (3, 7), (1, 5), (40, 2), (2, MOST, MOST), (3, 0), (0, 3), (0, 3, 3), (2, 0, 0)]
SQUARE = [shape for shape in SHAPES if shape[-1] == shape[-2]]

svd, eigh, pinv = (
    SINGULAR[op] for op in (aten._linalg_svd.default, aten._linalg_eigh.default, aten.linalg_pinv.atol_rtol_tensor)
)


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def expect_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def expect_orthogonal(columns: Tensor) -> None:
    expect_close(
        columns.mT @ columns, torch.eye(columns.shape[-1], dtype=columns.dtype).expand_as(columns.mT @ columns)
    )


def expect_factors(x: Tensor, is_whole: bool) -> None:
    u, values, v = svd(x, is_whole)
    expected = torch.linalg.svd(x, is_whole)
    assert [each.shape for each in (u, values, v)] == [each.shape for each in expected]
    expect_close(values, expected[1])
    expect_close(svd(x, is_whole, False)[1], expected[1])
    count = values.shape[-1]
    expect_close(u[..., :count] * values[..., None, :] @ v[..., :count, :], x)
    expect_orthogonal(u)
    expect_orthogonal(v.mT)


@pytest.mark.parametrize("count", range(1, 10))
def test_columns_meet_once_in_a_sweep(count: int) -> None:
    partners, roles = _rounds(count, torch.empty(0))
    at = torch.arange(count, dtype=torch.float64)
    assert torch.equal(partners.sum(1), torch.ones_like(roles))
    assert torch.equal(partners, partners.mT)
    assert torch.equal(roles, (partners @ at - at).sign())
    assert torch.equal(partners.sum(0).fill_diagonal_(0), 1 - torch.eye(count, dtype=torch.float64))


@long(2)
@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_matrices_are_products_of_their_factors(shape: Sequence[int], is_whole: bool) -> None:
    expect_factors(drawn(*shape), is_whole)


def test_vectors_of_singular_matrices_are_bases() -> None:
    """Of columns that are equal, zeros, and all but parallel; of many equal values; of large and of small numbers."""
    x = drawn(7, 4, 4)
    x[0, :, 1] = x[0, :, 0]
    x[1, :, 2:] = 0
    x[2] = 0
    x[3, :, 1] = x[3, :, 0] * (1 + 1e-14)
    x[4] = torch.eye(4)
    x[5] *= 1e200
    x[6] *= 1e-200
    expect_factors(x[:5], is_whole=False)
    for large in (x[5] / 1e200, x[6] / 1e-200):
        expect_close(svd(large)[1], torch.linalg.svdvals(large))
    expect_close(svd(x[5])[1] / 1e200, torch.linalg.svdvals(x[5]) / 1e200)
    expect_close(svd(x[6])[1] * 1e200, torch.linalg.svdvals(x[6]) * 1e200)
    expect_factors(torch.cat([x[0], x[0]]), is_whole=True)


@pytest.mark.parametrize("UPLO", ["L", "U"])
@pytest.mark.parametrize("shape", SQUARE)
def test_symmetric_matrices_have_eigenvalues(shape: Sequence[int], UPLO: str) -> None:
    """One triangle is read."""
    x = drawn(*shape)
    values, vectors = eigh(x, UPLO)
    expect_close(values, torch.linalg.eigvalsh(x, UPLO))
    expect_close(eigh(x, UPLO, False)[0], values)
    expect_orthogonal(vectors)
    triangle, rest = (x.tril(), x.tril(-1)) if UPLO == "L" else (x.triu(), x.triu(1))
    expect_close((vectors * values[..., None, :]) @ vectors.mT, triangle + rest.mT)


def test_eigenvalues_of_one_size_and_other_signs() -> None:
    x = torch.stack([torch.diag(torch.tensor([1.0, -1, 1, -1])), torch.zeros(4, 4), torch.eye(4), -torch.eye(4)])
    x = x.double()
    x[0] = (turn := torch.linalg.qr(drawn(4, 4))[0]) @ x[0] @ turn.mT
    values, vectors = eigh(x)
    expect_close(values, torch.linalg.eigvalsh(x))
    expect_close((vectors * values[..., None, :]) @ vectors.mT, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_types_are_torchs(dtype: torch.dtype) -> None:
    x = drawn(4, 3, dtype=dtype)
    assert {each.dtype for each in svd(x)} == {dtype}
    torch.testing.assert_close(svd(x)[1], torch.linalg.svdvals(x))
    assert {each.dtype for each in eigh(x[:3])} == {dtype}


@pytest.mark.parametrize("shape", SHAPES)
def test_inverses_are_torchs(shape: Sequence[int]) -> None:
    x = drawn(*shape)
    expect_close(pinv(x), torch.linalg.pinv(x))
    if shape[-1] == shape[-2]:
        expect_close(pinv(x + x.mT, hermitian=True), torch.linalg.pinv(x + x.mT, hermitian=True))


def test_small_singular_values_are_not_inverted() -> None:
    x = torch.diag(torch.tensor([1.0, 0.1, 0.0])).double()
    for bounds in ({}, {"atol": 0.5}, {"rtol": 0.2}, {"atol": 0.01, "rtol": 0.01}, {"atol": 0.0}):
        given = {name: torch.tensor(each).double() for name, each in bounds.items()}
        expect_close(pinv(x, **given), torch.linalg.pinv(x, **given))


@pytest.mark.parametrize("x", [torch.eye(MOST + 1), torch.eye(2, dtype=torch.complex64)])
def test_others_stay_whole(x: Tensor) -> None:
    assert all(each(x) is NotImplemented for each in (svd, eigh, pinv))


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2)])
def test_numbers_that_are_not_finite(shape: Sequence[int]) -> None:
    """NaN is torch's error of singular values; else they are NaN, of the matrix that has such a number."""
    x = torch.ones(shape)
    x.view(-1)[0] = float("nan")
    for function in (torch.linalg.svdvals, torch.compile(torch.linalg.svdvals, backend="irc")):
        with pytest.raises(RuntimeError, match="non-finite values"):
            function(x)
    for number in (float("nan"), float("inf")):
        x.view(-1)[0] = number
        values, vectors = eigh(x)
        assert values.reshape(-1, 2)[0].isnan().all()
        assert vectors.reshape(-1, 4)[0].isnan().all()
        assert values.reshape(-1, 2)[1:].isfinite().all()
    torch.testing.assert_close(svd(x)[1], torch.linalg.svdvals(x), equal_nan=True)


def test_a_program_has_all_of_it_and_its_gradient() -> None:
    def function(x: Tensor) -> Tensor:
        u, values, v = torch.linalg.svd(x, full_matrices=False)
        return (u @ v).sum() + (values * values).sum() + torch.linalg.pinv(x).sum() + torch.linalg.eigvalsh(x @ x.mT)[1]

    x, y = (drawn(3, 5).requires_grad_() for _ in range(2))
    torch.compile(function, backend="irc", fullgraph=True)(x).backward()
    function(y).backward()
    assert x.grad is not None
    assert y.grad is not None
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-9, atol=1e-9)
