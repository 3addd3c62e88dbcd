"""Pools and stencils on the simulator: right beyond every edge, each element loaded once by a thread, in whole vectors."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from drawing import examples, long
from hypothesis import given
from hypothesis import strategies as st
from numerics.harness import check_kernels

from irc.support.windows import window_shape


@dataclass(frozen=True)
class Pool:
    """The windows of an x[`shape`], whose axes have `window`, `strides` and so on."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    numbers: dict[str, tuple[int, ...]]
    monoid: str = "sum"
    element: str = "bf16"
    before: str = "x"
    after: str = "{y}"

    def text(self) -> str:
        rank = len(self.shape)
        plain = {"strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
        numbers = {name: self.numbers.get(name, (least,) * rank) for name, least in plain.items()}
        result = window_shape(self.shape, self.window, *numbers.values())
        lists = "".join(f", {name}={list(values)}" for name, values in self.numbers.items())
        y = f'reduce_window({self.before}, {list(self.window)}, monoid="{self.monoid}"{lists})'
        shapes = [", ".join(map(str, shape)) for shape in (self.shape, result)]
        returned = "i32" if self.element in ("i8", "u8") and self.monoid == "sum" else self.element
        return (
            f"func f(x: {self.element}[{shapes[0]}], r: {returned}[{shapes[1]}]) -> {returned}[{shapes[1]}] {{\n"
            f"    return {self.after.format(y=y)}\n}}\n"
        )


AROUND = {"low": (0, 0, 1, 1), "high": (0, 0, 1, 1)}
LAST = {"low": (0, 1, 1, 0), "high": (0, 1, 1, 0)}
HALVED = {"strides": (1, 1, 2, 2), **AROUND}
PLANES, CHANNELS = (1, 1, 3, 3), (1, 3, 3, 1)
CASES = {
    "average": Pool((3, 5, 16, 24), PLANES, AROUND),
    "average of rows that begin anywhere": Pool((3, 5, 13, 11), PLANES, AROUND),
    "average, channels last": Pool((2, 9, 10, 32), CHANNELS, LAST),
    "average, channels last, few": Pool((2, 9, 10, 5), CHANNELS, LAST),
    "greatest": Pool((3, 5, 16, 48), PLANES, HALVED, "max"),
    "greatest, channels last": Pool((2, 17, 19, 16), CHANNELS, {"strides": (1, 2, 2, 1), **LAST}, "max"),
    "least, dilated": Pool((2, 3, 14, 16), PLANES, {"dilation": (1, 1, 2, 3)}, "min", "f32"),
    "more padding than window": Pool((2, 2, 4, 8), (1, 1, 2, 2), {"low": (0, 0, 3, 4), "high": (0, 0, 5, 2)}, "max"),
    "between elements": Pool((2, 3, 7, 8), PLANES, {"input_dilation": (1, 1, 2, 2), "low": (0, 0, 1, 1)}, "sum", "f32"),
    "one axis": Pool((6, 100), (1, 5), {"strides": (1, 3), "low": (0, 2)}, "sum", "f16"),
    "three axes": Pool((2, 5, 6, 16), (1, 2, 3, 2), {"strides": (1, 2, 1, 1), "high": (0, 1, 2, 1)}, "max", "f32"),
    "sums of bytes": Pool((2, 3, 9, 16), PLANES, AROUND, "sum", "i8"),
    "bytes": Pool((2, 3, 9, 16), PLANES, AROUND, "max", "u8"),
    "doubles": Pool((2, 3, 9, 16), PLANES, AROUND, "sum", "f64"),
    "eighths of bits": Pool((2, 3, 9, 16), PLANES, AROUND, "max", "f8e4m3"),
    "behind a map": Pool((2, 3, 9, 16), PLANES, AROUND, "max", before="relu(x) + 1"),
    "before a map": Pool((2, 3, 9, 16), PLANES, AROUND, "sum", after="relu({y}) * 0.111 + r"),
    "large, apart": Pool((2, 3, 25, 24), (1, 1, 11, 11), {"strides": (1, 1, 11, 11)}),
    "large, of everything": Pool((2, 3, 40, 40), (1, 1, 40, 40), {}, "max"),
    "large, beside each other": Pool((2, 3, 12, 14), (1, 1, 7, 7), {}, "sum", "f32"),
    "nothing": Pool((2, 0, 12, 14), (1, 1, 3, 3), {}, "sum", "f32"),
}


@long(2)
@pytest.mark.parametrize("name", CASES)
def test_windows(name: str) -> None:
    check_kernels(CASES[name].text())


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 5, 8, 12, 16)), min_size=1, max_size=4)))
    limits = {"strides": (1, 3), "low": (0, 2), "high": (0, 2), "dilation": (1, 2), "input_dilation": (1, 2)}
    window = tuple(draw(st.integers(1, 3)) for _ in shape)
    numbers = {name: tuple(draw(st.integers(*ends)) for _ in shape) for name, ends in limits.items()}
    element = draw(st.sampled_from(("f32", "bf16", "i8")))
    return Pool(shape, window, numbers, draw(st.sampled_from(("sum", "max", "min"))), element)


@examples(40, one_in=2)
@given(pools())
def test_drawn_windows(pool: Pool) -> None:
    check_kernels(pool.text())


STENCIL = """
func f(x: f32[20, 40]) -> f32[18, 38] {
    return x[0:18, 1:39] + x[2:20, 1:39] + x[1:19, 0:38] + x[1:19, 2:40] - 4 * x[1:19, 1:39]
}
"""


def test_stencils_of_slices() -> None:
    check_kernels(STENCIL)
