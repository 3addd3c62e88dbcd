"""Every program of `examples/` on a GPU against the float64 reference, as `irc-run --check` does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.programs.examples import EXAMPLES, cut_dims, odd_dims

import irc
from irc.driver.program import isolate, load
from irc.interpreters.nd.interpreter import evaluate
from irc.runtime.compare import compare, multiplies_f8
from irc.runtime.driver import is_present
from irc.support.diagnostics import IrcError
from irc_tools.inputs import make_arguments

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]


def check(path: Path, dims: dict[str, int]) -> None:
    """Compiles, runs and compares; the tolerances are those of `irc-run`."""
    executable = irc.compile(path, "cuda", dims=dims)
    arrays = make_arguments(executable.arguments, {}, 0)
    found = executable(*arrays)
    results = list(found) if isinstance(found, tuple) else [found]
    module = isolate(load(path, dims=dims))
    references = evaluate(module, arrays, precision="float64")
    of_f8 = multiplies_f8(module)
    for spec, result, reference in zip(executable.results, results, references, strict=True):
        comparison = compare(result, reference, spec.element, of_f8=of_f8)
        assert comparison.passed, f"result {spec.name}: error {comparison.error} over {comparison.tolerance}"


def taken(path: Path, dims: dict[str, int]) -> dict[str, int]:
    """The sizes; skips the test where the program does not take them."""
    try:
        load(path, dims=dims)
    except IrcError as error:
        pytest.skip(f"the program does not take these sizes: {error.message}")
    return dims


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("most", [512, 64])
def test_cut_to_powers_of_two(path: Path, most: int) -> None:
    check(path, taken(path, cut_dims(path, most)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("least", [1, 37, 129])
def test_at_odd_sizes(path: Path, least: int) -> None:
    check(path, taken(path, odd_dims(path, least)))


def test_a_step_whose_program_asks_for_promoted_sums(tmp_path: Path) -> None:
    """At its own size, where sums of the tensor core alone are not accurate enough for the results that are f32."""
    (path,) = (path for path in EXAMPLES if path.stem == "gated_unit_step")
    text = path.read_text().replace("(relu(r) * h) @ u", 'matmul(relu(r) * h, u, precision="f32")')
    assert 'precision="f32"' in text
    (tmp_path / "step.irc").write_text(text)
    check(tmp_path / "step.irc", {})
