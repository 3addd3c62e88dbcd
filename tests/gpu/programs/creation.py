"""Arrays made from nothing, results that are arguments or constants, and longer programs."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.programs.program import ELEMENTS, FLOATS, INTEGERS, Program, program


def arrays() -> Iterator[Program]:
    yield program("zeros", "x: f32[3]", *((f"{t}[5, 7]", f"zeros([5, 7], {t})") for t in ELEMENTS), ("f32[3]", "x"))
    yield program("ones", "x: f32[3]", *((f"{t}[5, 7]", f"ones([5, 7], {t})") for t in ELEMENTS))
    yield program(
        "full",
        "x: f32[3]",
        *((f"{t}[33]", f"full([33], 3, {t})") for t in (*FLOATS, *INTEGERS)),
        ("f32[2]", "full([2], -inf, f32)"),
        ("f32[2]", "full([2], nan, f32)"),
    )
    for axis in (0, 1):
        yield program(
            f"iota-{axis}",
            "x: f32[3]",
            *((f"{t}[5, 70]", f"iota([5, 70], {t}, axis={axis})") for t in (*FLOATS, *INTEGERS)),
        )
    yield program(
        "iota-fused",
        "x: f32[33, 65]",
        ("f32[33, 65]", "where(iota([33, 65], i32, axis=0) >= iota([33, 65], i32, axis=1), x, 0) * iota([65], f32)"),
    )
    yield program(
        "array",
        "x: f32[2, 3]",
        ("f32[2, 3]", "x * array([[1, 2, 3], [4, 5, 6]], f32)"),
        ("i32[3]", "array([7, 8, 9], i32)"),
    )


def random() -> Iterator[Program]:
    for t in ("f32", "f64", "bf16", "f16"):
        for kind in ("normal", "uniform"):
            yield program(
                f"random-{kind}-{t}",
                f"x: {t}[3]",
                (f"{t}[37, 61]", f"random_{kind}([37, 61], {t}, seed=42)"),
                (f"{t}[7]", f"random_{kind}([7], {t}, seed=123456789012)"),
            )
    yield program(
        "dropout",
        "x: bf16[65, 130]",
        ("bf16[65, 130]", "where(random_uniform([65, 130], f32, seed=1) < 0.9, x / 0.9, 0)"),
    )
    yield program(
        "random-seeds",
        "seed: i64[], x: f32[3]",
        ("f32[37, 61]", "random_normal([37, 61], f32, seed)"),
        ("f64[7]", "random_uniform([7], f64, seed - 123456789012)"),
    )
    yield program("random-sum", "x: f32[3]", ("f32[]", "mean(random_normal([200, 300], f32, seed=3) ** 2)"))


def results() -> Iterator[Program]:
    yield program("identity", "x: f32[33], y: i8[5]", ("f32[33]", "x"), ("i8[5]", "y"), ("f32[33]", "x"))
    yield program("same-twice", "x: f32[33]", ("f32[33]", "exp(x)"), ("f32[33]", "exp(x)"))
    yield program("reshaped-argument", "x: f32[33, 2]", ("f32[66]", "reshape(x, [66])"))
    yield program(
        "scalars",
        "x: f32[], y: f64[], i: i32[]",
        ("f32[]", "x * 2"),
        ("f64[]", "sqrt(abs(y))"),
        ("i32[]", "i // 3"),
        ("bool[]", "x > 0"),
    )
    yield program("rank-0-broadcast", "x: f32[], y: f32[4, 5]", ("f32[4, 5]", "x * y"), ("f32[3]", "broadcast(x, [3])"))


def longer() -> Iterator[Program]:
    yield program(
        "gated-unit", "r: bf16[65, 96], u: bf16[96, 96], z: bf16[65, 96], b: bf16[96], t: bf16[65, 96]",
        ("f32[]", "loss"), ("bf16[65, 96]", "out"), ("f32[96]", "sum(cast(d, f32), axis=0)"),
        body="g = sigmoid(z + b)\nc = tanh(relu(r) @ u + b)\nout = (1 - g) * r + g * c\nd = out - t\nloss = sum(cast(d, f32) ** 2) / (65 * 96)",
    )  # fmt: skip
    yield program(
        "block", "x: bf16[33, 64], g: bf16[64], w: bf16[64, 192], o: bf16[64, 64], u: bf16[64, 256], v: bf16[256, 64]", ("bf16[33, 64]", "h + gelu(rms_norm(h) @ u) @ v"),
        body="""n = rms_norm(x) * g
            q, k, v0 = split(reshape(n @ w, [33, 12, 16]), 3, axis=1)
            s = matmul(permute(q, [1, 0, 2]), permute(k, [1, 2, 0]), dtype=f32) * 0.25
            m = iota([33, 33], i32, axis=0) >= iota([33, 33], i32, axis=1)
            a = cast(softmax(where(m, s, -inf)), bf16) @ permute(v0, [1, 0, 2])
            h = x + reshape(permute(a, [1, 0, 2]), [33, 64]) @ o""",
    )  # fmt: skip
    yield program(
        "adam", "p: f32[1003], g: bf16[1003], m: f32[1003], v: f32[1003]", ("f32[1003]", "p - 0.001 * m1 / (sqrt(v1) + 1e-8)"), ("f32[1003]", "m1"), ("f32[1003]", "v1"),
        body="h = cast(g, f32)\nm1 = 0.9 * m + 0.1 * h\nv1 = 0.999 * v + 0.001 * h * h", draws={"v": "positive"},
    )  # fmt: skip
    yield program("batch-norm", "x: f32[4, 5, 9, 11], g: f32[5], b: f32[5]", ("f32[4, 5, 9, 11]", "(x - m) * rsqrt(v + 1e-5) * g[None, :, None, None] + b[None, :, None, None]"),
        body="m = mean(x, axis=[0, 2, 3], keepdims=true)\nv = var(x, axis=[0, 2, 3], keepdims=true)")  # fmt: skip


def programs() -> Iterator[Program]:
    for family in (arrays, random, results, longer):
        yield from family()
