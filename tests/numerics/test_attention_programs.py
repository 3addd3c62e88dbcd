"""Attention as a tile program: right on the simulator, which finds races, with each instruction and number of stages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numerics.attention_programs import Attention

import irc
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import load

FORMS = [
    Attention(f'instruction = "{instruction}", warps = {warps}, stages = {stages}', *shape)
    for instruction, counts in {"fma": (1,), "mma": (1, 2, 4), "wgmma": (1, 2, 3)}.items()
    for stages in counts
    for warps, shape in ((4, (64, 64, 64)), (8, (128, 64, 64)))
]

UNEQUAL = [
    Attention(f'instruction = "{instruction}", warps = {warps}, stages = {stages}', *shape)
    for instruction, stages in (("fma", 1), ("mma", 1), ("mma", 2), ("wgmma", 2))
    for warps, shape in (
        (4, (64, 80, 128, 64, 160)),
        (4, (64, 80, 256, 64, 160)),
        (8, (128, 112, 128, 128, 224)),
        (4, (64, 128, 64, 64, 256)),
        (4, (64, 144, 64, 64, 288)),
        (12, (192, 176, 64, 192, 352)),
    )
]
"""Keys per block other than the head size: the scores and the output have other columns and the same rows."""


def _name(program: Attention) -> str:
    return f"{program.config.replace(' ', '')}-{program.rows}x{program.keys}x{program.head}"


@pytest.mark.parametrize("program", [*FORMS, *UNEQUAL], ids=_name)
def test_it_is_right_on_the_simulator(program: Attention, tmp_path: Path) -> None:
    (tmp_path / "attention.mlir").write_text(program.text)
    arguments = program.arguments()
    (result,) = (irc.compile(tmp_path / "attention.mlir", target="sim")(*arguments),)
    expected = program.expected(arguments)
    error = np.abs(np.asarray(result).astype(np.float64) - expected).max()
    assert error < 1e-2 * np.abs(expected).max()


def test_ptxas_neither_spills_nor_serializes(tmp_path: Path) -> None:
    """The weights stay in registers between the products (C75xx would say that ptxas waits for each wgmma)."""
    program = Attention('instruction = "wgmma", stages = 2', 128, 128, 128, 16384, 16384)
    (tmp_path / "attention.mlir").write_text(program.text)
    (kernel,) = (
        op for op in lower(load(tmp_path / "attention.mlir"), "all", arch="sm_90a").ops if isinstance(op, KernelOp)
    )
    compiled = compile_source(print_kernels([kernel]), "sm_90a", name="attention_0")
    assert compiled.warnings == ()
    assert compiled.resources["attention_0"].spills == 0
