"""Layout-free tile programs of attention, as a user would write them: two dots that feed each other, with an online
softmax between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Attention:
    """softmax(q k') v for `queries` x `head` and `length` x `head` arrays of bf16: a block has `rows` queries, a step of
    its loop `keys` keys. config: the fields of its `#kernel.config`."""

    config: str
    rows: int = 64
    keys: int = 64
    head: int = 64
    queries: int = 128
    length: int = 256

    @property
    def text(self) -> str:
        """The program as a module."""
        s, o, row = (f"tensor<{self.rows}x{n}xf32>" for n in (self.keys, self.head, 1))
        q, kv = f"{self.queries}x{self.head}xbf16", f"{self.length}x{self.head}xbf16"
        types = f"tensor<{q}>, tensor<{kv}>, tensor<{kv}>"
        weights = s.replace("f32", "bf16")
        step = [
            f"%kt = tile.load %k[%c0, %j] {{map = affine_map<(d0, d1) -> (d1, d0)>}} : !tile.view<{kv}> -> "
            f"tensor<{self.head}x{self.keys}xbf16>",
            f"%s = tile.dot %qt, %kt, %s0 : tensor<{self.rows}x{self.head}xbf16>, "
            f"tensor<{self.head}x{self.keys}xbf16>, {s} -> {s}",
            _reduce("%most", "%s", s, row, "maximumf"),
            _map("%m1", {"%m": row, "%most": row}, row, "%z = arith.maximumf %x0, %x1 : f32"),
            _map("%p", {"%s": s, "%m1": row}, s, "%d = arith.subf %x0, %x1 : f32\n%z = math.exp %d : f32"),
            _reduce("%sum", "%p", s, row, "addf"),
            _map("%r", {"%m": row, "%m1": row}, row, "%d = arith.subf %x0, %x1 : f32\n%z = math.exp %d : f32"),
            _map(
                "%l1",
                {"%l": row, "%r": row, "%sum": row},
                row,
                "%f = arith.mulf %x0, %x1 : f32\n%z = arith.addf %f, %x2 : f32",
            ),
            _map("%a1", {"%a": o, "%r": row}, o, "%z = arith.mulf %x0, %x1 : f32"),
            _map("%pb", {"%p": s}, weights, "%z = arith.truncf %x0 : f32 to bf16", "bf16"),
            f"%vt = tile.load %v[%j, %c0] : !tile.view<{kv}> -> tensor<{self.keys}x{self.head}xbf16>",
            f"%a2 = tile.dot %pb, %vt, %a1 : {weights}, tensor<{self.keys}x{self.head}xbf16>, {o} -> {o}",
            f"scf.yield %a2, %l1, %m1 : {o}, {row}, {row}",
        ]
        end = _map(
            "%y",
            {"%acc": o, "%sums": row},
            o.replace("f32", "bf16"),
            "%d = arith.divf %x0, %x1 : f32\n%z = arith.truncf %d : f32 to bf16",
            "bf16",
        )
        return f"""builtin.module {{
func.func @attention(%q: tensor<{q}>, %k: tensor<{kv}>, %v: tensor<{kv}>) -> tensor<{q}> {{
%0 = kernel.launch @attention_0(%q, %k, %v) : ({types}) -> tensor<{q}>
func.return %0 : tensor<{q}>
}}
tile.program @attention_0(%q: !tile.view<{q}>, %k: !tile.view<{kv}>, %v: !tile.view<{kv}>, %o: !tile.view<{q}>) \
{{results = 1 : i64, config = #kernel.config<{self.config}>}} {{
tile.for_tiles (%i) extents [{self.queries}] steps [{self.rows}] {{
%c0 = arith.constant 0 : index
%n = arith.constant {self.length} : index
%step = arith.constant {self.keys} : index
%zero = arith.constant 0.000000e+00 : f32
%least = arith.constant -1.000000e+30 : f32
%a0 = tile.splat %zero : f32 -> {o}
%s0 = tile.splat %zero : f32 -> {s}
%l0 = tile.splat %zero : f32 -> {row}
%m0 = tile.splat %least : f32 -> {row}
%qt = tile.load %q[%i, %c0] : !tile.view<{q}> -> tensor<{self.rows}x{self.head}xbf16>
%acc, %sums, %maxima = scf.for %j = %c0 to %n step %step iter_args(%a = %a0, %l = %l0, %m = %m0) -> ({o}, {row}, {row}) {{
{chr(10).join(step)}
}}
{end}
tile.store %y, %o[%i, %c0] : {o.replace("f32", "bf16")}, !tile.view<{q}>
}}
}}
}}"""

    def arguments(self) -> list[Array]:
        rng = np.random.default_rng(0)
        shapes = [(self.queries, self.head), (self.length, self.head), (self.length, self.head)]
        return [(rng.standard_normal(shape) * 0.3).astype(ml_dtypes.bfloat16) for shape in shapes]

    def expected(self, arguments: list[Array]) -> Array:
        """In float64."""
        q, k, v = (x.astype(np.float64) for x in arguments)
        scores = q @ k.T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        return weights @ v / weights.sum(1, keepdims=True)


def _map(result: str, inputs: dict[str, str], out: str, body: str, element: str = "f32") -> str:
    arguments = ", ".join(f"%x{at}: f32" for at in range(len(inputs)))
    head = f"{result} = tile.map {', '.join(inputs)} : {', '.join(inputs.values())} -> {out}"
    return f"{head} {{\n^bb0({arguments}):\n{body}\ntile.yield %z : {element}\n}}"


def _reduce(result: str, value: str, type: str, out: str, op: str) -> str:
    head = f"{result} = tile.reduce {value} {{axes = array<i64: 1>}} : {type} -> {out}"
    return f"{head} {{\n^bb0(%x: f32, %y: f32):\n%z = arith.{op} %x, %y : f32\ntile.yield %z : f32\n}}"
