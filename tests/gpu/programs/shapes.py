"""Permutes, reshapes, joins and cuts, and indexed accesses; on element sizes of 1, 2, 4 and 8 bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod

from gpu.programs.program import ELEMENTS, INTEGERS, Program, program

BY_SIZE = ("i8", "bf16", "f32", "f64")
"""An element type of each size."""


def listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def permuted(shape: Sequence[int], order: Sequence[int], element: str, name: str) -> Program:
    result = f"{element}[{listed([shape[i] for i in order])}]"
    text = f"x: {element}[{listed(shape)}]"
    return program(
        f"permute-{name}-{element}", text, (result, f"permute(x, [{listed(order)}])"), large=prod(shape) > 100_000
    )


PERMUTES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "2d-primes": ((127, 61), (1, 0)), "2d-aligned": ((256, 192), (1, 0)), "2d-tall": ((2003, 3), (1, 0)), "2d-wide": ((2, 4099), (1, 0)), "2d-row": ((1, 77), (1, 0)),
    "2d-large": ((700, 900), (1, 0)), "3d-last-first": ((13, 17, 31), (2, 0, 1)), "3d-batch": ((7, 33, 65), (0, 2, 1)), "3d-rows": ((11, 19, 64), (1, 0, 2)),
    "3d-reverse": ((13, 64, 31), (2, 1, 0)), "nhwc": ((2, 3, 17, 19), (0, 2, 3, 1)), "nchw": ((2, 17, 19, 3), (0, 3, 1, 2)), "heads": ((2, 33, 4, 16), (0, 2, 1, 3)),
    "4d-reverse": ((5, 7, 11, 13), (3, 2, 1, 0)), "5d": ((2, 3, 5, 7, 11), (4, 2, 0, 3, 1)), "5d-pairs": ((4, 8, 2, 8, 4), (0, 3, 2, 1, 4)),
    "6d": ((2, 3, 2, 5, 3, 7), (5, 1, 3, 0, 4, 2)), "6d-small": ((2, 2, 2, 2, 2, 2), (1, 0, 3, 2, 5, 4)), "ones": ((1, 5, 1, 7), (3, 0, 1, 2)),
}  # fmt: skip


def permutes() -> Iterator[Program]:
    for name, (shape, order) in PERMUTES.items():
        for t in BY_SIZE:
            yield permuted(shape, order, t, name)
    for order in permutations(range(3)):
        yield permuted((9, 21, 35), order, "f16", f"3d-{''.join(map(str, order))}")
    yield program("permute-fused", "x: bf16[65, 130], y: bf16[130]", ("bf16[130, 65]", "transpose(relu(x) + y)"))
    yield program(
        "permute-both",
        "x: f32[65, 130], y: f32[130, 65]",
        ("f32[130, 65]", "transpose(x) + y"),
        ("f32[65, 130]", "x * transpose(y)"),
    )
    yield program("permute-cast", "x: f32[33, 47, 5]", ("bf16[5, 33, 47]", "cast(permute(x, [2, 0, 1]), bf16)"))
    yield program(
        "permute-twice", "x: f32[12, 14, 16]", ("f32[16, 14, 12]", "permute(permute(x, [1, 0, 2]), [2, 0, 1]) + 1")
    )
    yield program("permute-bool", "x: bool[33, 47]", ("bool[47, 33]", "transpose(x)"))
    yield program("permute-f8", "x: f8e4m3[33, 64]", ("f8e4m3[64, 33]", "transpose(x)"))


RESHAPES = (
    ((6, 35), (210,)),
    ((210,), (7, 5, 6)),
    ((4, 6, 10), (24, 10)),
    ((4, 6, 10), (8, 30)),
    ((7, 1, 9), (63,)),
    ((12,), (1, 12, 1)),
)


def reshapes() -> Iterator[Program]:
    for i, (a, b) in enumerate(RESHAPES):
        yield program(
            f"reshape-{i}",
            f"x: f32[{listed(a)}]",
            (f"f32[{listed(b)}]", f"reshape(x, [{listed(b)}])"),
            (f"f32[{listed(b)}]", f"exp(reshape(x * 2, [{listed(b)}]))"),
        )
    yield program(
        "reshape-permute",
        "x: bf16[6, 20, 8]",
        ("bf16[20, 48]", "reshape(permute(x, [1, 0, 2]), [20, 48])"),
        ("bf16[8, 120]", "reshape(transpose(reshape(x, [120, 8])), [8, 120])"),
    )
    yield program(
        "reshape-through-permute",
        "x: f32[6, 35]",
        ("f32[14, 15]", "reshape(transpose(x), [14, 15])"),
        ("f32[35, 6]", "reshape(x, [35, 6])"),
    )
    yield program(
        "reshape-reduce",
        "x: f32[24, 35]",
        ("f32[24, 7]", "sum(reshape(x, [24, 7, 5]), axis=2)"),
        ("f32[4, 35]", "max(reshape(x, [4, 6, 35]), axis=1)"),
    )
    yield program(
        "squeeze",
        "x: f32[3, 1, 5, 1]",
        ("f32[3, 5]", "squeeze(x, [1, 3])"),
        ("f32[1, 3, 1, 5, 1]", "expand_dims(x, 0)"),
    )


SLICES = (
    "x[1:-1]",
    "x[::2]",
    "x[3:, 5:40:3]",
    "x[:, 7]",
    "x[4]",
    "x[-1, ::5]",
    "x[..., None, 10:20]",
    "x[5:5]",
    "x[:, -8:]",
    "x[2:3, 2:3]",
)
SLICED = ("21, 50", "12, 50", "20, 12", "23", "50", "10", "23, 1, 10", "0, 50", "23, 8", "1, 1")


def cuts() -> Iterator[Program]:
    for i, (call, shape) in enumerate(zip(SLICES, SLICED, strict=True)):
        for t in ("f32", "i8"):
            yield program(f"slice-{i}-{t}", f"x: {t}[23, 50]", (f"{t}[{shape}]", call))
    yield program(
        "slice-fused",
        "x: f32[23, 50]",
        ("f32[22, 50]", "x[1:] - x[:-1]"),
        ("f32[23, 48]", "(x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3"),
    )
    yield program(
        "split", "x: bf16[23, 60]", ("bf16[23, 20]", "a * sigmoid(b) + c"), body="a, b, c = split(x, 3, axis=1)"
    )
    yield program(
        "split-places",
        "x: f32[23, 60]",
        ("f32[5, 60]", "a"),
        ("f32[11, 60]", "exp(b)"),
        ("f32[7, 60]", "c"),
        body="a, b, c = split(x, [5, 16], axis=0)",
    )
    yield program(
        "rope",
        "x: bf16[9, 33, 64], c: f32[33, 64], s: f32[33, 64]",
        ("bf16[9, 33, 64]", "cast(cast(x, f32) * c + cast(concat([-b, a], axis=2), f32) * s, bf16)"),
        body="a, b = split(x, 2, axis=2)",
    )
    for name, axis in (("0", "0"), ("1", "1"), ("both", "[0, 1]")):
        yield program(
            f"flip-{name}",
            "x: f32[23, 50]",
            ("f32[23, 50]", f"flip(x, {axis})"),
            ("f32[23, 50]", f"x + flip(x, {axis})"),
        )


def joins() -> Iterator[Program]:
    for t in BY_SIZE:
        yield program(
            f"concat-0-{t}", f"x: {t}[3, 20], y: {t}[5, 20], z: {t}[1, 20]", (f"{t}[9, 20]", "concat([x, y, z])")
        )
        yield program(f"concat-1-{t}", f"x: {t}[7, 20], y: {t}[7, 13]", (f"{t}[7, 33]", "concat([x, y], axis=1)"))
        yield program(
            f"pad-{t}",
            f"x: {t}[7, 20]",
            (f"{t}[10, 25]", "pad(x, [[1, 2], [0, 5]])"),
            (f"{t}[7, 21]", "pad(x, [[0, 0], [1, 0]], value=3)"),
        )
    yield program(
        "concat-fused", "x: f32[7, 20], y: f32[7, 13]", ("f32[7, 33]", "relu(concat([exp(x), y * 2], axis=1)) + 1")
    )
    yield program(
        "concat-same", "x: f32[7, 20]", ("f32[14, 20]", "concat([x, x])"), ("f32[7, 40]", "concat([x, -x], axis=1)")
    )
    yield program("concat-empty", "x: f32[7, 20], y: f32[0, 20]", ("f32[7, 20]", "concat([y, x])"))
    yield program("concat-sum", "x: f32[7, 20], y: f32[7, 13]", ("f32[7]", "sum(concat([x, y], axis=1), axis=1)"))
    yield program("pad-scalar", "x: f32[7, 20], v: f32[]", ("f32[9, 20]", "pad(x, [[1, 1], [0, 0]], value=v)"))
    yield program("pad-inf", "x: f32[7, 20]", ("f32[7]", "max(pad(x, [[0, 0], [3, 3]], value=-inf), axis=1)"))
    yield program(
        "pad-interior", "x: f32[2, 3, 8, 8]", ("f32[2, 3, 10, 10]", "pad(x, [[0, 0], [0, 0], [1, 1], [1, 1]])")
    )
    yield program(
        "stack",
        "x: f32[7, 20], y: f32[7, 20]",
        ("f32[2, 7, 20]", "stack([x, y])"),
        ("f32[7, 2, 20]", "stack([x, y], axis=1)"),
        ("f32[7, 20, 2]", "stack([x, y], axis=2)"),
    )
    yield program("tile", "x: f32[3, 5]", ("f32[6, 15]", "tile(x, [2, 3])"), ("f32[3, 5]", "tile(x, [1, 1])"))
    yield program("tile-twice", "x: f32[33]", ("f32[66]", "exp(tile(x, [2]))"), ("f32[66]", "flip(tile(x, [2]), 0)"))
    yield program("tile-rows", "x: bool[33, 2]", ("bool[66, 2]", "flip(tile(x, [2, 1]), [0, 1])"))
    yield program("tile-i8", "x: i8[7]", ("i8[28]", "tile(x, [4])"))
    for k in (-3, 0, 2):
        yield program(
            f"tri-{k}", "x: f32[2, 23, 30]", ("f32[2, 23, 30]", f"tril(x, {k})"), ("f32[2, 23, 30]", f"triu(x, {k})")
        )


def indexed() -> Iterator[Program]:
    draws = {"i": "indices"}
    for t in ("f32", "bf16", "i8", "i64"):
        yield program(f"take-0-{t}", f"x: {t}[40, 33], i: i32[50]", (f"{t}[50, 33]", "take(x, i)"), draws=draws)
        yield program(
            f"take-1-{t}", f"x: {t}[21, 40], i: i64[5, 3]", (f"{t}[21, 5, 3]", "take(x, i, axis=1)"), draws=draws
        )
    for t in INTEGERS:
        yield program(f"take-by-{t}", f"x: f32[40, 8], i: {t}[70]", ("f32[70, 8]", "take(x, i)"), draws=draws)
        yield program(f"one-hot-{t}", f"i: {t}[70]", ("f32[70, 40]", "one_hot(i, 40, f32)"), draws=draws)
    for t in ELEMENTS:
        yield program(f"one-hot-of-{t}", "i: i32[30]", (f"{t}[30, 40]", f"one_hot(i, 40, {t})"), draws=draws)
    yield program("take-scalar", "x: f32[40, 33], i: i32[]", ("f32[33]", "take(x, i)"), draws=draws)
    yield program(
        "take-fused", "x: bf16[40, 64], i: i32[50], b: bf16[64]", ("bf16[50, 64]", "relu(take(x, i) + b)"), draws=draws
    )
    yield program(
        "take-of-computed", "x: f32[40, 64], i: i32[50]", ("f32[50, 64]", "take(exp(x), i * 2 - 30)"), draws=draws
    )
    yield program("take-reduce", "x: f32[40, 64], i: i32[50]", ("f32[50]", "sum(take(x, i), axis=1)"), draws=draws)
    yield program("take-along", "x: f32[40, 20], i: i32[7, 20]", ("f32[7, 20]", "take_along(x, i, 0)"), draws=draws)
    yield program("take-along-last", "x: bf16[9, 40], i: i64[9, 1]", ("bf16[9, 1]", "take_along(x, i, 1)"), draws=draws)
    yield program(
        "take-along-broadcast", "x: f32[9, 40], i: i8[1, 6]", ("f32[9, 6]", "take_along(x, i, 1)"), draws=draws
    )
    yield program(
        "take-argmax", "x: f32[9, 40]", ("f32[9]", "take_along(x, expand_dims(argmax(x, axis=1), 1), 1)[:, 0]")
    )
    yield program(
        "cross-entropy",
        "x: bf16[33, 40], i: i32[33]",
        ("f32[]", "-mean(take_along(log_softmax(cast(x, f32)), i[:, None], 1))"),
        draws=draws,
    )


def empty() -> Iterator[Program]:
    yield program("empty-map", "x: f32[0, 7]", ("f32[0, 7]", "x + 1"))
    yield program("empty-permute", "x: f32[5, 0]", ("f32[0, 5]", "transpose(x)"))
    yield program("empty-take", "x: f32[5, 3], i: i32[0]", ("f32[0, 3]", "take(x, i)"))
    yield program("empty-pad", "x: f32[0, 3]", ("f32[2, 3]", "pad(x, [[1, 1], [0, 0]], value=2)"))
    yield program("empty-softmax", "x: f32[0, 3]", ("f32[0, 3]", "softmax(x)"))


def programs() -> Iterator[Program]:
    for family in (permutes, reshapes, cuts, joins, indexed, empty):
        yield from family()
