"""The programs of `tests/gpu` on the simulator: their kernels, run thread by thread, against the float64 reference.

A run takes a part of them, a sweep (IRC_SWEEP=all) all.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from drawing import SWEEP, long, seeds
from gpu.programs import PROGRAMS, Program, arguments_of, difference
from numerics import generators
from numerics.harness import Array, assert_close, draw_arguments, result_elements, tolerances

import irc
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc.interpreters.nd.interpreter import evaluate

STEP = 7
"""Without a sweep, of the programs one in so many, of the random modules too."""

CHOSEN = PROGRAMS if SWEEP else [program for program in PROGRAMS if not program.large][::STEP]


@pytest.fixture(autouse=True)
def quiet():
    """numpy says nothing of overflows and NaN, which are meant."""
    with np.errstate(all="ignore"):
        yield


def simulate(executable: irc.Executable, arrays: Sequence[Array]) -> Sequence[Array]:
    """The results of a call."""
    found = executable(*arrays)
    return found if isinstance(found, tuple) else (found,)


@long(18, of_all=2)
@pytest.mark.parametrize("program", CHOSEN, ids=lambda program: program.name)
def test_a_program_gives_what_the_reference_does(program: Program) -> None:
    executable = irc.compile(program.text, target="sim", arch="sm_90a")
    arrays = arguments_of(program, executable.arguments)
    results = simulate(executable, arrays)
    references = evaluate(isolate(parse(program.text, program.name)), arrays, precision="float64")
    for spec, a, b in zip(executable.results, results, references, strict=True):
        assert not (wrong := difference(program, a, b, spec.element)), f"result {spec.name}: {wrong}"


def check_random(seed: int) -> None:
    """A random module gives what its fused kernels mean."""
    rng = Random(seed)
    module = generators.random_module(rng, rng.randint(1, 14))
    arrays, elements, limits = draw_arguments(module, seed), result_elements(module), tolerances(module)
    expected = evaluate(lower(module, "kernel", arch="sm_90a"), arrays)
    results = simulate(irc.compile(module, target="sim", arch="sm_90a"), arrays)
    for index, (a, b, element) in enumerate(zip(expected, results, elements, strict=True)):
        assert_close(a, b, element, limits, f"result {index}")


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(100)[:: 1 if SWEEP else STEP])
def test_random_modules_of_small_extents(seed: int) -> None:
    check_random(seed)


@long(2)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(150, 1000)[:: 1 if SWEEP else STEP])
def test_random_modules_beyond_a_tile(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "EXTENTS", (1, 2, 3, 8, 17, 33, 40))
    check_random(seed)
