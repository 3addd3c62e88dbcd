"""Rows of convolutions and their gradients, from tables of shapes; bf16, channels last unless they are `first`.

A suite's `convolutions` tables have `name`, `x` (N, C, and spatial extents), `outputs`, `window`, and may have
`strides`, `padding`, `dilation`, `groups` (a number, or `C`: depthwise), `transposed`, `output_padding`, `first`, and
`bars`: what the row of each pass has to reach, `fprop`, `dgrad` (of x) and `wgrad` (of the kernel).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import Bar
from irc_tools.bench.rows import Row

T = TypeVar("T")

PASSES = ("fprop", "dgrad", "wgrad")
SMALL = {"N": 2, "D": 4, "H": 9, "W": 8}
MAX_CHANNELS = 24
"""Of a group, at small sizes."""


@dataclass(frozen=True)
class Convolutions:
    """A table, read."""

    name: str
    x: tuple[int, ...]
    outputs: int
    window: tuple[int, ...]
    bars: Mapping[str, tuple[Bar, ...]]
    peers: tuple[str, ...]
    strides: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int | str = 1
    transposed: bool = False
    output_padding: int = 0
    first: bool = False

    @property
    def order(self) -> list[int]:
        """Where N or O, channels, and the axes of space lie."""
        rank = len(self.window)
        return list(range(rank + 2)) if self.first else [0, rank + 1, *range(1, rank + 1)]

    def typed(self, outer: str, channels: str, places: Sequence[str]) -> str:
        """The type of an array."""
        return f"bf16[{', '.join(self.placed([outer, channels, *places]))}]"

    def placed(self, of_roles: Sequence[T]) -> list[T]:
        """What N or O, channels, and the axes of space have, as these lie."""
        return [of_roles[self.order.index(axis)] for axis in range(len(of_roles))]

    @property
    def axes(self) -> str:
        """The names of the spatial axes."""
        return "DHW"[3 - len(self.window) :]

    @property
    def dims(self) -> dict[str, int]:
        return dict(zip(f"NC{self.axes}", self.x, strict=True)) | {"O": self.outputs}


def convolution_rows(table: Convolutions, where: str) -> Iterator[Row]:
    """A row for each pass."""
    if not 1 <= len(table.window) <= 3 or len(table.x) != len(table.window) + 2:
        raise IrcError(f"{where}: x has N, C and the extents of 1 to 3 axes, the window as many, found {list(table.x)}")
    if unknown := set(table.bars) - set(PASSES):
        raise IrcError(f"{where}: bars of {', '.join(sorted(unknown))}", hint=f"passes are {', '.join(PASSES)}")
    for each in PASSES:
        yield Row(
            name=f"{table.name} {each}",
            group=f"transposed {each}" if table.transposed else each,
            program=_program(table, each),
            small=small_dims(table),
            torch=body_of(table, each),
            bars=table.bars.get(each, ()),
            peers=table.peers,
        )


def small_dims(table: Convolutions) -> dict[str, int]:
    """Few images, places and channels, of as many groups: of depthwise ones some groups."""
    small = {name: min(extent, SMALL[name]) for name, extent in table.dims.items() if name in SMALL}
    if table.groups == "C":
        return {**small, "C": MAX_CHANNELS, "O": MAX_CHANNELS * table.outputs // table.x[1]}
    groups = int(table.groups)
    channels = {"C": table.x[1], "O": table.outputs}
    return small | {name: groups * min(extent // groups, MAX_CHANNELS) for name, extent in channels.items()}


def types_of(table: Convolutions) -> tuple[str, str, str]:
    """Of x, the kernel and the result."""
    outer, inner = "CO" if table.transposed else "OC"
    inner = f"{inner} // {table.groups}" if table.groups != 1 else inner
    places = [_extent(table, axis, name) for axis, name in enumerate(table.axes)]
    kernel = table.typed(outer, inner, [str(taps) for taps in table.window])
    return table.typed("N", "C", list(table.axes)), kernel, table.typed("N", "O", places)


def _program(table: Convolutions, each: str) -> str:
    """Of the convolution, or of the gradient of its sum with weights of its results."""
    dims = ", ".join(f"{name} = {extent}" for name, extent in table.dims.items())
    x, w, y = types_of(table)
    if each == "fprop":
        return f"dim {dims}\nfunc f(x: {x}, w: {w}) -> {y} {{\n    return {call_of(table)}\n}}\n"
    wanted, type = ("x", x) if each == "dgrad" else ("w", w)
    arrays = f"x: {x}, w: {w}, g: {y}"
    return (
        f"dim {dims}\n"
        f"func loss({arrays}) -> f32[] {{\n    return sum(cast({call_of(table)} * g, f32))\n}}\n"
        f"func f({arrays}) -> {type} {{\n    return grad(loss, wrt=[{wanted}])(x, w, g)\n}}\n"
    )


def _extent(table: Convolutions, axis: int, name: str) -> str:
    """Of the result along an axis, as an expression of x's."""
    window = (table.window[axis] - 1) * table.dilation + 1
    if table.transposed:
        return _sum(f"({name} - 1) * {table.strides}", window - 2 * table.padding + table.output_padding)
    more = 2 * table.padding - window
    return f"({_sum(name, more)}) // {table.strides} + 1" if table.strides != 1 else _sum(name, more + 1)


def _sum(text: str, number: int) -> str:
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text


def call_of(table: Convolutions) -> str:
    """The convolution of x by w in the language."""
    rank, order = len(table.window), table.order
    numbers: dict[str, object] = {"dilation": [table.dilation] * rank}
    if table.transposed:
        low = [(taps - 1) * table.dilation - table.padding for taps in table.window]
        numbers |= {"input_dilation": [table.strides] * rank, "low": low, "flipped": "true"}
        numbers |= {"high": [n + table.output_padding for n in low], "kernel_axes": [order[1], order[0], *order[2:]]}
    else:
        padding = [table.padding] * rank
        numbers |= {"strides": [table.strides] * rank, "low": padding, "high": padding, "kernel_axes": order}
    numbers |= {"groups": table.groups, "x_axes": order, "result_axes": order}
    return f"conv(x, w, {', '.join(f'{name}={value}' for name, value in numbers.items())})"


def body_of(table: Convolutions, each: str) -> str:
    """What torch runs, on views whose channels come second."""
    rank, order = len(table.window), table.order
    back = table.placed(range(rank + 2))
    groups = f"x.shape[{order[1]}]" if table.groups == "C" else str(table.groups)
    strides, padding, dilation, more = (
        [number] * rank for number in (table.strides, table.padding, table.dilation, table.output_padding)
    )
    numbers = f"{strides}, {padding}, {dilation}, {table.transposed}, {more}, {groups}"
    x, w, g = (f"{name}.permute({order})" for name in "xwg")
    if each == "fprop":
        return f"return torch.convolution({x}, {w}, None, {numbers}).permute({back})"
    mask, result = ([True, False, False], 0) if each == "dgrad" else ([False, True, False], 1)
    call = f"torch.ops.aten.convolution_backward({g}, {x}, {w}, None, {numbers}, {mask})"
    return f"return {call}[{result}].permute({back})"


def read_table(table: Mapping[str, Any], peers: Sequence[str], bars: Mapping[str, tuple[Bar, ...]]) -> Convolutions:
    """A table of a suite whose bars and peers are read already."""
    fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in table.items()}
    fields |= {"bars": bars, "peers": tuple(peers)}
    return Convolutions(**fields)
