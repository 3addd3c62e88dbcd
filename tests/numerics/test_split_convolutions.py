"""Convolutions by parts of their channels and taps, on the simulator: each way of multiplying, and each number of a
convolution that says where a part begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from drawing import long
from numerics.lowered import Lowered, lowered

LAST = "x_axes=[0, 3, 1, 2], kernel_axes=[0, 3, 1, 2], result_axes=[0, 3, 1, 2]"
PADDED = "low=[1, 1], high=[1, 1]"


@dataclass(frozen=True)
class Case:
    """A convolution of arrays of these extents, its numbers, the tile, and how it is multiplied."""

    x: str
    kernel: str
    result: str
    numbers: str
    tile: tuple[int, int, int]
    split: int
    instruction: str
    element: str = "bf16"

    def lowered(self) -> Lowered:
        text = (
            f"func f(x: {self.element}[{self.x}], k: {self.element}[{self.kernel}], b: {self.element}[{self.result}]) "
            f"-> {self.element}[{self.result}] {{\n    return relu(conv(x, k, {self.numbers}) + b)\n}}\n"
        )
        return lowered(text, self.tile, instruction=self.instruction, split=self.split)


CASES = {
    "taps of pixels that TMA brings": Case(
        "2, 9, 7, 64", "64, 3, 3, 64", "2, 9, 7, 64", f"{PADDED}, {LAST}", (64, 64, 64), 9, "wgmma"
    ),
    "a row of taps": Case(
        "2, 9, 7, 64", "64, 3, 3, 64", "2, 5, 4, 64", f"strides=[2, 2], {PADDED}, {LAST}", (64, 64, 64), 3, "wgmma"
    ),
    "flipped": Case(
        "2, 9, 7, 64",
        "64, 3, 3, 64",
        "2, 5, 3, 64",
        f"dilation=[2, 2], flipped=true, {LAST}",
        (64, 64, 64),
        9,
        "wgmma",
    ),
    "channels": Case("3, 24, 9", "20, 24, 3", "3, 20, 7", "", (16, 16, 16), 12, "mma"),
    "channels and taps": Case("3, 4, 9, 9", "20, 4, 4, 3", "3, 20, 6, 7", "", (16, 16, 16), 16, "mma"),
    "spread": Case(
        "2, 6, 5, 5",
        "16, 6, 4, 4",
        "2, 16, 10, 10",
        "low=[2, 2], high=[2, 2], input_dilation=[2, 2]",
        (16, 16, 16),
        6,
        "mma",
    ),
    "groups": Case("3, 128, 9", "24, 32, 3", "3, 24, 7", "groups=4", (16, 16, 16), 4, "mma"),
    "groups of images": Case("12, 8, 9", "24, 8, 5", "3, 24, 5", "batch_groups=4", (16, 16, 16), 8, "mma"),
    "f32": Case("3, 4, 9, 9", "20, 4, 4, 3", "3, 20, 6, 7", "", (16, 16, 16), 8, "fma", "f32"),
    "groups of two channels": Case(
        "2, 9, 9, 24",
        "24, 7, 6, 2",
        "2, 3, 4, 24",
        f"groups=12, {LAST}",
        (8, 16, 1),
        7,
        "direct",
    ),
    "the gradient of a depthwise kernel": Case(
        "4, 9, 7, 24",
        "4, 7, 5, 24",
        "1, 24, 3, 3",
        "batch_groups=24, x_axes=[3, 0, 1, 2], kernel_axes=[3, 0, 1, 2]",
        (8, 16, 1),
        28,
        "direct",
    ),
    "the same by whole columns": Case(
        "4, 9, 7, 24",
        "4, 7, 5, 24",
        "1, 24, 3, 3",
        "batch_groups=24, x_axes=[3, 0, 1, 2], kernel_axes=[3, 0, 1, 2]",
        (16, 32, 1),
        28,
        "columns",
    ),
    "whole columns of a kernel with its stride, from several rows": Case(
        "2, 15, 16, 24",
        "2, 8, 8, 24",
        "1, 24, 3, 2",
        "low=[1, 0], high=[1, 0], dilation=[2, 2], batch_groups=24, x_axes=[3, 0, 1, 2], kernel_axes=[3, 0, 1, 2]",
        (16, 16, 4),
        2,
        "columns",
    ),
    "whole columns of groups of two channels": Case(
        "2, 8, 8, 32",
        "2, 8, 8, 32",
        "2, 32, 3, 3",
        "low=[1, 1], high=[1, 1], batch_groups=16, x_axes=[3, 0, 1, 2], kernel_axes=[3, 0, 1, 2]",
        (32, 32, 2),
        4,
        "columns",
    ),
    "whole columns of groups of eight channels and four columns": Case(
        "2, 4, 8, 32",
        "2, 4, 8, 16",
        "8, 16, 3, 2",
        "low=[1, 1], high=[1, 0], batch_groups=4, x_axes=[3, 0, 1, 2], kernel_axes=[3, 0, 1, 2]",
        (48, 16, 4),
        2,
        "columns",
    ),
    "whole columns along one axis, of f32": Case(
        "3, 32, 20",
        "3, 32, 20",
        "1, 20, 5",
        "low=[2], high=[2], batch_groups=20, x_axes=[2, 0, 1], kernel_axes=[2, 0, 1]",
        (8, 16, 4),
        3,
        "columns",
        "f32",
    ),
}


@long(5)
@pytest.mark.parametrize("name", CASES)
def test_parts(name: str) -> None:
    program = CASES[name].lowered()
    program.check()
    assert program.ops("cuda.kernel") == 2


@pytest.mark.parametrize("split", [1, 4])
def test_whole_columns_read_what_neighbors_share_once(split: int) -> None:
    """For 3x3 taps of a row of 8 pixels a thread loads the 24 elements of x that there are, not 72."""
    case = replace(CASES["whole columns of groups of two channels"], split=split)
    depthwise = replace(case, result="1, 32, 3, 3", numbers=case.numbers.replace("batch_groups=16", "batch_groups=32"))
    program = depthwise.lowered()
    program.check()
    assert program.ops("cuda.kernel") == (1 if split == 1 else 2)
    assert program.ops("cuda.load_or") == 24
