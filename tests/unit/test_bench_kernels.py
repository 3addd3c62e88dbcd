"""Rows of irc-bench that are kernels in Python: what they are called with, their lines, and that each is right on small
arrays and compiles for a GPU; and what is noted of a kernel of Triton that cannot run."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import long
from kernel_rows import check_row

from irc.driver.compiler import compile_artifact
from irc.support.diagnostics import IrcError
from irc_tools.bench.case import compiled, named_arguments
from irc_tools.bench.python_files import KernelCall, PythonFunction, count_lines
from irc_tools.bench.record import Record, RowRecord, read_record, write_record
from irc_tools.bench.report import print_record
from irc_tools.bench.rows import Row, Suite
from irc_tools.bench.suite import load_suite
from irc_tools.bench.torch_peers import Torch

SUITE = load_suite("kernels")
ROWS = [pytest.param(row, id=row.name) for row in SUITE.rows]


@long(3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("row", ROWS)
def test_a_row_means_what_its_torch_body_means(row: Row, target: str) -> None:
    check_row(row, target)


@long(6)
@pytest.mark.parametrize("row", ROWS)
def test_a_row_compiles_without_spills(row: Row) -> None:
    assert row.kernel is not None
    artifact = compile_artifact(row.kernel.module(row.dims), arch="sm_90a")
    assert [kernel["spills"] for kernel in artifact.manifest["kernels"]] == [0] * len(artifact.kernels)


def test_rows_are_in_the_suite_with_all_peers() -> None:
    for row in SUITE.rows:
        assert row.peers == ("eager", "compile", "triton"), row.name
        assert [bar.text for bar in row.bars] == ["0.95 of best"], row.name
        assert row.triton is not None and row.triton.file.is_file(), row.name
        names = [each.name for each in ast.parse(row.triton.file.read_text()).body if isinstance(each, ast.FunctionDef)]
        assert row.triton.name in names, row.name
    assert [(each.group, each.statistic, each.bar.text) for each in SUITE.summaries] == [
        ("", "geomean", "1.20 of best"),
        ("", "least", "0.95 of best"),
    ]


KERNEL = '''
import irc_frontend as ir


@ir.kernel
def twice(x: ir.Tensor, factor: int = 2):
    """Two lines
    of documentation."""
    out = ir.empty_like(x)

    # a comment
    for m in ir.tiles(x.shape[0]):
        out[m] = (  # a line of three
            x[m] * factor
        )
    return out


def plain(x):
    return x
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(KERNEL)
    return tmp_path / "mine.py"


def test_lines_are_those_with_code(file: Path) -> None:
    call = KernelCall(PythonFunction(file, "twice"), {"x": "f32[N]"})
    assert call.lines() == 8
    assert count_lines(PythonFunction(file, "plain").get()) == 2


def test_a_call_has_the_sizes_of_the_row(file: Path) -> None:
    call = KernelCall(PythonFunction(file, "twice"), {"x": "bf16[N]", "factor": "F"})
    assert call.text({"N": 8, "F": 3}) == "twice(x=bf16[8], factor=3)"
    row = Row("twice", "", kernel=call, dims={"N": 8, "F": 3})
    executable = compiled(row, "interpret")
    assert [spec.type for spec in named_arguments(row, executable)] == ["bf16[8]"]
    assert [spec.name for spec in named_arguments(row, executable)] == ["x"]
    x = np.arange(8).astype(executable.arguments[0].dtype)
    np.testing.assert_array_equal(np.asarray(executable(x)).astype(int), 3 * np.arange(8))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("plain", {"x": "f32[8]"}, "plain is no kernel"),
        ("thrice", {"x": "f32[8]"}, "has no function thrice"),
        ("twice", {"y": "f32[8]"}, "twice is given y"),
        ("twice", {"x": "f32[M]"}, "argument x: 'M' is neither a number nor a dim of the row"),
        ("twice", {"x": "f33[8]"}, "argument x: no element type is f33"),
    ],
)
def test_calls_that_are_none(name: str, arguments: dict[str, Any], message: str, file: Path) -> None:
    with pytest.raises(IrcError, match=message):
        KernelCall(PythonFunction(file, name), arguments).module({"N": 8})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IrcError, match=r"cannot read .*none\.py"):
        PythonFunction(tmp_path / "none.py", "f").get()


ROW = '[[rows]]\nname = "a"\nkernel = "mine.py:twice"\narguments = { x = "f32[N]" }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW.replace("mine.py:twice", "twice"), "'twice' is no function of a file"),
        (ROW.replace("mine.py:twice", "mine.py:2"), "'mine.py:2' is no function of a file"),
        (ROW + 'program = "p"', "expected a name, and a program, a file, a model or a kernel"),
        (ROW.replace('{ x = "f32[N]" }', "{ x = [1] }"), "expected a table of types of arrays and of numbers"),
        (ROW.replace('kernel = "mine.py:twice"', 'program = "p"'), "arguments are of a kernel"),
        (ROW + 'peers = ["triton"]', "the peer triton is a function of a file"),
    ],
)
def test_rows_that_do_not_read(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(IrcError) as caught:
        load_suite(str(tmp_path / "suite.toml"))
    assert message in caught.value.message


def test_a_row_is_beside_its_files(file: Path) -> None:
    (file.parent / "suite.toml").write_text(ROW + 'triton = "mine.py:plain"\npeers = ["triton"]\ndims = { N = 4 }\n')
    (row,) = load_suite(str(file.parent / "suite.toml")).rows
    assert row.is_compiled and row.kernel is not None and row.triton is not None
    assert row.kernel.text(row.dims) == "twice(x=f32[4])"
    assert row.triton.get()(1) == 1


# Records


TIMES = {"irc": (1e-3, 2e-3), "eager": (4e-3, 6e-3), "compile": (2e-3, 5e-3), "triton": (1.5e-3, 2.2e-3)}


def test_a_record_has_lines_and_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of `best` are of the peer that is fastest; a group without a name has all rows."""
    first, second = SUITE.rows[0], SUITE.rows[2]
    assert first.kernel is not None
    rows = (
        replace(RowRecord.of(first), lines=first.kernel.lines()).timed(TIMES),
        replace(RowRecord.of(second), notes=("triton is not installed",)).timed(
            {"irc": (2e-3,) * 2, "eager": (1e-3,) * 2}
        ),
    )
    assert rows[0].ratios == {"eager": 3.5, "compile": 2.25, "triton": 1.3, "best": 1.3}
    assert rows[1].ratios == {"eager": 0.5, "best": 0.5}
    suite = Suite("kernels", "t", (first, second), SUITE.summaries)
    record = Record.of(suite, {}, {"repetitions": 2}, rows)
    write_record(tmp_path / "r.json", record)
    assert read_record(tmp_path / "r.json") == record
    print_record(read_record(tmp_path / "r.json"))
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["row", "lines", "irc", "eager", "compile", "triton", "against", "bar", "reached", "quartiles"] in printed
    (shown,) = (line for line in printed if line[:2] == ["softmax", "8192x8192"])
    assert shown[3] == "7"
    assert ["all", "2", "geomean", "1.20", "of", "best", "0.806", "miss"] in printed
    assert ["all", "2", "least", "0.95", "of", "best", "0.500", "miss"] in printed
    assert any(line[-4:] == ["triton", "is", "not", "installed"] for line in printed)


# Triton


class Calls:
    """A case whose peer is called on the CPU."""

    count = 2

    def __init__(self, row: Row, torch: Any):
        self.row = row
        self.executable = compiled(row, "cpu")
        self.inputs = [[torch.arange(8.0)]] * 2
        self.results = [[torch.arange(8.0) * 2]] * 2


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Torch:
    torch: Any = pytest.importorskip("torch")
    made = Torch.__new__(Torch)
    made._torch = torch
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return made


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import triton_that_is_none\n", "triton: ModuleNotFoundError: No module named 'triton_that_is_none'"),
        ("def other(x):\n    return x\n", "has no function own"),
        ("def own(x):\n    raise ValueError('out of resources')\n", "triton: ValueError: out of resources"),
        ("def own(x):\n    return x * 3\n", "triton: not irc's result: result 0: error"),
        ("def own(x):\n    return x[:4] * 2\n", r"triton: not irc's result: result 0: shape \[4\], expected \[8\]"),
    ],
)
def test_a_kernel_of_triton_that_fails_is_a_note(
    body: str, message: str, file: Path, peers: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    (file.parent / "triton_file.py").write_text(body)
    case: Any = Calls(_row(file), peers._torch)
    with pytest.raises(IrcError, match=message):
        peers.triton(case)


def test_a_kernel_of_triton_is_called(file: Path, peers: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    (file.parent / "triton_file.py").write_text("seen = []\ndef own(x):\n    seen.append(1)\n    return x * 2\n")
    row, case = _row(file), None
    case = Calls(row, peers._torch)
    given: Any = case
    enqueue = peers.triton(given)
    enqueue(1)
    assert row.triton is not None
    assert row.triton.get().__globals__["seen"] == [1, 1]


def test_where_triton_is_not_installed(file: Path, peers: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    case: Any = Calls(_row(file), peers._torch)
    with pytest.raises(IrcError, match="triton is not installed"):
        peers.triton(case)


def _row(file: Path) -> Row:
    call = KernelCall(PythonFunction(file, "twice"), {"x": "f32[8]"})
    return Row("twice", "", kernel=call, triton=PythonFunction(file.parent / "triton_file.py", "own"))
