"""Discardable attributes: declared in one place, verified, printed and read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawing import ALL as ALL_CASES
from drawing import long
from example_sizes import DIMS, EXAMPLES
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL, PASSES
from irc.driver.program import isolate, load, new_context
from irc.driver.reports import Instruments
from irc.ir.discardable import AFTER, DECLARED, DISCARDABLE, OF_ARGUMENTS, Discardable
from irc.ir.dtypes import ELEMENTS
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.ir.verification import verify
from irc.support.diagnostics import IrcError

ROOT = Path(__file__).parents[2]
DIALECTS = sorted((ROOT / "tests" / "lit").glob("*/dialect_valid.mlir"))
ALL_DECLARED = [*DISCARDABLE.values(), *OF_ARGUMENTS.values()]

KERNEL = """\
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = nd.add %x, %y : tensor<4xf32>
  %e = nd.exp %s : tensor<4xf32>
  %c = nd.cast %e : tensor<4xf32> -> tensor<4xbf16>
  %w = nd.cast %c : tensor<4xbf16> -> tensor<4xf32>
  func.return %w : tensor<4xf32>
}
func.func @product(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = nd.matmul %a, %a {lhs_contract = [1], rhs_contract = [0]} : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %m : tensor<4x4xf32>
}
func.func @padded(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<6xf32> {
  %p = nd.pad %x, %z {low = [0], high = [2]} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  func.return %p : tensor<6xf32>
}
func.func @joined(%x: tensor<4xf32>) -> tensor<8xf32> {
  %j = nd.concat %x, %x {axis = 0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return %j : tensor<8xf32>
}
cuda.kernel @k(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c1 step %c1 {
    %s = math.sin %r : f32
  }
  cuda.return
}
tile.program @p() {results = 0 : i64} {
}
"""


def module() -> ModuleOp:
    found = parse_ir(new_context(), KERNEL, "attributes.mlir")
    verify(found)
    return found


@long(4)
@pytest.mark.parametrize("entry", DISCARDABLE.values(), ids=lambda entry: entry.name)
def test_an_attribute_is_refused_where_it_says_nothing(entry: Discardable) -> None:
    carriers = 0
    for number in range(len([*module().walk()])):
        held = module()
        op = [*held.walk()][number]
        op.attributes[entry.name] = StringAttr("x") if entry.value == "unit" else IntegerAttr(-1, i64)
        carriers += entry.carries(op)
        expected = f": {entry.name}: expected {entry.value}" if entry.carries(op) else f"{entry.name} is for {entry.on}"
        with pytest.raises(IrcError, match=re.escape(expected)):
            verify(held)
    assert carriers


@pytest.mark.parametrize("entry", OF_ARGUMENTS.values(), ids=lambda entry: entry.name)
def test_an_attribute_of_an_argument_is_verified(entry: Discardable) -> None:
    text = KERNEL.replace("%x: tensor<4xf32>", f"%x: tensor<4xf32> {{{entry.name} = -1}}", 1)
    with pytest.raises(IrcError, match=f"{entry.name}: expected {entry.value}"):
        verify(parse_ir(new_context(), text, "attributes.mlir"))


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("nd.exp %s", "nd.exp %s {relaxed}", "did you mean 'nd.relaxed'?"),
        ("nd.exp %s", "nd.exp %s {nd.relax}", "did you mean 'nd.relaxed'"),
        ("math.sin %r", "math.sin %r {irc.far}", "those of other tools have a prefix"),
        ("  }\n  cuda", "  } {unrol}\n  cuda", "did you mean 'unroll'?"),
        ("%y: tensor<4xf32>", "%y: tensor<4xf32> {irc.nam}", "did you mean 'irc.name'"),
    ],
)
def test_an_attribute_that_is_not_declared_is_refused(old: str, new: str, hint: str) -> None:
    assert old in KERNEL
    text = KERNEL.replace(old, new, 1)
    with pytest.raises(IrcError, match="unknown attribute") as error:
        verify(parse_ir(new_context(), text, "attributes.mlir"))
    assert error.value.location is not None
    assert hint in (error.value.hint or "")


def test_attributes_of_other_tools_and_ops_stay() -> None:
    text = KERNEL.replace("nd.exp %s", "nd.exp %s {tool.note = 1}").replace("  }\n  cuda", "  } {tool.note}\n  cuda")
    text += "func.func @g() {\n  %c = arith.constant {mine} 1 : i32\n  func.return\n}\n"
    held = parse_ir(new_context(), text, "attributes.mlir")
    verify(held)
    assert print_ir(held).count("tool.note") == 2


@pytest.mark.parametrize("path", DIALECTS, ids=lambda path: path.parent.name)
def test_every_op_prints_its_attributes(path: Path) -> None:
    for piece in path.read_text().split("// -----"):
        held = parse_ir(new_context(), piece, str(path))
        for number, op in enumerate(held.walk()):
            op.attributes["tool.note"] = IntegerAttr(number, i64)
        again = parse_ir(new_context(), print_ir(held), "again.mlir")
        lost = [op.name for op in again.walk() if "tool.note" not in op.attributes]
        assert lost == []
        assert again.is_structurally_equivalent(held)


def examples() -> list[str]:
    return list(DIMS) if ALL_CASES else ["image", "mlp"]


@pytest.mark.parametrize("name", examples())
def test_what_a_pass_prints_is_read_back_to_the_same_ir(name: str) -> None:
    class Check(Instruments):
        last = ""

        def after(self, number: int, entry: ModulePass, module: ModuleOp) -> None:
            text = print_ir(module)
            changed, self.last = re.sub(f'{AFTER} = "[^"]*"', "", text), self.last
            if changed == self.last:
                return
            self.last = changed
            assert parse_ir(context, text, "dump.mlir").is_structurally_equivalent(module), entry.name

    context = new_context()
    lowered = isolate(load(EXAMPLES / f"{name}.irc", dims=DIMS[name]))
    run_passes(lowered, passes_of(ALL), instruments=Check())


def test_passes_are_named_as_they_are() -> None:
    for entry in ALL_DECLARED:
        for name in re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", f"{entry.written}, {entry.read}"):
            assert name in PASSES, f"{entry.name}: {name}"


def test_attributes_are_read_by_their_declared_names() -> None:
    literal = re.compile(
        r"""\.attributes(?:\.(?:get|pop|setdefault)\(|\[)\s*["']|["'][a-z_.]+["'] (?:not )?in \w+\.attributes"""
    )
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("irc", "frontend", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if literal.search(line)
    ]
    assert found == []


def test_narrow_floats_are_those_of_the_table() -> None:
    fits = DISCARDABLE[DECLARED].fits
    assert [element for element in ELEMENTS if fits(element.type)] == [e for e in ELEMENTS if e.is_narrow_float]
