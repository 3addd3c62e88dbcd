"""The page of a compilation: its structure and links from Python, and in a browser where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

import irc
import irc_tools.compile
import irc_tools.run
from irc.driver.compiler import Origin, artifact_options
from irc.driver.reporting import report, write_report
from irc.driver.subjects import subject_of
from irc.report.changes import change
from irc.report.columns import Column, Place
from irc.report.program import ProgramReport
from irc.support.diagnostics import IrcError

TEXT = """dim M = 256, N = 128

func dense(x: bf16[M, N], w: bf16[N, N], b: bf16[N]) -> bf16[M, N] {
    h = x @ w
    return relu(h + b)
}
"""
PRODUCT, END = 4, 5
"""The lines of the product and of what follows."""

ARCH = "sm_90a"

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
in_browser = pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")


def origin(program: str | ModuleOp = TEXT, target: str = "cuda") -> Origin:
    return Origin(subject_of(program), target, artifact_options(arch=ARCH))


@pytest.fixture(scope="module")
def dense() -> ProgramReport:
    return report(origin())


@pytest.fixture(scope="module")
def dense_file(dense: ProgramReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "dense.html"
    write_report([origin()], path)
    return path


def column(program: ProgramReport, name: str) -> Column:
    return next(each for each in program.columns if each.name == name)


def texts(column: Column, line: int) -> list[str]:
    """The lines that come from a line of the program."""
    return [each.text for each in column.lines if any(place.line == line for place in each.places)]


def test_every_level_links_to_the_line_that_it_comes_from(dense: ProgramReport) -> None:
    assert [each.name for each in dense.columns] == ["source", "nd", "kernel", "tile", "cuda", "cpp", "sass"]
    assert not any(each.note for each in dense.columns)
    for level, op in [
        ("nd", "nd.matmul"),
        ("tile", "tile.dot"),
        ("cuda", "cuda.wgmma"),
        ("cpp", "wgmma_"),
        ("sass", "HGMMA"),
    ]:
        found = column(dense, level)
        assert any(op in text for text in texts(found, PRODUCT)), level
        if level != "sass":  # the compiler gives some instructions of products the line before them
            assert not any(op in text for text in texts(found, END)), level
    for level, op in [
        ("nd", "nd.relu"),
        ("kernel", "nd.relu"),
        ("tile", "arith.maximumf"),
        ("cpp", "max"),
        ("sass", "HMNMX2|FMNMX|HFMA2|VIMNMX|F2FP"),
    ]:
        assert any(re.search(op, text) for text in texts(column(dense, level), END)), level


def test_the_columns_are_what_the_commands_print(
    dense: ProgramReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dense.irc"
    path.write_text(TEXT)
    for level, name in [("nd", "nd"), ("kernel", "kernel"), ("tile", "tile"), ("cuda", "cuda")]:
        assert irc_tools.compile.main([str(path), "--arch", ARCH, "--emit", level]) == 0
        assert capsys.readouterr().out.splitlines() == [line.text for line in column(dense, name).lines]
    assert irc_tools.compile.main([str(path), "--arch", ARCH, "--emit", "source"]) == 0
    printed = capsys.readouterr().out.replace("dense.irc:", "<string>:")
    assert printed.splitlines() == [line.text for line in column(dense, "cpp").lines]


def test_line_info_changes_no_instruction(dense: ProgramReport) -> None:
    from irc.codegen import disassemble
    from irc.driver.compiler import compile_artifact

    sass = "".join(disassemble(kernel.cubin) for kernel in compile_artifact(TEXT, arch=ARCH).kernels)
    plain = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", sass)
    shown = [line.text.split(maxsplit=1)[1] for line in column(dense, "sass").lines if line.text.startswith("  ")]
    assert shown == plain


def test_passes_are_those_that_ran_with_what_they_did(dense: ProgramReport) -> None:
    from irc.driver.pipelines import ALL

    assert [each.name for each in dense.changes] == list(ALL)
    assert all(each.seconds > 0 for each in dense.changes)
    fused = next(each for each in dense.changes if each.name == "fuse-kernels")
    assert any(line.startswith("+") and "kernel.fused" in line for line in fused.lines)
    assert fused.added >= sum(line.startswith("+") for line in fused.lines) > 0


def test_a_change_ignores_the_numbers_of_values() -> None:
    before = "".join(f"%{n} = a.op{n} %{n - 1}\n" for n in range(1, 30))
    lines = before.splitlines()
    moved = [re.sub(r"%(\d+)", lambda m: f"%{int(m[1]) + 1}", line) for line in lines[10:]]
    found = change("pass", 0.5, before, "\n".join([*lines[:10], "%11 = b.new", *moved]))
    assert (found.added, found.removed) == (1, 0)
    assert "+%11 = b.new" in found.lines and "@ 8 lines" in found.lines
    assert change("pass", 0.5, before, before).lines == ()


def test_a_long_change_says_what_it_leaves_out() -> None:
    found = change("pass", 0.0, "", "".join(f"op{n}\n" for n in range(1000)))
    assert found.added == 1000
    assert found.lines[-1] == "@ 600 more lines: see the levels"


@dataclass
class Page(HTMLParser):
    """What a page has: its lines by column with their links, and whatever it would load."""

    lines: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])
    loaded: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    marks: list[str] = field(default_factory=list[str])
    _column: str = ""
    _places: str | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.loaded += [given[name] for name in ("src", "href") if name in given and not given[name].startswith("#")]
        if tag != "meta":
            self.open.append(tag)
        if tag == "article" and "data-column" in given:
            self._column = given["data-column"]
            self.lines[self._column] = []
        if tag == "div" and "l" in given.get("class", "").split():
            self._places = given.get("data-p", "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._column = "" if tag == "article" else self._column
        self._places = None if tag == "div" else self._places

    def handle_data(self, data: str) -> None:
        if self._column and self.open[-1] == "i":
            self.marks.append(data)
        elif self._places is not None and self._column:
            self.lines[self._column].append((data, self._places))


def test_the_page_has_all_lines_and_loads_nothing(dense: ProgramReport, dense_file: Path) -> None:
    text = dense_file.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.loaded == [] and "url(" not in text and "@import" not in text
    assert list(page.lines) == [each.name for each in dense.columns]
    assert page.marks == [line.mark for each in dense.columns for line in each.lines if line.mark] != []
    for each in dense.columns:
        found = page.lines[each.name]
        assert [line for line, _ in found] == [line.text or " " for line in each.lines]
        assert [tuple(Place(*map(int, p.split(":"))) for p in places.split()) for _, places in found] == [
            line.places for line in each.lines
        ]


def test_text_of_the_program_is_escaped(tmp_path: Path) -> None:
    text = "# </script><script>alert(1)</script> & <b>\n" + TEXT
    page = irc.compile(text, "interpret").report()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in page


def test_targets_without_kernels_show_the_levels_that_they_have() -> None:
    interpreted = report(origin(target="interpret"))
    assert [each.name for each in interpreted.columns] == ["source", "nd"]
    assert interpreted.changes == []
    on_cpu = irc.compile(TEXT, "cpu").report()
    page = Page()
    page.feed(on_cpu)
    assert list(page.lines) == ["source", "nd", "kernel", "cpu", "llvm"]
    assert any("cpu.gemm" in text and places for text, places in page.lines["cpu"])
    llvm = [(text, places.split()[0].split(":")[0]) for text, places in page.lines["llvm"] if places]
    assert any("call void" in text and "gemm" in text.lower() and line == str(PRODUCT) for text, line in llvm)
    assert any("llvm.maximum" in text and line == str(END) for text, line in llvm)
    assert not any("llvm.maximum" in text and line == str(PRODUCT) for text, line in llvm)


def test_a_module_is_its_own_program() -> None:
    from irc.driver.program import load

    found = report(origin(load(TEXT), "sim"))
    source = column(found, "source")
    assert source.title == "module.mlir"
    product = next(number for number, line in enumerate(source.lines, 1) if "nd.matmul" in line.text)
    assert any("wgmma" in text for text in texts(column(found, "cpp"), product))


def test_what_is_not_installed_is_said_in_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    import irc.report.machine

    def missing(cubin: bytes) -> list[tuple[str, int]]:
        raise IrcError("nvdisasm is not installed", hint="`pip install nvidia-cuda-nvdisasm`")

    monkeypatch.setattr(irc.report.machine, "instructions_by_line", missing)
    found = report(origin())
    sass = column(found, "sass")
    assert "registers of a thread" in dict(found.kernels[0].resources)
    assert sass.note == "nvdisasm is not installed. `pip install nvidia-cuda-nvdisasm`"
    assert sass.lines == []


def test_a_file_that_cannot_be_is_known_before_the_program_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, message in [
        (tmp_path / "none" / "r.html", f"there is no folder {tmp_path / 'none'}"),
        (tmp_path, "it is a folder"),
    ]:
        assert irc_tools.compile.main(["no-such-program.irc", "--report", str(file)]) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: cannot write the report to") and message in error and "hint:" in error
    assert irc_tools.compile.main(["x.irc", "--report", "r.html", "-o", "d"]) == 1
    assert "leave one of them out" in capsys.readouterr().err
    assert irc_tools.compile.main(["x.irc", "--report", "r.html", "--emit", "nd"]) == 1
    assert "not allowed with" in capsys.readouterr().err


def test_an_executable_reports(tmp_path: Path) -> None:
    exe = irc.compile(TEXT, "sim", arch=ARCH)
    path = tmp_path / "dense.html"
    assert exe.report(path) == path.read_text(encoding="utf-8")
    with pytest.raises(IrcError, match="there is no folder"):
        exe.report(tmp_path / "none" / "r.html")
    with pytest.raises(IrcError, match="unknown target gpu"):
        exe.report(target="gpu")
    page = Page()
    page.feed(irc.compile(TEXT, "cpu").report(target="cuda"))
    assert "cpp" in page.lines


PYTHON = """import numpy as np
import irc
import irc_frontend as ir


@ir.jit
def step(w, x):
    h = ir.tanh(x @ w)
    return (h * h).mean()


@ir.kernel
def doubled(x):
    out = ir.empty(x.shape, x.dtype)
    for m in ir.tiles(x.shape[0]):
        out[m] = x[m] + x[m]
    return out


with irc.Reports(report="page.html"), ir.target("sim"):
    float(step(np.ones((32, 32), np.float32), np.ones((64, 32), np.float32)))
    np.asarray(doubled(ir.Tensor(np.ones((64,), np.float32))))
"""


def test_python_is_the_program_of_what_it_records(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PYTHON)
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, timeout=300)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    programs = [f"<main{part}" for part in text.split("<main")[1:]]
    assert len(programs) == 2
    for program, line, op in [
        (programs[0], PYTHON.index("ir.tanh"), "math.tanh|tanh"),
        (programs[1], PYTHON.index("x[m] + x[m]"), "arith.addf"),
    ]:
        page = Page()
        page.feed(program.split("<script>")[0])
        number = PYTHON.count("\n", 0, line) + 1
        assert page.lines["source"][number - 1][0] == PYTHON.splitlines()[number - 1]
        found = [text for text, places in page.lines["tile"] if f"{number}:" in places]
        assert any(re.search(op, text) for text in found)


def test_reports_write_a_page_of_what_was_compiled(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with irc.Reports(report=path):
        irc.compile(TEXT, "cpu")
        irc.compile(TEXT, "interpret")
    assert re.findall(r"<p>(cpu|interpret)</p>", path.read_text(encoding="utf-8")) == ["cpu", "interpret"]
    with pytest.raises(IrcError, match="there is no folder"):
        irc.Reports(report=tmp_path / "none" / "page.html")
    with pytest.raises(IrcError, match="no program was compiled"), irc.Reports(report=path):
        pass


def test_a_page_of_several_programs_selects_one() -> None:
    first, second = origin(target="cpu"), origin("func scale(x: f32[8]) -> f32[8] {\n    return x * 2\n}\n", "cpu")
    text = write_report([first, second], None)
    assert re.findall(r'<main class="program" id="(\w+)"', text) == ["program0", "program1"]
    assert '<option value="1" selected="">2: scale</option>' in text.split('id="program1"')[1]


@in_browser
def test_a_fragment_names_the_program(tmp_path: Path) -> None:
    path = tmp_path / "two.html"
    second = "func scale(x: f32[8]) -> f32[8] {\n    return x * 2\n}\n"
    write_report([origin(target="cpu"), origin(second, "cpu")], path)
    text = dom(path, "#2L2")
    assert lit(text.split('id="program1"')[1], "source") == ["    return x * 2"]
    assert '<main class="program" id="program0" hidden="">' in text


def test_the_first_report_is_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands and the claims of docs/first-report.md."""
    page = (Path(__file__).parents[2] / "docs" / "first-report.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\w*\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("first.irc").write_text(next(block for block in blocks if "func first" in block), encoding="utf-8")
    commands = {"irc-run": irc_tools.run.main, "irc-compile": irc_tools.compile.main}
    lines = [line.split() for block in blocks for line in block.splitlines()]
    run = [line for line in lines if line and line[0] in commands]
    assert [line[0] for line in run] == ["irc-run", "irc-compile"]
    for name, *arguments in run:
        assert commands[name](arguments) == 0
    assert " ok " in capsys.readouterr().out
    program = report(Origin(subject_of(Path("first.irc")), "cuda", artifact_options(arch=ARCH)))
    assert Path("first.html").is_file()
    claims = [
        ("nd", "nd.matmul"),
        ("nd", "nd.add"),
        ("nd", "nd.broadcast"),
        ("tile", "tile.dot"),
        ("cpp", "wgmma_"),
        ("sass", "HGMMA"),
    ]
    for level, op in claims:
        assert any(op in text for text in texts(column(program, level), 4)), op
    (kernel,) = [line for line in column(program, "kernel").lines if "kernel.fused" in line.text]
    assert {place.line for place in kernel.places} == {4, 5}
    fused = next(each for each in program.changes if each.name == "fuse-kernels")
    assert any(line.startswith("+") and "kernel.fused" in line for line in fused.lines)
    assert any("swizzle" in drawing.text for drawing in program.kernels[0].drawings)


def dom(path: Path, fragment: str, width: int = 1600) -> str:
    """The page as a browser has it, at a fragment, when its scripts have run."""
    assert BROWSER is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        "--virtual-time-budget=5000",
    ]
    done = subprocess.run(
        [BROWSER, *options, "--dump-dom", f"file://{path}{fragment}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def lit(text: str, name: str) -> list[str]:
    """The lines of a column that are lit."""
    article = text.split(f'<article class="column" data-column="{name}"')[1].split("</article>")[0]
    return re.findall(r'<div class="l lit"[^>]*>([^<]*)<', article)


@in_browser
def test_a_fragment_lights_a_line_at_every_level(dense_file: Path) -> None:
    text = dom(dense_file, f"#L{PRODUCT}")
    assert lit(text, "source") == ["    h = x @ w"]
    for level, op in [("nd", "nd.matmul"), ("tile", "tile.dot"), ("cpp", "wgmma_"), ("sass", "HGMMA")]:
        assert any(op in line for line in lit(text, level)), level
    assert not any("relu" in line for line in lit(text, "nd"))


@in_browser
def test_a_click_lights_what_comes_from_there(dense_file: Path, tmp_path: Path) -> None:
    clicking = tmp_path / "clicking.html"
    click = """<script>{ const column = document.querySelector('.column[data-column="sass"]');
    [...column.querySelectorAll('.l')].find((line) => line.textContent.includes('HGMMA')).click(); }</script></body>"""
    clicking.write_text(dense_file.read_text(encoding="utf-8").replace("</body>", click), encoding="utf-8")
    text = dom(clicking, "")
    assert lit(text, "source") == ["    h = x @ w"]
    assert any("tile.dot" in line for line in lit(text, "tile"))
    assert not any("nd.relu" in line for line in lit(text, "nd"))


@in_browser
def test_tabs_show_their_parts(dense_file: Path, tmp_path: Path) -> None:
    for name in ("passes", "kernels", "simulator"):
        opening = tmp_path / f"{name}.html"
        click = f"""<script>document.querySelector('.tabs [data-tab="{name}"]').click();</script></body>"""
        opening.write_text(dense_file.read_text(encoding="utf-8").replace("</body>", click), encoding="utf-8")
        shown = re.findall(r'<section class="tab (\w+)" data-tab="\w+"( hidden="")?>', dom(opening, ""))
        assert [tab for tab, hidden in shown if not hidden] == [name]


@in_browser
def test_a_narrow_window_begins_with_few_columns(dense_file: Path) -> None:
    for width, shown in [(600, ["source", "tile"]), (1600, ["source", "kernel", "tile", "cpp", "sass"])]:
        found = re.findall(r'<article class="column" data-column="(\w+)"( hidden="")?', dom(dense_file, "", width))
        assert [name for name, hidden in found if not hidden] == shown
