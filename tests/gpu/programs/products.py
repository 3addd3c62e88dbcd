"""Matrix products: element types, sizes, majors, batches, and what is fused before and after them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.programs.program import Program, program

RESULT = {"f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32"}
"""The element type of a product where it is not the operands'."""

PRODUCT_TYPES = ("bf16", "f16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "f8e4m3", "f8e5m2")
WHOLE = dict.fromkeys(("i8", "u8", "i16", "i32", "i64"), "whole")


def result_of(element: str) -> str:
    return RESULT.get(element, element)


def drawn(element: str) -> dict[str, str]:
    return {name: WHOLE[element] for name in ("x", "w") if element in WHOLE}


def product(element: str, m: int, n: int, k: int) -> Program:
    text = f"x: {element}[{m}, {k}], w: {element}[{k}, {n}]"
    name = f"matmul-{element}-{m}x{n}x{k}"
    return program(
        name, text, (f"{result_of(element)}[{m}, {n}]", "x @ w"), draws=drawn(element), large=m * n * k > 2e7
    )


SIZES = (
    (1, 1, 1),
    (3, 17, 65),
    (65, 129, 17),
    (129, 200, 65),
    (128, 128, 64),
    (256, 256, 256),
    (200, 1, 129),
    (1, 200, 129),
    (64, 64, 1),
    (130, 66, 520),
)
MORE = ((512, 512, 512), (384, 640, 1024), (257, 511, 1001), (16, 4096, 512), (4096, 16, 512), (64, 64, 8192))
MAJORS = {
    "nn": ("x", "w"),
    "tn": ("transpose(x)", "w"),
    "nt": ("x", "transpose(w)"),
    "tt": ("transpose(x)", "transpose(w)"),
}


def plain() -> Iterator[Program]:
    for t in PRODUCT_TYPES:
        for m, n, k in SIZES:
            yield product(t, m, n, k)
    for t in ("bf16", "f16", "f32", "f8e4m3"):
        for m, n, k in MORE:
            yield product(t, m, n, k)


def majors() -> Iterator[Program]:
    for t in PRODUCT_TYPES:
        for m, n, k in ((65, 130, 97), (128, 256, 192)):
            for name, (a, b) in MAJORS.items():
                if name == "nn" and m == 65:
                    continue
                x = f"{m}, {k}" if a == "x" else f"{k}, {m}"
                w = f"{k}, {n}" if b == "w" else f"{n}, {k}"
                yield program(
                    f"matmul-{t}-{name}-{m}",
                    f"x: {t}[{x}], w: {t}[{w}]",
                    (f"{result_of(t)}[{m}, {n}]", f"{a} @ {b}"),
                    draws=drawn(t),
                )


def vectors() -> Iterator[Program]:
    for t in ("bf16", "f32", "f64", "i32"):
        yield program(f"dot-{t}", f"x: {t}[300], w: {t}[300]", (f"{t}[]", "x @ w"))
        yield program(f"matrix-vector-{t}", f"x: {t}[130, 300], w: {t}[300]", (f"{t}[130]", "x @ w"))
        yield program(f"vector-matrix-{t}", f"x: {t}[300], w: {t}[300, 130]", (f"{t}[130]", "x @ w"))
        yield program(f"vector-batch-{t}", f"x: {t}[300], w: {t}[3, 300, 13]", (f"{t}[3, 13]", "x @ w"))
    yield program("outer", "x: f32[130, 1], w: f32[1, 70]", ("f32[130, 70]", "x @ w"))


def batches() -> Iterator[Program]:
    shapes = {
        "one": ("5, 33, 40", "5, 40, 70", "5, 33, 70"), "two": ("2, 3, 33, 40", "2, 3, 40, 70", "2, 3, 33, 70"), "shared-right": ("5, 33, 40", "40, 70", "5, 33, 70"),
        "shared-left": ("33, 40", "5, 40, 70", "5, 33, 70"), "broadcast-both": ("2, 1, 33, 40", "1, 3, 40, 70", "2, 3, 33, 70"), "broadcast-left": ("2, 1, 33, 40", "2, 3, 40, 70", "2, 3, 33, 70"),
        "ones": ("1, 33, 40", "1, 40, 70", "1, 33, 70"), "large": ("3, 128, 64", "3, 64, 256", "3, 128, 256"), "none": ("0, 33, 40", "0, 40, 70", "0, 33, 70"),
    }  # fmt: skip
    for name, (a, b, r) in shapes.items():
        for t in ("bf16", "f32", "f64", "i8", "f8e4m3"):
            yield program(
                f"batch-{name}-{t}", f"x: {t}[{a}], w: {t}[{b}]", (f"{result_of(t)}[{r}]", "x @ w"), draws=drawn(t)
            )
    for t in ("bf16", "f32"):
        yield program(
            f"batch-inner-{t}",
            f"x: {t}[33, 5, 40], w: {t}[40, 5, 70]",
            (f"{t}[5, 33, 70]", "matmul(x, w, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[0])"),
        )
        yield program(
            f"contract-two-{t}",
            f"x: {t}[33, 5, 40], w: {t}[5, 40, 70]",
            (f"{t}[33, 70]", "matmul(x, w, lhs_batch=[], rhs_batch=[], lhs_contract=[1, 2], rhs_contract=[0, 1])"),
        )
        yield program(
            f"contract-swapped-{t}",
            f"x: {t}[33, 5, 40], w: {t}[40, 70, 5]",
            (f"{t}[33, 70]", "matmul(x, w, lhs_batch=[], rhs_batch=[], lhs_contract=[1, 2], rhs_contract=[2, 0])"),
        )
        yield program(
            f"free-two-{t}",
            f"x: {t}[3, 11, 40], w: {t}[40, 5, 14]",
            (f"{t}[3, 11, 5, 14]", "matmul(x, w, lhs_batch=[], rhs_batch=[], lhs_contract=[2], rhs_contract=[0])"),
        )
        yield program(
            f"queries-keys-{t}",
            f"q: {t}[2, 4, 33, 64], k: {t}[2, 4, 47, 64]",
            (f"{t}[2, 4, 33, 47]", "q @ transpose(k)"),
        )


def empty() -> Iterator[Program]:
    for t in ("bf16", "f32", "i8"):
        for name, (m, n, k) in {"k": (33, 40, 0), "m": (0, 40, 33), "n": (33, 0, 40), "all": (0, 0, 0)}.items():
            yield program(
                f"matmul-empty-{name}-{t}",
                f"x: {t}[{m}, {k}], w: {t}[{k}, {n}]",
                (f"{result_of(t)}[{m}, {n}]", "x @ w"),
            )
    yield program(
        "matmul-empty-epilogue",
        "x: bf16[33, 0], w: bf16[0, 40], b: bf16[40]",
        ("bf16[33, 40]", "x @ w + b"),
        ("bf16[33]", "sum(x @ w + 1, axis=1)"),
    )


def types() -> Iterator[Program]:
    operands = "x: bf16[70, 200], w: bf16[200, 90]"
    yield program("matmul-dtype", operands, ("f32[70, 90]", "matmul(x, w, dtype=f32)"), ("bf16[70, 90]", "x @ w"))
    yield program("matmul-f16-f32", "x: f16[70, 200], w: f16[200, 90]", ("f32[70, 90]", "matmul(x, w, dtype=f32)"))
    yield program(
        "matmul-f8-bf16", "x: f8e4m3[70, 192], w: f8e4m3[192, 90]", ("bf16[70, 90]", "matmul(x, w, dtype=bf16)")
    )
    for m, n, k in ((70, 90, 192), (128, 256, 256)):
        yield program(
            f"matmul-f8-mixed-{m}",
            f"x: f8e4m3[{m}, {k}], w: f8e5m2[{k}, {n}], y: f8e5m2[{m}, {k}], u: f8e4m3[{n}, {k}]",
            (f"f32[{m}, {n}]", "x @ w"),
            (f"f32[{m}, {n}]", "y @ transpose(u)"),
        )
    yield program(
        "matmul-i8-i64",
        "x: i8[70, 200], w: i8[200, 90]",
        ("i64[70, 90]", "cast(x, i64) @ cast(w, i64)"),
        draws={"x": "whole", "w": "whole"},
    )
    for precision in ("tf32", "bf16"):
        yield program(
            f"matmul-{precision}",
            "x: f32[70, 200], w: f32[200, 90]",
            ("bf16[70, 90]", f'cast(matmul(x, w, precision="{precision}"), bf16)'),
            draws={"x": "steps", "w": "steps"},
        )
    yield program(
        "matmul-precision-f32", "x: f32[70, 200], w: f32[200, 90]", ("f32[70, 90]", 'matmul(x, w, precision="f32")')
    )


PROLOGUES = {
    "relu-scale": ("x: {t}[{m}, {k}], s: {t}[{k}], w: {t}[{k}, {n}]", "(relu(x) * s) @ w"),
    "right": ("x: {t}[{m}, {k}], w: {t}[{k}, {n}], s: {t}[{n}]", "x @ (w * s)"),
    "both": ("x: {t}[{m}, {k}], w: {t}[{k}, {n}]", "relu(x) @ tanh(w)"),
    "two-arrays": ("x: {t}[{m}, {k}], y: {t}[{m}, {k}], w: {t}[{k}, {n}]", "(x * sigmoid(y)) @ w"),
    "transposed": ("x: {t}[{k}, {m}], w: {t}[{k}, {n}]", "transpose(relu(x)) @ w"),
    "rows": ("x: {t}[{m}, {k}], s: {t}[{m}, 1], w: {t}[{k}, {n}]", "(x * s) @ w"),
}
FUSED_SIZES = {"odd": (65, 130, 97), "aligned": (128, 256, 192)}


def prologues() -> Iterator[Program]:
    for name, (arguments, call) in PROLOGUES.items():
        for size, (m, n, k) in FUSED_SIZES.items():
            for t in ("bf16", "f32"):
                yield program(
                    f"prologue-{name}-{size}-{t}", arguments.format(t=t, m=m, n=n, k=k), (f"{t}[{m}, {n}]", call)
                )
    for size, (m, n, k) in FUSED_SIZES.items():
        result = (f"bf16[{m}, {n}]", "x @ (cast(w, bf16) * s)")
        yield program(
            f"dequantized-columns-{size}",
            f"x: bf16[{m}, {k}], w: i8[{k}, {n}], s: bf16[{n}]",
            result,
            draws={"w": "whole"},
        )
        result = (f"bf16[{m}, {n}]", "x @ transpose(cast(w, bf16) * s)")
        yield program(
            f"dequantized-rows-{size}",
            f"x: bf16[{m}, {k}], w: i8[{n}, {k}], s: bf16[{n}, 1]",
            result,
            draws={"w": "whole"},
        )
        result = (f"bf16[{m}, {n}]", "x @ cast(w, bf16)")
        yield program(f"dequantized-f8-{size}", f"x: bf16[{m}, {k}], w: f8e4m3[{k}, {n}]", result)
        result = (f"bf16[{m}, {n}]", "cast(x, bf16) @ w")
        yield program(f"rounded-operand-{size}", f"x: f32[{m}, {k}], w: bf16[{k}, {n}]", result)
    yield program(
        "dequantized-groups",
        "x: bf16[65, 192], w: i8[6, 32, 130], s: bf16[6, 1, 130]",
        ("bf16[65, 130]", "x @ reshape(cast(w, bf16) * s, [192, 130])"),
        draws={"w": "whole"},
    )
    yield program(
        "taken-rows",
        "x: bf16[40, 64], i: i32[70], w: bf16[64, 90]",
        ("bf16[70, 90]", "take(x, i) @ w"),
        draws={"i": "indices"},
    )
    yield program(
        "shifted-rows", "x: bf16[70, 64], w: bf16[64, 90]", ("bf16[70, 90]", "pad(x[:-1], [[1, 0], [0, 0]]) @ w")
    )
    yield program("masked-operand", "x: f32[70, 70], w: f32[70, 90]", ("f32[70, 90]", "tril(x) @ w"))
    yield program(
        "joined-operand",
        "x: bf16[70, 30], y: bf16[70, 40], w: bf16[70, 90]",
        ("bf16[70, 90]", "concat([x, y], axis=1) @ w"),
    )


DEQUANTIZED = {
    "i8": ("i8", "bf16", "w: i8[{k}, {n}], s: bf16[{n}]", "x @ (cast(w, bf16) * s)"),
    "i8-nk": ("i8", "bf16", "w: i8[{n}, {k}], s: bf16[{n}]", "x @ (cast(transpose(w), bf16) * s)"),
    "u8": ("u8", "bf16", "w: u8[{k}, {n}], z: bf16[{n}]", "x @ (cast(w, bf16) - z)"),
    "i8-f16": ("i8", "f16", "w: i8[{n}, {k}], s: f16[{n}, 1]", "x @ transpose(cast(w, f16) * s)"),
    "u8-f16": ("u8", "f16", "w: u8[{k}, {n}], s: f16[{n}]", "x @ (cast(w, f16) * s)"),
    "e4m3": ("f8e4m3", "bf16", "w: f8e4m3[{k}, {n}], s: f32[{n}]", "x @ cast(cast(w, f32) * s, bf16)"),
    "e4m3-f16": ("f8e4m3", "f16", "w: f8e4m3[{n}, {k}], s: f16[]", "x @ transpose(cast(w, f16) * s)"),
    "e5m2": ("f8e5m2", "bf16", "w: f8e5m2[{n}, {k}], s: bf16[{n}, 1]", "x @ transpose(cast(w, bf16) * s)"),
    "e5m2-f16": ("f8e5m2", "f16", "w: f8e5m2[{k}, {n}]", "x @ cast(w, f16)"),
    "groups": ("i8", "bf16", "w: i8[{g}, 64, {n}], s: f32[{g}, 1, {n}]", "x @ cast(reshape(cast(w, f32) * s, [{k}, {n}]), bf16)"),
    "groups-nk": ("i8", "bf16", "w: i8[{n}, {g}, 64], s: bf16[{n}, {g}, 1]", "x @ transpose(reshape(cast(w, bf16) * s, [{n}, {k}]))"),
}  # fmt: skip
"""The weights' and the operand's type, arguments, product: right operands, which the transposed product has on the left
in registers."""


def dequantized() -> Iterator[Program]:
    """At few and many rows, with parts of K and several tiles; all bytes are drawn."""
    for name, (stored, t, arguments, call) in DEQUANTIZED.items():
        for m, n, k in ((1, 512, 1024), (48, 272, 320), (200, 1024, 512)):
            sizes = {"m": m, "n": n, "k": k, "g": k // 64}
            yield program(
                f"dequantized-{name}-{m}",
                f"x: {t}[{m}, {k}], {arguments.format(**sizes)}",
                (f"{t}[{m}, {n}]", call.format(**sizes)),
                draws={"w": "whole"} if stored in WHOLE else {},
                large=m * n * k > 2e7,
            )
    for m, n, k in ((128, 256, 192), (512, 512, 512)):
        yield program(
            f"right-two-arrays-{m}",
            f"x: bf16[{m}, {k}], w: bf16[{k}, {n}], s: bf16[{k}, {n}]",
            (f"bf16[{m}, {n}]", "x @ (relu(w) * s)"),
            large=m * n * k > 2e7,
        )
        yield program(
            f"bytes-along-rows-{m}",
            f"x: i8[{k}, {m}], s: bf16[{m}], w: bf16[{k}, {n}]",
            (f"bf16[{m}, {n}]", "transpose(cast(x, bf16) * s) @ w"),
            draws={"x": "whole"},
            large=m * n * k > 2e7,
        )


EPILOGUES = {
    "bias": ("b: {t}[{n}]", "p + b"), "relu": ("", "relu(p)"), "residual": ("r: {t}[{m}, {n}]", "p + r"), "row-scale": ("s: {t}[{m}, 1]", "p * s"),
    "bias-gelu-residual": ("b: {t}[{n}], r: {t}[{m}, {n}]", "gelu(p + b) + r"), "scalar": ("s: {t}[]", "p * s + 1"), "mask": ("c: bool[{m}, {n}]", "where(c, p, 0)"),
}  # fmt: skip
REDUCED = {
    "row-sum": ("{t}[{m}]", "sum(p, axis=1)"), "column-sum": ("{t}[{n}]", "sum(p, axis=0)"), "total": ("f32[]", "sum(p, dtype=f32)"), "row-max": ("{t}[{m}]", "max(p, axis=1)"),
    "column-max": ("{t}[{n}]", "max(tanh(p), axis=0)"), "mean-square": ("f32[]", "mean(p * p, dtype=f32)"), "softmax": ("{t}[{m}, {n}]", "softmax(p)"), "norm": ("{t}[{m}, {n}]", "rms_norm(p + 1)"),
    "argmax": ("i64[{m}]", "argmax(q, axis=1)"),
}  # fmt: skip


def epilogues() -> Iterator[Program]:
    for size, (m, n, k) in FUSED_SIZES.items():
        for t in ("bf16", "f32", "f64", "f16"):
            operands = f"x: {t}[{m}, {k}], w: {t}[{k}, {n}]"
            for name, (more, call) in EPILOGUES.items():
                arguments = ", ".join(filter(None, (operands, more.format(t=t, m=m, n=n))))
                yield program(f"epilogue-{name}-{size}-{t}", arguments, (f"{t}[{m}, {n}]", call), body="p = x @ w")
        for t in ("bf16", "f32"):
            operands = f"x: {t}[{m}, {k}], w: {t}[{k}, {n}]"
            for name, (type, call) in REDUCED.items():
                # The product that argmax reads is exact, so that which element is greatest does not depend on rounding.
                body = "q = floor(matmul(x, w, dtype=f32) * 4)" if name == "argmax" else "p = x @ w"
                # Those of softmax are small because the product is rounded when it is stored between two kernels.
                draws = {"argmax": {"x": "steps", "w": "steps"}, "softmax": {"x": "small"}}.get(name, {})
                yield program(
                    f"epilogue-{name}-{size}-{t}", operands, (type.format(t=t, m=m, n=n), call), body=body, draws=draws
                )
        both = (
            ("bf16[{m}, {n}]", "p"),
            ("f32[{m}]", "sum(p, axis=1, dtype=f32)"),
            ("f32[{n}]", "sum(p, axis=0, dtype=f32)"),
            ("f32[]", "sum(p * p, dtype=f32)"),
        )
        results = [(type.format(m=m, n=n), call) for type, call in both]
        yield program(
            f"epilogue-everything-{size}",
            f"x: bf16[{m}, {k}], w: bf16[{k}, {n}], b: bf16[{n}]",
            *results,
            body="p = tanh(x @ w + b)",
        )
        results = [
            (f"bf16[{m}, {n}]", "relu(p)"),
            (f"f32[{m}, {n}]", "p"),
            (f"bool[{m}, {n}]", "p > 0"),
            (f"i8[{m}, {n}]", "cast(p, i8)"),
        ]
        yield program(
            f"epilogue-types-{size}",
            f"x: bf16[{m}, {k}], w: bf16[{k}, {n}]",
            *results[:1],
            results[2],
            body="p = x @ w",
            draws={"x": "steps", "w": "steps"},
        )
        results[0] = (f"bf16[{m}, {n}]", "cast(relu(p), bf16)")
        yield program(
            f"epilogue-types-f32-{size}",
            f"x: f32[{m}, {k}], w: f32[{k}, {n}]",
            *results,
            body="p = x @ w",
            draws={"x": "steps", "w": "steps"},
        )
        yield program(
            f"requantized-{size}",
            f"x: i8[{m}, {k}], w: i8[{k}, {n}], s: f32[{n}]",
            (f"f32[{m}, {n}]", "cast(x @ w, f32) * s"),
            draws={"x": "signed", "w": "signed"},
        )
        yield program(
            f"f8-scaled-{size}",
            f"x: f8e4m3[{m}, {k}], w: f8e4m3[{k}, {n}], s: f32[]",
            (f"bf16[{m}, {n}]", "cast(x @ w * s, bf16)"),
        )
        yield program(
            f"transposed-result-{size}",
            f"x: bf16[{m}, {k}], w: bf16[{k}, {n}]",
            (f"bf16[{n}, {m}]", "transpose(x @ w)"),
            (f"bf16[{m}, {n}]", "x @ w"),
        )


def several() -> Iterator[Program]:
    for size, (m, n, k) in FUSED_SIZES.items():
        for t in ("bf16", "f32"):
            operands = f"x: {t}[{m}, {k}], w: {t}[{k}, {n}], u: {t}[{k}, {n}]"
            yield program(f"dual-gate-{size}-{t}", operands, (f"{t}[{m}, {n}]", "silu(x @ w) * (x @ u)"))
            for name, left in (("both", "relu(w)"), ("one", "w")):
                yield program(
                    f"dual-gate-prologue-{name}-{size}-{t}",
                    operands,
                    (f"{t}[{m}, {n}]", f"silu(x @ {left}) * (x @ relu(u))"),
                )
            yield program(
                f"dual-two-results-{size}-{t}", operands, (f"{t}[{m}, {n}]", "x @ w"), (f"{t}[{m}, {n}]", "relu(x @ u)")
            )
            yield program(
                f"dual-left-{size}-{t}",
                f"x: {t}[{m}, {k}], y: {t}[{m}, {k}], w: {t}[{k}, {n}]",
                (f"{t}[{m}, {n}]", "x @ w + tanh(y @ w)"),
            )
            yield program(
                f"dual-apart-{size}-{t}",
                f"x: {t}[{m}, {k}], w: {t}[{k}, {n}], y: {t}[{m}, 33], u: {t}[33, {n}]",
                (f"{t}[{m}, {n}]", "x @ w + y @ u"),
            )
            yield program(
                f"chain-{size}-{t}",
                f"x: {t}[{m}, {k}], w: {t}[{k}, {n}], u: {t}[{n}, 40]",
                (f"{t}[{m}, 40]", "relu(x @ w) @ u"),
            )
            yield program(
                f"gram-{size}-{t}",
                f"x: {t}[{m}, {k}]",
                (f"{t}[{m}, {m}]", "x @ transpose(x)"),
                (f"{t}[{k}, {k}]", "transpose(x) @ x"),
            )
    yield program(
        "one-by-one",
        "x: f32[5, 1, 40], w: f32[5, 40, 1]",
        ("f32[5, 1, 1]", "p"),
        ("f32[]", "sum(p + p)"),
        body="p = x @ w",
    )
    yield program(
        "outer-permuted",
        "x: f32[3, 1, 5]",
        ("f32[5, 5, 3, 3]", "p"),
        ("f16[5, 5, 3, 3]", "cast(p, f16)"),
        body="p = permute(matmul(x, x, lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[1]), [3, 1, 0, 2])",
    )
    yield program(
        "split-heads",
        "x: bf16[2, 33, 64], w: bf16[64, 128]",
        ("bf16[2, 4, 33, 32]", "permute(reshape(x @ w, [2, 33, 4, 32]), [0, 2, 1, 3])"),
    )
    yield program(
        "split-heads-aligned",
        "x: bf16[2, 128, 64], w: bf16[64, 256]",
        ("bf16[2, 4, 128, 64]", "permute(reshape(x @ w, [2, 128, 4, 64]), [0, 2, 1, 3])"),
    )
    yield program(
        "merge-heads",
        "x: bf16[2, 4, 33, 32], w: bf16[128, 70]",
        ("bf16[2, 33, 70]", "reshape(permute(x, [0, 2, 1, 3]), [2, 33, 128]) @ w"),
    )
    yield program(
        "merged-result",
        "p: bf16[2, 4, 33, 40], v: bf16[2, 4, 40, 32]",
        ("bf16[2, 33, 128]", "reshape(permute(p @ v, [0, 2, 1, 3]), [2, 33, 128])"),
    )
    yield program(
        "three-projections",
        "x: bf16[70, 64], w: bf16[64, 192]",
        ("bf16[70, 64]", "q + k * v"),
        body="q, k, v = split(x @ w, 3, axis=1)",
    )
    yield program(
        "attention-by-hand",
        "q: f32[2, 3, 33, 16], k: f32[2, 3, 47, 16], v: f32[2, 3, 47, 16]",
        ("f32[2, 3, 33, 16]", "softmax(q @ transpose(k) * 0.25) @ v"),
    )


def programs() -> Iterator[Program]:
    for family in (plain, majors, vectors, batches, empty, types, prologues, dequantized, epilogues, several):
        yield from family()
