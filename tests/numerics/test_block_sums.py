"""Sums over blocks of K that are scaled one by one, on the simulator and as code of a CPU: right in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import long
from numerics.harness import TOLERANCES, assert_close
from numerics.lowered import lowered

import irc
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.program import parse
from irc.ir.targets import set_target

M, N, BLOCKS = 100, 160, 3
FORMS: dict[str, tuple[str, int, tuple[int, int] | None, dict[str, Any]]] = {
    "f8": ("f8e4m3", 128, None, {}),
    "half blocks": ("f8e4m3", 64, (64, 32), {}),
    "two warp groups": ("f8e4m3", 128, (128, 64), {}),
    "pingpong": ("f8e4m3", 128, (64, 64), {"schedule": "pingpong"}),
    "along N": ("f8e5m2", 128, (32, 64), {"swap_ab": True}),
    "bf16": ("bf16", 64, (64, 64), {}),
    "wide blocks of bf16": ("bf16", 128, (64, 32), {}),
    "f32": ("f32", 32, (64, 32), {}),
    "integers": ("i8", 128, (64, 32), {}),
    "mma": ("f8e4m3", 128, None, {"arch": "sm_80"}),
    "mma of bf16": ("bf16", 64, (32, 32), {"instruction": "mma"}),
    "fma": ("f32", 32, (32, 32), {"instruction": "fma"}),
}


def scaled(element: str, block: int, columns: int = 32) -> str:
    """A scale for each row of a block of x, and for each so many columns of one of w; bias and activation follow."""
    product = "cast(p, f32)" if element == "i8" else "p"
    dtype = ", dtype=f32" if element == "bf16" else ""
    return f"""
    func f(x: {element}[{M}, {BLOCKS}, {block}], w: {element}[{N}, {BLOCKS}, {block}], sx: f32[{BLOCKS}, {M}],
           sw: f32[{N // columns}, {BLOCKS}], b: f32[{N}]) -> f32[{M}, {N}] {{
        p = matmul(x, w, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[2]{dtype})
        s = reshape(broadcast(transpose(sw)[:, :, None], [{BLOCKS}, {N // columns}, {columns}]), [{BLOCKS}, 1, {N}])
        return relu(sum({product} * (sx[:, :, None] * s), axis=0) + b)
    }}
    """


@long(9)
@pytest.mark.parametrize("columns", [1, 32])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_adds_up_scaled_blocks(form: str, columns: int) -> None:
    element, block, tile, config = FORMS[form]
    program = lowered(scaled(element, block, columns), None if tile is None else (*tile, block), **config)
    assert sum(op.name == "cuda.kernel" for op in program.module.walk()) == 1
    program.check()
    program.check(lazy=True)


@pytest.mark.parametrize("blocks", [4, 7, 8])
@pytest.mark.parametrize("rows", [256, 130])
def test_scales_come_in_the_stages_of_their_blocks(blocks: int, rows: int) -> None:
    """Where TMA can bring them: rows of 130 numbers, and of 7, are no whole units of 16 bytes."""
    text = f"""
    func f(x: f8e4m3[{rows}, {blocks}, 128], w: f8e4m3[256, {blocks}, 128], sx: f32[{blocks}, {rows}],
           sw: f32[2, {blocks}]) -> f32[{rows}, 256] {{
        p = matmul(x, w, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[2])
        s = reshape(broadcast(transpose(sw)[:, :, None], [{blocks}, 2, 128]), [{blocks}, 1, 256])
        return sum(p * (sx[:, :, None] * s), axis=0)
    }}
    """
    program = lowered(text, (128, 128, 128), stages=4)
    program.check()
    program.check(lazy=True)
    (counts,) = program.counts()
    copies = 2 + (rows == 256) + (blocks % 4 == 0)
    assert counts.executions("cuda.tma_load") == -(-rows // 128) * 2 * blocks * copies
    assert (counts.executions("cuda.load") == 0) == (copies == 4)
    assert counts.conflicts == 0


@pytest.mark.parametrize(("rows", "columns"), [(1, 256), (256, 1)])
def test_a_single_row_is_an_operand_and_no_scale(rows: int, columns: int) -> None:
    """Threads write it to the buffer of the product, and TMA brings the scales beside it."""
    program = lowered(
        f"""
        func f(x: f8e4m3[{rows}, 8, 128], w: f8e4m3[{columns}, 8, 128], s: f32[8]) -> f32[{rows}, {columns}] {{
            p = matmul(x, w, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[2])
            return sum(p * s[:, None, None], axis=0)
        }}
        """
    )
    program.check()
    program.check(lazy=True)


@pytest.mark.parametrize(("columns", "stages"), [(4800, 8), (4864, 7)])
def test_tiles_have_columns_of_one_scale(columns: int, stages: int) -> None:
    """128, and neither 96 nor 160, which would fill the last round of tiles better. Stages have room for scales that
    TMA brings, in rows of 76, not of 75."""
    groups = columns // 64
    module = parse(
        f"""
        func f(x: f8e4m3[4096, 16, 128], w: f8e4m3[{columns}, 16, 128], s: f32[16, {groups}]) -> f32[4096, {columns}] {{
            p = matmul(x, w, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[2])
            t = reshape(broadcast(s[:, :, None], [16, {groups}, 64]), [16, 1, {columns}])
            return sum(p * t, axis=0)
        }}""",
        "test",
    )
    set_target(module, "sm_90a")
    run_passes(module, passes_of(KERNEL))
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert kernel.config is not None and kernel.config.tile is not None
    assert 64 % kernel.config.tile["n"] == 0
    assert (kernel.config.tile["k"], kernel.config.stages) == (128, stages)


@pytest.mark.parametrize("form", ["f8", "bf16", "integers"])
def test_the_code_of_a_cpu_does_the_same(form: str) -> None:
    element, block, _, _ = FORMS[form]
    text = scaled(element, block)
    program = lowered(text)
    found = irc.compile(text, target="cpu")(*program.arrays)
    assert_close(np.asarray(program.expected[0]), np.asarray(found), program.elements[0], TOLERANCES, "result")
