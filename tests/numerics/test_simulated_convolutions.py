"""Convolutions of warp groups, whose pixels TMA brings, on the simulator: right however late copies land, in as many loads as there are
steps, without conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import pytest
from drawing import long
from numerics.lowered import Lowered, lowered

from irc.ir.dtypes import element_named
from irc.support.integers import ceil_div


@dataclass(frozen=True)
class Case:
    """conv(x, w) of arrays with channels last: x and w are extents, in memory's order; numbers are those of the convolution."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    result: tuple[int, ...]
    numbers: str = ""
    element: str = "bf16"
    before: str = ""
    after: str = "{y}"

    def text(self) -> str:
        rank = len(self.x)
        axes = [0, rank - 1, *range(1, rank - 1)]
        orders = ", ".join(f"{name}={axes}" for name in ("x_axes", "kernel_axes", "result_axes"))
        result = {"i8": "i32", "f8e4m3": "f32"}.get(self.element, self.element)
        x, w, y = (", ".join(map(str, shape)) for shape in (self.x, self.w, self.result))
        given = f"conv({self.before or 'x'}, w, {self.numbers}{', ' if self.numbers else ''}{orders})"
        return (
            f"func f(x: {self.element}[{x}], w: {self.element}[{w}]) -> {result}[{y}] {{\n"
            f"    return {self.after.format(y=given)}\n}}\n"
        )

    def lowered(self, tile: tuple[int, int, int], **more: object) -> Lowered:
        return lowered(self.text(), tile, instruction="wgmma", **more)  # pyright: ignore[reportArgumentType]


PADDED = "low=[1, 1], high=[1, 1]"
POOL = 'reduce_window({{y}}, [1, 2, 2, 1], monoid="{}", strides=[1, 2, 2, 1])'
SQUARE = Case((3, 9, 11, 64), (72, 3, 3, 64), (3, 9, 11, 72), PADDED)
CASES = {
    "3x3": (SQUARE, 9),
    "one image": (Case((1, 13, 12, 64), (64, 3, 3, 64), (1, 13, 12, 64), PADDED), 9),
    "strides": (Case((2, 17, 15, 64), (64, 3, 3, 64), (2, 9, 8, 64), f"strides=[2, 2], {PADDED}"), 9),
    "points at strides": (Case((3, 17, 15, 64), (64, 1, 1, 64), (3, 6, 8, 64), "strides=[3, 2]"), 1),
    "dilation": (
        Case((2, 9, 9, 64), (64, 3, 3, 64), (2, 9, 7, 64), "low=[4, 0], high=[4, 2], dilation=[4, 2]"),
        9,
    ),
    "more padding than window": (Case((2, 5, 5, 64), (64, 2, 2, 64), (2, 9, 8, 64), "low=[3, 2], high=[2, 2]"), 4),
    "one axis": (Case((2, 70, 64), (64, 9, 64), (2, 70, 64), "low=[4], high=[4]"), 9),
    "three axes": (
        Case((2, 4, 5, 6, 64), (64, 3, 3, 3, 64), (2, 4, 5, 6, 64), "low=[1, 1, 1], high=[1, 1, 1]"),
        27,
    ),
    "channels in two steps": (Case((2, 9, 9, 96), (64, 3, 3, 96), (2, 9, 9, 64), PADDED), 18),
    "flipped": (Case((2, 9, 9, 64), (64, 3, 3, 64), (2, 9, 9, 64), f"{PADDED}, flipped=true"), 9),
    "groups": (Case((2, 9, 9, 128), (64, 3, 3, 64), (2, 9, 9, 64), f"{PADDED}, groups=2"), 9),
}


@long(6)
@pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])
@pytest.mark.parametrize("name", CASES)
def test_pixels_of_windows(name: str, lazy: bool) -> None:
    case, steps = CASES[name]
    program = case.lowered((64, 64, 64))
    program.check(lazy=lazy)
    assert program.ops("cuda.tma_load") == 2
    (counts,) = program.counts()
    rows = 1
    for extent in case.result[:-1]:
        rows *= extent
    groups = 2 if name == "groups" else 1
    tiles = -(-rows // 64) * -(-case.result[-1] // groups // 64) * groups
    assert counts.executions("cuda.tma_load") == 2 * tiles * steps
    assert counts.conflicts == 0


SPREAD = "input_dilation=[2, 2]"
PHASES = {
    "3x3": (
        Case((2, 5, 6, 64), (64, 3, 3, 64), (2, 10, 12, 64), f"low=[1, 1], high=[2, 2], {SPREAD}"),
        (64, 64, 64),
        9,
    ),
    "odd": (Case((2, 5, 6, 64), (64, 3, 3, 64), (2, 9, 11, 64), f"{PADDED}, {SPREAD}, flipped=true"), (64, 64, 64), 9),
    "4x4": (
        Case((2, 5, 6, 64), (64, 4, 4, 64), (2, 10, 12, 64), f"low=[2, 2], high=[2, 2], {SPREAD}"),
        (64, 64, 64),
        16,
    ),
    "points": (Case((2, 6, 6, 64), (64, 1, 1, 64), (2, 12, 12, 64), f"high=[1, 1], {SPREAD}"), (128, 64, 64), 1),
    "one axis": (
        Case((2, 5, 6, 64), (64, 3, 3, 64), (2, 10, 6, 64), "low=[1, 1], high=[2, 1], input_dilation=[2, 1]"),
        (64, 64, 64),
        9,
    ),
    "apart": (
        Case((1, 3, 4, 64), (64, 5, 2, 64), (1, 9, 10, 64), "low=[3, 0], high=[3, 1], input_dilation=[3, 3]"),
        (64, 64, 64),
        10,
    ),
    "three axes": (
        Case(
            (1, 2, 3, 4, 32),
            (32, 3, 3, 3, 32),
            (1, 4, 6, 8, 32),
            "low=[1, 1, 1], high=[2, 2, 2], input_dilation=[2, 2, 2]",
        ),
        (64, 32, 32),
        27,
    ),
}


@long(2)
@pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])
@pytest.mark.parametrize("name", PHASES)
def test_phases(name: str, lazy: bool) -> None:
    """All phases in one launch, each in as many steps as it has taps."""
    case, tile, taps = PHASES[name]
    program = case.lowered(tile)
    program.check(lazy=lazy)
    assert program.ops("cuda.tma_load") == 2
    (counts,) = program.counts()
    apart = [int(n) for n in case.numbers.split("input_dilation=[")[1].split("]")[0].split(",")]
    rows = case.result[0]
    for extent, each in zip(case.result[1:-1], apart, strict=True):
        rows *= -(-extent // each)
    assert counts.executions("cuda.tma_load") == 2 * -(-rows // tile[0]) * taps
    assert counts.conflicts == 0


@long(6)
@pytest.mark.parametrize("schedule", ["persistent", "pingpong"])
@pytest.mark.parametrize(("taps", "high"), [(3, 2), (1, 1)])
def test_blocks_go_on_to_other_phases(taps: int, high: int, schedule: str) -> None:
    """There are more tiles than blocks; some phases of points have no tap."""
    numbers = f"low={[taps // 2] * 2}, high={[high] * 2}, {SPREAD}"
    case = Case((9, 22, 22, 16), (16, taps, taps, 16), (9, 44, 44, 16), numbers)
    case.lowered((64, 16, 16), schedule=schedule).check()


@long(2)
@pytest.mark.parametrize("tile", [(128, 72, 64), (192, 32, 32), (256, 64, 64), (64, 72, 128)], ids=str)
def test_tiles(tile: tuple[int, int, int]) -> None:
    """Where a step has the channels of two taps, they are no pixels of one window: threads write them."""
    SQUARE.lowered(tile).check()


@long(2)
@pytest.mark.parametrize("cluster", [(2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])
def test_blocks_share_pixels(cluster: tuple[int, int], lazy: bool) -> None:
    case = Case((2, 9, 14, 64), (128, 3, 3, 64), (2, 9, 14, 128), PADDED)
    program = case.lowered((64, 64, 64), cluster=cluster)
    program.check(lazy=lazy)
    assert (
        sum(op.name == "cuda.tma_load" and getattr(op, "mask", None) is not None for op in program.module.walk()) == 1
    )


@pytest.mark.parametrize("element", ["f16", "i8", "f8e4m3"])
def test_elements(element: str) -> None:
    depth = 64 if element == "f16" else 128
    case = Case((2, 9, 9, depth), (64, 3, 3, depth), (2, 9, 9, 64), PADDED, element)
    program = case.lowered((64, 64, depth))
    program.check()
    assert program.ops("cuda.tma_load") == 2


@pytest.mark.parametrize("numbers", [PADDED, f"strides=[2, 2], {PADDED}"], ids=["unit", "strides"])
def test_what_is_computed_of_pixels_is_computed_in_registers(numbers: str) -> None:
    """The threads that multiply compute the activation, and 0 outside of the image."""
    shape = (2, 9, 9, 64) if "strides" not in numbers else (2, 5, 5, 64)
    case = Case((2, 9, 9, 64), (64, 3, 3, 64), shape, numbers, before="sigmoid(x)")
    program = case.lowered((64, 64, 64))
    program.check()
    assert program.ops("cuda.tma_load") == 2
    assert program.ops("cuda.ldmatrix") > 0


def test_images_that_are_innermost_in_the_result() -> None:
    text = f"""func f(x: bf16[4, 9, 11, 64], w: bf16[64, 3, 3, 64]) -> bf16[9, 11, 4, 64] {{
    return conv(x, w, {PADDED}, x_axes=[0, 3, 1, 2], kernel_axes=[0, 3, 1, 2], result_axes=[2, 3, 0, 1])
}}
"""
    program = lowered(text, (64, 64, 64), instruction="wgmma")
    program.check()
    assert program.ops("cuda.tma_load") in (1, 2)


@pytest.mark.parametrize("channels", [64, 50])
def test_other_arrays_are_copied(channels: int) -> None:
    """Channels first, and rows that are no multiples of 16 bytes."""
    text = f"""func f(x: bf16[2, {channels}, 9, 11], w: bf16[64, {channels}, 3, 3]) -> bf16[2, 64, 9, 11] {{
    return relu(conv(x, w, low=[1, 1], high=[1, 1]))
}}
"""
    program = lowered(text, (64, 64, 64), instruction="wgmma", always=True)
    program.check()
    *copies, counts = program.counts()
    assert len(copies) == 2
    assert counts.executions("cuda.tma_load") == 2 * 4 * 9


def test_pixels_that_begin_inside_of_a_sector_are_copied() -> None:
    """Rows of 24 channels, which tensor maps can read, have 8 zeros behind them."""
    case = Case((2, 9, 11, 24), (64, 3, 3, 24), (2, 9, 11, 64), PADDED)
    program = case.lowered((64, 64, 32), always=True)
    program.check()
    *copies, counts = program.counts()
    assert len(copies) == 2
    assert counts.executions("cuda.tma_load") == 2 * 4 * 9


@pytest.mark.parametrize("channels, outputs", [(8, 24), (12, 8), (24, 16)])
def test_channels_of_groups_are_filled(channels: int, outputs: int) -> None:
    """So that a step along K is inside of one group."""
    case = Case((2, 9, 11, 2 * channels), (2 * outputs, 3, 3, channels), (2, 9, 11, 2 * outputs), f"{PADDED}, groups=2")
    filled = -(-channels // 16) * 16
    program = case.lowered((64, 32, filled), always=True)
    program.check()
    *copies, counts = program.counts()
    assert len(copies) == 2
    assert counts.executions("cuda.tma_load") == 2 * 2 * 4 * 9


def test_channels_of_groups_are_filled_as_they_are_permuted() -> None:
    text = f"""func f(x: bf16[2, 12, 9, 11], w: bf16[64, 6, 3, 3], r: bf16[2, 64, 9, 11]) -> bf16[2, 64, 9, 11] {{
    return conv(x, w, {PADDED}, groups=2) * r
}}
"""
    program = lowered(text, (64, 32, 16), instruction="wgmma", always=True)
    program.check()
    assert len(program.counts()) == 3


@pytest.mark.parametrize("schedule", ["persistent", "pingpong"])
def test_phases_that_are_stored_between_each_other(schedule: str) -> None:
    """Channels first, in whose rows the phases along the last axis have every second element: their tiles follow one
    another. So do those of rows, of 28 bytes."""
    text = """func f(x: bf16[2, 64, 5, 7], w: bf16[64, 80, 4, 4], r: bf16[2, 80, 10, 14]) -> bf16[2, 80, 10, 14] {
    y = conv(x, w, input_dilation=[2, 2], low=[2, 2], high=[2, 2], flipped=true, kernel_axes=[1, 0, 2, 3])
    return tanh(y) * r
}
"""
    lowered(text, (64, 64, 64), instruction="wgmma", always=True, schedule=schedule).check()


@long(2)
@pytest.mark.parametrize("schedule", ["persistent", "pingpong"])
def test_turns_go_on_to_other_phases(schedule: str) -> None:
    """Channels first, 3x3 taps at strides of 2: phases along a row have one tap or two. Two turns have all tiles once."""
    text = """func f(x: bf16[9, 16, 22, 22], w: bf16[16, 16, 3, 3]) -> bf16[9, 16, 43, 43] {
    return conv(x, w, input_dilation=[2, 2], low=[1, 1], high=[1, 1], flipped=true, kernel_axes=[1, 0, 2, 3])
}
"""
    lowered(text, (64, 16, 16), instruction="wgmma", always=True, schedule=schedule).check()


@pytest.mark.parametrize("channels", [32, 24])
def test_points_with_channels_first_are_copied(channels: int) -> None:
    """What follows is in their kernel."""
    text = f"""func f(x: bf16[2, {channels}, 9, 11], w: bf16[40, {channels}, 1, 1], r: bf16[2, 40, 9, 11]) -> bf16[2, 40, 9, 11] {{
    return tanh(conv(x, w)) * r
}}
"""
    program = lowered(text, (64, 64, 32), instruction="wgmma", always=True)
    program.check()
    *copies, _ = program.counts()
    assert len(copies) == (1 if channels == 32 else 2)


POOLS = {
    "largest": (Case((2, 9, 11, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, after=POOL.format("max")), 4),
    "least": (Case((2, 9, 11, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, after=POOL.format("min")), 4),
    "mean": (
        Case((2, 8, 10, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, after=f"relu({POOL.format('sum')} * 0.25)"),
        4,
    ),
    "cut by a reshape": (
        Case(
            (2, 8, 10, 32),
            (48, 3, 3, 32),
            (2, 4, 5, 48),
            PADDED,
            after="max(reshape({y} * 2.0, [2, 4, 2, 5, 2, 48]), axis=[2, 4])",
        ),
        4,
    ),
    "f16": (Case((2, 9, 11, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, "f16", after=POOL.format("max")), 4),
    "i8": (Case((2, 9, 11, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, "i8", after=POOL.format("max")), 4),
    "one axis": (
        Case(
            (2, 39, 32),
            (32, 3, 32),
            (2, 13, 32),
            "low=[2], high=[1]",
            after='reduce_window({y}, [1, 3, 1], monoid="max", strides=[1, 3, 1])',
        ),
        3,
    ),
    "dilated, apart": (
        Case(
            (2, 13, 11, 32),
            (48, 2, 3, 32),
            (2, 5, 6, 48),
            "low=[1, 2], high=[2, 2], dilation=[2, 2]",
            after='reduce_window({y}, [1, 2, 1, 1], monoid="max", strides=[1, 3, 2, 1])',
        ),
        2,
    ),
    "at strides": (
        Case(
            (2, 17, 23, 32),
            (48, 5, 3, 32),
            (2, 4, 6, 48),
            "strides=[2, 2], low=[2, 2], high=[2, 1]",
            after=POOL.format("max"),
        ),
        4,
    ),
}
"""Pools, and of how many places their windows are."""


@long(3)
@pytest.mark.parametrize("schedule", ["persistent", "pingpong"])
@pytest.mark.parametrize("name", POOLS)
def test_pools_are_in_the_kernel_of_their_convolution(name: str, schedule: str) -> None:
    case, places = POOLS[name]
    program = case.lowered((64, 16, 32), always=True, schedule=schedule)
    program.check(lazy=True)
    (counts,) = program.counts()
    pixels, taps = prod(case.result[:-1]), prod(case.w[1:-1])
    tiles = ceil_div(pixels, 64) * ceil_div(case.result[-1], 16)
    assert counts.executions("cuda.tma_load") == tiles * taps * (places + 1)


def test_a_pool_takes_what_is_no_number() -> None:
    """As windows of what is stored do: NaN where one is among a window's elements, infinities where there is none."""
    x = np.random.default_rng(5).normal(size=(2, 9, 11, 32)).astype(np.float32)
    x[0, 2, 3, 4], x[1, 7, 8, 1], x[1, 0, 0, 0] = np.nan, np.inf, -np.inf
    case = Case((2, 9, 11, 32), (48, 3, 3, 32), (2, 4, 5, 48), PADDED, after=POOL.format("max"))
    case.lowered((64, 48, 32), always=True, given={0: x.astype(element_named("bf16").dtype)}).check()


def test_a_pool_reads_what_follows_its_convolution() -> None:
    """Of channels first, with a bias: copies of x and of the kernel, and one kernel."""
    text = """func f(x: bf16[2, 32, 9, 12], w: bf16[32, 32, 3, 3], b: bf16[32, 1, 1]) -> bf16[2, 32, 4, 6] {
    y = conv(x, w, low=[1, 1], high=[1, 1])
    return reduce_window(relu(y + b), [1, 1, 2, 2], monoid="max", strides=[1, 1, 2, 2])
}
"""
    program = lowered(text, (64, 32, 32), instruction="wgmma", always=True)
    program.check()
    assert len(program.counts()) == 3
