"""`donate` before parameters: which results get their memory, what is refused, and that programs run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irc
from irc.driver.compiler import compile_artifact
from irc.ir.donation import donations
from irc.ir.functions import entry_of
from irc.language import parse, print_module
from irc.support.diagnostics import IrcError, render
from irc_tools import run

HEAD = "func f({parameters}) -> (f32[4], f32[2], f32[4]) {{\n    return a + b, b[:2], a - b\n}}\n"


def program(parameters: str) -> str:
    return HEAD.format(parameters=parameters)


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("a: f32[4], b: f32[4]", {}),
        ("donate a: f32[4], b: f32[4]", {0: 0}),
        ("a: f32[4], donate b: f32[4]", {0: 1}),
        ("donate a: f32[4], donate b: f32[4]", {0: 0, 2: 1}),
        ("donate(2) a: f32[4], b: f32[4]", {2: 0}),
        ("donate a: f32[4], donate(0) b: f32[4]", {2: 0, 0: 1}),
        ("donate ( 2 ) a: f32[4],\n donate\n b: f32[4]", {2: 0, 0: 1}),
    ],
)
def test_results_get_the_memory_and_the_text_comes_back(parameters: str, found: dict[int, int]) -> None:
    module = parse(program(parameters), "f.irc")
    assert donations(entry_of(module)) == found
    assert donations(entry_of(parse(print_module(module), "again.irc"))) == found


def test_a_parameter_may_be_called_donate() -> None:
    module = parse(
        "func f(donate: f32[4], donate donate2: f32[4]) -> f32[4] {\n    return donate + donate2\n}\n", "f.irc"
    )
    assert donations(entry_of(module)) == {0: 1}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("give a: f32[4], b: f32[4]", "f.irc:1:8: error: found give before a parameter"),
        ("donate(3) a: f32[4], b: f32[4]", "f.irc:1:8: error: there is no result 3"),
        ("donate(1) a: f32[4], b: f32[4]", "f.irc:1:8: error: result 1 is f32[2], the parameter is f32[4]"),
        ("donate(0) a: f32[4], donate(0) b: f32[4]", "f.irc:1:29: error: result 0 has the memory of another parameter"),
        ("a: f32[4], b: f32[4], donate c: f32[8]", "f.irc:1:30: error: no result of type f32[8] is left for this"),
        ("donate() a: f32[4], b: f32[4]", "expected a number"),
        ("donate a b: f32[4]", "expected"),
    ],
)
def test_what_cannot_be_donated_is_an_error_at_the_parameter(parameters: str, message: str) -> None:
    with pytest.raises(IrcError) as caught:
        parse(program(parameters), "f.irc")
    assert message in render(caught.value)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_the_values_are_the_same_and_arrays_of_the_host_stay(target: str) -> None:
    a, b = np.arange(4, dtype=np.float32), np.full(4, 2, np.float32)
    results = irc.compile(program("donate a: f32[4], donate b: f32[4]"), target=target)(a, b)
    for result, wanted in zip(results, (a + b, b[:2], a - b), strict=True):
        assert np.array_equal(result, wanted)
    assert np.array_equal(a, np.arange(4))


def test_the_plan_writes_the_result_there_and_needs_less_memory() -> None:
    donated, kept = (
        compile_artifact(program(text)) for text in ("donate a: f32[4], b: f32[4]", "a: f32[4], b: f32[4]")
    )
    assert [tuple(pair) for pair in donated.plan["donated"]] == [(0, 0)]
    assert not kept.plan["donated"]
    assert donated.manifest["peak"] == kept.manifest["peak"] - 16


def test_irc_run_checks_a_program_that_donates(tmp_path: Path) -> None:
    path = tmp_path / "f.irc"
    path.write_text(program("donate a: f32[4], b: f32[4]"))
    assert run.main([str(path), "--target", "cpu", "--check"]) == 0
