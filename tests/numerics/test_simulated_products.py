"""Products on tensor cores, as irc makes them, on the simulator: right however late copies land, without conflicts in
the epilogue's staging, and wrong as soon as one op that synchronizes is missing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from drawing import long
from numerics.lowered import Lowered, lowered
from xdsl.dialects.builtin import ModuleOp

import irc
from irc.dialects import cuda
from irc.interpreters.sim import SimulationError

EXAMPLES = Path(__file__).parents[2] / "examples"

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])


def example(name: str, tile: tuple[int, int, int], **dims: int) -> Lowered:
    return lowered((EXAMPLES / f"{name}.irc").read_text(), tile, dims=tuple(dims.items()))


@cache
def gating() -> Lowered:
    return example("gating", (64, 64, 64), M=64, K=320, N=64)


@cache
def gated_unit_step() -> Lowered:
    return example("gated_unit_step", (64, 64, 64), B=64, H=192)


MAJORS = {"nn": ("x", "w"), "tn": ("transpose(x)", "w"), "nt": ("x", "transpose(w)"), "tt": ("transpose(x)", "transpose(w)")}  # fmt: skip


def product_text(element: str, m: int, n: int, k: int, majors: str = "nn", result: str | None = None) -> str:
    a, b = MAJORS[majors]
    x = f"{m}, {k}" if a == "x" else f"{k}, {m}"
    w = f"{k}, {n}" if b == "w" else f"{n}, {k}"
    result = element if result is None else result
    return f"func f(x: {element}[{x}], w: {element}[{w}]) -> {result}[{m}, {n}] {{\n    return {a} @ {b}\n}}\n"


@long(2)
@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 192), (100, 72, 136)], ids=["whole", "ragged"])
def test_products_of_warp_groups(majors: str, m: int, n: int, k: int, lazy: bool) -> None:
    if (m, majors[0]) == (100, "t"):
        m = 104  # Rows that TMA can load.
    program = lowered(product_text("bf16", m, n, k, majors), (64, 64, 64))
    program.check(lazy=lazy)
    (counts,) = program.counts()
    tiles, steps = -(-m // 64) * -(-n // 64), -(-k // 64)
    assert counts.executions("cuda.wgmma") == tiles * steps * 4 * 4  # four depths of 16, four warps
    assert counts.executions("cuda.tma_load") == tiles * steps * 2
    assert counts.conflicts == 0


@long(2)
@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 256, 64), (128, 256, 64), (64, 32, 32), (256, 64, 128)])
def test_tiles_of_warp_groups(tile: tuple[int, int, int]) -> None:
    program = lowered(product_text("f16", 256, 256, 256), tile)
    program.check()
    (counts,) = program.counts()
    assert counts.executions("cuda.wgmma")
    assert counts.conflicts == 0


UNEQUAL = [(64, 80, 64), (192, 80, 64), (128, 112, 32), (128, 144, 64), (64, 176, 64), (192, 128, 64)]
"""Tiles whose columns are several panels of the widest swizzle that divides them, or whose rows are three warp groups."""


@long(4)
@pytest.mark.parametrize("tile", UNEQUAL, ids=str)
@pytest.mark.parametrize("majors", ["nn", "tt"])
def test_tiles_of_warp_groups_that_are_no_powers_of_two(tile: tuple[int, int, int], majors: str) -> None:
    program = lowered(product_text("bf16", 2 * tile[0] - 8, 2 * tile[1] - 8, 136, majors), tile)
    program.check()
    assert program.counts()[0].executions("cuda.wgmma")


@long(12)
@pytest.mark.parametrize("tile", [*UNEQUAL, (80, 72, 32), (48, 96, 32)], ids=str)
@pytest.mark.parametrize(("instruction", "stages"), [("mma", 1), ("mma", 3), ("fma", 1)])
def test_tiles_of_warps_that_are_no_powers_of_two(tile: tuple[int, int, int], instruction: str, stages: int) -> None:
    element = "bf16" if instruction == "mma" else "f32"
    text = product_text(element, 2 * tile[0] - 8, 2 * tile[1] - 8, 72)
    program = lowered(text, tile, instruction=instruction, stages=stages)
    program.check()
    assert (program.ops("cuda.mma") > 0) == (instruction == "mma")


def test_subtiles_of_warps_that_lie_side_by_side() -> None:
    """One warp has 80 rows: all four lie along the columns, of subtiles too."""
    lowered(product_text("f64", 152, 184, 72), (80, 96, 16), instruction="mma").check()


@pytest.mark.parametrize("element", ["i8", "f8e4m3"])
def test_three_warp_groups_beside_a_producer_that_turns_operands(element: str) -> None:
    text = product_text(element, 192, 184, 72, "nn", {"i8": "i32"}.get(element, "f32"))
    lowered(text, (192, 96, 64)).check()


@pytest.mark.parametrize(("element", "result"), [("bf16", "bf16"), ("f8e4m3", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("majors", ["nn", "tt"])
def test_products_of_aligned_copies(element: str, result: str, majors: str) -> None:
    """Rows that begin anywhere are copied to aligned ones, and the copies read by TMA, but for what has to be turned."""
    program = lowered(product_text(element, 101, 75, 133, majors, result), (64, 64, 64), always=True)
    program.check()
    *copies, product = program.counts()
    assert [c.name for c in copies] == ["f_0_x_aligned", "f_0_w_aligned"]
    steps = 2 * 2 * 3
    assert product.executions("cuda.wgmma") and product.executions("cuda.tma_load") == steps * (
        2 if element == "bf16" else 1
    )


PARTS = {
    "merged": "func f(x: bf16[5, 13, 67], w: bf16[67, 70]) -> bf16[5, 13, 70] {\n    return x @ w\n}\n",
    "batches": "func f(x: bf16[3, 65, 67], w: bf16[3, 67, 70]) -> bf16[3, 65, 70] {\n    return x @ w\n}\n",
    "two": "func f(x: bf16[65, 67], w: bf16[67, 70], v: bf16[67, 70]) -> bf16[65, 70] {\n    return (x @ w) * (x @ v)\n}\n",
}


@pytest.mark.parametrize("name", PARTS)
def test_aligned_copies_of_operands_with_several_dimensions(name: str) -> None:
    program = lowered(PARTS[name], (64, 64, 64), always=True)
    program.check()
    assert program.counts()[-1].executions("cuda.tma_load")


LONGER = {
    "scaled": "    d = x * y\n",
    "one hot": """
    hot = where(reshape(c, [66, 1]) == iota([67], i32), cast(-1, f32), cast(0, f32))
    d = x + reshape(cast(hot * reshape(s, [66, 1]), bf16), [2, 33, 67])
""",
}


@pytest.mark.parametrize("name", LONGER)
def test_rows_that_their_kernel_makes_longer(name: str) -> None:
    """What a map computes for two products, one of them of a view, it stores as TMA reads it."""
    arguments = "x: bf16[2, 33, 67], y: bf16[67], c: i32[66], s: f32[66], h: bf16[66, 72], w: bf16[67, 72]"
    end = "    return transpose(reshape(d, [66, 67])) @ h, d @ w\n}\n"
    text = f"func f({arguments}) -> (bf16[67, 72], bf16[2, 33, 72]) {{\n{LONGER[name]}{end}"
    program = lowered(text, (64, 64, 64), always=True)
    program.check()
    made, *products = program.counts()
    assert [c.name for c in (made, *products)] == ["f_0", "f_1", "f_2"]
    assert all(c.executions("cuda.tma_load") for c in products)


@long(2)
@pytest.mark.parametrize("tile", [(64, 64, 32), (128, 96, 32), (64, 160, 32)], ids=str)
@pytest.mark.parametrize(("element", "result"), [("f8e4m3", "f32"), ("i8", "i32"), ("f32", "f32")])
def test_results_of_four_bytes(element: str, result: str, tile: tuple[int, int, int]) -> None:
    """Odd rows are staged half a row of the swizzle apart from even ones."""
    program = lowered(product_text(element, 128, 160, 128, "nt", result), tile)
    program.check()
    assert program.counts()[0].conflicts == 0


@both_times
def test_gating(lazy: bool) -> None:
    gating().check(lazy=lazy)
    (counts,) = gating().counts()
    assert counts.executions("cuda.wgmma") == 5 * 4 * 4
    assert counts.executions("cuda.tma_load") == 5 * 3
    assert counts.conflicts == 0


def test_products_that_are_narrower_than_a_swizzle() -> None:
    """Two products of 32 columns side by side: panels of 64 bytes."""
    program = example("gating", (64, 32, 64), M=64, K=128, N=64)
    program.check()
    (counts,) = program.counts()
    assert counts.conflicts == 0


@both_times
def test_gated_unit_step(lazy: bool) -> None:
    """Its left operand is computed by the warps that multiply, in registers, two elements at a time."""
    gated_unit_step().check(lazy=lazy)
    counts = gated_unit_step().counts()
    assert counts[0].executions("cuda.wgmma_registers") == 3 * 3 * 4 * 4
    assert counts[0].executions("cuda.ldmatrix") == 2 * 3 * 3 * 4 * 4
    assert counts[0].executions("cuda.packed")


STREAMED = {
    "packed": ("x: bf16[M, K], s: bf16[M, K], w: bf16[K, N]", "(relu(x) * s) @ w"),
    "along-m": ("x: bf16[K, M], s: bf16[K, M], w: bf16[N, K]", "transpose(x - s) @ transpose(w)"),
    "vectors": (
        "x: bf16[M, K], r: bf16[M], v: bf16[K], w: bf16[K, N]",
        "(x * v + expand_dims(r, 1)) @ w + expand_dims(r, 1)",
    ),
    "dequantized": (
        "x: i8[M, K], r: f32[M], s: bf16[M, K], w: bf16[K, N]",
        "(cast(cast(x, f32) * expand_dims(r, 1), bf16) + s) @ w",
    ),
    "f32": ("x: f32[M, K], w: f32[K, N]", 'cast(matmul(x, w, precision="bf16"), bf16)'),
    "f16": ("x: f16[M, K], w: f16[K, N]", "cast(maximum(x, 0.25) @ w, bf16)"),
    "both": ("x: bf16[M, K], w: bf16[K, N]", "relu(x) @ relu(w)"),
}
"""Left operands that are computed from arrays in shared memory, and vectors. Pairs of elements that are not of 16 bits
meet in banks, and so do writes of a right operand."""


def streamed(name: str, m: int = 64, n: int = 64, k: int = 160, depth: int = 32) -> Lowered:
    arguments, value = STREAMED[name]
    text = f"dim M = {m}, N = {n}, K = {k}\nfunc f({arguments}) -> bf16[M, N] {{\n    return {value}\n}}\n"
    return lowered(text, (64, 64, depth))


@long(2)
@both_times
@pytest.mark.parametrize("name", STREAMED)
def test_left_operands_in_registers(name: str, lazy: bool) -> None:
    program = streamed(name)
    program.check(lazy=lazy)
    (counts,) = program.counts()
    assert counts.executions("cuda.wgmma_registers") == 5 * 2 * 4
    assert counts.conflicts == 0 or name in ("dequantized", "f32", "both")


@long(2)
@pytest.mark.parametrize(("m", "n", "k", "depth"), [(96, 72, 136, 64), (128, 128, 128, 16), (72, 64, 48, 64)])
def test_ragged_left_operands_in_registers(m: int, n: int, k: int, depth: int) -> None:
    for name in ("packed", "vectors"):
        program = streamed(name, m, n, k, depth)
        program.check()
        (counts, *_) = program.counts()
        assert counts.executions("cuda.wgmma_registers")


@long(2)
@pytest.mark.parametrize(("element", "result"), [("bf16", "bf16"), ("f16", "f16"), ("i8", "i32"), ("f64", "f64")])
@pytest.mark.parametrize("majors", ["nn", "tt"])
def test_products_of_warps(element: str, result: str, majors: str) -> None:
    program = lowered(product_text(element, 65, 130, 97, majors, result), arch="sm_80", instruction="mma")
    assert program.ops("cuda.mma")
    program.check()


@long(4)
@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 96), (65, 50, 41)], ids=["whole", "ragged"])
def test_f32_as_three_products_of_warps(m: int, n: int, k: int, majors: str, lazy: bool) -> None:
    text = product_text("f32", m, n, k, majors)
    program = lowered(text, (32, 32, 32), arch="sm_80", instruction="mma", stages=3)
    program.check(lazy=lazy)
    (counts,) = program.counts()
    tiles, steps = -(-m // 32) * -(-n // 32), -(-k // 32)
    assert counts.executions("cuda.mma") == 3 * tiles * steps * (32 // 16) * (32 // 8) * (32 // 8)
    rounded = lowered(
        text.replace(" @ ", ", ").replace("return ", "return matmul(").replace("\n}", ', precision="tf32")\n}'),
        (32, 32, 32),
        arch="sm_80",
        stages=3,
    )
    rounded.check(lazy=lazy)
    (counts,) = rounded.counts()
    assert counts.executions("cuda.mma") == tiles * steps * (32 // 16) * (32 // 8) * (32 // 8)


@long(2)
@pytest.mark.parametrize("shape", [(16, 8, 16), (16, 8, 8)], ids=str)
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("element", "precision"), [("bf16", "default"), ("f16", "default"), ("f16", "f16")])
def test_shapes_of_warps_and_sums_of_f16(
    element: str, precision: str, majors: str, shape: tuple[int, int, int]
) -> None:
    a, b = MAJORS[majors]
    text = product_text(element, 65, 50, 41, majors)
    text = text.replace(f"{a} @ {b}", f'matmul({a}, {b}, precision="{precision}")')
    for stages in (1, 3):
        program = lowered(text, (32, 32, 16), arch="sm_80", stages=stages, shape=shape)
        made = [op for op in program.module.walk() if isinstance(op, cuda.MmaOp)]
        assert {op.instruction.data for op in made} == {"m16n8k16" if shape[2] == 16 else "m16n8k8_b16"}
        sums = {str(op.accumulator.type.element) for op in made if isinstance(op.accumulator.type, cuda.RegistersType)}
        assert sums == {"f32" if precision == "default" else "f16"}
        program.check()


@long(2)
@pytest.mark.parametrize("shape", [(16, 8, 32), (16, 8, 16)], ids=str)
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize("element", ["i8", "u8"])
def test_shapes_of_warps_of_bytes(element: str, majors: str, shape: tuple[int, int, int]) -> None:
    text = product_text(element, 65, 50, 41, majors, result="i32")
    program = lowered(text, (32, 32, 32), arch="sm_80", stages=3, shape=shape)
    made = {op.instruction.data for op in program.module.walk() if isinstance(op, cuda.MmaOp)}
    assert made == {"m16n8k32" if shape[2] == 32 else "m16n8k16_b8"}
    program.check()


@long(4)
@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("element", "result"), [("bf16", "bf16"), ("i8", "i32"), ("f32", "f32"), ("f64", "f64")])
@pytest.mark.parametrize(("grid", "stages"), [((2, 1, 2), 3), ((1, 2, 2), 1), ((1, 1, 2), 2), ((4, 1, 1), 2)], ids=str)
def test_warps_in_a_grid(
    grid: tuple[int, int, int], stages: int, element: str, result: str, majors: str, lazy: bool
) -> None:
    """Epilogues that reduce, too, and loops whose last step is short."""
    text = product_text(element, 65, 40, 150, majors, result)
    depth = 32 if element == "f64" else 64
    program = lowered(text, (64, 32, depth), arch="sm_80", stages=stages, warp_grid=grid)
    program.check(lazy=lazy)
    (counts,) = program.counts()
    if element == "bf16":
        assert counts.conflicts == 0


@pytest.mark.parametrize(("stages", "pending"), [(12, 10), (66, 63)])
def test_many_stages(stages: int, pending: int) -> None:
    """More than cp.async.wait_group counts: it waits for those as well."""
    program = lowered(product_text("bf16", 16, 16, 32 * 66), (16, 16, 32), arch="sm_80", stages=stages)
    waits = [op.pending.value.data for op in program.module.walk() if isinstance(op, cuda.CpAsyncWaitOp)]
    assert max(waits) == pending
    program.check(lazy=True)


def test_parts_of_a_short_step_are_multiplied_by_the_shorter_instruction() -> None:
    """32 elements along K in four parts: 8 for each warp."""
    text = product_text("bf16", 64, 32, 96)
    program = lowered(text, (32, 32, 32), arch="sm_80", stages=2, warp_grid=(1, 1, 4))
    assert {op.instruction.data for op in program.module.walk() if isinstance(op, cuda.MmaOp)} == {"m16n8k8_b16"}
    program.check()


GRIDDED = {
    "gated": "func f(x: bf16[64, 96], w: bf16[96, 64], v: bf16[96, 64]) -> bf16[64, 64] {\n    return silu(x @ w) * (x @ v)\n}\n",
    "sums": "func f(x: bf16[64, 96], w: bf16[96, 64]) -> (bf16[64, 64], f32[64]) {\n    y = x @ w\n    return tanh(y), sum(cast(y, f32), axis=1)\n}\n",
    "groups": "func f(x: bf16[96, 64], w: bf16[3, 64, 32], ends: i32[3]) -> bf16[96, 32] {\n    return grouped_matmul(x, w, ends)\n}\n",
}


@pytest.mark.parametrize("name", GRIDDED)
def test_programs_of_warps_along_k(name: str) -> None:
    given = {2: np.array([32, 64, 96], np.int32)} if name == "groups" else None
    program = lowered(GRIDDED[name], (32, 32, 64), arch="sm_80", stages=2, warp_grid=(1, 2, 2), given=given)
    program.check()


ASKED = {
    "attention": """func f(q: f16[64, 32], k: f16[96, 32], v: f16[96, 32]) -> f16[64, 32] {{
    s = matmul(q, transpose(k), precision="{precision}") * 0.125
    return matmul(softmax(s, axis=-1), v, precision="{precision}")
}}
""",
    "gated": """func f(x: f16[64, 32], w: f16[32, 96], v: f16[32, 96]) -> f16[64, 96] {{
    return silu(matmul(x, w, precision="{precision}")) * matmul(x, v, precision="{precision}")
}}
""",
    "rows": """func f(x: f16[64, 32], w: f16[32, 96]) -> f16[64, 96] {{
    return softmax(matmul(relu(x), w, precision="{precision}"), axis=-1)
}}
""",
    "vector": 'func f(x: f16[1, 640], w: f16[640, 96]) -> f16[1, 96] {{\n    return matmul(x, w, precision="{precision}")\n}}\n',
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("precision", ["f16", "f32"])
@pytest.mark.parametrize("name", ASKED)
def test_sums_that_programs_ask_for(name: str, precision: str, arch: str) -> None:
    lowered(ASKED[name].format(precision=precision), arch=arch).check()


@pytest.mark.parametrize(("element", "step", "name"), [("bf16", 8, "m16n8k8_b16"), ("i8", 16, "m16n8k16_b8")])
def test_a_short_step_is_the_shorter_instruction(element: str, step: int, name: str) -> None:
    text = product_text(element, 32, 32, 40, result="i32" if element == "i8" else None)
    program = lowered(text, (32, 32, step), arch="sm_80", stages=1)
    assert {op.instruction.data for op in program.module.walk() if isinstance(op, cuda.MmaOp)} == {name}
    program.check()


def test_three_products_of_warps_multiply_what_is_not_finite_as_f32_does() -> None:
    x = np.ones((32, 32), np.float32)
    x[0, 0], x[1, 0], x[2, 0] = np.inf, np.nan, 3.4e38
    text = product_text("f32", 32, 32, 32)
    program = lowered(
        text, (32, 32, 32), arch="sm_80", instruction="mma", given={0: x, 1: np.eye(32, dtype=np.float32)}
    )
    program.check()
    assert program.ops("cuda.mma")


@long(4)
@both_times
@pytest.mark.parametrize("tile", [(128, 256, 32), (64, 128, 64)], ids=str)
def test_long_epilogues(tile: tuple[int, int, int], lazy: bool) -> None:
    """Epilogue subtiles in a loop that is not unrolled; their arrays come through a channel of their own."""
    program = example("gated_unit_step", tile, B=128, H=256)
    program.check(lazy=lazy)
    counts, _ = program.counts()
    subtiles = 128 * 256 // (tile[0] * 32)
    assert counts.executions("cuda.tma_load") >= 5 * subtiles
    assert counts.conflicts == 0


@long(4)
@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize("element", ["bf16", "f64"])
def test_stages_of_asynchronous_copies(element: str, majors: str, lazy: bool) -> None:
    program = lowered(product_text(element, 64, 128, 160, majors), (64, 64, 32), arch="sm_80", stages=4)
    program.check(lazy=lazy)
    (counts,) = program.counts()
    runs = 2 * (64 * 32 + 32 * 64) * (2 if element == "bf16" else 8) // 16
    assert counts.executions("cuda.cp_async") == runs * 8 // 32
    assert counts.executions("cuda.shared_store") == 128  # the epilogue's alone
    assert bool(counts.executions("cuda.ldmatrix")) == (element == "bf16")
    assert counts.conflicts == 0


@long(4)
@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (70, 57, 41)], ids=["whole", "ragged"])
def test_f64_by_the_wider_instruction(m: int, n: int, k: int, majors: str, lazy: bool) -> None:
    program = lowered(product_text("f64", m, n, k, majors), (64, 64, 16), stages=3)
    program.check(lazy=lazy)
    assert {op.instruction.data for op in program.module.walk() if isinstance(op, cuda.MmaOp)} == {"m16n8k8"}
    if m % 64 == 0:  # rows of other extents pass through registers, in runs that the widest swizzle does not suit
        assert program.counts()[0].conflicts == 0


ROWS = {
    "softmax": "func f(x: bf16[70, 40], w: bf16[40, 200]) -> bf16[70, 200] {\n    return softmax(x @ w)\n}\n",
    "masked": """func f(x: bf16[64, 64], w: bf16[64, 96], m: bool[64, 96]) -> bf16[64, 96] {
    return softmax(where(m, x @ w, -inf))
}
""",
    "turned": "func f(x: f16[64, 96], w: f16[80, 96]) -> f16[80, 64] {\n    return transpose(softmax(x @ transpose(w)))\n}\n",
    "f32": """func f(x: f32[64, 32], w: f32[32, 72], b: f32[72]) -> f32[64, 72] {
    return layer_norm((x @ w) * 2 + b)
}
""",
    "rows after": """func f(x: bf16[70, 40], w: bf16[40, 128], r: f32[70, 1]) -> f32[70, 128] {
    return softmax(cast(x @ w, f32)) * r
}
""",
    "f64": "func f(x: f64[33, 40], w: f64[40, 100]) -> f64[33, 100] {\n    return softmax(x @ w)\n}\n",
    "f8": """func f(x: f8e4m3[64, 64], w: f8e5m2[48, 64]) -> f32[64, 48] {
    return softmax(cast(matmul(x, transpose(w)), f32))
}
""",
    "i8": """func f(x: i8[64, 64], w: i8[64, 48]) -> f32[64, 48] {
    return softmax(cast(matmul(x, w), f32) * 0.001)
}
""",
    "gradient": """func f(d: bf16[64, 96], w: bf16[40, 96], p: bf16[64, 40]) -> bf16[64, 40] {
    y = d @ transpose(w)
    return (y - expand_dims(sum(y * p, axis=1), 1)) * p
}
""",
    "unit": """func f(x: bf16[64, 96], w: bf16[96, 64], v: bf16[96, 64], g: bf16[64]) -> bf16[64, 64] {
    return rms_norm(sigmoid(x @ w) * (x @ v)) * g
}
""",
    "batched": """func f(q: bf16[3, 70, 32], k: bf16[3, 90, 32]) -> bf16[3, 70, 90] {
    return softmax(q @ permute(k, [0, 2, 1]) * 0.2)
}
""",
    "statistics": """func f(x: bf16[128, 64], w: bf16[64, 64], r: bf16[128, 64]) -> (bf16[128], bf16[128, 64], f32[64]) {
    h = x @ w
    t = max(h, axis=1)
    e = exp(h - expand_dims(t, 1))
    s = sum(e, axis=1)
    p = e / expand_dims(s, 1)
    return t + log(s), p, sum(cast(p * r, f32), axis=0)
}
""",
}


@long(9)
@both_times
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", ROWS)
def test_epilogues_that_read_whole_rows_again(name: str, arch: str, lazy: bool) -> None:
    """A softmax or a norm of the product in the product's kernel; sums of columns are finished by a second one."""
    program = lowered(ROWS[name], arch=arch)
    program.check(lazy=lazy)
    assert program.ops("tile.program") + program.ops("cuda.kernel") == (2 if name == "statistics" else 1)


@both_times
@pytest.mark.parametrize("instruction", ["x", "x * s"])
def test_stages_that_are_copied_and_written(instruction: str, lazy: bool) -> None:
    """The left operand is computed, or its rows begin anywhere; the right one is copied."""
    k = 96 if "s" in instruction else 97
    text = f"func f(x: bf16[70, {k}], s: bf16[{k}], w: bf16[{k}, 72]) -> bf16[70, 72] {{\n    return ({instruction}) @ w + s[0]\n}}\n"
    program = lowered(text, (64, 64, 32), arch="sm_80", stages=3)
    program.check(lazy=lazy)
    assert program.ops("cuda.cp_async") and program.ops("cuda.cp_async_wait") == 2  # in the loop, and behind it


def test_every_op_that_keeps_threads_in_step_is_missed() -> None:
    """But for the one before the epilogue's exchange, which has memory of its own."""
    program = lowered(product_text("bf16", 64, 64, 160), (64, 64, 32), arch="sm_80", stages=3)
    assert not_missed(program) == ["cuda.sync"]


SYNCHRONIZING = (
    "cuda.barrier",
    "cuda.fence",
    "cuda.sync",
    "cuda.named",
    "cuda.wgmma_",
    "cuda.registers_fence",
    "cuda.tma",
    "cuda.cp_async",
)


def synchronizing(module: ModuleOp) -> list[str]:
    """The names of the ops that synchronize or copy, in their order."""
    return [op.name for op in module.walk() if op.name.startswith(SYNCHRONIZING)]


def without(module: ModuleOp, index: int) -> ModuleOp:
    """A copy of the module that lacks the op of this index among those that synchronize."""
    copy = module.clone()
    op = [op for op in copy.walk() if op.name.startswith(SYNCHRONIZING)][index]
    op.detach()
    op.erase()
    return copy


def not_missed(program: Lowered, *names: str) -> list[str]:
    """Of the ops of these names (of all by default) those whose absence the simulator does not notice."""
    found: list[str] = []
    for index, name in enumerate(synchronizing(program.module)):
        if names and name not in names:
            continue
        try:
            program.check(without(program.module, index))
        except SimulationError:
            continue
        found.append(name)
    return found


def test_every_op_that_synchronizes_is_missed() -> None:
    """Some are there for symmetry alone: the wait of the last iteration and the one after the loop stand in for each
    other, and so do the fences of the accumulator behind them; no producer waits for the release of the last stage; and
    the two subtiles of the only tile find their buffers free."""
    waits = ["cuda.wgmma_wait", "cuda.registers_fence"]
    assert not_missed(gating()) == [*waits, *waits, "cuda.barrier_arrive", "cuda.tma_store_wait", "cuda.named_sync"]


def test_what_producers_that_write_owe_their_readers() -> None:
    """As above, the release of the last stage is one too many."""
    names = ("cuda.fence_proxy_async", "cuda.barrier_arrive", "cuda.barrier_wait", "cuda.barrier_expect")
    assert not_missed(streamed("both"), *names) == ["cuda.barrier_arrive"]


def test_what_threads_that_read_stages_owe_their_producer() -> None:
    """As above. Waits for products on operands in registers are not missed: in the simulator each step has registers of
    its own."""
    names = ("cuda.warp_sync", "cuda.wgmma_fence", "cuda.barrier_arrive", "cuda.barrier_wait")
    assert not_missed(streamed("packed"), *names) == ["cuda.barrier_arrive"]


@both_times
def test_sums_of_columns_that_are_only_stored(lazy: bool) -> None:
    """8 lanes have 8 columns each, of which 7 are exchanged; then every lane has one of a subtile, of each warp."""
    text = "func f(x: bf16[128, 64], w: bf16[64, 32]) -> f32[32] {\n    y = cast(x @ w, f32)\n    return sum(y * y, axis=0)\n}\n"
    program = lowered(text, (64, 32, 64))
    program.check(lazy=lazy)
    tiles, warps = 2, 4
    counts, _ = program.counts()
    assert counts.executions("cuda.shuffle") == tiles * warps * 7
    assert counts.executions("cuda.shared_store") == tiles * warps
    assert counts.executions("cuda.shared_load") == tiles * warps
    assert counts.executions("cuda.store") == tiles
    assert counts.conflicts == 0


@pytest.mark.parametrize("parts", [2, 4])
def test_parts_of_short_rows(parts: int) -> None:
    """Parts of K that begin at 16 bytes of a row come as boxes; threads load those that begin between."""
    program = lowered(product_text("bf16", 128, 64, 16, "nt"), (64, 64, 64), split=parts, instruction="wgmma")
    assert program.ops("cuda.tma_load") == (1 if parts == 2 else 0)
    program.check()


def test_vectors_of_an_epilogue_come_through_shared_memory_where_the_config_says_so() -> None:
    """Columns end inside of a tile: what TMA brings of them beyond their end is 0, and is not stored."""
    text = """
    func f(x: f8e4m3[256, 256], w: f8e4m3[512, 256], sx: f32[256, 1], sw: f32[1, 512]) -> bf16[256, 512] {
        return cast(x @ transpose(w) * (sx * sw), bf16)
    }
    """
    program = lowered(text, (128, 192, 128), load_stages=3)
    program.check()
    program.check(lazy=True)
    (counts,) = program.counts()
    assert counts.executions("cuda.load") == 0
    assert counts.executions("cuda.tma_load") == 2 * 3 * (
        2 * 2 + 3 * 2
    )  # two operands of two steps, vectors of subtiles


@pytest.mark.parametrize("result", ["bf16", "f32"])
@pytest.mark.parametrize("rows", [128, 2048])
def test_arrays_beside_vectors_of_an_epilogue_leave_room(rows: int, result: str) -> None:
    """The stages of vectors that a product of f8 gets by itself are none of arrays of the result's size."""
    irc.compile(
        f"""
        func f(x: f8e4m3[{rows}, 4096], w: f8e4m3[8192, 4096], v: f32[8192], c: f32[{rows}],
               r: bf16[{rows}, 8192]) -> {result}[{rows}, 8192] {{
            return cast(cast(x @ transpose(w), f32) * v[None, :] * c[:, None] + cast(r, f32), {result})
        }}
        """,
        target="sim",
    )
