"""The target `cpu` against the float64 reference: the programs of `tests/gpu`, the examples, and drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from drawing import long, seeds
from example_sizes import DIMS, EXAMPLES
from gpu.programs import PROGRAMS, Program, arguments_of, difference
from numerics.drawn_convolutions import convolution, gradients
from numerics.drawn_programs import Drawn, draw_program, permute, product, reduction, scan
from numerics.harness import check_kernels
from numerics.language_programs import forward_program, gradient_program

import irc
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse, signature
from irc.interpreters.nd.interpreter import evaluate
from irc.ir.discardable import INTERPRETED
from irc.ir.functions import entry_of
from irc_tools.run import main

FAMILIES = (permute, reduction, scan, product, convolution, gradients)

WITHOUT = ("values of f8", "f64 rounded to f16")
"""What has no loops so far."""


@long(64, of_all=5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs(program: Program) -> None:
    module = isolate(parse(program.text, program.name))
    arguments, results = signature(entry_of(module))
    arrays = arguments_of(program, arguments)
    with np.errstate(all="ignore"):
        references: Any = evaluate(module, arrays, precision="float64")
        found = irc.compile(program.text, target="cpu")(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for spec, a, b in zip(results, found, references, strict=True):
        assert not (wrong := difference(program, a, b, spec.element)), f"result {spec.name}: {wrong}"


@long(16, of_all=2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_have_loops(program: Program) -> None:
    """All but those with what the list says."""
    reasons = interpreted(program.text)
    assert not [reason for reason in reasons if not any(text in reason for text in WITHOUT)]


def interpreted(text: str) -> list[str]:
    """Why kernels of a program are interpreted."""
    module = lower(isolate(parse(text, "program")), "cpu", arch="cpu")
    return [str(op.attributes[INTERPRETED]) for op in module.walk() if INTERPRETED in op.attributes]


@long(3)
@pytest.mark.parametrize("name", DIMS)
def test_an_example_passes_its_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    defines = [f"-D{dim}={size}" for dim, size in DIMS[name].items()]
    assert main([str(EXAMPLES / f"{name}.irc"), "--target", "cpu", "--check", *defines]) == 0, capsys.readouterr().err


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", seeds(6, 3000))
def test_drawn_programs(family: Callable[[Drawn], str], seed: int) -> None:
    text = draw_program(family, seed)
    assert not [reason for reason in interpreted(text) if "no tiles" in reason]
    check_kernels(text, seed, None)


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(20, 3000))
@pytest.mark.parametrize("draw", [forward_program, gradient_program], ids=lambda draw: draw.__name__)
def test_random_programs(draw: Callable[[Random], Any], seed: int) -> None:
    program = draw(Random(seed))
    assert not [reason for reason in interpreted(program.text) if "no tiles" in reason]
    check_kernels(program.text, seed, None, program.noise)
