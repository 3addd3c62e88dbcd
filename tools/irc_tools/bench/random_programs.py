"""Rows that are drawn: permutes, reductions, fused elementwise programs and convolutions that nobody tuned for.

A suite asks for them by a table `random` with `seed` and how many of each kind; the same seed gives the same rows,
whose programs are in every record. Arrays have 64 MB or more. A third of the shapes has prime extents, a third
multiples of 16, the others any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from random import Random
from typing import Any

from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import parse_bar
from irc_tools.bench.random_convolutions import draw_convolution
from irc_tools.bench.rows import Row

MIN_BYTES = 64 << 20
MAX_BYTES = 192 << 20
"""Of the first array: what is drawn, before its extents are rounded up."""

AXES = "ABCDEF"
SMALL = (3, 4, 5, 2, 3, 2)
"""Extents at which a CPU checks a drawn program."""

ELEMENTS = {1: ("i8", "u8"), 2: ("bf16", "f16", "i16"), 4: ("f32", "i32"), 8: ("f64", "i64")}
"""Elements of permutes, by size in bytes."""

FLOATS = {"bf16": 2, "f16": 2, "f32": 4}

BARS = (parse_bar("0.70 of copy"),)

REDUCTIONS = {
    "sum": "x.sum({axes})",
    "mean": "x.mean({axes})",
    "max": "x.amax({axes})",
    "min": "x.amin({axes})",
    "var": "x.var({axes}, correction=0)",
}
"""irc's name to torch's expression."""

UNARY = {
    "tanh": "torch.tanh",
    "sigmoid": "torch.sigmoid",
    "relu": "torch.relu",
    "gelu": "F.gelu",
    "silu": "F.silu",
    "abs": "torch.abs",
    "cos": "torch.cos",
}
BINARY = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{f}minimum({a}, {b})", "{f}maximum({a}, {b})")


def draw_rows(table: Any, seed: int | None, peers: tuple[str, ...]) -> list[Row]:
    """The rows of a suite's `random` table; `seed` replaces the table's."""
    keys = ("permutes", "reductions", "pointwise", "convolutions")
    numbers = list(table.values()) if isinstance(table, dict) and {"seed"} < set(table) <= {"seed", *keys} else []
    if not numbers or not all(type(number) is int and number >= 0 for number in numbers):
        raise IrcError(f"the table random: expected a seed, and numbers for some of {', '.join(keys)}")
    random = Random(table["seed"] if seed is None else seed)
    sizes, count = list(ELEMENTS), Counter(table)
    return [
        *(_permute(random, number, sizes[number % len(sizes)], peers) for number in range(count["permutes"])),
        *(_reduction(random, number, peers) for number in range(count["reductions"])),
        *(_pointwise(random, number, peers) for number in range(count["pointwise"])),
        *(draw_convolution(random, number, peers) for number in range(count["convolutions"])),
    ]


@dataclass(frozen=True)
class Shape:
    """Extents by the names of dims, `A` first."""

    extents: tuple[int, ...]

    @property
    def axes(self) -> str:
        return AXES[: len(self.extents)]

    @property
    def dims(self) -> dict[str, int]:
        return dict(zip(self.axes, self.extents, strict=True))

    @property
    def small(self) -> dict[str, int]:
        return dict(zip(self.axes, SMALL, strict=False))

    def header(self) -> str:
        """The line that declares the dims."""
        return "dim " + ", ".join(f"{axis} = {extent}" for axis, extent in self.dims.items()) + "\n"

    def text(self) -> str:
        return "x".join(map(str, self.extents))


def _shape(random: Random, rank: int, size: int) -> Shape:
    """Extents of an array whose elements have `size` bytes."""
    elements = random.randint(MIN_BYTES, MAX_BYTES) // size
    weights = [random.uniform(0.3, 1.0) for _ in range(rank)]
    style = random.choice((_prime_from, _sixteens_from, _any_from))
    extents = [style(max(2, round(elements ** (weight / sum(weights))))) for weight in weights]
    # Rounding moved the product: the largest extent makes up for it.
    axis = extents.index(max(extents))
    extents[axis] = 1
    extents[axis] = style(max(2, ceil(max(elements, MIN_BYTES // size) / prod(extents))))
    return Shape(tuple(extents))


def _prime_from(number: int) -> int:
    """The least prime that is not below the number."""
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def _sixteens_from(number: int) -> int:
    return ceil(number / 16) * 16 if number > 16 else number


def _any_from(number: int) -> int:
    return number


def _shuffled(random: Random, rank: int) -> list[int]:
    """A permutation that moves something."""
    order = list(range(rank))
    while order == sorted(order):
        random.shuffle(order)
    return order


def _type(element: str, axes: Sequence[str]) -> str:
    return f"{element}[{', '.join(axes)}]"


def _permute(random: Random, number: int, size: int, peers: tuple[str, ...]) -> Row:
    rank, element = random.randint(2, 6), random.choice(ELEMENTS[size])
    shape, order = _shape(random, rank, size), _shuffled(random, rank)
    result = _type(element, [shape.axes[axis] for axis in order])
    return Row(
        name=f"permute {number}: ({','.join(map(str, order))}) {shape.text()} {element}",
        group="permute, 1 byte" if size == 1 else "permute, 2 to 8 bytes",
        program=f"{shape.header()}func f(x: {_type(element, shape.axes)}) -> {result} {{\n"
        f"    return permute(x, {order})\n}}\n",
        small=shape.small,
        torch=f"return x.permute({order}).contiguous()",
        bars=BARS,
        peers=peers,
    )


def _reduction(random: Random, number: int, peers: tuple[str, ...]) -> Row:
    rank, element = random.randint(2, 4), random.choice(list(FLOATS))
    name, shape = list(REDUCTIONS)[number % len(REDUCTIONS)], _shape(random, rank, FLOATS[element])
    axes = sorted(random.sample(range(rank), random.randint(1, rank)))
    kept = [axis for index, axis in enumerate(shape.axes) if index not in axes]
    return Row(
        name=f"reduction {number}: {name} over ({','.join(map(str, axes))}) of {shape.text()} {element}",
        group="reduction",
        program=f"{shape.header()}func f(x: {_type(element, shape.axes)}) -> {_type(element, kept)} {{\n"
        f"    return {name}(x, axis={axes})\n}}\n",
        small=shape.small,
        torch=f"return {REDUCTIONS[name].format(axes=tuple(axes))}",
        bars=BARS,
        peers=peers,
    )


def _pointwise(random: Random, number: int, peers: tuple[str, ...]) -> Row:
    """Two or three whole arrays, some stored with their axes in another order, and vectors along an axis, combined by
    two to six operations; the result is permuted half of the time."""
    rank, element = random.randint(2, 4), random.choice(list(FLOATS))
    shape = _shape(random, rank, FLOATS[element])
    operands = [_operand(random, shape, element, index, whole=index < 2) for index in range(random.randint(2, 4))]
    mine, theirs = operands[0].irc, operands[0].torch
    for operand in operands[1:]:
        step = random.choice(BINARY)
        mine, theirs = _unary(random, mine, theirs)
        mine = "(" + step.format(a=mine, b=operand.irc, f="") + ")"
        theirs = "(" + step.format(a=theirs, b=operand.torch, f="torch.") + ")"
    mine, theirs = _unary(random, mine, theirs)
    order = _shuffled(random, rank) if random.random() < 0.5 else list(range(rank))
    if order != sorted(order):
        mine, theirs = f"permute({mine}, {order})", f"{theirs}.permute({order})"
    parameters = ", ".join(operand.parameter for operand in operands)
    result = _type(element, [shape.axes[axis] for axis in order])
    return Row(
        name=f"pointwise {number}: {len(operands)} operands, {shape.text()} {element}"
        + ("" if order == sorted(order) else f", result ({','.join(map(str, order))})"),
        group="pointwise",
        program=f"{shape.header()}func f({parameters}) -> {result} {{\n    return {mine}\n}}\n",
        small=shape.small,
        torch=f"return {theirs}.contiguous()",
        bars=BARS,
        peers=peers,
    )


@dataclass(frozen=True)
class Operand:
    """A parameter, and the expressions of irc and of torch that give it the shape of the work."""

    parameter: str
    irc: str
    torch: str


def _operand(random: Random, shape: Shape, element: str, index: int, *, whole: bool) -> Operand:
    name, rank = f"x{index}", len(shape.extents)
    if whole or random.random() < 0.3:
        if index == 0 or random.random() < 0.5:
            return Operand(f"{name}: {_type(element, shape.axes)}", name, name)
        order = _shuffled(random, rank)
        stored = [shape.axes[order.index(axis)] for axis in range(rank)]
        return Operand(f"{name}: {_type(element, stored)}", f"permute({name}, {order})", f"{name}.permute({order})")
    axis = random.randrange(rank)
    index_text = ", ".join(":" if place == axis else "None" for place in range(rank))
    view = f"{name}[{index_text}]"
    return Operand(f"{name}: {_type(element, [shape.axes[axis]])}", view, view)


def _unary(random: Random, mine: str, theirs: str) -> tuple[str, str]:
    """Half of the time, a function around both expressions."""
    if random.random() < 0.5:
        return mine, theirs
    name = random.choice(list(UNARY))
    return f"{name}({mine})", f"{UNARY[name]}({theirs})"
