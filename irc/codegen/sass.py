"""Disassembly of cubins: SASS text and its opcodes, by nvdisasm (a wheel, or a CUDA toolkit's). It takes a third of a
second, so nothing calls it that does not show SASS."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from irc.support import cache
from irc.support.diagnostics import IrcError

LONGEST_SECONDS = 60
"""After which a disassembler counts as hung."""

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.MULTILINE)

_SOURCE_LINE = re.compile(r"^\s*//## File .*\bline (\d+)$")
"""Of nested calls there is one each, and the last is that of the kernel."""

_LABEL, _CODE = re.compile(r"^\.?\w+:$"), re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s*(.*?)\s*;?\s*$")


def disassemble(cubin: bytes, *options: str) -> str:
    """The SASS of all kernels of a cubin, kept on disk; IrcError without a disassembler or for bytes it refuses.
    `options` are nvdisasm's."""
    key = hashlib.sha256(b"".join([cubin, *(option.encode() for option in options)])).hexdigest()
    if (content := cache.read("sass", key)) is not None:
        return content.decode()
    sass = _disassemble(cubin, options)
    cache.write("sass", key, sass.encode())
    return sass


def instructions_by_line(cubin: bytes) -> list[tuple[str, int]]:
    """The labels and instructions of a cubin that was compiled with `--generate-line-info`, each with the number of its
    line in the source, 0 where there is none; of a function that was inlined, that of its call."""
    found: list[tuple[str, int]] = []
    number = 0
    for line in disassemble(cubin, "--print-line-info-inline").splitlines():
        if place := _SOURCE_LINE.match(line):
            number = int(place[1])
        elif _LABEL.match(line):
            found.append((line, 0))
        elif code := _CODE.match(line):
            found.append((f"  {code[1]}  {code[2]}", number))
    return found


def _disassemble(cubin: bytes, options: Sequence[str]) -> str:
    tool = _tool("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="irc-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            done = subprocess.run(
                [tool, "-c", *options, str(path)], capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise IrcError(f"nvdisasm failed: {error}") from error
    if done.returncode != 0:
        raise IrcError(f"nvdisasm refused the cubin: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def opcodes(cubin: bytes) -> Counter[str]:
    """How often each instruction, with its modifiers (`LDG.E.128`), occurs in a cubin."""
    return opcodes_of(disassemble(cubin))


def opcodes_of(sass: str) -> Counter[str]:
    """The same of SASS text."""
    return Counter(_INSTRUCTION.findall(sass))


def families(counts: Counter[str]) -> dict[str, int]:
    """The counts by opcode without modifiers, most frequent first: `{"HGMMA": 16, ...}`."""
    found: Counter[str] = Counter()
    for name, count in counts.items():
        found[name.partition(".")[0]] += count
    return dict(found.most_common())


def uses(counts: Counter[str], opcode: str) -> bool:
    """Whether an instruction occurs, with these modifiers and perhaps more: `HGMMA` is in
    `HGMMA.64x256x16.F32.BF16`."""
    return any(name == opcode or name.startswith(f"{opcode}.") for name in counts)


_PRODUCT = re.compile(r"[HQI]GMMA\.64x(\d+)x\S* R(\d+),")
_WAIT = re.compile(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d+)")
_REGISTER = re.compile(r"\bR(\d+)\b")


def touched_in_flight(sass: str) -> list[str]:
    """Instructions that touch accumulators of a warp-group product before a wait for it, in the order of the code: a
    compiler must leave none (PTX ISA, wgmma.wait_group). f32 accumulators; loops are read once."""
    found: list[str] = []
    groups: list[set[int]] = [set()]
    for line in sass.splitlines():
        if product := _PRODUCT.search(line):
            columns, first = int(product[1]), int(product[2])
            groups[-1] |= set(range(first, first + columns // 2))
            if "gsb0" in line:
                groups.append(set())
        elif wait := _WAIT.search(line):
            groups = [*groups[-1 - int(wait[1]) : -1], set()]
        elif set().union(*groups) & {int(number) for number in _REGISTER.findall(line)}:
            found.append(line.strip())
    return found


def _tool(name: str) -> str:
    """The path of a program: of its wheel, of the path, of a toolkit."""
    candidates: list[Path] = []
    try:
        wheel = importlib.metadata.distribution(f"nvidia-cuda-{name}")
        candidates.append(Path(str(wheel.locate_file(f"nvidia/cu13/bin/{name}"))))
    except importlib.metadata.PackageNotFoundError:
        pass
    if found := shutil.which(name):
        candidates.append(Path(found))
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates += [Path(home) / "bin" / name for home in homes if home]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate)
    raise IrcError(f"{name} is not installed", hint=f"`pip install nvidia-cuda-{name}`")
