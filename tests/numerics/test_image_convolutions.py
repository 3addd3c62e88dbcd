"""Convolutions of images of few channels read rows of taps where they lie: on the simulator, with the kernels that
products of the threads' own loads have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from drawing import examples, long
from hypothesis import assume, given
from hypothesis import strategies as st
from numerics.lowered import Lowered, lowered

from irc.runtime.sim import SimProgram
from irc.support.windows import conv_shape


@dataclass(frozen=True)
class Image:
    """A convolution of x[N, H, W, C], C of them `shape`'s second, or of x[N, D, H, W, C]."""

    shape: tuple[int, ...]
    outputs: int
    taps: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    low: tuple[int, ...] = (0, 0)
    high: tuple[int, ...] = (0, 0)
    dilation: int = 1
    element: str = "bf16"
    before: str = "x"
    after: str = "y"

    def text(self) -> str:
        kernel = (self.outputs, self.shape[1], *self.taps)
        rank, dilation = len(self.taps), (self.dilation, *[1] * (len(self.taps) - 1))
        n, c, *places = conv_shape(self.shape, kernel, self.strides, self.low, self.high, dilation, (1,) * rank)
        x, k, y = (", ".join(map(str, (a, *rest, b))) for a, b, *rest in (self.shape, kernel, (n, c, *places)))
        numbers = {"strides": self.strides, "low": self.low, "high": self.high, "dilation": dilation}
        lists = "".join(f", {name}={list(values)}" for name, values in numbers.items())
        last = [0, rank + 1, *range(1, rank + 1)]
        axes = "".join(f", {name}_axes={last}" for name in ("x", "kernel", "result"))
        return (
            f"func f(x: {self.element}[{x}], k: {self.element}[{k}], b: {self.element}[{self.outputs}]) -> {self.element}[{y}] {{\n"
            f"    y = conv({self.before}, k{lists}{axes})\n    return {self.after}\n}}\n"
        )


CASES = {
    "first layer of a residual network": Image((1, 3, 20, 24), 64, (7, 7), (2, 2), (3, 3), (3, 3)),
    "small window": Image((2, 3, 12, 14), 16, (3, 3), (2, 2), (1, 1), (1, 1)),
    "without strides": Image((1, 3, 9, 10), 64, (3, 3), low=(1, 1), high=(1, 1)),
    "patches": Image((2, 3, 16, 16), 96, (4, 4), (4, 4)),
    "four channels": Image((1, 4, 12, 12), 32, (5, 5), (2, 2), (2, 2), (1, 1)),
    "one channel": Image((2, 1, 14, 14), 8, (5, 5), low=(2, 2), high=(2, 2)),
    "odd rows": Image((1, 3, 11, 13), 40, (3, 3), (2, 2), (1, 1), (0, 1)),
    "wide results": Image((1, 3, 8, 8), 200, (3, 3), low=(1, 1), high=(1, 1)),
    "more padding than there is": Image((1, 3, 4, 4), 16, (3, 3), low=(4, 5), high=(3, 6)),
    "pixels that no window reaches": Image((1, 3, 9, 15), 16, (2, 2), (3, 4)),
    "frames": Image((1, 3, 3, 9, 10), 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), (1, 3, 3)),
    "small windows of frames": Image((1, 3, 5, 8, 8), 24, (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), dilation=2),
    "many columns of a long K": Image((1, 4, 9, 12), 128, (9, 9), (1, 1), (4, 4), (4, 4)),
    "dilation of rows": Image((1, 3, 12, 9), 24, (3, 3), low=(2, 1), high=(2, 1), dilation=2),
    "f16": Image((1, 3, 12, 14), 32, (3, 3), (2, 2), (1, 1), (1, 1), element="f16"),
    "before a map": Image((1, 3, 12, 14), 32, (3, 3), (2, 2), (1, 1), (1, 1), after="silu(y + b)"),
    "behind a map": Image((1, 3, 12, 14), 32, (3, 3), (2, 2), (1, 1), (1, 1), before="relu(x)"),
}


def run(case: Image) -> Lowered:
    program = lowered(case.text(), always=True)
    program.check()
    return program


@long(2)
@pytest.mark.parametrize("name", CASES)
def test_images(name: str) -> None:
    run(CASES[name])


def test_threads_that_multiply_load_pairs() -> None:
    """The left operand is in registers; its loads read few sectors again. The kernel comes by TMA."""
    program = run(CASES["first layer of a residual network"])
    assert program.ops("cuda.wgmma_registers") > 0 and program.ops("cuda.wgmma") == 0
    *_, counts = program.counts()
    assert counts.conflicts == 0


def test_more_products_in_flight_than_a_wait_can_leave() -> None:
    """With a second stage the 14 products of a step are not waited for before the next one's."""
    lowered(CASES["first layer of a residual network"].text(), (128, 64, 224), always=True, schedule="pingpong").check()


def test_taps_that_are_not_there_multiply_nothing() -> None:
    """Where a window has no infinity, the zeros that fill the kernel's rows multiply none."""
    program = lowered(CASES["small window"].text(), always=True)
    x, k, b = (np.array(each) for each in program.arrays)
    x[0, 5, 6, 1], x[1, 11, 13, 2] = np.inf, np.nan
    found = SimProgram(program.module, program.arguments, program.results).counted([x, k, b])[0][0]
    places = np.argwhere(~np.isfinite(found.astype(np.float32)).all(-1))
    assert places.tolist() == [[0, 2, 3], [0, 3, 3], [1, 5, 6]]


@st.composite
def drawn(draw: st.DrawFn) -> Image:
    def pair(low: int, high: int) -> tuple[int, int]:
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    def one(*extents: int) -> int:
        return draw(st.sampled_from(extents))

    return Image(
        (one(1, 2), one(1, 2, 3, 3, 4), one(5, 8, 11), one(6, 8, 13)),
        one(1, 8, 24, 64, 130),
        pair(1, 5),
        pair(1, 3),
        pair(0, 3),
        pair(0, 3),
        one(1, 1, 2),
        draw(st.sampled_from(["bf16", "f16"])),
        after=draw(st.sampled_from(["y", "relu(y + b)"])),
    )


@examples(60, one_in=6)
@given(drawn())
def test_drawn(case: Image) -> None:
    kernel = (case.outputs, case.shape[1], *case.taps)
    shape = conv_shape(case.shape, kernel, case.strides, case.low, case.high, (case.dilation, 1), (1, 1))
    assume(min(shape) > 0)
    run(case)
