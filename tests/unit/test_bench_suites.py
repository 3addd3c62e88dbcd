"""The benchmark suites: they load, their programs lower, and mean at small sizes what their torch bodies mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawing import long
from numpy_torch import Functional, Tensor, Torch

from irc.driver.compiler import compile as compile_program
from irc.driver.lowering import lower
from irc.driver.program import parse
from irc.runtime.compare import Array, compare
from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import parse_bar
from irc_tools.bench.draws import LARGEST_BLOCK, draw_block
from irc_tools.bench.measure import tolerated
from irc_tools.bench.rows import FIRST_CALL, Row
from irc_tools.bench.suite import FOLDER, known_suites, load_suite
from irc_tools.bench.torch_steps import body_function, built_for_sizes

SUITES = {name: load_suite(name) for name in known_suites()}
NAMED = [(f"{name}: {row.name}", row) for name, suite in SUITES.items() for row in suite.rows]
ROWS = [pytest.param(row, id=name) for name, row in NAMED if row.program]
KINDS = {
    **{f"{name}: {row.group}": row.program for name, suite in SUITES.items() for row in suite.rows if row.program},
    **{f"{name} rival": row.rival for name, row in NAMED if row.rival},
}
"""One row of each kind of each suite, and every rival: what a run compiles first."""
MODELS = [pytest.param(row, id=name) for name, row in NAMED if row.model]


def test_the_suites_cover_the_targets() -> None:
    assert {"memory", "gemm", "random"} <= set(SUITES)
    assert len(SUITES["memory"].rows) == 16
    assert len(SUITES["gemm"].rows) == 16
    assert len(SUITES["gemm-sweep"].rows) >= 75
    assert len(SUITES["convolution"].rows) == 3 * 22 + 10
    groups = [row.group for row in SUITES["random"].rows]
    assert sum(group.startswith("permute") for group in groups) >= 40
    assert groups.count("reduction") >= 20
    assert groups.count("pointwise") >= 20
    assert len(SUITES["random-convolutions"].rows) == 100


@pytest.mark.parametrize("row", MODELS)
def test_a_model_is_a_function_of_its_dims(row: Row) -> None:
    assert callable(body_function(row.name, row.model, list(row.dims), {}))
    assert callable(body_function(row.name, row.loss or "pass", ["model", "*inputs"], {}))
    assert row.bars and set(row.peers) >= ({"compile"} if row.clock == FIRST_CALL else {"eager", "compile"})


@pytest.mark.parametrize("names", [("torch-models", "torch-training"), ("torch-vision", "torch-vision-training")])
def test_the_models_that_are_trained_are_those_that_infer(names: tuple[str, str]) -> None:
    forward, training = ({row.name: row for row in SUITES[name].rows} for name in names)
    assert all(row.loss for row in training.values()) and not any(row.loss for row in forward.values())
    assert {name: replace(row, loss="", bars=()) for name, row in training.items()} == {
        name: replace(row, bars=()) for name, row in forward.items()
    }


def test_a_row_says_what_differs_from_that_of_its_name_in_the_base(tmp_path: Path) -> None:
    twin = ROW.replace('"a"', '"b"')
    (tmp_path / "first.toml").write_text(f"peers = ['eager']\n{ROW}clock = 'calls'\nbars = ['1 of copy']\n")
    (tmp_path / "second.toml").write_text(f"base = 'first'\n[[rows]]\nname = 'a'\nbars = []\n{twin}")
    (row, other) = load_suite(str(tmp_path / "second.toml")).rows
    assert row == Row("a", "p", clock="calls")
    assert other == Row("b", "p")
    (tmp_path / "third.toml").write_text(
        f"{ROW}clock = 'calls'\n[[rows]]\nname = 'c'\nbase = 'a'\ndims = {{ N = 2 }}\n"
    )
    assert load_suite(str(tmp_path / "third.toml")).rows[1] == Row("c", "p", clock="calls", dims={"N": 2})


def test_a_suite_may_have_several_bases_and_a_clock_and_bars_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(f"{ROW}clock = 'calls'\nbars = ['1 of copy']\n")
    (tmp_path / "second.toml").write_text(ROW.replace('"a"', '"b"'))
    (tmp_path / "third.toml").write_text(
        "base = ['first', 'second']\nclock = 'graph'\nbars = ['2 of copy']\n"
        "[[rows]]\nname = 'a'\n[[rows]]\nname = 'c'\nbase = 'b'\nclock = 'host'\n"
    )
    bars = (parse_bar("2 of copy"),)
    assert load_suite(str(tmp_path / "third.toml")).rows == (
        Row("a", "p", clock="graph", bars=bars),
        Row("c", "p", clock="host", bars=bars),
    )


def test_compile_times_are_of_models_of_all_kinds() -> None:
    suite = SUITES["compile-torch"]
    assert suite.times_first_calls and not any(SUITES[name].times_first_calls for name in ("memory", "torch-models"))
    names = {row.name for row in suite.rows}
    assert len(names) == 21
    assert {row.name for name in ("torch-models", "torch-vision") for row in SUITES[name].rows} < names
    assert all(row.small and [bar.text for bar in row.bars] == ["1.00 of compile"] for row in suite.rows)
    assert {(each.group, each.statistic) for each in suite.summaries} == {
        (group, statistic) for group in ("cold", "warm") for statistic in ("geomean", "least")
    }


@long(3)
@pytest.mark.parametrize("row", ROWS)
def test_a_row_means_what_its_torch_body_means(row: Row) -> None:
    dims = {**row.dims, **row.small}
    executable = compile_program(row.program, "interpret", dims=dims)
    arrays = [
        draw_block(spec, row.inputs.get(spec.name, ""), dims, 1, index).reshape(spec.shape)
        for index, spec in enumerate(executable.arguments)
    ]
    found = executable(*arrays)
    results = found if isinstance(found, tuple) else (found,)
    names = [spec.name for spec in executable.arguments]
    work = body_function(row.name, row.reference or row.torch, names, {"torch": Torch, "F": Functional})
    wide = work(*[Tensor(_wide(array)) for array in arrays])
    references = wide if isinstance(wide, tuple) else (wide,)
    for spec, result, reference in zip(executable.results, results, references, strict=True):
        comparison = tolerated(
            compare(result, np.asarray(reference.value), spec.element), row.tolerance.get(spec.element)
        )
        assert comparison.passed, comparison.reason


def _wide(array: Array) -> Array:
    return array if np.issubdtype(array.dtype, np.integer) else array.astype(np.float64)


@long(8)
@pytest.mark.parametrize("program", KINDS.values(), ids=KINDS)
def test_a_program_lowers_at_full_size(program: str) -> None:
    lower(parse(program, "row.irc"), "tile", arch="sm_90a")


def test_draws_depend_on_the_seed_alone() -> None:
    first, again, other = (load_suite("random", seed).rows for seed in (7, 7, 8))
    assert first == again
    assert [row.program for row in first] != [row.program for row in other]


def test_drawn_arrays_are_large_and_every_element_size_is_there() -> None:
    sizes: set[int] = set()
    for row in SUITES["random"].rows:
        program = parse(row.program, "row.irc")
        spec = compile_program(program, "interpret").arguments[0]
        assert spec.nbytes >= 64 << 20, row.name
        if row.group.startswith("permute"):
            sizes.add(spec.dtype.itemsize)
            assert 2 <= len(spec.shape) <= 6
    assert sizes == {1, 2, 4, 8}


def test_draws_of_inputs() -> None:
    spec = compile_program(
        "func f(x: f32[5000, 5000], i: i64[4000]) -> f32[] {\n    return sum(x)\n}", "interpret"
    ).arguments
    block = draw_block(spec[0], "uniform -2 N", {"N": 3}, 0, 0)
    assert block.size == LARGEST_BLOCK
    assert -2 <= block.min() < -1.9
    assert 2.9 < block.max() <= 3
    labels = draw_block(spec[1], "integers 5 C", {"C": 7}, 0, 0)
    assert set(labels.tolist()) == {5, 6}
    assert draw_block(spec[1], "ascending 0 9", {}, 0, 0).tolist() == sorted(
        draw_block(spec[1], "integers 0 9", {}, 0, 0)
    )
    begins, lengths = (
        draw_block(spec[1], f"{kind} T", {"T": 9000}, 3, n) for n, kind in enumerate(["begins", "lengths"])
    )
    assert begins[0] == 0 and (begins[1:] == (begins + lengths)[:-1]).all() and begins[-1] + lengths[-1] == 9000
    assert lengths.min() >= 0 and len(set(lengths.tolist())) > 3
    assert draw_block(spec[0], "normal 0.5", {}, 0, 0).std() == pytest.approx(0.5, rel=0.01)
    for text in ("normal 1 2", "uniform 1", "gamma 1 2", "uniform 0 C"):
        with pytest.raises(IrcError, match="input x"):
            draw_block(spec[0], text, {}, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "0.95",
        "0.95 of best of",
        "of copy",
        ">= 1 of copy",
        "0.9 of me",
        "-1 of copy",
        "5 us for bound",
        "<= 5 of us",
        "<= 5 us below copy",
    ],
)
def test_bars_that_do_not_read(text: str) -> None:
    with pytest.raises(IrcError, match=r"expected '0.95 of copy'"):
        parse_bar(text)


@pytest.mark.parametrize(
    "text", ["<= 12.00 us beyond launches", "<= 5.00 us for bound", "0.95 of copy", "<= 0.40 of rival"]
)
def test_bars_read_as_they_are_written(text: str) -> None:
    assert parse_bar(text).text == text


def test_bars_hold_within_one_percent() -> None:
    speed, time = parse_bar("0.95 of copy"), parse_bar("<= 0.80 of best")
    assert (speed.text, time.text) == ("0.95 of copy", "<= 0.80 of best")
    assert speed.holds(0.9406)
    assert not speed.holds(0.9404)
    assert time.holds(0.807)
    assert not time.holds(0.809)


CONVOLUTION = "[[convolutions]]\nname = 'a'\nx = [1, 2, 3, 4]\noutputs = 2\nwindow = [1, 1]\n"
ROW = '[[rows]]\nname = "a"\nprogram = "p"\n'
MODEL = "[[rows]]\nname = 'b'\nmodel = 'return None'\n"
FIRST = "[[rows]]\nname = 'b'\nmodel = 'return None'\nclock = 'first call'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        ('color = "red"', "unknown key 'color'"),
        ("[[rows]]\nname = 'a'", "expected a name, and a program, a file, a model or a kernel"),
        (ROW + "bar = '1 of copy'", "unknown key 'bar'"),
        (ROW + "bars = '1 of copy'", "bars: expected a list of strings"),
        (ROW + "bars = ['fast']", "bar 'fast'"),
        (ROW + "peers = ['jax']", "unknown 'jax'"),
        (ROW + "dims = { N = 1.5 }", "dims: expected a table of integers"),
        (ROW + "clock = 'sun'", "unknown 'sun'"),
        (ROW + "loss = 'return 1'", "row 'a': a loss is of a model"),
        ("base = 'none'\n" + ROW, "none.toml"),
        ("base = 'suite'\n[[rows]]\nname = 'a'", "expected a name, and a program, a file, a model or a kernel"),
        (ROW + ROW, "two rows are named 'a'"),
        (ROW + "clock = 'first call'", "row 'a': a first call is of a model"),
        ("peers = ['eager']\n" + FIRST, "row 'b': a first call is of a model"),
        (ROW + FIRST, "rows whose clock is 'first call' are a suite of their own"),
        ("base = 1\n" + ROW, "base: expected a list of strings"),
        (ROW + "sizes = { n = [1] }", "row 'a': sizes are of a model that is called more than once"),
        (FIRST + "sizes = { n = [1] }", "row 'b': sizes are of a model that is called more than once"),
        (MODEL + "sizes = { n = [1, 0] }", "sizes: expected a table of lists of positive integers"),
        (MODEL + "sizes = { n = [1, 2], m = [1] }", "sizes: expected lists of one length"),
        (ROW + "[[rows]]\nname = 'b'\nbase = 'c'", "row 'b': no row 'c' is before it"),
        (
            "[random]\nseed = 1",
            "expected a seed, and numbers for some of permutes, reductions, pointwise, convolutions",
        ),
        ("[[products]]\nelement = 'bf16'\nmajors = ['nn']\nshapes = [[1, 2]]", "expected shapes as lists of M, N, K"),
        ("[[products]]\nelement = 'bf16'\nmajors = ['nx']\nshapes = [[1, 2, 3]]", "a product of bf16, nx"),
        ("[[products]]\nelement = 'u8'\nmajors = ['nn']\nshapes = [[1, 2, 3]]", "a product of u8, nn"),
        ("[[convolutions]]\nname = 'a'\nx = [1, 2, 3]", "expected outputs, window"),
        (CONVOLUTION + "stride = 2", "unknown key 'stride'"),
        (CONVOLUTION + "bars = { bprop = [] }", "bars of bprop"),
        (CONVOLUTION.replace("3, 4", "3"), "1 to 3 axes, the window as many"),
        ("[[summaries]]\nstatistic = 'mode'\nbar = '1 of copy'", "unknown 'mode'"),
    ],
)
def test_suites_that_do_not_read(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text)
    with pytest.raises(IrcError) as caught:
        load_suite(str(path))
    assert message in caught.value.message


def test_a_model_of_many_sizes_has_inputs_for_each() -> None:
    torch = pytest.importorskip("torch")
    (row,) = (row for row in SUITES["torch-dynamic"].rows if row.name.startswith("gated mlp"))
    model, calls = built_for_sizes(torch, row.name, row.model, {"width": 8, "inner": 16}, row.swept)
    assert [x.shape[0] for (x,) in calls] == list(row.sizes["rows"]) and model(calls[0][0]).shape == (2, 8)
    with pytest.raises(IrcError, match="its model is given with a function of rows"):
        built_for_sizes(torch, "a", "return None, []", {}, [{"rows": 1}])


def test_the_folder_is_where_suites_are() -> None:
    assert (FOLDER / "memory.toml").is_file()
    with pytest.raises(IrcError, match="unknown suite memry"):
        load_suite("memry")
