"""Every pass keeps the meaning of a module: on random nd modules and on the examples, by the interpreters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawing import examples
from hypothesis import given
from numerics.generators import modules
from numerics.harness import check_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.dialects.nd import AddOp, SubOp
from irc.lowering import passes_of
from irc.passes.nd.simplify import SimplifyPattern
from irc.pipelines import ND, PIPELINES
from irc.program import isolate, new_context, parse
from irc.rewriting import rewrite

CONTEXT = new_context()


@given(modules())
@examples(120)
def test_nd_pipeline_on_random_modules(module: ModuleOp):
    check_passes(module, passes_of(ND), CONTEXT)


@given(modules())
@examples(120)
def test_strict_rounding_on_random_modules(module: ModuleOp):
    check_passes(module, passes_of(("widen-arithmetic", "canonicalize-nd"), strict_rounding=True), CONTEXT)


@given(modules())
@examples(120)
def test_widening_undecomposed_modules(module: ModuleOp):
    check_passes(module, passes_of(("widen-arithmetic", "canonicalize-nd", "decompose-nd", "canonicalize-nd")), CONTEXT)


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))
LITERAL_DIM = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+)\s*(?=,|$)")


def cut_dims(text: str) -> dict[str, int]:
    """A small extent for each dim that a program gives as a literal above 16: 16 where it divides the dim, else 10."""
    lines = [line.removeprefix("dim ") for line in text.splitlines() if line.startswith("dim ")]
    found = {name: int(value) for line in lines for name, value in LITERAL_DIM.findall(line)}
    return {name: 10 if value % 16 else 16 for name, value in found.items() if value > 16}


@pytest.mark.parametrize("level", ["kernel", "tile"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_pipeline_on_examples(path: Path, level: str):
    """Every pass from nd to the level."""
    text = path.read_text()
    module = isolate(parse(text, path.name, dims=cut_dims(text)))
    check_passes(module, passes_of(PIPELINES[level]), CONTEXT)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_strict_rounding_on_examples(path: Path):
    """The letter of the program before `widen-arithmetic` and after it."""
    text = path.read_text()
    module = isolate(parse(text, path.name, dims=cut_dims(text)))
    check_passes(module, passes_of(("widen-arithmetic", "canonicalize-nd"), strict_rounding=True), CONTEXT)


def test_harness_finds_a_pass_that_changes_the_meaning():
    class WrongPass(ModulePass):
        name = "wrong"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            rewrite(op, [SimplifyPattern({AddOp: [lambda add, at: at.value(SubOp(add.lhs, add.rhs))]})], what=self.name)

    module = parse("func f(x: f32[4], y: f32[4]) -> f32[4] {\n    return x + y\n}\n", "f.irc")
    with pytest.raises(AssertionError, match=r"wrong: result 0 \(float64, float64\): error"):
        check_passes(module, [WrongPass()], CONTEXT)
