"""irc-opt, in process: input, pass lists, output, reports, and one diagnostic for every mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irc.driver.lowering import LEVELS
from irc.driver.pipelines import PASSES, PIPELINES
from irc_tools.opt import main
from irc_tools.pass_help import pass_help

ADDS = """\
func.func @f(%x: i32) -> i32 {
  %c = arith.constant 1 : i32
  %d = arith.addi %x, %c : i32
  %e = arith.addi %x, %c : i32
  %f = arith.muli %d, %e : i32
  func.return %f : i32
}
"""

BROKEN = """\
func.func @f(%x: i32) -> i32 {
  %d = arith.addi %x, %y : i32
  func.return %d : i32
}
"""

UNVERIFIED = """\
func.func @f(%x: i32) -> i32 {
  func.return %x, %x : i32, i32
}
"""


@pytest.fixture
def adds(tmp_path: Path) -> str:
    return _file(tmp_path, "adds.mlir", ADDS)


def _file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def _fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The diagnostic of a run that must fail with one: status 1, nothing on standard output, no traceback."""
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error: " in err
    assert "Traceback" not in err
    assert "internal error" not in err
    return err


def test_it_runs_passes_and_prints(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([adds, "-p", "cse, canonicalize"]) == 0
    out, err = capsys.readouterr()
    assert out.count("arith.addi") == 1
    assert err == ""


def test_its_output_is_its_input(adds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([adds]) == 0
    once = capsys.readouterr().out
    assert main([_file(tmp_path, "again.mlir", once)]) == 0
    assert capsys.readouterr().out == once


def test_ops_have_the_place_of_their_name(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([adds, "--print-debuginfo"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert any("arith.muli" in line and 'adds.mlir":5:8)' in line for line in lines)


def test_unknown_names_get_suggestions(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'canonicalize-nd'" in _fails(capsys, adds, "-p", "canonicalize_nd")
    assert "did you mean 'cuda'?" in _fails(capsys, adds, "-t", "cud")
    assert "unknown option 'stages' of pass 'cse'" in _fails(capsys, adds, "-p", "cse{stages=3}")
    assert "it takes no options" in _fails(capsys, adds, "-p", "cse{stages=3}")
    assert "unknown option 'arc' of pipeline 'all'" in _fails(capsys, adds, "-p", "all{arc=sm_80}")


def test_pass_lists_are_quoted_where_they_go_wrong(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "<pass list>:1:5: error: Expected pass name here\ncse,,dce\n    ^" in _fails(capsys, adds, "-p", "cse,,dce")
    for text in ("cse{", "cse{a=", "$", "cse}", ",", "cse{a=[1]}", "cse dce", "cse{a=" + "9" * 5000 + "}"):
        _fails(capsys, adds, "-p", text)


def test_option_values_are_checked(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _fails(capsys, adds, "-p", "memref-stream-interleave{pipeline-depth=many}")
    assert "pass 'memref-stream-interleave': option pipeline-depth=many is not of type int" in text
    text = _fails(capsys, adds, "-p", "choose-config{tuned=maybe}")
    assert "pass 'choose-config': option tuned=maybe is not of type bool, true or false" in text


def test_bad_command_lines(adds: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "unrecognized arguments: --foo" in _fails(capsys, adds, "--foo")
    assert "invalid choice" in _fails(capsys, adds, "--pipeline", "none")
    assert "by its extension" in _fails(capsys, _file(tmp_path, "x.txt", ADDS))
    assert "No such file" in _fails(capsys, str(tmp_path / "absent.mlir"))
    assert "Is a directory" in _fails(capsys, str(tmp_path), "-f", "mlir")
    assert "expected NAME=INT" in _fails(capsys, _file(tmp_path, "x.irc", "dim M = 1\n"), "-D", "M")


def test_syntax_errors_quote_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _fails(capsys, _file(tmp_path, "broken.mlir", "func.func @f() {\n  %a = arith.adi %b, %b : i32\n}\n"))
    assert "broken.mlir:2:8: error: unknown op arith.adi: did you mean arith." in text
    assert "\n  %a = arith.adi %b, %b : i32\n       ^^^^^^^^^\n" in text
    text = _fails(capsys, _file(tmp_path, "open.mlir", "func.func @f() {\n  func.return\n"))
    assert "open.mlir:3:1: error: expected an op, or `}` at the end of a region" in text
    assert "empty.mlir:1:1: error: expected an op" in _fails(capsys, _file(tmp_path, "empty.mlir", ""))
    text = _fails(
        capsys, _file(tmp_path, "block.mlir", "func.func @g() {\n  func.return\n}\nfunc.func @f(%x: i32) {\n}\n")
    )
    assert "block.mlir:4:1: error: 'func.func': Operation func.func contains empty block" in text
    assert "undefined.mlir:2:23: error: values used but not defined: %y\n" in _fails(
        capsys, _file(tmp_path, "undefined.mlir", BROKEN)
    )


def test_verifier_errors_quote_the_op(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _fails(capsys, _file(tmp_path, "unverified.mlir", UNVERIFIED))
    assert "unverified.mlir:2:3: error: 'func.return':" in text
    assert "\n  func.return %x, %x : i32, i32\n  ^^^^^^^^^^^\n" in text


def test_deep_nesting_is_a_diagnostic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = "builtin.module {" * 3000 + "}" * 3000
    assert "inside one another" in _fails(capsys, _file(tmp_path, "deep.mlir", deep))
    nested = "f32" + ", f32>" * 1
    types = "func.func private @f() -> " + "tuple<" * 5000 + nested + ">" * 5000
    _fails(capsys, _file(tmp_path, "types.mlir", types))


def test_output_files_are_whole_or_absent(adds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    assert main([adds, "-o", str(out)]) == 0
    assert "arith.muli" in out.read_text()
    kept = out.read_text()
    _fails(capsys, _file(tmp_path, "broken.mlir", BROKEN), "-o", str(out))
    assert out.read_text() == kept
    assert sorted(p.name for p in tmp_path.iterdir()) == ["adds.mlir", "broken.mlir", "out.mlir"]
    assert "cannot write" in _fails(capsys, adds, "-o", str(tmp_path / "no" / "out.mlir"))


def test_reports_go_to_standard_error(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([adds, "-p", "cse,dce", "--time-passes", "--print-before", "cse", "--print-after", "all"]) == 0
    out, err = capsys.readouterr()
    assert "-----" not in out
    assert [line for line in err.split("\n") if line.startswith("// -----")] == [
        "// ----- IR before cse -----",
        "// ----- IR after cse -----",
        "// ----- IR after dce -----",
    ]
    steps = [line.split()[0] for line in err.split("\n") if line.endswith(" s")]
    assert steps == ["parse", "cse", "dce", "print", "verify", "total"]


def test_reports_name_passes_that_run(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = _fails(capsys, adds, "-p", "cse,dce", "--print-after", "dec")
    assert "unknown pass 'dec' to print" in message
    assert "did you mean 'dce'?" in message
    assert "passes that run can be named" in _fails(capsys, adds, "-p", "cse", "--print-before", "fuse-kernels")


def test_dumps_go_to_a_directory(adds: str, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    assert main([adds, "-p", "cse,dce", "--dump-dir", str(folder), "-o", str(tmp_path / "out.mlir")]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["00-input.mlir", "01-cse.mlir", "02-dce.mlir"]
    assert (folder / "00-input.mlir").read_text().count("arith.addi") == 2
    assert (folder / "01-cse.mlir").read_text().count("arith.addi") == 1


def test_expected_diagnostics_must_come(adds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = _file(tmp_path, "broken.mlir", BROKEN)
    assert main([broken, "--verify-diagnostics"]) == 0
    assert "values used but not defined" in capsys.readouterr().out
    assert main([adds, "--verify-diagnostics"]) == 1
    assert "expected a diagnostic" in capsys.readouterr().err


def test_annotated_diagnostics_are_matched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(comment: str) -> int:
        text = UNVERIFIED.replace("  func.return", f"  // expected-error {comment}\n  func.return")
        return main(
            [_file(tmp_path, "annotated.mlir", f"{text}// -----\n{ADDS}"), "--split-input-file", "--verify-diagnostics"]
        )

    assert run("@+1 {{Expected arguments}}") == 0
    assert run("@below {{func.return}}") == 0
    assert run("@+1 {{another message}}") == 1
    assert run("{{Expected arguments}}") == 1
    err = capsys.readouterr().err
    assert "unexpected diagnostic" in err
    assert "expected error 'another message' on line 3, but there was none" in err


def test_pieces_keep_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, "pieces.mlir", f"{ADDS}// -----\n{UNVERIFIED}")
    assert "pieces.mlir:10:3: error:" in _fails(capsys, path, "--split-input-file")


def test_named_pipelines_are_prefixes_of_each_other() -> None:
    previous: tuple[str, ...] = ()
    for passes in [PIPELINES[level] for level in LEVELS]:
        assert passes[: len(previous)] == previous
        previous = passes
    of_cpu = PIPELINES["cpu"]
    shared = of_cpu.index("lower-to-cpu")
    of_gpu = [each for each in previous if each != "concat-in-place"]  # buffers of a CPU have no strides
    assert [*of_cpu[:shared]] == of_gpu[:shared], "a CPU's programs are those of a GPU up to its own passes"
    asked = {"differentiate-nd", "raise-programs"}  # what to differentiate is said by whoever asks
    assert {*PIPELINES["partition"], *previous, *of_cpu} == set(PASSES) - asked


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_explains_itself(name: str) -> None:
    entry = pass_help(name)
    assert len(entry.summary) > 10
    assert all(option.text for option in entry.options), "every option has a docstring"


def test_help_explains_the_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["--help"])
    assert exit.value.code == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name}\n" in out for name in PASSES)


def test_help_imports_neither_xdsl_nor_numpy() -> None:
    code = (
        "import sys\nfrom irc_tools.opt import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted(m for m in ('xdsl', 'numpy', 'lark', 'rich') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def _printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Around which passes the last run printed IR."""
    return [line[12:-6] for line in capsys.readouterr().err.splitlines() if line.startswith("// ----- IR ")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--mlir-print-ir-after-all"], ["after cse", "after canonicalize", "after dce"]),
        (["--mlir-print-ir-before-all"], ["before cse", "before canonicalize", "before dce"]),
        (["--mlir-print-ir-after=cse"], ["after cse"]),
        (["--mlir-print-ir-before=dce", "--mlir-print-ir-after=cse"], ["after cse", "before dce"]),
        (["--mlir-print-ir-after=cse", "--mlir-print-ir-after=dce"], ["after cse", "after dce"]),
        (["--mlir-print-ir-after-change"], ["after cse"]),
        (["--mlir-print-ir-after-all", "--mlir-print-ir-after-change"], ["after cse"]),
        (["--mlir-print-ir-after=dce", "--mlir-print-ir-after-change"], []),
        (["--print-after", "cse,dce", "--print-changed"], ["after cse"]),
    ],
)
def test_names_of_mlir_print(
    arguments: list[str], expected: list[str], adds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([adds, "--pass-pipeline=builtin.module(cse, canonicalize, dce)", *arguments]) == 0
    assert _printed(capsys) == expected


def test_the_note_of_a_pass_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = _file(tmp_path, "f.irc", "func f(x: f32[64]) -> f32[64] { return relu(x) }\n")
    assert main([program, "-p", "tile", "--print-changed", "-o", str(tmp_path / "out")]) == 0
    printed = _printed(capsys)
    assert "after tile-kernels" in printed
    assert "after merge-dots" not in printed


@pytest.mark.parametrize(
    ("mlir", "own"),
    [
        (["--mlir-print-op-generic"], ["--print-op-generic"]),
        (["--mlir-print-debuginfo"], ["--print-debuginfo"]),
        (["--pass-pipeline=builtin.module(cse,canonicalize)"], ["-p", "cse,canonicalize"]),
        (["--pass-pipeline", " any( cse ) "], ["-p", "cse"]),
        (["--pass-pipeline=builtin.module(nd{strict-rounding=true})"], ["-p", "nd{strict-rounding=true}"]),
        (["--pass-pipeline=builtin.module()"], []),
        (["--split-input-file=true", "--verify-each=false"], ["--split-input-file", "--no-verify-each"]),
        (["--split-input-file=0", "--verify-each=1"], ["--verify-each"]),
    ],
)
def test_names_of_mlir_are_irc_s_own(
    mlir: list[str], own: list[str], adds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([adds, *mlir]) == 0
    found = capsys.readouterr()
    assert main([adds, *own]) == 0
    assert found == capsys.readouterr()


def test_mlir_timing(adds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([adds, "-p", "cse", "--mlir-timing"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == [
        "parse",
        "cse",
        "print",
        "verify",
        "total",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pass-pipeline=builtin.module(func.func(cse))"], "cannot run passes on each func.func"),
        (["--pass-pipeline=func.func(cse)"], "cannot run passes on each func.func"),
        (["--pass-pipeline=builtin.module(csee)"], "unknown pass 'csee'"),
        (["--verify-each=maybe"], "ignored explicit argument 'maybe'"),
        (["-p", "cse", "--mlir-print-ir-after=csee"], "unknown pass 'csee' to print"),
    ],
)
def test_mistakes_in_names_of_mlir(
    arguments: list[str], message: str, adds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in _fails(capsys, adds, *arguments)


def test_code_of_what_is_not_lowered_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, "f.irc", "func f(x: f32[64]) -> f32[64] {\n    return exp(x)\n}\n")
    for target, passes, left in (
        ("asm", "nd", "nd.exp"),
        ("cuda", "kernel", "kernel.fused"),
        ("cuda", "tile", "tile.program"),
    ):
        text = _fails(capsys, path, "-p", passes, "-t", target)
        assert f"-t {target} reads the code of kernels, found '{left}'\n" in text and "hint: run -p all first" in text
    none = _file(tmp_path, "none.irc", "func f(x: f32[64]) -> f32[64] {\n    return x\n}\n")
    assert main([none, "-p", "all", "-t", "cuda"]) == 0
