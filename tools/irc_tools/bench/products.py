"""Rows of plain matrix products, from lists of shapes.

A suite's `products` tables have `group`, `element`, `shapes` (lists of M, N, K), `majors`, `bars` and `peers`. A major
`nt` stores x as M x K and w as N x K; shapes take the listed majors in turn. Products of f8 are scaled, and rounded to
bf16; those of i8 give i32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import Bar
from irc_tools.bench.rows import Row

MAJORS = ("nn", "nt", "tn", "tt")
ELEMENTS = ("bf16", "f16", "f32", "f64", "f8e4m3", "i8")
SMALL = {"M": 24, "N": 16, "K": 40}


@dataclass(frozen=True)
class Products:
    """A table, read."""

    group: str
    element: str
    shapes: tuple[tuple[int, int, int], ...]
    majors: tuple[str, ...]
    bars: tuple[Bar, ...]
    peers: tuple[str, ...]


def product_rows(table: Products, where: str) -> Iterator[Row]:
    """A row for each shape."""
    if table.element not in ELEMENTS or not table.majors or not set(table.majors) <= set(MAJORS):
        raise IrcError(
            f"{where}: a product of {table.element}, {', '.join(table.majors)}",
            hint=f"elements are {', '.join(ELEMENTS)}; majors {', '.join(MAJORS)}",
        )
    for number, (m, n, k) in enumerate(table.shapes):
        majors = table.majors[number % len(table.majors)]
        yield Row(
            name=f"{m}x{n}x{k} {majors} {table.element}",
            group=table.group,
            program=_program(table.element, majors, m, n, k),
            small=SMALL,
            bars=table.bars,
            peers=table.peers,
            **_bodies(table.element, majors),
        )


def _program(element: str, majors: str, m: int, n: int, k: int) -> str:
    x, w = "M, K" if majors[0] == "n" else "K, M", "K, N" if majors[1] == "n" else "N, K"
    product = f"{'x' if majors[0] == 'n' else 'transpose(x)'} @ {'w' if majors[1] == 'n' else 'transpose(w)'}"
    scales, result = "", {"i8": "i32", "f8e4m3": "bf16"}.get(element, element)
    if element == "f8e4m3":
        scales, product = ", sx: f32[], sw: f32[]", f"cast(({product}) * (sx * sw), bf16)"
    return (
        f"dim M = {m}, N = {n}, K = {k}\n"
        f"func f(x: {element}[{x}], w: {element}[{w}]{scales}) -> {result}[M, N] {{\n    return {product}\n}}\n"
    )


def _bodies(element: str, majors: str) -> dict[str, Any]:
    """What torch runs, what is right, and how inputs are drawn."""
    x, w = ("x" if majors[0] == "n" else "x.t()"), ("w" if majors[1] == "n" else "w.t()")
    if element == "i8":
        integers = {"x": "integers -128 128", "w": "integers -128 128"}
        return {
            "torch": f"return torch._int_mm({x}, {w})",
            "reference": f"return {x}.double() @ {w}.double()",
            "inputs": integers,
        }
    if element == "f8e4m3":
        return {
            "torch": f"return torch._scaled_mm({x}, {w}, sx, sw, out_dtype=torch.bfloat16)",
            "reference": f"return ({x} @ {w}) * (sx * sw)",
            "inputs": {"sx": "uniform 0.5 2", "sw": "uniform 0.5 2"},
        }
    return {"torch": f"return {x} @ {w}"}
