"""Small kernels that map arrays, for the tests of the tile level; `tile_cases_reductions` and `tile_cases_products`
have others. The body of a case ends in `yield` of its results.

A line `%r = op ... : types` is an nd op. Arguments and results are written as `%x: 4x8xf32`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    anchor: str
    arguments: str
    body: str
    results: str
    """`%a: type, ...`: what the kernel yields."""
    scale: float = 1.0

    def text(self) -> str:
        """A function with the kernel in it."""
        args = [(n.strip(), f"tensor<{t.strip()}>") for n, t in (a.split(":") for a in self.arguments.split(","))]
        results = [(n.strip(), f"tensor<{t.strip()}>") for n, t in (a.split(":") for a in self.results.split(","))]
        types = ", ".join(t for _, t in results)
        bindings = ", ".join(f"{n} = {n}_in : {t}" for n, t in args)
        names = ", ".join(f"%out{i}" for i in range(len(results)))
        signature = ", ".join(f"{n}_in: {t}" for n, t in args)
        return f"""
func.func @f({signature}) -> ({types}) {{
  {names} = kernel.fused @k {self.anchor} ({bindings}) -> {types if len(results) == 1 else f"({types})"} {{
{self.body}
    kernel.yield {", ".join(n for n, _ in results)} : {types}
  }}
  func.return {names} : {types}
}}
"""


def elementwise(name: str, op: str, element: str, count: int = 1, scale: float = 1.0) -> Case:
    args = ", ".join(f"%a{i}: 7x33x{element}" for i in range(count))
    operands = ", ".join(f"%a{i}" for i in range(count))
    body = f"%r = nd.{op} {operands} : tensor<7x33x{element}>"
    return Case(f"{name}-{element}", "map", args, body, f"%r: 7x33x{element}", scale)


UNARY_FLOAT = (
    "neg abs sign relu exp exp2 expm1 sqrt rsqrt reciprocal sin cos tan tanh erf sigmoid silu floor ceil round log log2 log1p"
).split()
BINARY = "add sub mul floordiv mod minimum maximum".split()
BITS = "bitwise_and bitwise_or bitwise_xor shift_left shift_right".split()
COMPARE = "equal not_equal less less_equal greater greater_equal".split()

CASES: list[Case] = [
    *(elementwise(op, op, "f32", scale=3.0) for op in UNARY_FLOAT),
    *(elementwise(op, op, "f64", 2, scale=3.0) for op in [*BINARY, "div", "pow", "atan2"]),
    *(elementwise(op, op, t, 2) for op in BINARY for t in ("f32", "i32", "ui8", "i8")),
    *(elementwise(op, op, t, 2) for op in BITS for t in ("i32", "ui8", "i8")),
    *(elementwise(op, op, t) for op in ("neg", "abs", "sign", "relu") for t in ("i32", "i8")),
    elementwise("pow", "pow", "i32", 2),
    elementwise("add", "add", "bf16", 2),
    elementwise("mul", "mul", "f16", 2),
    elementwise("logical_not", "logical_not", "i1"),
    elementwise("bitwise_not", "bitwise_not", "ui8"),
    *(
        Case(
            f"{op}-{t}",
            "map",
            f"%a: 65x{t}, %b: 65x{t}",
            f"%r = nd.{op} %a, %b : tensor<65x{t}> -> tensor<65xi1>",
            "%r: 65xi1",
        )
        for op in COMPARE
        for t in ("f32", "i32", "ui8")
    ),
    *(
        Case(
            f"cast-{a}-{b}",
            "map",
            f"%a: 130x{a}",
            f"%r = nd.cast %a : tensor<130x{a}> -> tensor<130x{b}>",
            f"%r: 130x{b}",
            100.0,
        )
        for a, b in [
            ("f32", "bf16"),
            ("f32", "f16"),
            ("bf16", "f32"),
            ("f16", "bf16"),
            ("f32", "f8E4M3FN"),
            ("f8E5M2", "f32"),
            ("f8E4M3FN", "f8E5M2"),
            ("f32", "i8"),
            ("f32", "ui8"),
            ("bf16", "i32"),
            ("f32", "i1"),
            ("i32", "f16"),
            ("ui8", "f32"),
            ("i1", "f32"),
            ("i1", "i32"),
            ("i32", "i8"),
            ("ui8", "i32"),
            ("i8", "ui8"),
            ("i32", "i1"),
            ("i64", "i32"),
            ("f64", "bf16"),
            ("i8", "i64"),
            ("f64", "f32"),
            ("i64", "f32"),
        ]
    ),
    Case("bitcast", "map", "%a: 9xf32", "%r = nd.bitcast %a : tensor<9xf32> -> tensor<9xi32>", "%r: 9xi32"),
    Case(
        "where",
        "map",
        "%c: 5x7xi1, %a: 5x7xf32, %b: 5x7xf32",
        "%r = nd.where %c, %a, %b : (tensor<5x7xi1>, tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>",
        "%r: 5x7xf32",
    ),
    Case("scalar", "map", "%a: f32, %b: f32", "%r = nd.add %a, %b : tensor<f32>", "%r: f32"),
    Case("empty", "map", "%a: 0x4xf32", "%r = nd.neg %a : tensor<0x4xf32>", "%r: 0x4xf32"),
    Case("merged", "map", "%a: 4x8x16xf32", "%r = nd.exp %a : tensor<4x8x16xf32>", "%r: 4x8x16xf32"),
    Case(
        "bias",
        "map",
        "%a: 4x9x30xf32, %b: 30xf32",
        """%bb = nd.broadcast %b {dims = [2]} : tensor<30xf32> -> tensor<4x9x30xf32>
           %r = nd.mul %a, %bb : tensor<4x9x30xf32>""",
        "%r: 4x9x30xf32",
    ),
    Case(
        "outer",
        "map",
        "%a: 13xf32, %b: 30xf32",
        """%aa = nd.broadcast %a {dims = [0]} : tensor<13xf32> -> tensor<13x30xf32>
           %bb = nd.broadcast %b {dims = [1]} : tensor<30xf32> -> tensor<13x30xf32>
           %r = nd.mul %aa, %bb : tensor<13x30xf32>""",
        "%r: 13x30xf32",
    ),
    Case(
        "middle",
        "map",
        "%a: 3x5x7x11xf32, %b: 5x7xf32",
        """%bb = nd.broadcast %b {dims = [1, 2]} : tensor<5x7xf32> -> tensor<3x5x7x11xf32>
           %r = nd.add %a, %bb : tensor<3x5x7x11xf32>""",
        "%r: 3x5x7x11xf32",
    ),
    Case(
        "broadcast-one",
        "map",
        "%a: 5x1xf32",
        "%r = nd.broadcast %a {dims = [0, 2]} : tensor<5x1xf32> -> tensor<5x3x4xf32>",
        "%r: 5x3x4xf32",
    ),
    Case(
        "transpose",
        "permute",
        "%a: 70x130xbf16",
        "%r = nd.permute %a {permutation = [1, 0]} : tensor<70x130xbf16> -> tensor<130x70xbf16>",
        "%r: 130x70xbf16",
    ),
    Case(
        "permute-batch",
        "permute",
        "%a: 3x20x4x18xf32",
        "%r = nd.permute %a {permutation = [0, 2, 3, 1]} : tensor<3x20x4x18xf32> -> tensor<3x4x18x20xf32>",
        "%r: 3x4x18x20xf32",
    ),
    Case(
        "permute-exp",
        "permute",
        "%a: 12x20x16xf32",
        """%p = nd.permute %a {permutation = [2, 0, 1]} : tensor<12x20x16xf32> -> tensor<16x12x20xf32>
           %e = nd.exp %p : tensor<16x12x20xf32>
           %r = nd.reshape %e : tensor<16x12x20xf32> -> tensor<16x240xf32>""",
        "%r: 16x240xf32",
    ),
    Case(
        "reshape-inside",
        "map",
        "%a: 6x20xf32, %b: 12x10xf32",
        """%p = nd.reshape %a : tensor<6x20xf32> -> tensor<12x10xf32>
           %s = nd.add %p, %b : tensor<12x10xf32>
           %q = nd.reshape %s : tensor<12x10xf32> -> tensor<5x24xf32>
           %r = nd.exp %q : tensor<5x24xf32>""",
        "%r: 5x24xf32",
    ),
    Case(
        "reshape-permute-reshape",
        "permute",
        "%a: 6x20xf32",
        """%p = nd.reshape %a : tensor<6x20xf32> -> tensor<2x3x4x5xf32>
           %q = nd.permute %p {permutation = [2, 0, 3, 1]} : tensor<2x3x4x5xf32> -> tensor<4x2x5x3xf32>
           %s = nd.reshape %q : tensor<4x2x5x3xf32> -> tensor<8x15xf32>
           %r = nd.exp %s : tensor<8x15xf32>""",
        "%r: 8x15xf32",
    ),
    Case(
        "slice",
        "map",
        "%a: 20x30xf32",
        """%s = nd.slice %a {starts = [2, 1], stops = [18, 30], steps = [3, 2]} : tensor<20x30xf32> -> tensor<6x15xf32>
           %r = nd.exp %s : tensor<6x15xf32>""",
        "%r: 6x15xf32",
    ),
    Case("flip", "map", "%a: 9x30xf32", "%r = nd.flip %a {axes = [1]} : tensor<9x30xf32>", "%r: 9x30xf32"),
    Case(
        "pad",
        "map",
        "%a: 9x30xf32, %v: f32",
        """%e = nd.exp %a : tensor<9x30xf32>
           %p = nd.pad %e, %v {low = [1, 2], high = [0, 3]} : (tensor<9x30xf32>, tensor<f32>) -> tensor<10x35xf32>
           %r = nd.neg %p : tensor<10x35xf32>""",
        "%r: 10x35xf32",
    ),
    Case(
        "pad-reshape",
        "map",
        "%a: 12xf32, %v: f32",
        """%q = nd.reshape %a : tensor<12xf32> -> tensor<3x4xf32>
           %p = nd.pad %q, %v {low = [1, 2], high = [0, 3]} : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x9xf32>
           %r = nd.reshape %p : tensor<4x9xf32> -> tensor<36xf32>""",
        "%r: 36xf32",
    ),
    Case(
        "concat",
        "map",
        "%a: 9x3xf32, %b: 9x30xf32, %c: 9x0xf32, %d: 9x5xf32",
        """%e = nd.exp %b : tensor<9x30xf32>
           %p = nd.concat %a, %c, %e, %d {axis = 1} : (tensor<9x3xf32>, tensor<9x0xf32>, tensor<9x30xf32>, tensor<9x5xf32>) -> tensor<9x38xf32>
           %r = nd.neg %p : tensor<9x38xf32>""",
        "%r: 9x38xf32",
    ),
    Case(
        "take",
        "map",
        "%a: 6x30xf32, %i: 4x3xi32",
        """%e = nd.exp %a : tensor<6x30xf32>
           %t = nd.take %e, %i {axis = 0} : (tensor<6x30xf32>, tensor<4x3xi32>) -> tensor<4x3x30xf32>
           %r = nd.neg %t : tensor<4x3x30xf32>""",
        "%r: 4x3x30xf32",
    ),
    Case(
        "take-last",
        "map",
        "%a: 6x7xf32, %i: 40xui8",
        "%r = nd.take %a, %i {axis = 1} : (tensor<6x7xf32>, tensor<40xui8>) -> tensor<6x40xf32>",
        "%r: 6x40xf32",
    ),
    Case(
        "take_along",
        "map",
        "%a: 6x7xf32, %i: 6x9xi64",
        "%r = nd.take_along %a, %i {axis = 1} : (tensor<6x7xf32>, tensor<6x9xi64>) -> tensor<6x9xf32>",
        "%r: 6x9xf32",
    ),
    Case(
        "iota",
        "map",
        "%a: 6x9xi32",
        """%i = nd.iota {axis = 1} : tensor<6x9xi32>
           %j = nd.iota {axis = 0} : tensor<6x9xi32>
           %c = nd.greater_equal %i, %j : tensor<6x9xi32> -> tensor<6x9xi1>
           %r = nd.where %c, %a, %i : (tensor<6x9xi1>, tensor<6x9xi32>, tensor<6x9xi32>) -> tensor<6x9xi32>""",
        "%r: 6x9xi32",
    ),
    Case("constant", "map", "%a: 3xf32", "%r = nd.constant 2.5 : tensor<4x5xbf16>", "%r: 4x5xbf16"),
    Case(
        "constants",
        "map",
        "%a: 3xi32",
        "%c = nd.constant [1, 5, 7] : tensor<3xi32>\n%r = nd.add %a, %c : tensor<3xi32>",
        "%r: 3xi32",
    ),
    Case(
        "two-results",
        "map",
        "%a: 8x40xf32, %b: 8x40xf32",
        """%r = nd.add %a, %b : tensor<8x40xf32>
           %s = nd.mul %r, %a : tensor<8x40xf32>""",
        "%r: 8x40xf32, %s: 8x40xf32",
    ),
    Case(
        "two-domains",
        "map",
        "%a: 8x40xf32, %b: 17xf32",
        """%r = nd.exp %a : tensor<8x40xf32>
           %s = nd.neg %b : tensor<17xf32>""",
        "%r: 8x40xf32, %s: 17xf32",
    ),
]
