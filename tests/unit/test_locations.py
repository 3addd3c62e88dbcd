"""Locations survive: after every pass each op of a program says where in the text it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawing import long
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from irc.dialects.kernel import ConfigAttr, FusedOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import PIPELINES
from irc.driver.program import load, parse
from irc.driver.reports import Instruments
from irc.ir.locations import innermost, text_locations
from irc.support.diagnostics import IrcError, render
from irc_tools.opt import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))

CALLS = """\
dim M = 64
func inner(x: f32[M]) -> f32[M] {
    return exp(x) + 1
}
func outer(x: f32[M]) -> f32[M] {
    y = inner(x * 2)
    return y
}
"""


def _lost(module: ModuleOp, file: str) -> list[Operation]:
    """The ops that do not say where in the file they come from."""
    return [op for op in module.walk() if op is not module and not _is_from(op, file)]


def _is_from(op: Operation, file: str) -> bool:
    place = innermost(op.location)
    return place is not None and place.filename.data == file


@long(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_op_has_a_place_after_every_pass(path: Path) -> None:
    module = load(path)
    assert _lost(module, str(path)) == []

    class Check(Instruments):
        def after(self, number: int, entry: ModulePass, module: ModuleOp) -> None:
            lost = _lost(module, str(path))
            assert lost == [], f"{entry.name} loses the place of {len(lost)} ops, the first of which is {lost[0].name}"

    run_passes(module, passes_of(PIPELINES["all"]), instruments=Check())


def test_inlined_calls_keep_both_places() -> None:
    module = parse(CALLS, "calls.irc")
    found = {op.name: op.location for op in module.walk() if op.name.startswith("nd.exp")}
    assert isinstance(found["nd.exp"], CallSiteLoc)
    assert [place.line.data for place in text_locations(found["nd.exp"])] == [3, 6]


def test_the_code_of_a_thread_knows_its_lines() -> None:
    module = parse(CALLS, "calls.irc")
    run_passes(module, passes_of(PIPELINES["cuda"]))
    lines = {place.line.data for op in module.walk() for place in text_locations(op.location)}
    assert {3, 6} <= lines


@pytest.mark.parametrize("name", ["tile-kernels", "plan-shared", "lower-to-cuda"])
def test_a_diagnostic_of_a_late_pass_quotes_the_text(name: str, tmp_path: Path) -> None:
    """What a late pass would report of any op has the line of the program."""
    path = tmp_path / "program.irc"
    path.write_text(CALLS)
    module = load(path)
    passes = PIPELINES["cuda"]
    run_passes(module, passes_of(passes[: passes.index(name)]))
    inner = [op for op in module.walk() if op.name.startswith(("nd.", "tile.", "arith.", "math."))]
    assert inner
    for op in inner:
        text = render(IrcError("message", op.location))
        assert text.startswith(f"{path}:")
        assert text.split("\n")[1] in CALLS.split("\n")


def test_an_illegal_config_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A config that needs more shared memory than the chip has, by an override of the kernel's config in the IR."""
    program = tmp_path / "product.irc"
    program.write_text("func f(x: bf16[512, 512], w: bf16[512, 512]) -> bf16[512, 512] {\n    return x @ w\n}\n")
    out = tmp_path / "kernel.mlir"
    assert main([str(program), "-p", "nd,fuse-kernels,choose-config", "--print-debuginfo", "-o", str(out)]) == 0
    text = out.read_text()
    assert "stages = " in text
    before, _, after = text.partition("stages = ")
    out.write_text(f"{before}stages = 99{after[after.index(',') :]}")
    capsys.readouterr()
    assert (
        main([str(out), "-p", "choose-config,tile-kernels,place-operands,assign-layouts,make-channels,plan-shared"])
        == 1
    )
    err = capsys.readouterr().err
    assert f"{program}:2:" in err
    assert "    return x @ w\n" in err
    assert "shared memory" in err


PRODUCT = "func f(x: bf16[512, 512], w: bf16[512, 512]) -> bf16[512, 512] {\n    return x @ w\n}\n"


def test_a_limit_that_a_late_pass_finds_quotes_the_line(tmp_path: Path) -> None:
    """A config that choose-config would have refused gets as far as the pass that counts the bytes."""
    name, program, config = "plan-shared", PRODUCT, {"stages": 30}
    message = "of shared memory for its buffers, sm_90a has"
    path = tmp_path / "program.irc"
    path.write_text(program)
    module = load(path)
    passes = PIPELINES["cuda"]
    chosen = passes.index("choose-config") + 1
    run_passes(module, passes_of(passes[:chosen]))
    for op in module.walk():
        if isinstance(op, FusedOp) and isinstance(op.config, ConfigAttr):
            op.config = op.config.replace(**config)
    run_passes(module, passes_of(passes[chosen : passes.index(name)]))
    with pytest.raises(IrcError, match=message) as caught:
        run_passes(module, passes_of([name]))
    text = render(caught.value)
    assert text.startswith(f"{path}:2:")
    assert program.split("\n")[1] in text.split("\n")
