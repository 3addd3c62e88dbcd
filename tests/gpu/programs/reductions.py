"""Reductions, scans, softmax and norms: over any axes, of any length, with NaN and ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu.programs.program import FLOATS, INTEGERS, Program, program

SHAPE = (13, 37, 65)
AXES: dict[str, tuple[int, ...]] = {
    "0": (0,), "1": (1,), "2": (2,), "01": (0, 1), "02": (0, 2), "12": (1, 2), "all": (0, 1, 2),
}  # fmt: skip


def listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def left(shape: Sequence[int], axes: Sequence[int]) -> str:
    """The extents that stay when the axes are reduced."""
    return listed([n for i, n in enumerate(shape) if i not in axes])


def over_axes() -> Iterator[Program]:
    for name, axes in AXES.items():
        rest, call = left(SHAPE, axes), f"axis=[{listed(axes)}]"
        functions = ("sum", "max", "min", "mean", "var", "prod")
        results = [(f"f32[{rest}]", f"{f}({'y' if f == 'prod' else 'x'}, {call})") for f in functions]
        for f, result in zip(functions, results, strict=True):
            argument = f"{'y' if f == 'prod' else 'x'}: f32[{listed(SHAPE)}]"
            yield program(f"{f}-{name}", argument, result, draws={"y": "near one"})
        arguments = f"x: f32[{listed(SHAPE)}], y: f32[{listed(SHAPE)}]"
        yield program(f"reduce-together-{name}", arguments, *results, draws={"y": "near one"})
        kept = listed([1 if i in axes else n for i, n in enumerate(SHAPE)])
        yield program(
            f"keepdims-{name}", f"x: f32[{listed(SHAPE)}]", (f"f32[{kept}]", f"sum(x, {call}, keepdims=true)")
        )
        flags = f"x: bool[{listed(SHAPE)}]"
        yield program(
            f"any-all-{name}",
            flags,
            (f"bool[{rest}]", f"any(x, {call})"),
            (f"bool[{rest}]", f"all(x, {call})"),
            (f"i32[{rest}]", f"sum(x, {call})"),
        )


def over_types() -> Iterator[Program]:
    for t in FLOATS:
        for axis in (0, 1):
            n = (65, 129)[1 - axis]
            results = [(f"{t}[{n}]", f"{f}(x, axis={axis})") for f in ("sum", "max", "min", "mean", "var")]
            yield program(f"reduce-{t}-{axis}", f"x: {t}[65, 129]", *results)
    for t in ("f8e4m3", "f8e5m2"):
        yield program(
            f"reduce-{t}",
            f"x: {t}[65, 129]",
            (f"{t}[65]", "max(x, axis=1)"),
            ("f32[65]", "sum(x, axis=1, dtype=f32)"),
            ("f32[129]", "sum(x, axis=0, dtype=f32)"),
        )
    for t in (*INTEGERS, "bool"):
        total = {"i64": "i64"}.get(t, "i32")
        results = [(f"{total}[65]", "sum(x, axis=1)"), (f"{total}[129]", "sum(x, axis=0)"), (f"{total}[]", "sum(x)")]
        if t != "bool":
            results += [
                (f"{t}[65]", "max(x, axis=1)"),
                (f"{t}[129]", "min(x, axis=0)"),
                ("f32[65]", "mean(x, axis=1)"),
                (f"{total}[65]", "prod(x, axis=1)"),
            ]
        yield program(
            f"reduce-{t}",
            f"x: {t}[65, 129]",
            *results,
            draws={} if t == "bool" else {"x": "whole" if t in ("i8", "u8", "i16") else "signed"},
        )
    yield program(
        "reduce-i8-extremes",
        "x: i8[3, 40]",
        ("i8[3]", "max(x, axis=1)"),
        ("i8[3]", "min(x, axis=1)"),
        ("i64[3]", "sum(x, axis=1, dtype=i64)"),
        draws={"x": "special"},
    )
    yield program(
        "reduce-dtype",
        "x: bf16[33, 200]",
        ("f32[33]", "sum(x, axis=1, dtype=f32)"),
        ("f64[33]", "sum(x, axis=1, dtype=f64)"),
        ("f32[200]", "mean(x, axis=0, dtype=f32)"),
    )
    yield program(
        "reduce-correction",
        "x: f32[33, 200]",
        ("f32[33]", "var(x, axis=1, correction=1)"),
        ("f32[33, 1]", "var(x, axis=1, keepdims=true)"),
    )


LENGTHS = {
    "long-rows": (3, 20011), "one-row": (1, 100003), "short-rows": (5001, 3), "tall": (20011, 3), "column": (50021, 1),
    "square": (600, 700), "aligned": (256, 1024), "wide": (2, 4096), "one": (1, 1), "pair": (2, 2), "many-rows": (3001, 65),
}  # fmt: skip


def lengths() -> Iterator[Program]:
    for name, (rows, columns) in LENGTHS.items():
        for t in ("f32", "bf16"):
            results = [
                (f"{t}[{rows}]", "sum(x, axis=1)"),
                (f"{t}[{columns}]", "max(x, axis=0)"),
                ("f32[]", "sum(x, dtype=f32)"),
            ]
            yield program(
                f"length-{name}-{t}", f"x: {t}[{rows}, {columns}]", *results, draws={"x": "positive"}, large=True
            )
    yield program(
        "length-1d",
        "x: f32[100003]",
        ("f32[]", "sum(x)"),
        ("f32[]", "max(x)"),
        ("f32[]", "var(x)"),
        draws={"x": "positive"},
        large=True,
    )
    yield program("reduce-prologue", "x: bf16[70, 300], y: bf16[300]", ("bf16[70]", "sum(exp(x) * y, axis=1)"))
    yield program("reduce-epilogue", "x: f32[70, 300]", ("bf16[70]", "cast(sqrt(sum(x * x, axis=1) / 300) + 1, bf16)"))
    yield program(
        "reduce-then-broadcast", "x: f32[70, 300]", ("f32[70, 300]", "x / (1 + max(abs(x), axis=1, keepdims=true))")
    )
    yield program(
        "reduce-transposed",
        "x: f32[70, 30]",
        ("f32[30]", "sum(transpose(x), axis=1)"),
        ("f32[70]", "sum(transpose(x), axis=0)"),
    )
    yield program(
        "reduce-apart",
        "x: f32[6, 5, 4, 7, 3]",
        ("f32[5, 7]", "sum(x, axis=[0, 2, 4])"),
        ("f32[6, 4, 3]", "max(x, axis=[1, 3])"),
    )
    yield program(
        "reduce-negative-axis", "x: f32[6, 5, 40]", ("f32[6, 5]", "sum(x, axis=-1)"), ("f32[6, 40]", "min(x, axis=-2)")
    )


def uneven_columns() -> Iterator[Program]:
    """Columns whose rows begin anywhere, long enough that rows are put together, and columns far from 0."""
    for t, rows, columns in (("bf16", 4203, 127), ("f32", 4105, 129), ("f16", 131077, 2)):
        results = [(f"{t}[{columns}]", f"{f}(x, axis=0)") for f in ("sum", "max", "mean", "var")]
        yield program(f"uneven-columns-{t}", f"x: {t}[{rows}, {columns}]", *results)
    yield program("var-far-from-0", "x: f32[517, 64]", ("f32[64]", "var(x + 1000.0, axis=0)"), ("f32[]", "var(x)"))


def runs_apart() -> Iterator[Program]:
    """Few results, of runs of memory that lie apart and begin anywhere."""
    for t in ("f16", "f32", "i32"):
        calls = [(f"{t}[3]", f"{f}(x, axis=[0, 2])") for f in ("max", "min")]
        sums = [("f32[3]", f"{f}(cast(x, f32), axis=[0, 2, 3])") for f in ("sum", "mean", "var")]
        yield program(f"runs-apart-{t}", f"x: {t}[40, 3, 5001]", *calls, large=True)
        # The mean is that of deviations from an element: its error is small beside those, and beside a mean that is not 0.
        yield program(f"runs-apart-4-{t}", f"x: {t}[40, 3, 67, 103]", *sums, draws={"x": "positive"}, large=True)


def not_finite() -> Iterator[Program]:
    """NaN and infinities in every reduction: of rows in registers, of long rows, of columns, of everything."""
    for t, rows, columns, large in (("f32", 65, 129, False), ("bf16", 3, 20011, True), ("f16", 4203, 5, True)):
        shape = f"x: {t}[{rows}, {columns}]"
        for f in ("sum", "mean", "var", "max", "min"):
            results = [
                (f"{t}[{rows}]", f"{f}(x, axis=1)"),
                (f"{t}[{columns}]", f"{f}(x, axis=0)"),
                (f"{t}[]", f"{f}(x)"),
            ]
            yield program(f"not-finite-{f}-{t}", shape, *results, draws={"x": "some nan"}, large=large)
        places = [
            (f"i64[{rows}]", "argmin(x, axis=1)"),
            (f"i64[{columns}]", "argmax(x, axis=0)"),
            ("i64[]", "argmax(x)"),
        ]
        yield program(f"not-finite-arg-{t}", shape, *places, draws={"x": "some nan"}, large=large)
        calls = [
            f"{f}(x, axis={axis})" for f in ("softmax", "log_softmax", "layer_norm", "rms_norm") for axis in (0, 1)
        ]
        normed = [(f"{t}[{rows}, {columns}]", call) for call in calls]
        yield program(f"not-finite-norms-{t}", shape, *normed, draws={"x": "some nan"}, large=large)
    flags = [("bool[65]", "any(x > 1, axis=1)"), ("bool[129]", "all(x < 9, axis=0)"), ("f32[129]", "prod(x, axis=0)")]
    sums = [("f32[65, 129]", "cumsum(x, 1)"), ("f32[65, 129]", "cumprod(x, 0)")]
    yield program("not-finite-others", "x: f32[65, 129]", *flags, *sums, draws={"x": "some nan"})


def empty() -> Iterator[Program]:
    yield program(
        "reduce-empty-rows",
        "x: f32[5, 0]",
        ("f32[5]", "sum(x, axis=1)"),
        ("f32[5]", "prod(x, axis=1)"),
        ("f32[5]", "mean(x, axis=1)"),
        ("bool[5]", "any(x > 0, axis=1)"),
        ("bool[5]", "all(x > 0, axis=1)"),
    )
    yield program(
        "reduce-empty-result",
        "x: f32[0, 5]",
        ("f32[0]", "max(x, axis=1)"),
        ("f32[5]", "sum(x, axis=0)"),
        ("f32[]", "sum(x)"),
    )
    yield program("reduce-rank-0", "x: f32[]", ("f32[]", "sum(x)"), ("f32[]", "max(x)"))
    yield program("reduce-no-axes", "x: f32[3, 4]", ("f32[3, 4]", "sum(x, axis=[])"))


def places() -> Iterator[Program]:
    for t in ("f32", "f64", "f16", "bf16", "i32", "i8", "u8", "i64"):
        calls = [(f"i64[{n}]", f"{f}(x, axis={axis})") for axis, n in ((0, 130), (1, 37)) for f in ("argmax", "argmin")]
        yield program(f"arg-{t}", f"x: {t}[37, 130]", *calls, ("i64[]", "argmax(x)"), draws={"x": "ties"})
    yield program(
        "arg-long",
        "x: f32[3, 20011]",
        ("i64[3]", "argmax(x, axis=1)"),
        ("i64[3]", "argmin(x, axis=1)"),
        ("i64[]", "argmax(x)"),
        large=True,
    )
    yield program("arg-middle", "x: bf16[5, 33, 7]", ("i64[5, 7]", "argmax(x, axis=1)"))
    yield program("arg-tall", "x: f32[20011, 3]", ("i64[3]", "argmin(x, axis=0)"), large=True)


def scans() -> Iterator[Program]:
    for t in ("f32", "f64", "bf16", "i32", "i64"):
        for axis in (0, 1, 2):
            yield program(f"cumsum-{t}-{axis}", f"x: {t}[5, 33, 70]", (f"{t}[5, 33, 70]", f"cumsum(x, {axis})"))
    yield program(
        "cumprod",
        "x: f32[9, 200]",
        ("f32[9, 200]", "cumprod(x, 1)"),
        ("f32[9, 200]", "cumprod(x, 0)"),
        draws={"x": "near one"},
    )
    yield program(
        "cumsum-long", "x: f32[2, 5003]", ("f32[2, 5003]", "cumsum(x, 1)"), draws={"x": "positive"}, large=True
    )
    yield program(
        "cumsum-very-long", "x: f32[50021]", ("f32[50021]", "cumsum(x, 0)"), draws={"x": "positive"}, large=True
    )
    yield program("cumsum-one", "x: f32[9, 1]", ("f32[9, 1]", "cumsum(exp(x), 1)"), ("f32[9, 1]", "cumprod(x, 1) - x"))
    yield program("cumsum-fused", "x: f32[9, 200]", ("f32[9, 200]", "exp(-cumsum(relu(x), 1) / 100)"))


def composed() -> Iterator[Program]:
    functions = {"softmax": "softmax", "log-softmax": "log_softmax", "layer-norm": "layer_norm", "rms-norm": "rms_norm"}
    for name, f in functions.items():
        for t in ("f32", "bf16", "f16"):
            yield program(f"{name}-{t}", f"x: {t}[37, 200]", (f"{t}[37, 200]", f"{f}(x)"))
        yield program(f"{name}-f64", "x: f64[37, 200]", ("f64[37, 200]", f"{f}(x)"))
        yield program(f"{name}-columns", "x: f32[37, 200]", ("f32[37, 200]", f"{f}(x, axis=0)"))
        yield program(f"{name}-middle", "x: f32[3, 37, 20]", ("f32[3, 37, 20]", f"{f}(x, axis=1)"))
        yield program(f"{name}-long", "x: bf16[2, 20000]", ("bf16[2, 20000]", f"{f}(x)"), large=True)
        yield program(f"{name}-one", "x: f32[5, 1]", ("f32[5, 1]", f"{f}(x)"))
    yield program("softmax-large", "x: f32[7, 100]", ("f32[7, 100]", "softmax(x * 50)"))
    yield program("softmax-masked", "x: f32[7, 100], m: bool[7, 100]", ("f32[7, 100]", "softmax(where(m, x, -inf))"))
    yield program(
        "layer-norm-affine",
        "x: bf16[50, 256], g: bf16[256], b: bf16[256], r: bf16[50, 256]",
        ("bf16[50, 256]", "layer_norm(x + r) * g + b"),
        ("bf16[50, 256]", "x + r"),
    )
    yield program(
        "norm-l2", "x: f32[50, 256]", ("f32[50, 256]", "x * rsqrt(sum(x * x, axis=1, keepdims=true) + 0.001)")
    )


def programs() -> Iterator[Program]:
    for family in (
        over_axes,
        over_types,
        lengths,
        uneven_columns,
        runs_apart,
        not_finite,
        empty,
        places,
        scans,
        composed,
    ):
        yield from family()
