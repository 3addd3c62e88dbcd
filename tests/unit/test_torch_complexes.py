"""Complex arrays under torch.compile, which are real ones to irc, and Fourier transforms as products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from irc_frontend.torch import explain
from irc_frontend.torch.complexes import COMPLEX_VIEWS
from irc_frontend.torch.fourier import MOST, is_transformed, transformed
from irc_frontend.torch.graphs import Compiled, watching

Z = torch.complex(torch.linspace(-2, 3, 12).reshape(3, 4), torch.linspace(1, -4, 12).reshape(3, 4).sin())
W = torch.complex(torch.linspace(1, 2, 4), torch.linspace(-1, 1, 4))

FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "arithmetic": lambda z, w: (
        z * w - 2j * z + 3,
        1j + w,
        torch.sub(z, w, alpha=2j),
        z - 1,
        1 - w,
        z / w,
        w / 2,
        -z,
        z * w.real,
    ),
    "parts": lambda z, w: (z.real + 1, z.imag * 2, z.abs(), z.angle(), z.conj() * w),
    "moves": lambda z, w: (torch.cat([z, z.flip(0)]), z.T * 2, z[1:, ::2] + 1, torch.stack([w, w]).sum(0)),
    "mixed": lambda z, w: (torch.where(z.real > 0, z, w), torch.cat([z, z.real]), z.real + w),
    "real arrays and complex numbers": lambda z, w: (
        z.real * 1j,
        2j - z.imag,
        w.real / 2j,
        w.real == 1j,
        (w.real > 1) * 2j,
    ),
    "masks": lambda z, w: (torch.cat([z, z.real > 0]), torch.where(z.real > 0, z, z.imag > 0), z + (z.imag > 0)),
    "stored": lambda z, w: (
        torch.slice_scatter(z, z.imag[:2], 0, 1),
        torch.select_scatter(z, w.real > 1.5, 0, 0),
        torch.diagonal_scatter(z, w.real[1:]),
        z.clone().copy_(z.real > 0),
        z.to(torch.complex128).copy_(w),
    ),
    "products": lambda z, w: (z @ z.mH, z @ w.real.to(z.dtype), (z[None] @ z.T[None])),
    "made": lambda z, w: (torch.full((2,), 1 + 2j) * w[:2], torch.zeros_like(z) + w, torch.polar(w.real, w.imag)),
    "others": lambda z, w: (z.exp(), z == z * 1, torch.nn.functional.pad(z, (1, 2), value=2.0), z.to(torch.complex128)),
}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, backend="irc", fullgraph=True)


def left_in(seen: list[Compiled]) -> set[str]:
    """What torch computes."""
    views = {torch.ops.aten.permute.default, *COMPLEX_VIEWS}
    left = [node for each in seen for level in each.division.left for node in level]
    return {str(node.target) for node in left if node.target not in views}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_arrays_are_computed_by_irc(name: str) -> None:
    seen: list[Compiled] = []
    with watching(lambda kind, each: seen.append(each)):
        found = compiled(FUNCTIONS[name])(Z, W)
    expected = FUNCTIONS[name](Z, W)
    torch.testing.assert_close(found, expected)
    assert [each.stride() for each in found] == [each.stride() for each in expected]
    assert seen and all(each.programs for each in seen) and left_in(seen) == set()


def test_gradients() -> None:
    def loss(z: Tensor, w: Tensor) -> Tensor:
        return (torch.fft.fft(z * w, norm="ortho") / (w + 3)).abs().square().sum()

    gradients = []
    for function in (loss, compiled(loss)):
        leaves = [each.clone().requires_grad_() for each in (Z, W)]
        function(*leaves).backward()
        gradients.append([leaf.grad for leaf in leaves])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_quotients_do_not_overflow() -> None:
    large = torch.tensor([1e30 + 1e30j, 1e-30 - 1e-30j])
    torch.testing.assert_close(compiled(lambda z: z / (z * 2))(large), torch.tensor([0.5 + 0j, 0.5 + 0j]))


def test_arguments_that_are_conjugates_come_after_others() -> None:
    run = compiled(lambda z: z.imag * 2)
    for z in (Z, Z.conj(), Z):
        torch.testing.assert_close(run(z), z.imag * 2)


def test_conjugates_and_negatives_that_are_views_are_written() -> None:
    def function(z: Tensor, x: Tensor, y: Tensor) -> None:
        z.real.mul_(2)
        x.add_(y)
        y.exp_()

    written: list[list[Tensor]] = []
    for run in (function, compiled(function)):
        arrays = [Z.clone(), Z.clone(), Z.real.clone()]
        run(arrays[0].conj(), arrays[1].conj().imag, arrays[2])
        written.append(arrays)
    torch.testing.assert_close(written[1], written[0])


def test_numbers_that_are_not_finite() -> None:
    def function(x: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        return torch.logaddexp(x, z), torch.where(x > 1, z, complex(math.nan, -math.inf))

    for arrays in ((torch.tensor(3), W), (W.real, Z.real)):
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(function)(*arrays), function(*arrays), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_arrays_beside_complex_numbers_have_the_type_of_torch(dtype: torch.dtype) -> None:
    """torch has no complex numbers of bf16: their parts are f32."""
    x, wide = torch.randn(3, 4).to(dtype), torch.tensor(1 + 2j, dtype=torch.complex128)
    functions: list[Callable[[Tensor], Tensor]] = [
        lambda x: (x * 2j).abs(),
        lambda x: (x + (1 + 2j)).real,
        lambda x: (2j - x).imag,
        lambda x: (x * wide).abs(),
        lambda x: torch.where(x > 0, x, wide).abs(),
    ]
    for function in functions:
        torch.testing.assert_close(compiled(function)(x), function(x), rtol=2e-2, atol=2e-2)


def test_a_view_stays_a_view() -> None:
    x = torch.randn(3, 2)
    z = compiled(torch.view_as_complex)(x)
    x[0, 0] = 5
    assert z[0].real == 5


def test_ops_that_irc_has_not_get_complex_arrays() -> None:
    def function(z: Tensor) -> Tensor:
        return torch.linalg.eigvals(z[:, :3] * 2).abs().sort().values

    torch.testing.assert_close(compiled(function)(Z), function(Z))


def test_explain_calls_views_what_they_are() -> None:
    found = explain(lambda z: z * 2, Z)
    assert set(found.left.values()) and {reason for _, reason in found.left} == {"a view of a complex array"}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 12, 31, 64, 66, 97 * 2, 1000, 1024])
def test_transforms_are_exact_in_f64(n: int, forward: bool) -> None:
    generator = torch.Generator().manual_seed(n)
    real, imag = torch.randn(2, 3, n, dtype=torch.float64, generator=generator)
    transform = torch.fft.fft if forward else torch.fft.ifft
    norm = "backward" if forward else "forward"
    for part in (imag, None):
        expected = transform(torch.complex(real, torch.zeros_like(real) if part is None else part), norm=norm)
        found = torch.complex(*transformed(real, part, [-1], forward))
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12 * n)


TRANSFORMS: dict[str, Callable[[Tensor], Any]] = {
    "rfftn": lambda x: torch.fft.rfftn(x, norm="ortho"),
    "fft2": lambda x: torch.fft.fft2(x, s=(4, 10)),
    "irfft of an odd number": lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=7),
    "irfft of one": lambda x: torch.fft.irfft(torch.fft.rfft(x), n=1),
    "hfft": lambda x: torch.fft.hfft(torch.complex(x, x), dim=0),
    "ihfft2": lambda x: torch.fft.ihfft2(x),
    "in two steps": lambda x: torch.fft.rfft(x.repeat(1, 11), dim=1),
    "stft": lambda x: torch.stft(x.reshape(2, 36), 16, 4, window=torch.hann_window(16), return_complex=True),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_those_of_torch(name: str) -> None:
    x = torch.randn(9, 8, generator=torch.Generator().manual_seed(1))
    seen: list[Compiled] = []
    with watching(lambda kind, each: seen.append(each)):
        found = compiled(TRANSFORMS[name])(x)
    torch.testing.assert_close(found, TRANSFORMS[name](x))
    assert left_in(seen) <= {"aten.hann_window.default"}


def test_transforms_of_large_primes_stay_with_torch() -> None:
    assert is_transformed(torch.empty(4 * 31), [0]) and is_transformed(torch.empty(3), [0], 64 * 61)
    assert not is_transformed(torch.empty(2 * 1031), [0])
    assert MOST < 1031
    x = torch.randn(1031)
    torch.testing.assert_close(compiled(lambda x: torch.fft.rfft(x).abs())(x), torch.fft.rfft(x).abs())
