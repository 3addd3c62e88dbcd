"""Gradients of convolution kernels on warp groups, on the simulator: both operands are read as they lie, with channels
last, TMA brings pixels along K, and there are no copies before."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from drawing import long
from numerics.lowered import Lowered, lowered


@dataclass(frozen=True)
class Case:
    """The gradient of a kernel of extents O, taps, C, of images N, spatial, C; numbers are those of the convolution."""

    x: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    tile: tuple[int, int, int] = (64, 64, 64)
    split: int | None = None
    swap_ab: bool | None = None
    cluster: tuple[int, int] | None = None
    element: str = "bf16"
    loads: int = 2
    flipped: bool = False

    def lowered(self, arch: str = "sm_90a", instruction: str = "wgmma") -> Lowered:
        rank = len(self.x)
        x, k, g = (
            f"{self.element}[{', '.join(map(str, shape))}]"
            for shape in (self.x, self.kernel, (self.x[0], *self.result, self.kernel[0]))
        )
        numbers = "".join(f"{name}={[value] * (rank - 2)}, " for name, value in self.numbers.items())
        numbers += "flipped=true, " if self.flipped else ""
        last = [0, rank - 1, *range(1, rank - 1)]
        orders = ", ".join(f"{name}={last}" for name in ("x_axes", "kernel_axes", "result_axes"))
        text = f"""func loss(x: {x}, k: {k}, g: {g}) -> f32[] {{
    return sum(cast(conv(x, k, {numbers}{orders}) * g, f32))
}}
func f(x: {x}, k: {k}, g: {g}) -> {k} {{
    return grad(loss, wrt=[k])(x, k, g)
}}
"""
        return lowered(
            text,
            self.tile,
            arch=arch,
            instruction=instruction,
            split=self.split,
            swap_ab=self.swap_ab,
            cluster=self.cluster,
        )


PADDED = {"low": 1, "high": 1}
SQUARE = ((4, 8, 8, 64), (64, 3, 3, 64), (8, 8))
CASES = {
    "whole": Case(*SQUARE, PADDED),
    "parts of images": Case(*SQUARE, PADDED, split=2),
    "images": Case(*SQUARE, PADDED, split=4),
    "parts of rows": Case((2, 16, 8, 64), (64, 3, 3, 64), (16, 8), PADDED, split=4),
    "one image": Case((1, 16, 8, 64), (64, 3, 3, 64), (16, 8), PADDED),
    "steps over rows of one length": Case((4, 16, 16, 64), (64, 3, 3, 64), (8, 8), PADDED | {"strides": 2}, split=2),
    "points at strides": Case((2, 16, 16, 64), (64, 1, 1, 64), (8, 8), {"strides": 2}, split=2),
    "transposed": Case(
        (2, 8, 8, 64), (64, 4, 4, 64), (16, 16), {"input_dilation": 2, "low": 2, "high": 2}, flipped=True, split=2
    ),
    "dilation": Case((2, 8, 8, 64), (64, 3, 3, 64), (8, 8), {"low": 2, "high": 2, "dilation": 2}),
    "channels beyond tiles": Case((2, 9, 9, 72), (80, 2, 2, 72), (8, 8)),
    "tiles of several panels": Case((2, 10, 8, 128), (96, 3, 1, 128), (8, 8), tile=(128, 96, 32), loads=5),
    "three rows of a warp group": Case((2, 8, 10, 192), (64, 1, 3, 192), (8, 8), tile=(192, 64, 32), loads=4),
    "rows along N": Case((2, 8, 8, 32), (64, 3, 3, 32), (8, 8), PADDED, tile=(32, 64, 64), swap_ab=True),
    "one axis": Case((2, 64, 64), (64, 9, 64), (64,), {"low": 4, "high": 4}, split=2),
    "three axes": Case((2, 4, 4, 8, 64), (64, 3, 3, 3, 64), (4, 4, 8), PADDED, split=2),
    "steps of two": Case(*SQUARE, PADDED, tile=(64, 64, 128)),
    "f16": Case(*SQUARE, PADDED, element="f16", split=2),
    "blocks share rows": Case((2, 8, 8, 64), (128, 3, 3, 64), (8, 8), PADDED, cluster=(1, 2)),
    "blocks share columns": Case((2, 8, 8, 128), (64, 3, 3, 128), (8, 8), PADDED, cluster=(2, 1)),
}


@long(9)
@pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])
@pytest.mark.parametrize("name", CASES)
def test_kernel_gradients(name: str, lazy: bool) -> None:
    program = CASES[name].lowered()
    program.check(lazy=lazy)
    assert program.ops("cuda.tma_load") == CASES[name].loads
    assert program.ops("cuda.kernel") == (1 if CASES[name].split is None else 2)
    if CASES[name].tile[0] < 192:  # taller tiles have some as they turn the result on its way out
        assert program.counts()[0].conflicts == 0


@long(2)
@pytest.mark.parametrize("instruction", ["wgmma", "mma"])
def test_steps_that_do_not_divide_the_pixels(instruction: str) -> None:
    """What comes after the last pixel of a part is no zero: threads write operands of steps that reach beyond."""
    Case((2, 7, 9, 64), (64, 3, 3, 64), (7, 9), PADDED).lowered(instruction=instruction).check()
    Case((2, 8, 8, 64), (64, 3, 3, 64), (8, 8), PADDED, split=4, tile=(64, 64, 32)).lowered().check()
    Case((2, 8, 9, 64), (64, 3, 3, 64), (8, 9), PADDED, split=2, tile=(64, 64, 16)).lowered(
        instruction=instruction
    ).check()


def test_before_warp_groups() -> None:
    Case(*SQUARE, PADDED, split=4, tile=(64, 64, 32)).lowered("sm_80", "mma").check()
