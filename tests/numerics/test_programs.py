"""The programs of `tests/gpu`, without a GPU: lowered to CUDA C++ and interpreted as tile programs.

Every program goes through every pass to source and is interpreted after the last tile pass, except those that would
take long; every sixteenth also after each tile pass, and every fortieth is compiled by NVRTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawing import long
from gpu.programs import PROGRAMS, Program, arguments_of, difference
from xdsl.dialects.builtin import ModuleOp

from irc.codegen import compile_kernel, print_cuda
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower, passes_of
from irc.driver.pipelines import CUDA, TILE
from irc.driver.program import isolate, new_context, parse, signature
from irc.interpreters.nd.interpreter import evaluate
from irc.ir.functions import entry_of

CONTEXT = new_context()
TILE_PASSES = TILE[TILE.index("tile-kernels") :]


def name_of(program: Program) -> str:
    return program.name


def lower_and_compare(program: Program, compared: Sequence[str]) -> ModuleOp:
    """The program as CUDA IR. After the passes in `compared` it means what the float64 reference says."""
    module = isolate(parse(program.text, program.name))
    arguments, results = signature(entry_of(module))
    arrays = arguments_of(program, arguments) if compared else []
    references: Sequence[Any] = evaluate(module, arrays, precision="float64") if compared else ()
    for each in passes_of(CUDA):
        each.apply(CONTEXT, module)
        if each.name not in compared:
            continue
        module.verify()
        found = evaluate(module, arrays)
        for spec, a, b in zip(results, found, references, strict=True):
            assert not (wrong := difference(program, a, b, spec.element)), f"{each.name}: result {spec.name}: {wrong}"
    module.verify()
    return module


@pytest.fixture(autouse=True)
def quiet():
    """numpy says nothing of overflows and NaN, which are meant."""
    with np.errstate(all="ignore"):
        yield


def test_names_are_unique() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@long(64, of_all=8)
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_lowered_program_means_the_same(program: Program) -> None:
    module = lower_and_compare(program, () if program.large else TILE_PASSES[-1:])
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    source = print_cuda(module)
    assert all(f"{kernel.sym_name.data}(" in source for kernel in kernels)


@long(20, of_all=3)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if not p.large][::16], ids=name_of)
def test_every_tile_pass_keeps_the_meaning(program: Program) -> None:
    lower_and_compare(program, TILE_PASSES)


@long(4)
@pytest.mark.parametrize("program", PROGRAMS[::40], ids=name_of)
def test_source_compiles(program: Program) -> None:
    module = lower(isolate(parse(program.text, program.name)), "cuda")
    for kernel in [op for op in module.ops if isinstance(op, KernelOp)]:
        assert len(compile_kernel(kernel, "sm_90a").cubin) > 0
