"""Small kernels that reduce and scan."""

from __future__ import annotations

from tile_cases import Case


def reduction(
    op: str, element: str, shape: str, axes: str, result: str, element_out: str | None = None, config: str = ""
) -> Case:
    out = f"{result}x{element_out or element}" if result else (element_out or element)
    prop = f"axis = {axes}" if op in ("argmax", "argmin") else f"axes = [{axes}]"
    body = f"%r = nd.{op} %a {{{prop}}} : tensor<{shape}x{element}> -> tensor<{out}>"
    name = f"{op}-{element}-{shape}-{axes}{'-looped' if config else ''}".replace(", ", "")
    return Case(name, f"reduce{config}", f"%a: {shape}x{element}", body, f"%r: {out}")


LOOPED = ' config<tile = {d = 4, r = 8}, reduction = "looped">'

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
            f"reduce{c.replace('r =', 's =')}",
            "%a: 9x37xf32",
            f"""%e = nd.exp %a : tensor<9x37xf32>
           %s = nd.{op} %e {{axis = {axis}}} : tensor<9x37xf32>
           %r = nd.neg %s : tensor<9x37xf32>""",
            "%r: 9x37xf32",
            0.3,
        )
        for op in ("cumsum", "cumprod")
        for axis in (0, 1)
        for c in ("", LOOPED.replace("r =", "s ="))
    ),
]
