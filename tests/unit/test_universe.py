"""irc as a plug-in of xDSL: its tables, and the plain xdsl-opt."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from irc.driver.pipelines import DIALECTS, PASSES, PIPELINES, TARGETS
from irc.driver.universe import IRC_UNIVERSE, resolve
from irc.ir import dominance


@pytest.mark.parametrize("name", PASSES)
def test_passes_have_the_name_of_the_table(name: str) -> None:
    cls = resolve(PASSES[name])
    assert issubclass(cls, ModulePass)
    assert cls.name == name
    assert PASSES[name].endswith(f".{name.replace('-', '_')}:{cls.__name__}"), "a file is named after its pass"
    assert cls.required_fields() == set(), "a pass runs without options"


@pytest.mark.parametrize("name", TARGETS)
def test_targets_have_the_name_of_the_table(name: str) -> None:
    cls = resolve(TARGETS[name])
    assert issubclass(cls, Target)
    assert cls.name == name


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_have_the_name_of_the_table(name: str) -> None:
    dialect = resolve(DIALECTS[name])
    assert dialect.name == name
    assert all(op.name.startswith(f"{name}.") for op in dialect.operations)


def test_nothing_clashes_with_xdsl() -> None:
    assert not set(XDSL_UNIVERSE.all_passes) & {*PASSES, *PIPELINES}
    assert not set(XDSL_UNIVERSE.all_dialects) & set(DIALECTS)
    assert not set(XDSL_UNIVERSE.all_targets) & set(TARGETS)


def test_the_entry_point_is_found() -> None:
    universe = Universe.get_multiverse()
    assert set(IRC_UNIVERSE.all_passes) <= set(universe.all_passes)
    assert set(IRC_UNIVERSE.all_dialects) <= set(universe.all_dialects)


def test_importing_the_universe_imports_no_pass_and_no_dialect() -> None:
    code = "import sys, irc.driver.universe\nprint([m for m in sys.modules if m.startswith(('irc.passes', 'irc.dialects'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_plain_xdsl_opt_runs_irc() -> None:
    program = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = nd.exp %x : tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}\n"
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "-p", "canonicalize-nd"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nd.exp" in done.stdout


def test_dominance_knows_all_dialects() -> None:
    assert set(dominance.DIALECTS) == set(DIALECTS)
