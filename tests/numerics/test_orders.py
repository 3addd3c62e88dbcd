"""Warp groups that issue a product in turn: right on the simulator, which finds who would wait for ever."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drawing import long
from numerics.attention_programs import Attention
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects import tile
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse, signature
from irc.interpreters.sim import SimulationError
from irc.interpreters.tile import interpreter
from irc.ir import targets
from irc.ir.functions import entry_of
from irc.runtime.sim import SimProgram

TWO = Attention('instruction = "wgmma", warps = 8, stages = 2, turns = true', 128, 64, 64, 256, 256)
THREE = Attention('instruction = "wgmma", warps = 12, stages = 2, turns = true', 192, 64, 64, 384, 192)
ONE_STAGE = dataclasses.replace(THREE, config=THREE.config.replace("stages = 2", "stages = 1"))
UNEQUAL = Attention(THREE.config, 192, 80, 64, 192, 240)
CAUSAL = dataclasses.replace(THREE, length=384, causal=True)
APART = dataclasses.replace(CAUSAL, apart=True)
EMPTY = dataclasses.replace(TWO, length=128, causal=True, window=20)
"""The loop of the last tile does not run: nobody takes a turn."""

PROGRAMS = {
    "two": TWO,
    "three": THREE,
    "one stage": ONE_STAGE,
    "unequal": UNEQUAL,
    "causal": CAUSAL,
    "apart": APART,
    "empty": EMPTY,
}


def lowered(program: Attention, level: str) -> ModuleOp:
    return lower(parse(program.text, "attention.mlir"), level, arch="sm_90a")


def error(program: Attention, module: ModuleOp) -> float:
    """The largest error on the simulator, of the largest value."""
    arguments, function = program.arguments(), entry_of(parse(program.text, "attention.mlir"))
    (result,) = SimProgram(module, *signature(function)).run(arguments, None)
    expected = program.expected(arguments)
    return np.abs(result.astype(np.float64) - expected).max() / np.abs(expected).max()


@long(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_right(name: str) -> None:
    program = PROGRAMS[name]
    assert any(isinstance(op, tile.TakeOp) for op in lowered(program, "tile").walk())
    assert error(program, lowered(program, "all")) < 1e-2


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_mean_the_same(name: str) -> None:
    arguments = PROGRAMS[name].arguments()
    (result,) = interpreter.evaluate(lowered(PROGRAMS[name], "tile"), arguments)
    expected = PROGRAMS[name].expected(arguments)
    assert np.abs(result.astype(np.float64) - expected).max() < 1e-2 * np.abs(expected).max()


@long(4)
@pytest.mark.parametrize("name", ["three", "causal"])
def test_blocks_of_several_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last turn in a tile is followed by the first in the next one, also where these are of unequal length."""
    known = {t.name: t for t in targets.TARGETS}
    known["sm_90a"] = dataclasses.replace(known["sm_90a"], sms=1)
    monkeypatch.setattr(targets, "_by_name", lambda: known)
    program = dataclasses.replace(PROGRAMS[name], tiles='schedule "persistent" ')
    assert error(program, lowered(program, "all")) < 1e-2


def barriers(module: ModuleOp) -> list[Operation]:
    """The named barriers at which two warp groups meet."""
    found = (op for op in module.walk() if op.name in ("cuda.named_sync", "cuda.named_arrive"))
    return [op for op in found if str(op.properties["threads"]) == "256 : i64"]


@long(2)
@pytest.mark.parametrize("number", range(6))
def test_every_turn_is_missed(number: int) -> None:
    """The first arrival, the turn and the pass before the loop and in it, and the last meeting."""
    program = dataclasses.replace(THREE, queries=192)
    module = lowered(program, "all")
    found = barriers(module)
    assert len(found) == 6
    found[number].detach()
    found[number].erase()
    with pytest.raises(SimulationError) as raised:
        error(program, module)
    assert raised.value.kind in ("deadlock", "protocol")


TEXT = """
dim B = {batch}, S = {length}, D = 64
func f(q: bf16[B, S, D], k: bf16[B, S, D], v: bf16[B, S, D]) -> bf16[B, S, D] {{
    return attention(q, k, v, causal={causal})
}}
"""
"""Heads of 64 with many keys: blocks have 192 rows, whose three warp groups take turns without being asked where no mask
is."""


@pytest.mark.parametrize("causal", ["true", "false"])
def test_text_takes_turns(causal: str) -> None:
    text = TEXT.format(batch=64, length=2048, causal=causal)
    lowered = lower(isolate(parse(text, "f")), "tile", arch="sm_90a")
    assert any(isinstance(op, tile.TakeOp) for op in lowered.walk()) == (causal == "false")


MODULES = {
    "full": TEXT.format(batch=256, length=2048, causal="false"),
    "causal": dataclasses.replace(CAUSAL, queries=16384, length=16384).text,
    "two": dataclasses.replace(TWO, keys=128, queries=16384, length=16384).text,
}


@long(2)
@pytest.mark.parametrize("name", MODULES)
def test_ptxas_neither_spills_nor_serializes(name: str) -> None:
    module = parse(MODULES[name], "attention.irc" if name == "full" else "attention.mlir")
    lowered = lower(isolate(module) if name == "full" else module, "all", arch="sm_90a")
    (kernel,) = (op for op in lowered.ops if isinstance(op, KernelOp))
    assert barriers(lowered)
    compiled = compile_source(print_kernels([kernel]), "sm_90a", name=kernel.sym_name.data)
    assert compiled.warnings == ()
    assert compiled.resources[kernel.sym_name.data].spills == 0
