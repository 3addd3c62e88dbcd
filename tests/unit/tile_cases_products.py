"""Small kernels that multiply matrices."""

from __future__ import annotations

from tile_cases import Case


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
SMALL = " config<tile = {m = 16, n = 16, k = 16}>"

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
