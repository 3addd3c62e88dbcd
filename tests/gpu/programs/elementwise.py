"""Elementwise functions and operators, on every element type and at the values where they change."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.programs.program import ELEMENTS, F8, FLOATS, INTEGERS, SIGNED, Program, program

from irc.dialects import nd
from irc.dialects.nd.table import ROWS

N = 203
"""Elements: more than the special values, and no multiple of a vector."""

UNARY = [
    row.name
    for op, row in ROWS.items()
    if row.is_function and row.carries_floats and len(row.parameters) == 1 and op not in (nd.GeluOp, nd.LeakyReluOp)
]
BOUNDED = {"tan": "inside one"}
"""Not drawn at the special values: near its poles tan is not determined by rounded operands."""

UNARY_CALLS = {
    **{name: f"{name}({{x}})" for name in UNARY},
    "minus": "-{x}",
    "gelu": "gelu({x})",
    "gelu-tanh": 'gelu({x}, approximate="tanh")',
    "leaky_relu": "leaky_relu({x}, 0.125)",
    "clamp": "clamp({x}, -1.5, 2.5)",
    "power-2": "{x} ** 2",
    "power-3": "{x} ** 3",
    "power-half": "{x} ** 0.5",
    "power-minus-1": "{x} ** -1",
    "power-0": "{x} ** 0",
    "2-power": "2 ** {x}",
    "over-3": "{x} / 3",
    "3-over": "3 / {x}",
    "floor-3": "{x} // 3",
    "mod-3": "{x} % 3",
}

BINARY_CALLS = {
    "add": "{x} + {y}",
    "sub": "{x} - {y}",
    "mul": "{x} * {y}",
    "div": "{x} / {y}",
    "minimum": "minimum({x}, {y})",
    "maximum": "maximum({x}, {y})",
    "pow": "pow({x}, {y})",
    "atan2": "atan2({x}, {y})",
    "clamp-arrays": "clamp({x}, {y}, {y} + 1)",
}

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

INTEGER_UNARY = {
    "abs": "abs({x})", "neg": "-{x}", "sign": "sign({x})", "relu": "relu({x})", "not": "~{x}", "square": "{x} ** 2", "cube": "{x} ** 3",
    "power-5": "{x} ** 5", "power-0": "{x} ** 0", "half": "{x} // 2", "mod-7": "{x} % 7", "left": "{x} << 3", "right": "{x} >> 3", "clamp": "clamp({x}, 3, 50)",
}  # fmt: skip
INTEGER_BINARY = {
    "add": "{x} + {y}", "sub": "{x} - {y}", "mul": "{x} * {y}", "floordiv": "{x} // {y}", "mod": "{x} % {y}",
    "minimum": "minimum({x}, {y})", "maximum": "maximum({x}, {y})", "and": "{x} & {y}", "or": "{x} | {y}", "xor": "{x} ^ {y}",
}  # fmt: skip

Calls = dict[str, str]


def typed(names: tuple[str, ...], elements: tuple[str, ...], n: int = N) -> str:
    """Arguments of every element type: `x_f64: f64[203], y_f64: ...`."""
    return ", ".join(f"{name}_{t}: {t}[{n}]" for t in elements for name in names)


def drawn(names: tuple[str, ...], elements: tuple[str, ...], how: str) -> dict[str, str]:
    return {f"{name}_{t}": how for t in elements for name in names}


def over_types(name: str, call: str, elements: tuple[str, ...], draw: str, result: str | None = None) -> Program:
    """A call of x and y on each element type."""
    names = ("x", "y") if "{y}" in call else ("x",)
    results = [(f"{result or t}[{N}]", call.format(x=f"x_{t}", y=f"y_{t}")) for t in elements]
    return program(name, typed(names, elements), *results, draws=drawn(names, elements, draw), pointwise=True)


def float_functions() -> Iterator[Program]:
    for name, call in UNARY_CALLS.items():
        draw = BOUNDED.get(name, "special")
        yield over_types(f"float-{name}", call, FLOATS, draw)
    for name, call in BINARY_CALLS.items():
        yield over_types(f"float-{name}", call, FLOATS, "special")
    for name in ("isnan", "isinf"):
        yield over_types(f"float-{name}", f"{name}({{x}})", (*FLOATS, *F8), "special", "bool")
    for name, call in {"floordiv": "{x} // {y}", "mod": "{x} % {y}"}.items():
        elements = ("f64", "f32")
        draws = {**drawn(("x",), elements, "wide"), **drawn(("y",), elements, "positive")}
        results = [(f"{t}[{N}]", call.format(x=f"x_{t}", y=f"y_{t}")) for t in elements]
        yield program(f"float-{name}", typed(("x", "y"), elements), *results, draws=draws)


def f8_functions() -> Iterator[Program]:
    calls = {
        "relu": "relu({x})",
        "neg": "-{x}",
        "abs": "abs({x})",
        "exp": "exp({x})",
        "add": "{x} + {y}",
        "mul": "{x} * {y}",
        "maximum": "maximum({x}, {y})",
    }
    for name, call in calls.items():
        yield over_types(f"f8-{name}", call, F8, "special")


def integer_functions() -> Iterator[Program]:
    signed_only = ("neg", "abs", "sign")
    for name, call in INTEGER_UNARY.items():
        yield over_types(f"integer-{name}", call, SIGNED if name in signed_only else INTEGERS, "special")
    for name, call in INTEGER_BINARY.items():
        yield over_types(f"integer-{name}", call, INTEGERS, "special")
        if name in ("mul", "floordiv", "mod"):
            yield over_types(f"integer-{name}-any", call, INTEGERS, "whole")
    for name, call in {"left": "{x} << ({y} & 127)", "right": "{x} >> ({y} & 127)"}.items():
        yield over_types(f"integer-shift-{name}", call, INTEGERS, "special")


def comparisons() -> Iterator[Program]:
    for elements, kind in (((*FLOATS, *F8), "float"), (INTEGERS, "integer")):
        for draw in ("special", "ties"):
            results = [(f"bool[{N}]", f"x_{t} {c} y_{t}") for t in elements for c in COMPARISONS]
            name = f"{kind}-compare-{draw}"
            yield program(name, typed(("x", "y"), elements), *results, draws=drawn(("x", "y"), elements, draw))


def bools() -> Iterator[Program]:
    calls = ("a & b", "a | b", "a ^ b", "~a", "a == b", "a != b", "logical_not(a)", "where(a, b, c)")
    yield program("bool", f"a: bool[{N}], b: bool[{N}], c: bool[{N}]", *((f"bool[{N}]", c) for c in calls))
    elements = ELEMENTS
    results = [(f"{t}[{N}]", f"where(c, x_{t}, y_{t})") for t in elements]
    yield program(
        "where",
        f"c: bool[{N}], {typed(('x', 'y'), elements)}",
        *results,
        draws={**drawn(("x", "y"), elements, "special"), **drawn(("x", "y"), ("f8e5m2",), "wide")},
    )
    yield program("where-literal", f"x: f32[{N}]", (f"f32[{N}]", "where(x > 0, x, 0) + where(x < 1, 2, x)"))


CAST_TARGETS = ELEMENTS


def casts() -> Iterator[Program]:
    for source in ELEMENTS:
        for draw in ("special", "wide" if source in (*FLOATS, *F8) else "whole"):
            if source == "bool" and draw == "whole":
                continue
            results = [(f"{target}[{N}]", f"cast(x, {target})") for target in CAST_TARGETS if target != source]
            yield program(f"cast-{source}-{draw}", f"x: {source}[{N}]", *results, draws={"x": draw}, pointwise=True)


BITCASTS = (
    ("f64", "i64"),
    ("f32", "i32"),
    ("f16", "i16"),
    ("bf16", "i16"),
    ("f8e4m3", "u8"),
    ("f8e5m2", "i8"),
    ("i8", "u8"),
)


def bitcasts() -> Iterator[Program]:
    for a, b in BITCASTS:
        floats = a in (*FLOATS, *F8)
        results = [(f"{b}[{N}]", f"bitcast(x, {b})"), (f"{a}[{N}]", f"bitcast(y, {a})")]
        # Of f8e5m2 no infinities: the reference cannot tell them from values that have to saturate.
        draws = {"x": "wide" if floats else "whole", "y": "ties" if a == "f8e5m2" else "whole"}
        yield program(f"bitcast-{a}-{b}", f"x: {a}[{N}], y: {b}[{N}]", *results, draws=draws)


def broadcasts() -> Iterator[Program]:
    pairs = {
        "row": ("37, 65", "65", "37, 65"), "column": ("37, 65", "37, 1", "37, 65"), "outer": ("37, 1", "1, 65", "37, 65"),
        "scalar": ("37, 65", "", "37, 65"), "middle": ("5, 1, 33", "7, 1", "5, 7, 33"), "ranks": ("4, 1, 3, 1, 8", "6, 1, 2, 1", "4, 6, 3, 2, 8"),
        "batch": ("1, 64, 32", "16, 1, 32", "16, 64, 32"), "aligned": ("64, 256", "256", "64, 256"), "tall": ("3001, 2", "3001, 1", "3001, 2"),
    }  # fmt: skip
    for name, (a, b, r) in pairs.items():
        for t in ("f32", "bf16", "i8"):
            yield program(f"broadcast-{name}-{t}", f"x: {t}[{a}], y: {t}[{b}]", (f"{t}[{r}]", "x * y + x"))
    yield program("broadcast-dims", "x: f32[5, 7]", ("f32[5, 3, 7]", "broadcast(x, [5, 3, 7], dims=[0, 2])"))
    yield program("broadcast-new-axes", "x: f32[5, 7]", ("f32[2, 5, 7, 7]", "broadcast(x[:, None, :], [2, 5, 7, 7])"))


def sizes() -> Iterator[Program]:
    for t in ("f64", "f32", "bf16", "u8"):
        for n in (1, 2, 15, 16, 17, 255, 1024, 4097, 100003):
            yield program(f"map-{t}-{n}", f"x: {t}[{n}], y: {t}[{n}]", (f"{t}[{n}]", "x * 2 + y"), large=n > 5000)
    yield program("map-rank-0", "x: f32[], y: f32[]", ("f32[]", "x * y + 1"), ("f32[]", "exp(x)"))
    yield program("map-rank-6", "x: f32[2, 3, 1, 5, 2, 7]", ("f32[2, 3, 1, 5, 2, 7]", "relu(x) + 1"))
    yield program(
        "map-chain", "x: bf16[33, 70], y: bf16[33, 70]", ("bf16[33, 70]", "tanh(x * y + sigmoid(x)) * exp(-abs(y))")
    )
    yield program(
        "map-several",
        "x: f32[100], y: f32[100]",
        ("f32[100]", "x + y"),
        ("bf16[100]", "cast(x * y, bf16)"),
        ("bool[100]", "x < y"),
        ("i32[100]", "cast(x * 10, i32)"),
    )
    yield program("map-shapes", "x: f32[100], y: f32[7, 9]", ("f32[100]", "exp(x)"), ("f32[7, 9]", "y * 2"))


def programs() -> Iterator[Program]:
    for family in (
        float_functions,
        f8_functions,
        integer_functions,
        comparisons,
        bools,
        casts,
        bitcasts,
        broadcasts,
        sizes,
    ):
        yield from family()
