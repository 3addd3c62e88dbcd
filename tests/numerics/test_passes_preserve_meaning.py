"""Every pass keeps the meaning of a module: on random nd modules and on the examples, by the interpreters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawing import examples, long
from hypothesis import given
from numerics.generators import modules
from numerics.harness import check_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from irc.canonicalization.simplify import SimplifyPattern
from irc.dialects.nd import AddOp, PermuteOp, SubOp
from irc.dialects.nd.base import element_of, shape_of, tensor
from irc.driver.lowering import passes_of
from irc.driver.pipelines import ND, PIPELINES
from irc.driver.program import isolate, new_context, parse
from irc.ir.rewriting import rewrite

CONTEXT = new_context()


@given(modules())
@examples(120, one_in=4)
def test_nd_pipeline_on_random_modules(module: ModuleOp):
    check_passes(module, passes_of(ND), CONTEXT)


@given(modules())
@examples(120, one_in=2)
def test_strict_rounding_on_random_modules(module: ModuleOp):
    check_passes(module, passes_of(("widen-arithmetic", "canonicalize-nd"), strict_rounding=True), CONTEXT)


@given(modules())
@examples(120, one_in=4)
def test_widening_undecomposed_modules(module: ModuleOp):
    check_passes(module, passes_of(("widen-arithmetic", "canonicalize-nd", "decompose-nd", "canonicalize-nd")), CONTEXT)


def permuted_at_the_edges(module: ModuleOp) -> ModuleOp:
    """The function on arguments and results whose last axis comes first."""
    (block,) = (op.body.block for op in module.walk() if isinstance(op, FuncOp))
    (end,) = (op for op in block.ops if isinstance(op, ReturnOp))
    for argument in list(block.args):
        if (rank := len(extents := shape_of(argument))) > 1:
            turned = tensor((extents[-1], *extents[:-1]), element_of(argument))
            memory = Rewriter.replace_value_with_new_type(argument, turned)
            inward = PermuteOp(memory, [*range(1, rank), 0])
            block.insert_op_before(inward, next(iter(block.ops)))
            memory.replace_uses_with_if(inward.result, lambda use, inward=inward: use.operation is not inward)
    for place, value in enumerate(end.operands):
        if (rank := len(shape_of(value))) > 1:
            outward = PermuteOp(value, [rank - 1, *range(rank - 1)])
            block.insert_op_before(outward, end)
            end.operands[place] = outward.result
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    function.update_function_type()
    module.verify()
    return module


@given(modules())
@examples(120, one_in=6)
def test_permutes_at_the_edges_of_random_modules(module: ModuleOp):
    check_passes(permuted_at_the_edges(module), passes_of(ND), CONTEXT)


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))
LITERAL_DIM = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+)\s*(?=,|$)")


def cut_dims(text: str) -> dict[str, int]:
    """A small extent for each dim that a program gives as a literal above 16: 16 where it divides the dim, else 10."""
    lines = [line.removeprefix("dim ") for line in text.splitlines() if line.startswith("dim ")]
    found = {name: int(value) for line in lines for name, value in LITERAL_DIM.findall(line)}
    return {name: 10 if value % 16 else 16 for name, value in found.items() if value > 16}


@long(20, of_all=3)
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
