"""Depthwise convolutions, and those of a few channels in each group, are maps of windows: on the simulator, with what is
computed before and after them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from drawing import examples, long
from hypothesis import given
from hypothesis import strategies as st
from numerics.harness import check_kernels
from numerics.lowered import lowered

from irc.support.windows import conv_shape, placed

LAST, FIRST = (0, 3, 1, 2), (0, 1, 2, 3)


@dataclass(frozen=True)
class Depthwise:
    """A convolution of x[N, C, H, W] in groups of `group` channels; `last`: channels are innermost."""

    shape: tuple[int, int, int, int]
    taps: tuple[int, int]
    multiplier: int = 1
    group: int = 1
    strides: tuple[int, int] = (1, 1)
    low: tuple[int, int] = (1, 1)
    high: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    spread: tuple[int, int] = (1, 1)
    last: bool = True
    flipped: bool = False
    element: str = "bf16"
    before: str = "x"
    after: str = "y"

    def text(self) -> str:
        channels = self.shape[1]
        kernel = (channels * self.multiplier, self.group, *self.taps)
        axes = LAST if self.last else FIRST
        result = conv_shape(self.shape, kernel, self.strides, self.low, self.high, self.dilation, self.spread)
        x, k, y = (", ".join(map(str, placed(shape, axes))) for shape in (self.shape, kernel, result))
        numbers = {"strides": self.strides, "low": self.low, "high": self.high, "dilation": self.dilation}
        numbers["input_dilation"] = self.spread
        numbers |= {f"{name}_axes": axes for name in ("x", "kernel", "result")}
        lists = "".join(f", {name}={list(values)}" for name, values in numbers.items())
        flipped = ", flipped=true" if self.flipped else ""
        return (
            f"func f(x: {self.element}[{x}], k: {self.element}[{k}], b: {self.element}[{y}]) -> {self.element}[{y}] {{\n"
            f"    y = conv({self.before}, k, groups={channels // self.group}{lists}{flipped})\n    return {self.after}\n}}\n"
        )


CASES = {
    "channels last": Depthwise((2, 48, 9, 12), (3, 3)),
    "channels last, odd": Depthwise((2, 5, 7, 6), (3, 3)),
    "channels first": Depthwise((2, 6, 9, 16), (3, 3), last=False),
    "channels first, odd": Depthwise((2, 3, 7, 11), (3, 3), last=False),
    "strides": Depthwise((2, 32, 9, 12), (3, 3), strides=(2, 2)),
    "dilation": Depthwise((1, 16, 11, 12), (3, 3), dilation=(2, 3), low=(2, 3), high=(2, 3)),
    "wide": Depthwise((1, 32, 16, 16), (7, 7), low=(3, 3), high=(3, 3)),
    "flipped": Depthwise((1, 16, 8, 9), (3, 2), flipped=True),
    "several results for each channel": Depthwise((2, 8, 8, 9), (3, 3), multiplier=3),
    "groups of four": Depthwise((2, 24, 8, 9), (3, 3), group=4),
    "groups of eight": Depthwise((1, 32, 8, 8), (3, 3), group=8),
    "groups of three": Depthwise((1, 12, 7, 5), (3, 2), group=3),
    "groups of two, twice as many results": Depthwise((1, 12, 7, 5), (3, 3), 2, group=2),
    "groups of four, channels first": Depthwise((1, 16, 8, 9), (3, 3), group=4, last=False),
    "groups of two at strides": Depthwise((1, 16, 9, 9), (3, 3), group=2, strides=(2, 2)),
    "phases of groups of four": Depthwise((1, 16, 5, 6), (3, 3), group=4, spread=(2, 2), high=(2, 2)),
    "several, channels first": Depthwise((2, 4, 8, 9), (3, 3), multiplier=2, last=False),
    "phases": Depthwise((2, 32, 8, 8), (3, 3), spread=(2, 2), high=(2, 2)),
    "phases of an odd result": Depthwise((2, 16, 5, 6), (4, 4), spread=(2, 2), low=(2, 2)),
    "phases, channels first": Depthwise((2, 6, 8, 8), (3, 3), spread=(2, 2), high=(2, 2), last=False),
    "three phases": Depthwise((1, 16, 4, 5), (5, 5), spread=(3, 3), low=(2, 2), high=(4, 4)),
    "phases of one axis": Depthwise((1, 16, 4, 5), (3, 3), spread=(1, 2)),
    "phases without taps": Depthwise((1, 16, 4, 5), (1, 2), spread=(3, 3), low=(0, 1), high=(2, 2)),
    "strides between elements": Depthwise((1, 16, 7, 7), (3, 3), strides=(2, 1), spread=(3, 2)),
    "one row": Depthwise((3, 16, 1, 20), (1, 5), low=(0, 2), high=(0, 2)),
    "more padding than there is": Depthwise((1, 16, 2, 3), (3, 3), low=(4, 3), high=(3, 5)),
    "f32": Depthwise((2, 12, 9, 8), (3, 3), element="f32"),
    "f64": Depthwise((2, 12, 5, 8), (3, 3), element="f64"),
    "f16": Depthwise((2, 12, 9, 8), (3, 3), element="f16"),
    "behind a map": Depthwise((2, 16, 9, 8), (3, 3), before="relu(x * 0.5 + 1)"),
    "before a map": Depthwise((2, 16, 9, 8), (3, 3), after="clamp(y * 0.3 + b, 0, 6)"),
    "around a block": Depthwise((2, 16, 9, 8), (3, 3), before="silu(x)", after="silu(y) + b"),
}


@long(4)
@pytest.mark.parametrize("name", CASES)
def test_depthwise(name: str) -> None:
    check_kernels(CASES[name].text())


def test_what_is_outside_is_multiplied() -> None:
    """0 by infinity is NaN, as it is where the kernel meets no padding."""
    text = """func f(x: f32[1, 4, 5, 8], k: f32[3, 3, 8]) -> f32[1, 4, 5, 8] {
    return conv(x, reshape(k / 0, [1, 3, 3, 8]), groups=8, low=[1, 1], high=[1, 1], x_axes=[0, 3, 1, 2], kernel_axes=[3, 0, 1, 2], result_axes=[0, 3, 1, 2])
}
"""
    check_kernels(text)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize(("last", "waste"), [(True, 1.0), (False, 2.0)])
def test_one_kernel_that_loads_whole_sectors(last: bool, waste: float, arch: str) -> None:
    """Work around the windows is in their kernel, beside the one that turns taps which lie side by side; nothing goes
    through shared memory. Along rows of pixels an element on either side is a sector of its own."""
    case = Depthwise((2, 64, 16, 32), (3, 3), last=last, before="relu(x)", after="relu(y) + b")
    program = lowered(case.text(), arch=arch, always=True)
    program.check()
    *turned, counts = program.counts()
    assert len(turned) == last
    assert counts.wavefronts == 0
    assert counts.sectors() <= waste * counts.ideal_sectors()


def test_short_rows_are_copied_with_channels_last() -> None:
    """Where the result has channels last, and x places."""
    text = """func f(x: bf16[2, 64, 9, 5], k: bf16[64, 1, 3, 3]) -> bf16[2, 9, 5, 64] {
    return relu(conv(x, k, groups=64, low=[1, 1], high=[1, 1], result_axes=[0, 3, 1, 2]))
}
"""
    program = lowered(text, always=True)
    program.check()
    assert len(program.counts()) == 3


@st.composite
def drawn(draw: st.DrawFn) -> Depthwise:
    def pair(low: int, high: int) -> tuple[int, int]:
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    def one(*extents: int) -> int:
        return draw(st.sampled_from(extents))

    groups, group = one(2, 3, 8, 16), one(1, 1, 2, 4)
    return Depthwise(
        (one(1, 2, 3), groups * group, one(1, 4, 7, 9), one(1, 5, 8, 16)),
        pair(1, 4),
        one(1, 1, 2),
        group,
        pair(1, 2),
        pair(0, 3),
        pair(3, 5),
        pair(1, 2),
        pair(1, 2),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from(("f32", "bf16", "f16"))),
    )


@examples(60, one_in=9)
@given(drawn())
def test_drawn_depthwise(case: Depthwise) -> None:
    check_kernels(case.text())
