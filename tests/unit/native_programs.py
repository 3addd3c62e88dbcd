"""C programs with the loader of saved executables, built with the sanitizers of addresses and of undefined behavior, and
files for them."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import irc
from irc.runtime import saved
from irc.support import cbor

COMPILER, CXX = shutil.which("cc") or shutil.which("gcc"), shutil.which("c++") or shutil.which("g++")
ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "native"
_NATIVE = Path(irc.include_dir())

needed = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="the loader is for Linux"),
]
"""Marks of the tests."""

_SANITIZERS = ["-fno-sanitize-recover=undefined", "-fsanitize=address,undefined"]
_STRICT = ["-g", "-Wall", "-Wextra", "-Werror", "-Wpedantic", *_SANITIZERS]


@cache
def _folder() -> Path:
    """A folder with the loader's object files, which goes with the process."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    sources = [str(path) for path in sorted(_NATIVE.glob("*.c"))]
    subprocess.run([str(COMPILER), "-std=c11", *_STRICT, "-c", *sources], check=True, cwd=made)
    return made


@cache
def built(program: Path) -> Path:
    """A program of C or C++, with the loader."""
    compiler, standard = (COMPILER, "-std=c11") if program.suffix == ".c" else (CXX, "-std=c++11")
    path = _folder() / program.stem
    objects = [str(each) for each in sorted(_folder().glob("*.o"))]
    command = [str(compiler), standard, *_STRICT, f"-I{_NATIVE}", str(program), *objects, "-o", str(path)]
    subprocess.run([*command, "-lpthread", "-ldl"], check=True)
    return path


@cache
def fake_driver() -> Path:
    """The folder of a libcuda.so.1 that notes what is called."""
    made = _folder() / "fake"
    made.mkdir()
    source, library = str(PROGRAMS / "fake_cuda.c"), str(made / "libcuda.so.1")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", source, "-o", library], check=True)
    return made


def called(program: Path, *words: object, code: int = 0, folder: Path | None = None, **environment: str) -> str:
    """What a program prints. It ends with this code: a sanitizer that found something prints more, or ends it with
    another one."""
    command = [str(program), *map(str, words)]
    environ = os.environ | environment
    found = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, errors="replace", check=False, timeout=120
    )
    assert found.returncode == code, found.stdout + found.stderr
    assert "Sanitizer" not in found.stderr, found.stderr
    return found.stdout + found.stderr


def runner() -> Path:
    """The program that runs a file."""
    return built(ROOT / "examples" / "run_saved.c")


def loaded(*paths: Path, **environment: str) -> list[str]:
    """For each file the number of its status and a message, as C loads it."""
    return called(built(PROGRAMS / "load_many.c"), *paths, code=0, folder=None, **environment).splitlines()


def sealed(document: bytes, data: bytes, format: int = saved.FORMAT) -> bytes:
    """A file with these parts and right sums."""
    sums = (hashlib.sha256(document).digest(), hashlib.sha256(data).digest())
    head = saved.HEAD.pack(saved.MAGIC, format, b"9.9", len(document), len(data), *sums)
    return head + saved.seal(head) + document + bytes(-len(document) % 64) + data


def parts_of(path: Path) -> tuple[bytes, bytes]:
    """The document and the data of a file."""
    content = path.read_bytes()
    size = int.from_bytes(content[32:40], "little")
    return content[128 : 128 + size], content[128 + size + -size % 64 :]


def changed(path: Path, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """A file beside it with another document."""
    document, data = parts_of(path)
    tree = cbor.decoded(document)
    change(tree)
    path.with_name(name).write_bytes(sealed(cbor.encoded(tree), data))
    return path.with_name(name)
