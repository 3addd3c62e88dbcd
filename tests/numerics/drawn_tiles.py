"""Draws layout-free tile programs: dots that feed each other in loops, with reductions, maps and operands that a loop does
not change between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

SCALE = 0.25
"""Of what is drawn, so that sums of products stay near 1."""

UNARY = {
    "tanh": "%z = math.tanh %x0 : f32",
    "exp": "%m = arith.constant 2.0 : f32\n%n = arith.minimumf %x0, %m : f32\n%z = math.exp %n : f32",
    "relu": "%c = arith.constant 0.0 : f32\n%z = arith.maximumf %x0, %c : f32",
    "half": "%c = arith.constant 0.5 : f32\n%z = arith.mulf %x0, %c : f32",
}
BINARY = {
    "add": "%z = arith.addf %x0, %x1 : f32",
    "sub": "%z = arith.subf %x0, %x1 : f32",
    "mul": "%z = arith.mulf %x0, %x1 : f32",
}


@dataclass(frozen=True)
class Tile:
    """A value of a program."""

    name: str
    rows: int
    columns: int
    element: str = "f32"

    @property
    def type(self) -> str:
        return f"tensor<{self.rows}x{self.columns}x{self.element}>"


@dataclass
class Drawn:
    """A program being written. form: the instruction and what goes with it in the config. values: whether bounds of
    loops depend on the tile."""

    draw: Random
    config: str
    rows: int
    values: bool = False
    lines: list[str] = field(default_factory=list[str])
    views: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    steps: dict[int, str] = field(default_factory=dict[int, str])
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    # Ops

    def view(self, rows: int, columns: int) -> str:
        name = f"%in{len(self.views)}"
        self.views[name] = rows, columns
        return name

    def load(self, view: str, at: tuple[str, str], rows: int, columns: int, *, turned: bool = False) -> Tile:
        """Of bf16. turned: the view has it the other way round."""
        result = Tile(self.name(), rows, columns, "bf16")
        shape = "x".join(map(str, self.views[view]))
        map_ = " {map = affine_map<(d0, d1) -> (d1, d0)>}" if turned else ""
        self.lines.append(
            f"{result.name} = tile.load {view}[{at[0]}, {at[1]}]{map_} : !tile.view<{shape}xbf16> -> {result.type}"
        )
        return result

    def zero(self, columns: int) -> Tile:
        result = Tile(self.name(), self.rows, columns)
        self.lines.append(f"{result.name} = tile.splat %zero : f32 -> {result.type}")
        return result

    def dot(self, lhs: Tile, rhs: Tile, acc: Tile) -> Tile:
        result = Tile(self.name(), acc.rows, acc.columns)
        self.lines.append(
            f"{result.name} = tile.dot {lhs.name}, {rhs.name}, {acc.name} : {lhs.type}, {rhs.type}, {acc.type} -> "
            f"{result.type}"
        )
        return result

    def map(self, body: str, *inputs: Tile, element: str = "f32") -> Tile:
        columns = max(value.columns for value in inputs)
        result = Tile(self.name(), self.rows, columns, element)
        arguments = ", ".join(f"%x{at}: {value.element}" for at, value in enumerate(inputs))
        head = f"{result.name} = tile.map {', '.join(v.name for v in inputs)} : {', '.join(v.type for v in inputs)}"
        self.lines.append(f"{head} -> {result.type} {{\n^bb0({arguments}):\n{body}\ntile.yield %z : {element}\n}}")
        return result

    def reduce(self, op: str, value: Tile) -> Tile:
        result = Tile(self.name(), self.rows, 1)
        head = f"{result.name} = tile.reduce {value.name} {{axes = array<i64: 1>}} : {value.type} -> {result.type}"
        self.lines.append(f"{head} {{\n^bb0(%x: f32, %y: f32):\n%z = arith.{op} %x, %y : f32\ntile.yield %z : f32\n}}")
        return result

    def narrow(self, value: Tile) -> Tile:
        return self.map("%z = arith.truncf %x0 : f32 to bf16", value, element="bf16")

    def elementwise(self, value: Tile, others: list[Tile]) -> Tile:
        """Some work on a tile, with tiles and columns of its rows."""
        for _ in range(self.draw.randint(0, 2)):
            fitting = [other for other in others if other.columns in (1, value.columns)]
            if fitting and self.draw.random() < 0.5:
                value = self.map(BINARY[self.draw.choice(list(BINARY))], value, self.draw.choice(fitting))
            else:
                value = self.map(UNARY[self.draw.choice(list(UNARY))], value)
        return value


FORMS = {
    "fma": ((16, 2), (32, 4), (64, 4)),
    "mma": ((32, 2), (64, 4), (64, 2)),
    "wgmma": ((64, 4), (64, 4), (128, 8)),
}
"""Rows and warps by instruction."""


@dataclass(frozen=True)
class Program:
    """A drawn program: its text, the arrays that it takes, and the fields of its config."""

    text: str
    arguments: list[Array]
    config: str


def draw_program(seed: int, *, values: bool = False) -> Program:
    """One or two loops over a tile's rows. A step has one to three dots of their own, up to one that another feeds, and
    sums that it carries; the first may be summed in a loop inside. values: where the loops begin and end depends on the
    tile, and some have no step."""
    draw = Random(seed)
    instruction = draw.choice(list(FORMS))
    rows, warps = draw.choice(FORMS[instruction])
    stages = draw.randint(1, 4)
    schedule = draw.choice(["grid", "persistent", "pingpong" if instruction == "wgmma" else "grid"])
    config = f'instruction = "{instruction}", warps = {warps}, stages = {stages}, schedule = "{schedule}"'
    program = Drawn(draw, config, rows, values)
    total = rows * draw.randint(1, 3)
    order = "" if schedule == "grid" else ' schedule "persistent"'
    out = _loop(program, total)
    if draw.random() < 0.3:
        out = program.map(BINARY["add"], out, program.elementwise(_loop(program, total, out.columns), []))
    body = "\n".join(program.lines)
    inputs = ", ".join(f"{name}: !tile.view<{r}x{c}xbf16>" for name, (r, c) in program.views.items())
    result = f"{total}x{out.columns}xf32"
    tensors = [f"tensor<{r}x{c}xbf16>" for r, c in program.views.values()]
    names = list(program.views)
    text = f"""builtin.module {{
func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, tensors, strict=True))}) -> tensor<{result}> {{
%0 = kernel.launch @drawn({", ".join(names)}) : ({", ".join(tensors)}) -> tensor<{result}>
func.return %0 : tensor<{result}>
}}
tile.program @drawn({inputs}, %out: !tile.view<{result}>) {{results = 1 : i64, config = #kernel.config<{program.config}>}} {{
tile.for_tiles (%i) extents [{total}] steps [{rows}]{order} {{
%c0 = arith.constant 0 : index
%zero = arith.constant 0.0 : f32
{body}
tile.store {out.name}, %out[%i, %c0] : {out.type}, !tile.view<{result}>
}}
}}
}}"""
    rng = np.random.default_rng(seed)
    arguments = [(rng.standard_normal(s) * SCALE).astype(ml_dtypes.bfloat16) for s in program.views.values()]
    return Program(text, arguments, config)


def _loop(p: Drawn, total: int, columns: int | None = None) -> Tile:
    """A loop in which scores are computed, and summed with weights of their own."""
    draw = p.draw
    keys, depth = draw.choice([16, 32, 48, 64, 80, 112]), draw.choice([16, 32, 64])
    width = columns or draw.choice([16, 32, 64, 96])
    steps = draw.randint(1, 4)
    left = p.view(total, depth * 2)
    is_nested = draw.random() < 0.3
    is_held = not is_nested and draw.random() < 0.7
    held = p.load(left, ("%i", "%c0"), p.rows, depth) if is_held else None
    p.count += 1
    number = p.count
    p.lines += [f"%n{number} = arith.constant {keys * steps} : index", f"%s{number} = arith.constant {keys} : index"]
    p.lines += [f"%d{number} = arith.constant {depth} : index", f"%e{number} = arith.constant {2 * depth} : index"]
    starts = [p.zero(width), p.zero(1)]
    blank = p.zero(keys)
    carried = [Tile(f"%a{number}_{at}", start.rows, start.columns) for at, start in enumerate(starts)]
    first, last = _bounds(p, number, keys) if p.values else ("%c0", f"%n{number}")
    outer, p.lines = p.lines, []
    j = f"%j{number}"
    right = p.view(keys * steps, depth * 2)
    if is_nested:
        scores = _nested(p, left, right, blank, number, depth, keys)
    else:
        lhs = held or p.load(left, ("%i", "%c0"), p.rows, depth)
        scores = p.dot(lhs, p.load(right, ("%c0", j), depth, keys, turned=True), blank)
    if draw.random() < 0.3:
        more = p.load(p.view(depth, keys * steps), ("%c0", j), depth, keys)
        other = p.load(p.view(total, depth), ("%i", "%c0"), p.rows, depth)
        scores = p.map(BINARY["add"], scores, p.dot(other, more, p.zero(keys)))
    known = [carried[1]]
    if draw.random() < 0.6:
        known.append(p.reduce(draw.choice(["maximumf", "addf"]), scores))
    weights = p.elementwise(scores, known)
    sums = p.map("%f = arith.addf %x0, %x1 : f32\n%z = math.tanh %f : f32", carried[1], p.reduce("maximumf", weights))
    acc = carried[0]
    if draw.random() < 0.6:
        acc = p.map("%c = math.tanh %x1 : f32\n%z = arith.mulf %x0, %c : f32", acc, draw.choice([sums, *known]))
    values = p.load(p.view(keys * steps, width), (j, "%c0"), keys, width)
    acc = p.dot(p.narrow(weights), values, acc)
    if draw.random() < 0.2:
        acc = p.elementwise(acc, [sums])
    inner, p.lines = p.lines, outer
    types = ", ".join(tile.type for tile in carried)
    results = [Tile(f"%r{number}_{at}", tile.rows, tile.columns) for at, tile in enumerate(carried)]
    begins = ", ".join(f"{tile.name} = {start.name}" for tile, start in zip(carried, starts, strict=True))
    p.lines.append(
        f"{results[0].name}, {results[1].name} = scf.for {j} = {first} to {last} step %s{number} "
        f"iter_args({begins}) -> ({types}) {{"
    )
    p.lines += [*inner, f"scf.yield {acc.name}, {sums.name} : {types}", "}"]
    return p.elementwise(results[0], [results[1]])


def _bounds(p: Drawn, number: int, keys: int) -> tuple[str, str]:
    """Where a loop over %n keys begins, a multiple of `keys`, and ends: the same for all tiles, or dependent on the
    rows of a tile, as with a window of keys around them."""
    first, last = "%c0", f"%n{number}"
    kind = p.draw.choice(["first", "last", "both"])
    back, ahead = p.draw.randint(-2, 3) * keys // 2, p.draw.randint(-2, 3) * keys // 2
    if kind != "last":
        first = f"%first{number}"
        p.lines += [
            f"%back{number} = arith.constant {back} : index",
            f"%from{number} = arith.subi %i, %back{number} : index",
            f"%block{number} = arith.floordivsi %from{number}, %s{number} : index",
            f"%begin{number} = arith.muli %block{number}, %s{number} : index",
            f"{first} = arith.maxsi %begin{number}, %c0 : index",
        ]
    if kind != "first":
        last = f"%last{number}"
        p.lines += [
            f"%ahead{number} = arith.constant {ahead} : index",
            f"%to{number} = arith.addi %i, %ahead{number} : index",
            f"{last} = arith.minsi %to{number}, %n{number} : index",
        ]
    return first, last


def _nested(p: Drawn, left: str, right: str, blank: Tile, number: int, depth: int, keys: int) -> Tile:
    """Scores that are summed in a loop over parts of the depth."""
    part = Tile(f"%p{number}", blank.rows, blank.columns)
    outer, p.lines = p.lines, []
    k = f"%k{number}"
    lhs = p.load(left, ("%i", k), p.rows, depth)
    rhs = p.load(right, (k, f"%j{number}"), depth, keys, turned=True)
    after = p.dot(lhs, rhs, part)
    inner, p.lines = p.lines, outer
    result = Tile(p.name(), blank.rows, blank.columns)
    p.lines.append(
        f"{result.name} = scf.for {k} = %c0 to %e{number} step %d{number} iter_args({part.name} = {blank.name}) -> "
        f"({part.type}) {{"
    )
    p.lines += [*inner, f"scf.yield {after.name} : {part.type}", "}"]
    return result
