"""Attention as a tile program: right on the simulator, which finds races, with each instruction and number of stages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from drawing import long
from numerics.attention_programs import EVERY, REFUSED, Attention

import irc
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import load, parse
from irc.interpreters.tile import interpreter
from irc.ir import targets
from irc.support.diagnostics import IrcError

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


CAUSAL = Attention("", causal=True, queries=192, length=256)
WINDOW = Attention("", causal=True, window=70, queries=192, length=192)
BESIDE = Attention("", window=70, queries=192, length=192)
EMPTY = Attention("", causal=True, window=20, queries=256, length=128)
"""The last tile meets no keys."""
SLIDING = Attention("", causal=True, window=150, queries=256, length=256)
"""Some blocks of keys are all in the window of a tile."""
BEFORE = Attention("", causal=True, back=130, queries=256, length=128)
"""The first tiles meet none: the loop ends at a negative place."""

BOUNDED = (
    [
        dataclasses.replace(program, config=f'instruction = "{instruction}", warps = 4, stages = {stages}')
        for instruction, counts in {"fma": (1,), "mma": (1, 2, 3), "wgmma": (1, 2, 3, 4)}.items()
        for stages in counts
        for program in (CAUSAL, WINDOW, BESIDE, EMPTY, BEFORE)
    ]
    + [
        Attention(f'instruction = "{instruction}", warps = {warps}, stages = 2', *shape, causal=True, window=window)
        for instruction in ("mma", "wgmma")
        for warps, shape in ((8, (128, 80, 64, 256, 320)), (4, (64, 128, 128, 192, 256)))
        for window in (None, 100)
    ]
    + [
        dataclasses.replace(program, config=f'instruction = "{instruction}", warps = 4, stages = 3', wide=True)
        for instruction in ("mma", "wgmma")
        for program in (Attention(""), CAUSAL, EMPTY, BEFORE)
    ]
    + [
        dataclasses.replace(program, config=f'instruction = "{instruction}", warps = 4, stages = {stages}', apart=True)
        for instruction, counts in {"fma": (1,), "mma": (1, 3), "wgmma": (1, 2, 4)}.items()
        for stages in counts
        for program in (CAUSAL, BEFORE, SLIDING)
    ]
)
"""The bounds of the loop are values."""


def _name(program: Attention) -> str:
    shape = "x".join(map(str, (program.rows, program.keys, program.head, program.queries, program.length)))
    kinds = {
        "wide": program.wide,
        "apart": program.apart,
        f"causal{program.back}": program.causal,
        f"window{program.window}": program.window is not None,
        program.tiles.strip(): program.tiles,
    }
    return "-".join([program.config.replace(" ", ""), shape, *(kind for kind, is_there in kinds.items() if is_there)])


def _error(program: Attention, target: str, folder: Path) -> float:
    """The largest error, of the largest value."""
    (folder / "attention.mlir").write_text(program.text)
    arguments = program.arguments()
    result = irc.compile(folder / "attention.mlir", target=target)(*arguments)
    expected = program.expected(arguments)
    return np.abs(np.asarray(result).astype(np.float64) - expected).max() / np.abs(expected).max()


@long(30, of_all=3)
@pytest.mark.parametrize("program", [*FORMS, *UNEQUAL, *BOUNDED], ids=_name)
def test_it_is_right_on_the_simulator(program: Attention, tmp_path: Path) -> None:
    assert _error(program, "sim", tmp_path) < 1e-2


@pytest.mark.parametrize("program", [CAUSAL, WINDOW, BESIDE, EMPTY, BEFORE], ids=_name)
def test_the_layout_free_program_means_the_same(program: Attention, tmp_path: Path) -> None:
    assert _error(program, "interpret", tmp_path) < 1e-2


@pytest.fixture
def few_sms(monkeypatch: pytest.MonkeyPatch) -> None:
    """An H200 of two SMs, so that blocks have several tiles."""
    known = {t.name: t for t in targets.TARGETS}
    known["sm_90a"] = dataclasses.replace(known["sm_90a"], sms=2)
    monkeypatch.setattr(targets, "_by_name", lambda: known)


PERSISTENT = [
    dataclasses.replace(program, config=config, queries=320, tiles='schedule "persistent" ')
    for config in (
        'instruction = "fma"',
        'instruction = "mma", stages = 3',
        'instruction = "wgmma", warps = 4, stages = 1, schedule = "persistent"',
        'instruction = "wgmma", warps = 4, stages = 3, schedule = "persistent"',
    )
    for program in (Attention(""), CAUSAL, EMPTY)
] + [
    dataclasses.replace(CAUSAL, config='instruction = "wgmma", warps = 4, stages = 2', queries=320, tiles=tiles)
    for tiles in ('schedule "persistent" reversed [] ', "reversed [] ", "reversed [0] ")
]
"""The tiles of causal attention come from the last one on, unless the program says otherwise."""
PINGPONG = [
    dataclasses.replace(program, config=config, queries=320, tiles='schedule "persistent" ')
    for config in (f'instruction = "wgmma", warps = 4, stages = {n}, schedule = "pingpong"' for n in (1, 2, 3))
    for program in (
        Attention(""),
        CAUSAL,
        WINDOW,
        EMPTY,
        BEFORE,
        dataclasses.replace(CAUSAL, apart=True),
        dataclasses.replace(SLIDING, apart=True),
    )
]
"""Consumers that take turns in tiles of which each has its own number of blocks of keys."""


@long(12)
@pytest.mark.usefixtures("few_sms")
@pytest.mark.parametrize("program", [*PERSISTENT, *PINGPONG], ids=_name)
def test_blocks_that_take_several_tiles(program: Attention, tmp_path: Path) -> None:
    assert _error(program, "sim", tmp_path) < 1e-2


@long(4)
@pytest.mark.parametrize("program", PINGPONG, ids=_name)
def test_turns_skip_the_stages_of_the_others(program: Attention) -> None:
    """The interpreter keeps every stage that was filled: a consumer that skips a wrong number multiplies others'."""
    arguments = program.arguments()
    (result,) = interpreter.evaluate(lower(parse(program.text, "attention.mlir"), "tile", arch="sm_90a"), arguments)
    expected = program.expected(arguments)
    assert np.abs(result.astype(np.float64) - expected).max() < 1e-2 * np.abs(expected).max()


@long(48, of_all=6)
@pytest.mark.usefixtures("few_sms")
@pytest.mark.parametrize("program", EVERY, ids=_name)
def test_every_instruction_number_of_stages_and_schedule(program: Attention, tmp_path: Path) -> None:
    """Right and, on tensor cores, without bank conflicts; or refused where the stages do not fit into shared memory, or
    a dot in flight into registers."""
    (tmp_path / "attention.mlir").write_text(program.text)
    arguments = program.arguments()
    try:
        executable = irc.compile(tmp_path / "attention.mlir", target="sim")
    except IrcError as error:
        assert REFUSED.search(str(error)) and error.location is not None
        return
    expected = program.expected(arguments)
    assert (
        np.abs(np.asarray(executable(*arguments)).astype(np.float64) - expected).max() < 1e-2 * np.abs(expected).max()
    )
    if "fma" not in program.config:
        assert [kernel.conflicts for kernel in executable.statistics(*arguments)] == [0]


PLAIN = Attention('instruction = "wgmma", stages = 2', 128, 128, 128, 16384, 16384)
CAUSAL_PLAIN = dataclasses.replace(PLAIN, causal=True)


@long(6)
@pytest.mark.parametrize(
    "program",
    [
        PLAIN,
        CAUSAL_PLAIN,
        dataclasses.replace(CAUSAL_PLAIN, apart=True),
        dataclasses.replace(CAUSAL_PLAIN, window=1024),
        dataclasses.replace(CAUSAL_PLAIN, window=1024, apart=True),
        dataclasses.replace(CAUSAL_PLAIN, config='instruction = "wgmma", warps = 4, schedule = "pingpong"', rows=64),
    ],
    ids=_name,
)
def test_ptxas_neither_spills_nor_serializes(program: Attention, tmp_path: Path) -> None:
    """The weights stay in registers between the products (C75xx would say that ptxas waits for each wgmma)."""
    (tmp_path / "attention.mlir").write_text(program.text)
    (kernel,) = (
        op for op in lower(load(tmp_path / "attention.mlir"), "all", arch="sm_90a").ops if isinstance(op, KernelOp)
    )
    compiled = compile_source(print_kernels([kernel]), "sm_90a", name="attention_0")
    assert compiled.warnings == ()
    assert compiled.resources["attention_0"].spills == 0
