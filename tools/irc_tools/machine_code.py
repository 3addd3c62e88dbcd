"""The machine code of the benchmarks' kernels at two commits.

`python -m irc_tools.machine_code --since REV` writes the CUDA text of every kernel of suites and examples, of the
working tree and of a commit, and compiles those whose text differs. A kernel has changed where the `.text` section of
its cubin has: names and comments may differ. `make machine-code SINCE=REV` runs it: minutes, and no GPU.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from irc.codegen.elf import sections_of
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.codegen.sass import disassemble, opcodes_of
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc.support.diagnostics import IrcError
from irc_tools.bench.suite import load_suite
from irc_tools.errors import guarded
from irc_tools.tables import print_table

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "frontend", "tools")
"""Of a checkout, with its packages."""

ARCH = "sm_90a"
SUITES = ("memory", "gemm", "launches", "attention", "convolution", "windows")


@dataclass(frozen=True)
class KernelCode:
    """text: the instructions' bytes. spills: bytes. instructions: without those that do nothing."""

    text: bytes
    registers: int
    spills: int
    instructions: int


def text_of(cubin: bytes) -> bytes:
    """The `.text` sections of a cubin, one behind the other."""
    return b"".join(each.content for each in sections_of(cubin) if each.name.startswith(".text"))


def compiled(source: str) -> KernelCode:
    """The machine code of the file of a kernel."""
    found = compile_source(source, ARCH)
    (resources,) = found.resources.values()
    counts = opcodes_of(disassemble(found.cubin))
    return KernelCode(
        text_of(found.cubin), resources.registers, resources.spills, sum(counts.values()) - counts.get("NOP", 0)
    )


def programs(names: Sequence[str]) -> Iterator[tuple[str, str, dict[str, int], bool]]:
    """The programs of suites, and the examples: name, text, dims, and whether sums may be added up in any order."""
    for suite in names:
        for row in load_suite(suite).rows:
            if row.program:
                yield f"{suite}/{row.name}", row.program, dict(row.dims), row.any_order
    for path in sorted(Path("examples").glob("*.irc")):
        yield f"examples/{path.stem}", path.read_text(), {}, False


def write(folder: Path, names: Sequence[str]) -> None:
    """A file for each kernel, in a folder that is made where there is none. What does not compile is a file too: then
    its error is compared."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text, dims, any_order in programs(names):
        stem = re.sub(r"[^\w.>-]+", "_", name)
        try:
            options = {"any_order": True} if any_order else {}
            lowered = lower(isolate(parse(text, name, dims=dims)), "all", arch=ARCH, **options)
        except IrcError as error:
            (folder / f"{stem}.error").write_text(str(error))
            continue
        for op in lowered.ops:
            if isinstance(op, KernelOp):
                (folder / f"{stem}.{op.sym_name.data}.cu").write_text(print_kernels([op]))


def write_of(revision: str, folder: Path, names: Sequence[str], scratch: Path) -> None:
    """The same of a commit, in a process with that commit's irc."""
    tree = scratch / "tree"
    git = ["git", "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
    try:
        # This file, which that commit may not have; -P, so that modules beside it are not taken for Python's own.
        command = [sys.executable, "-P", __file__, "--write", str(folder), *(f"--suite={name}" for name in names)]
        subprocess.run(command, check=True, env=environment_of(tree), cwd=tree)
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def environment_of(tree: Path) -> dict[str, str]:
    """That of a process with the packages of a checkout in place of this one's. Other folders of `PYTHONPATH` stay:
    libraries may be in them."""
    this = {(ROOT / part).resolve() for part in FOLDERS}
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    paths = [*(str(tree / part) for part in FOLDERS), *(path for path in given if Path(path).resolve() not in this)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def compare(old: Path, new: Path) -> list[list[str]]:
    """A row for each kernel that changed, with what it takes before and now."""
    rows: list[list[str]] = []
    for name in sorted({path.name for folder in (old, new) for path in folder.iterdir()}):
        before, now = old / name, new / name
        if not (before.exists() and now.exists()):
            rows.append([name, "new" if now.exists() else "gone", "", ""])
        elif before.read_text() != now.read_text():
            rows += _changed(name, before.read_text(), now.read_text())
    return rows


def _changed(name: str, before: str, now: str) -> list[list[str]]:
    if not name.endswith(".cu"):
        return [[name, before, now, ""]]
    old, new = compiled(before), compiled(now)
    pairs = ((old.registers, new.registers), (old.spills, new.spills), (old.instructions, new.instructions))
    return [] if old.text == new.text else [[name, *(f"{was} > {is_now}" for was, is_now in pairs)]]


def main(argv: Sequence[str] | None = None) -> int:
    """The command, to be run in the root of a checkout."""
    parser = argparse.ArgumentParser(prog="python -m irc_tools.machine_code", description=__doc__)
    parser.add_argument("--since", metavar="REV", default="HEAD", help="the commit to compare with (default: HEAD)")
    parser.add_argument("--suite", action="append", metavar="NAME", help=f"default: {', '.join(SUITES)}")
    parser.add_argument("--write", metavar="DIR", type=Path, help="only write the kernels of the working tree to DIR")
    args = parser.parse_args(argv)
    return guarded("machine_code", lambda: _run(args.since, args.suite or SUITES, args.write))


def _run(since: str, suites: Sequence[str], folder: Path | None) -> int:
    if folder is not None:
        write(folder, suites)
        return 0
    with tempfile.TemporaryDirectory(prefix="irc-") as name:
        old, new = Path(name) / "old", Path(name) / "new"
        write(new, suites)
        write_of(since, old, suites, Path(name))
        count, rows = len(list(new.iterdir())), compare(old, new)
    if rows:
        print_table(f"changed since {since}", ["kernel", "registers", "spills", "instructions"], rows)
    print(f"{count} kernels, {len(rows)} of them with other machine code than at {since}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
