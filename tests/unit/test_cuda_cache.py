"""The cache of cubins: hits, its key, damage, folders that cannot be written, several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from irc.codegen import compiling as cache
from irc.codegen.nvrtc import Compilation, Resources, parse_resources
from irc.support.diagnostics import IrcError

SOURCE = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.0f; }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def no_compiler(*_: object, **__: object) -> Compilation:
    raise AssertionError("compiled again")


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_second_time_is_a_hit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cache.compile_cached(SOURCE, "sm_90a")
    assert len(entries(folder)) == 1
    monkeypatch.setattr(cache, "compile_source", no_compiler)
    assert cache.compile_cached(SOURCE, "sm_90a") == first
    assert first.resources["k"].registers > 0


def test_key_is_source_arch_options_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        cache.cache_key(SOURCE, "sm_90a"),
        cache.cache_key(SOURCE + " ", "sm_90a"),
        cache.cache_key(SOURCE, "sm_80"),
        cache.cache_key(SOURCE, "sm_90a", ["--use_fast_math"]),
    }
    assert cache.cache_key("  // gating.irc:4\n" + SOURCE, "sm_90a") in keys, "a place is no part of the key"
    monkeypatch.setattr(cache, "compiler_version", lambda: "another")
    keys.add(cache.cache_key(SOURCE, "sm_90a"))
    assert len(keys) == 5


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "file"))
    assert cache.compile_cached(SOURCE, "sm_90a").cubin


def test_errors_are_not_kept(folder: Path) -> None:
    with pytest.raises(IrcError, match="cannot compile"):
        cache.compile_cached("nonsense", "sm_90a")
    assert entries(folder) == []


def test_several_processes(folder: Path) -> None:
    script = (
        "import sys; from irc.codegen.compiling import compile_cached\n"
        f"sys.stdout.write(str(compile_cached({SOURCE!r}, 'sm_90a').resources['k'].registers))"
    )

    def run(_: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
        )
        return done.stdout

    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(run, range(4)))
    assert len(set(outputs)) == 1 and len(entries(folder)) == 1


def test_resources_of_a_log() -> None:
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Used 8 registers"""
    assert parse_resources(log) == {"a": Resources(255, 8, 4, 16, 1024), "b": Resources(8, 0, 0, 0, 0)}
    assert parse_resources(log)["a"].spills == 12
