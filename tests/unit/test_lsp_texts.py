"""What irc-lsp knows of texts: types where the mouse is, definitions, outlines, errors; also of half-written ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from drawing import MORE, long

from irc.driver.lowering import lower
from irc.driver.program import load
from irc.ir.printer import print_ir
from irc_tools import opt as irc_opt
from irc_tools.lsp.irc_text import analyze_irc
from irc_tools.lsp.mlir_text import analyze_mlir
from irc_tools.lsp.model import Analysis, Target, Use

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.irc"))

PROGRAM = """\
dim M = 64, K = 2 * M
dim N in 1..4096 multiple 8

func scaled(x: f32[N, K], by: f32[K]) -> f32[N, K] {
    return x * by
}

func f(x: f32[N, K], w: f32[K, M], b: f32[K]) -> f32[N, M] {
    h = scaled(x, b) @ w
    top, places = topk(h, 4, axis=1)
    return h - max(top, axis=1, keepdims=true)
}
"""


def under(text: str, mark: str, analysis: Analysis, index: int = 0) -> Use:
    """What is known of the word of a line that a mark `line|word` names, the `index`-th time."""
    line, word = mark.split("|")
    number = next(n for n, each in enumerate(text.split("\n"), 1) if each.lstrip().startswith(line))
    column = -1
    for _ in range(index + 1):
        column = text.split("\n")[number - 1].index(word, column + 1)
    found = analysis.at(number, column + 1)
    assert found is not None, mark
    return found


def text_at(text: str, target: Target | None) -> str:
    """The rest of the line at a definition."""
    assert target is not None
    return text.split("\n")[target.range.line - 1][target.range.column - 1 :]


@pytest.mark.parametrize(
    ("mark", "index", "hover", "definition"),
    [
        ("h =|h", 0, "h: f32[N, 64]", "h = scaled"),
        ("return h|h", 0, "h: f32[N, 64]", "h = scaled"),
        ("h =|x", 0, "x: f32[N, 128]", "x: f32[N, K], w"),
        ("h =|w", 0, "w: f32[128, 64]", "w: f32[K, M], b"),
        ("h =|scaled", 0, "func scaled(x: f32[N, K], by: f32[K]) -> f32[N, K]", "scaled(x: f32"),
        ("return h|top", 0, "top: f32[N, 4]", "top, places"),
        ("func f|K", 0, "dim K = 128", "K = 2"),
        ("func f|N", 0, "dim N in 1..4096 multiple 8", "N in 1"),
        ("dim M|M", 1, "dim M = 64", "M = 64"),
        ("return x|x", 0, "x: f32[N, 128]", "x: f32[N, K], by"),
    ],
)
def test_names_of_a_program(mark: str, index: int, hover: str, definition: str) -> None:
    use = under(PROGRAM, mark, analyze_irc(PROGRAM, "f.irc"), index)
    assert use.hover() == f"```irc\n{hover}\n```"
    assert text_at(PROGRAM, use.target).startswith(definition)


def test_builtins_show_how_they_are_called() -> None:
    use = under(PROGRAM, "top,|topk", analyze_irc(PROGRAM, "f.irc"))
    assert "topk(x, k" in use.hover()
    assert use.target is None


def test_the_outline_of_a_program() -> None:
    symbols = analyze_irc(PROGRAM, "f.irc").symbols
    assert [(each.name, each.kind) for each in symbols] == [
        ("M", "constant"),
        ("K", "constant"),
        ("N", "constant"),
        ("scaled", "function"),
        ("f", "function"),
    ]
    assert [(each.name, each.detail) for each in symbols[-1].children] == [
        ("x", "f32[N, 128]"),
        ("w", "f32[128, 64]"),
        ("b", "f32[128]"),
        ("h", "f32[N, 64]"),
        ("top", "f32[N, 4]"),
        ("places", "i64[N, 4]"),
    ]
    assert (symbols[-1].range.line, symbols[-1].range.end_line) == (8, 12)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("@ w", "@ v", "unknown name v", 9),
        ("x * by", "x * ", "end of the line", 5),
        ("M = 64", "M = 64.5", "the dim M must be an integer", 1),
        ("max(top", "max(tops", "unknown name tops", 11),
        ("x * by\n}", "x * by\n", "unexpected `f`", 8),
    ],
)
def test_an_error_hides_nothing_else(old: str, new: str, message: str, line: int) -> None:
    text = PROGRAM.replace(old, new)
    analysis = analyze_irc(text, "f.irc")
    (fault,) = analysis.faults
    assert message in fault.error.message
    assert fault.range.line == line
    assert {"M", "K", "N"} <= {each.name for each in analysis.symbols}
    if new in text.split("func f")[1]:
        assert text_at(text, under(text, "h =|scaled", analysis).target).startswith("scaled(x")
        assert under(text, "return x|by", analysis).hover() == "```irc\nby: f32[128]\n```"


def test_errors_of_several_functions() -> None:
    text = "func f(x: f32[4]) -> f32[4] {\n    return y\n}\nfunc g(x: f32[4]) -> f32[4] {\n    return f(x)\n}\nfunc h(x: f32[4]) -> f32[4] {\n    return z\n}\n"
    faults = analyze_irc(text, "f.irc").faults
    assert [(each.error.message, each.range.line) for each in faults] == [("unknown name y", 2), ("unknown name z", 8)]


def tile_ir() -> str:
    return print_ir(lower(load(EXAMPLES[[each.stem for each in EXAMPLES].index("mlp")]), "tile", arch="sm_90a"))


def test_values_of_ir() -> None:
    text = tile_ir()
    analysis = analyze_mlir(text, "tile.mlir")
    assert analysis.faults == []
    line = next(each for each in text.split("\n") if "= tile.map" in each)
    operand = line.split("tile.map ")[1].split(",")[0].split(" ")[0]
    use = under(text, f"{line.strip()}|{operand}", analysis)
    definition = text_at(text, use.target)
    assert definition.startswith(operand)
    hover = use.hover()
    assert "tensor<" in hover
    assert "layout `#tile.fragment<" in hover
    assert "shape " in hover


def test_shadowed_names_and_results_of_several() -> None:
    text = """\
func.func @f(%x: i32) -> i32 {
  func.return %x : i32
}
func.func @g(%x: f32, %c: i1) -> f32 {
  %0:2 = scf.if %c -> (f32, i32) {
    %k = arith.constant 1 : i32
    scf.yield %x, %k : f32, i32
  } else {
    %k = arith.constant 2 : i32
    scf.yield %x, %k : f32, i32
  }
  %z = arith.addf %0#0, %0#0 : f32
  func.return %z : f32
}
"""
    analysis = analyze_mlir(text, "f.mlir")
    assert analysis.faults == []
    assert analysis.at(2, 15).hover().startswith("```mlir\n%x: i32")  # pyright: ignore[reportOptionalMemberAccess]
    assert analysis.at(7, 15).hover().startswith("```mlir\n%x: f32")  # pyright: ignore[reportOptionalMemberAccess]
    assert analysis.at(7, 19).target.range.line == 6  # pyright: ignore[reportOptionalMemberAccess]
    assert analysis.at(10, 19).target.range.line == 9  # pyright: ignore[reportOptionalMemberAccess]
    assert analysis.at(12, 20).target.range.line == 5  # pyright: ignore[reportOptionalMemberAccess]


def test_symbols_and_aliases_of_ir() -> None:
    text = tile_ir()
    analysis = analyze_mlir(text, "tile.mlir")
    assert [each.name for each in analysis.symbols][:1] == ["@mlp"]
    assert {"tile.program", "func.func"} == {each.detail for each in analysis.symbols}
    launch = under(
        text, next(each.strip() for each in text.split("\n") if "kernel.launch @" in each) + "|@mlp_", analysis
    )
    assert text_at(text, launch.target).startswith("@mlp_")
    assert "tile.program" in launch.hover()


def under_alias(text: str, analysis: Analysis) -> Use:
    position = text.index("#shared", text.index("builtin.module"))
    line = text.count("\n", 0, position) + 1
    found = analysis.at(line, position - text.rfind("\n", 0, position))
    assert found is not None
    return found


def test_layouts_behind_aliases() -> None:
    text = tile_ir()
    use = under_alias(text, analyze_mlir(text, "tile.mlir"))
    assert "#tile.shared<" in use.hover()
    assert text_at(text, use.target).startswith("#shared")


def test_which_pass_made_it(tmp_path: Path) -> None:
    source = tmp_path / "f.irc"
    source.write_text("func f(x: f32[64, 32]) -> f32[64] {\n    return sum(relu(x), axis=1)\n}\n")
    arguments = [str(source), "-p", "tile", "--dump-dir", str(tmp_path / "dumps"), "--print-debuginfo"]
    assert irc_opt.main([*arguments, "-o", str(tmp_path / "out")]) == 0
    dump = max((tmp_path / "dumps").iterdir())
    text = dump.read_text()
    analysis = analyze_mlir(text, str(dump))
    assert analysis.faults == []
    use = under(text, next(e.strip() for e in text.split("\n") if "tile.reduce" in e) + "|tile.reduce", analysis)
    assert f"of {source}:2:" in use.hover()
    assert "made by `tile-kernels`" in use.hover()
    assert use.target == Target(use.target.range, str(source))  # pyright: ignore[reportOptionalMemberAccess]


def test_faults_of_ir_are_where_they_are_in_the_text() -> None:
    text = 'func.func @f(%x: i32) -> i32 {\n  func.return %x, %x : i32, i32 loc("f.irc":7:3)\n}\n'
    (fault,) = analyze_mlir(text, "f.mlir").faults
    assert fault.range.line == 2
    (fault,) = analyze_mlir("func.func @f(%x: i32) {\n  %y = arith.addi %x, %z : i32\n", "f.mlir").faults
    assert fault.range.line in (2, 3)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_half_written_programs(path: Path) -> None:
    text = path.read_text()
    for end in random.Random(path.stem).sample(range(len(text) + 1), min(len(text), 25 * MORE)):
        _look(analyze_irc(text[:end], str(path)), text[:end])


@long(5)
@pytest.mark.parametrize("level", ["nd", "kernel", "tile", "cuda", "all"])
def test_half_written_ir(level: str) -> None:
    text = print_ir(lower(load(EXAMPLES[0]), level, arch="sm_90a"))
    for end in random.Random(level).sample(range(len(text) + 1), 6 * MORE):
        _look(analyze_mlir(text[:end], "f.mlir"), text[:end])


def test_no_text_and_no_sense() -> None:
    for text in ("", "\n\n", "\0", "%", "func", "dim", "}{", "#a = #a\n", '"', "# -----\n", "é𝔸" * 9):
        _look(analyze_irc(text, "f.irc"), text)
        _look(analyze_mlir(text, "f.mlir"), text)


def _look(analysis: Analysis, text: str) -> None:
    """At everything: all places are in the text, and every hover can be made."""
    lines = text.split("\n")
    ranges = [use.range for use in analysis.uses] + [each.range for each in analysis.faults]
    ranges += [use.target.range for use in analysis.uses if use.target is not None]
    ranges += [each.range for symbol in analysis.symbols for each in (symbol, *symbol.children)]
    for each in ranges:
        assert 1 <= each.line <= each.end_line <= len(lines)
        assert 1 <= each.column <= len(lines[each.line - 1]) + 1
        assert 1 <= each.end_column <= len(lines[each.end_line - 1]) + 1
    for use in analysis.uses[:: max(1, len(analysis.uses) // 20)]:
        assert use.hover()
