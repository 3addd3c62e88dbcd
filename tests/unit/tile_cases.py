"""Small kernels of every kind: (name, anchor and config, arguments, body). The body ends in `yield` of its results.

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


def reduction(
    op: str, element: str, shape: str, axes: str, result: str, element_out: str | None = None, config: str = ""
) -> Case:
    out = f"{result}x{element_out or element}" if result else (element_out or element)
    prop = f"axis = {axes}" if op in ("argmax", "argmin") else f"axes = [{axes}]"
    body = f"%r = nd.{op} %a {{{prop}}} : tensor<{shape}x{element}> -> tensor<{out}>"
    name = f"{op}-{element}-{shape}-{axes}{'-looped' if config else ''}".replace(", ", "")
    return Case(name, f"reduce{config}", f"%a: {shape}x{element}", body, f"%r: {out}")


LOOPED = ' config<tile = [4, 8], reduction = "looped">'

REDUCTIONS: list[Case] = [
    *(reduction(op, "f32", "9x37", "1", "9") for op in ("sum", "prod", "max", "min")),
    *(reduction(op, "f32", "9x37", "1", "9", config=LOOPED) for op in ("sum", "prod", "max", "min")),
    *(reduction(op, "f32", "37x9", "0", "9", config=c) for op in ("sum", "max") for c in ("", LOOPED)),
    *(reduction(op, "i1", "9x37", "1", "9", config=c) for op in ("any", "all") for c in ("", LOOPED)),
    *(
        reduction(op, t, "9x37", "1", "9", "i64", c)
        for op in ("argmax", "argmin")
        for t in ("f32", "i32", "ui8")
        for c in ("", LOOPED)
    ),
    *(
        reduction("sum", "bf16", "5x6x7", a, r, "f32", c)
        for a, r in (("0, 2", "6"), ("1", "5x7"), ("0, 1, 2", ""))
        for c in ("", LOOPED)
    ),
    reduction("sum", "i8", "5x64", "1", "5", "i32"),
    reduction("sum", "i32", "1x64", "0", "64"),
    reduction("sum", "f32", "5x1", "1", "5"),
    reduction("sum", "f32", "5x0", "1", "5"),
    reduction("prod", "i32", "5x0", "1", "5"),
    reduction("argmax", "f32", "5x1", "1", "5", "i64"),
    reduction("max", "f32", "3x4x5x6", "1, 3", "3x5"),
    reduction("max", "f32", "3x4x5x6", "1, 3", "3x5", config=LOOPED),
    *(
        Case(
            f"softmax{'-looped' if c else ''}",
            f"reduce{c}",
            "%a: 9x37xf32",
            """%m = nd.max %a {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %mb = nd.broadcast %m {dims = [0]} : tensor<9xf32> -> tensor<9x37xf32>
           %s = nd.sub %a, %mb : tensor<9x37xf32>
           %e = nd.exp %s : tensor<9x37xf32>
           %t = nd.sum %e {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %tb = nd.broadcast %t {dims = [0]} : tensor<9xf32> -> tensor<9x37xf32>
           %r = nd.div %e, %tb : tensor<9x37xf32>""",
            "%r: 9x37xf32",
        )
        for c in ("", LOOPED)
    ),
    *(
        Case(
            f"norm{'-looped' if c else ''}",
            f"reduce{c}",
            "%a: 3x5x37xbf16, %h: 3x5x37xf32, %w: 37xf32",
            """%af = nd.cast %a : tensor<3x5x37xbf16> -> tensor<3x5x37xf32>
           %x = nd.add %af, %h : tensor<3x5x37xf32>
           %sq = nd.mul %x, %x : tensor<3x5x37xf32>
           %t = nd.sum %sq {axes = [2]} : tensor<3x5x37xf32> -> tensor<3x5xf32>
           %n = nd.constant 37.0 : tensor<3x5xf32>
           %mean = nd.div %t, %n : tensor<3x5xf32>
           %q = nd.rsqrt %mean : tensor<3x5xf32>
           %k = nd.reshape %q : tensor<3x5xf32> -> tensor<3x5x1xf32>
           %qb = nd.broadcast %k {dims = [0, 1, 2]} : tensor<3x5x1xf32> -> tensor<3x5x37xf32>
           %wb = nd.broadcast %w {dims = [2]} : tensor<37xf32> -> tensor<3x5x37xf32>
           %y = nd.mul %x, %qb : tensor<3x5x37xf32>
           %z = nd.mul %y, %wb : tensor<3x5x37xf32>
           %r = nd.cast %z : tensor<3x5x37xf32> -> tensor<3x5x37xbf16>""",
            "%r: 3x5x37xbf16, %q: 3x5xf32, %x: 3x5x37xf32",
        )
        for c in ("", LOOPED)
    ),
    Case(
        "variance",
        "reduce",
        "%a: 9x37xf32",
        """%t = nd.sum %a {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %tb = nd.broadcast %t {dims = [0]} : tensor<9xf32> -> tensor<9x37xf32>
           %d = nd.sub %a, %tb : tensor<9x37xf32>
           %dd = nd.mul %d, %d : tensor<9x37xf32>
           %r = nd.sum %dd {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>""",
        "%r: 9xf32",
    ),
    Case(
        "two-sums",
        "reduce",
        "%a: 9x37xf32",
        """%s = nd.sum %a {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %q = nd.mul %a, %a : tensor<9x37xf32>
           %t = nd.sum %q {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %r = nd.add %s, %t : tensor<9xf32>""",
        "%r: 9xf32, %s: 9xf32",
    ),
    Case(
        "rows-and-columns",
        "reduce",
        "%a: 9x37xf32",
        """%s = nd.sum %a {axes = [1]} : tensor<9x37xf32> -> tensor<9xf32>
           %t = nd.sum %a {axes = [0]} : tensor<9x37xf32> -> tensor<37xf32>""",
        "%s: 9xf32, %t: 37xf32",
    ),
    Case(
        "nested",
        "reduce",
        "%a: 4x9x37xf32",
        """%s = nd.sum %a {axes = [2]} : tensor<4x9x37xf32> -> tensor<4x9xf32>
           %e = nd.exp %s : tensor<4x9xf32>
           %r = nd.max %e {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>""",
        "%r: 4xf32",
        0.1,
    ),
    Case(
        "group-norm",
        "reduce",
        "%a: 4x24xf32, %w: 24xf32",
        """%x = nd.reshape %a : tensor<4x24xf32> -> tensor<4x3x8xf32>
           %s = nd.sum %x {axes = [2]} : tensor<4x3x8xf32> -> tensor<4x3xf32>
           %sb = nd.broadcast %s {dims = [0, 1]} : tensor<4x3xf32> -> tensor<4x3x8xf32>
           %d = nd.sub %x, %sb : tensor<4x3x8xf32>
           %y = nd.reshape %d : tensor<4x3x8xf32> -> tensor<4x24xf32>
           %wb = nd.broadcast %w {dims = [1]} : tensor<24xf32> -> tensor<4x24xf32>
           %r = nd.mul %y, %wb : tensor<4x24xf32>""",
        "%r: 4x24xf32",
    ),
    Case(
        "sum-of-permuted",
        "reduce",
        "%a: 6x7x8xf32",
        """%p = nd.permute %a {permutation = [1, 2, 0]} : tensor<6x7x8xf32> -> tensor<7x8x6xf32>
           %s = nd.sum %p {axes = [1]} : tensor<7x8x6xf32> -> tensor<7x6xf32>
           %r = nd.permute %s {permutation = [1, 0]} : tensor<7x6xf32> -> tensor<6x7xf32>""",
        "%r: 6x7xf32",
    ),
    *(
        Case(
            f"{op}-{axis}{'-looped' if c else ''}",
            f"reduce{c}",
            "%a: 9x37xf32",
            f"""%e = nd.exp %a : tensor<9x37xf32>
           %s = nd.{op} %e {{axis = {axis}}} : tensor<9x37xf32>
           %r = nd.neg %s : tensor<9x37xf32>""",
            "%r: 9x37xf32",
            0.3,
        )
        for op in ("cumsum", "cumprod")
        for axis in (0, 1)
        for c in ("", LOOPED)
    ),
]


def product(
    name: str,
    lhs: str,
    rhs: str,
    result: str,
    dims: str,
    element: str = "f32",
    out: str | None = None,
    config: str = "",
) -> Case:
    out = out or element
    body = f"%r = nd.matmul %a, %b {{{dims}}} : (tensor<{lhs}x{element}>, tensor<{rhs}x{element}>) -> tensor<{result}x{out}>"
    return Case(
        f"matmul-{name}-{element}",
        f"matmul{config}",
        f"%a: {lhs}x{element}, %b: {rhs}x{element}",
        body,
        f"%r: {result}x{out}",
    )


def dims(lb: str, rb: str, lk: str, rk: str) -> str:
    return f"lhs_batch = [{lb}], rhs_batch = [{rb}], lhs_contract = [{lk}], rhs_contract = [{rk}]"


NN = dims("", "", "1", "0")
SMALL = " config<tile = [16, 16, 16]>"

PRODUCTS: list[Case] = [
    *(
        product("nn", "20x33", "33x40", "20x40", NN, t, o, SMALL)
        for t, o in (
            ("f32", "f32"),
            ("f64", "f64"),
            ("bf16", "f32"),
            ("bf16", "bf16"),
            ("f16", "f16"),
            ("i8", "i32"),
            ("ui8", "i32"),
            ("i32", "i32"),
            ("i64", "i64"),
            ("f8E4M3FN", "f32"),
        )
    ),
    product("default", "20x33", "33x40", "20x40", NN),
    product("tn", "33x20", "33x40", "20x40", dims("", "", "0", "0"), config=SMALL),
    product("nt", "20x33", "40x33", "20x40", dims("", "", "1", "1"), config=SMALL),
    product("batch", "3x20x8", "3x8x10", "3x20x10", dims("0", "0", "2", "1"), config=SMALL),
    product("heads", "2x17x4x8", "2x19x4x8", "2x4x17x19", dims("0, 2", "0, 2", "3", "3"), config=SMALL),
    product("contract2", "5x6x7", "7x6x4", "5x4", dims("", "", "1, 2", "1, 0"), config=SMALL),
    product("free2", "5x6x7", "7x4x3", "5x6x4x3", dims("", "", "2", "0"), config=SMALL),
    product("vector", "7", "7x5", "5", dims("", "", "0", "0"), config=SMALL),
    product("outer", "7x1", "1x5", "7x5", NN, config=SMALL),
    product("k0", "7x0", "0x5", "7x5", NN, config=SMALL),
    Case(
        "gating",
        "matmul" + SMALL,
        "%x: 20x24xbf16, %w: 24x40xbf16, %v: 24x40xbf16, %c: 40xbf16",
        f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<20x24xbf16>, tensor<24x40xbf16>) -> tensor<20x40xf32>
           %q = nd.matmul %x, %v {{{NN}}} : (tensor<20x24xbf16>, tensor<24x40xbf16>) -> tensor<20x40xf32>
           %cf = nd.cast %c : tensor<40xbf16> -> tensor<40xf32>
           %cb = nd.broadcast %cf {{dims = [1]}} : tensor<40xf32> -> tensor<20x40xf32>
           %h = nd.add %p, %cb : tensor<20x40xf32>
           %s = nd.sigmoid %h : tensor<20x40xf32>
           %g = nd.mul %s, %q : tensor<20x40xf32>
           %r = nd.cast %g : tensor<20x40xf32> -> tensor<20x40xbf16>""",
        "%r: 20x40xbf16",
    ),
    Case(
        "prologue",
        "matmul" + SMALL,
        "%x: 20x24xf32, %w: 24x40xf32",
        f"""
           %e = nd.exp %x : tensor<20x24xf32>
           %p = nd.matmul %e, %w {{{NN}}} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
           %r = nd.relu %p : tensor<20x40xf32>""",
        "%r: 20x40xf32",
    ),
    Case(
        "heads-out",
        "matmul" + SMALL,
        "%x: 6x24xf32, %w: 24x40xf32",
        f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<6x24xf32>, tensor<24x40xf32>) -> tensor<6x40xf32>
           %q = nd.reshape %p : tensor<6x40xf32> -> tensor<2x3x5x8xf32>
           %r = nd.permute %q {{permutation = [0, 2, 1, 3]}} : tensor<2x3x5x8xf32> -> tensor<2x5x3x8xf32>""",
        "%r: 2x5x3x8xf32",
    ),
    Case(
        "residual",
        "matmul" + SMALL,
        "%x: 6x24xf32, %w: 24x40xf32, %h: 2x3x40xf32",
        f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<6x24xf32>, tensor<24x40xf32>) -> tensor<6x40xf32>
           %q = nd.reshape %p : tensor<6x40xf32> -> tensor<2x3x40xf32>
           %r = nd.add %q, %h : tensor<2x3x40xf32>""",
        "%r: 2x3x40xf32, %p: 6x40xf32",
    ),
    Case(
        "slice-out",
        "matmul" + SMALL,
        "%x: 6x24xf32, %w: 24x40xf32",
        f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<6x24xf32>, tensor<24x40xf32>) -> tensor<6x40xf32>
           %q = nd.slice %p {{starts = [0, 8], stops = [6, 24], steps = [1, 1]}} : tensor<6x40xf32> -> tensor<6x16xf32>
           %r = nd.exp %q : tensor<6x16xf32>""",
        "%r: 6x16xf32",
        0.1,
    ),
]
