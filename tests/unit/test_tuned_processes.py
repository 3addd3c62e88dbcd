"""Processes that tune at once, on one database: nothing is lost, whatever state the file is in when they begin."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tuning_benches import BEST, FakeSpace

from irc.configs.alone import config_text
from irc.support import tuned
from irc.support.tuned import KernelKey, Measurement, TunedConfig, Unreadable

WRITES = 20
"""Of each process, configs and measurements in turn."""

WRITER = f"""
import sys
from irc.support import tuned
from irc.support.tuned import KernelKey, Measurement, TunedConfig

name = sys.argv[1]
print("ready", flush=True)
sys.stdin.readline()
for number in range({WRITES}):
    key = KernelKey.of(f"{{name}} of tensor<{{number + 1}}xf32>")
    tuned.keep([TunedConfig(key.kernel, key.shapes, "cpu", name, "warps = 4", 1.0, 2.0)])
    tuned.keep_measurements(key, "cpu", [Measurement("warps = 4", "timed", name, 1.0, None)] * 3)
    assert tuned.lookup(key, "cpu") == "warps = 4"
"""

TUNER = """
import sys
from tuning_benches import BEST, FakeSpace
from irc.configs.alone import config_text
from irc.support.tuned import KernelKey
from irc.tuning.session import Settings, Subject, Tuner
from irc.tuning.workers import Setup

setup = Setup("tuning_benches:FakeBench")
tuner = Tuner(setup, setup, Settings(search="ranked", workers=1), print, overlaps=True)
print("ready", flush=True)
sys.stdin.readline()
for text in sys.argv[1:]:
    tuner.tune(Subject(text, KernelKey.of(text), "sm_90a", FakeSpace(others=[BEST]), config_text))
tuner.close()
"""


@pytest.fixture(autouse=True)
def own_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("IRC_TUNED", raising=False)


def run_at_once(code: str, arguments: Sequence[Sequence[str]]) -> list[str]:
    """Processes that begin when all have loaded what they need; what each wrote to standard error."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, *each],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for each in arguments
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), said
    return said


def check_written(names: Sequence[str]) -> None:
    """All that `WRITER` keeps is there, once."""
    assert sorted(each.name for each in tuned.tuned_configs()) == sorted(WRITES * list(names))
    reasons = [row.measurement.reason for row in tuned.dataset()]
    assert sorted(reasons) == sorted(3 * WRITES * list(names))


def test_writers_of_a_new_database_lose_nothing() -> None:
    """It is made by whoever comes first; nobody takes it for a damaged one meanwhile."""
    assert run_at_once(WRITER, [["a"], ["b"], ["c"]]) == ["", "", ""]
    check_written("abc")


def test_writers_of_a_damaged_database_move_it_aside_once(tmp_path: Path) -> None:
    """Who finds out late does not move what the other has kept by then. An older file that was moved stays, too."""
    file, before = tmp_path / tuned.NAME, b"no database " * 100
    file.write_bytes(before)
    file.with_suffix(tuned.DAMAGED).write_bytes(b"an older one")
    for said in run_at_once(WRITER, [["a"], ["b"], ["c"]]):
        assert said.count("Unreadable") <= 1
        assert not said or f"the tuned configs in {file} are ignored: file is not a database" in said
    check_written("abc")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "tuned.damaged",
        "tuned.damaged2",
        "tuned.lock",
        "tuned.sqlite",
    ]
    assert (tmp_path / "tuned.damaged").read_bytes() == b"an older one"
    assert (tmp_path / "tuned.damaged2").read_bytes() == before


def test_tuners_of_one_kernel_and_of_others_lose_nothing() -> None:
    shared, own = "a kernel of tensor<64x32xf32>", ["b of tensor<8x8xf32>", "c of tensor<8x8xf32>"]
    assert run_at_once(TUNER, [[shared, each] for each in own]) == ["", ""]
    assert {each.name: each.config for each in tuned.tuned_configs()} == dict.fromkeys(
        [shared, *own], config_text(BEST)
    )
    space = FakeSpace(others=[BEST])
    tried = len({*space.seeds, *space.neighbors(space.seeds[0]), *space.neighbors(BEST)})
    rows = [row.text for row in tuned.dataset()]
    assert {text: rows.count(text) for text in {*rows}} == {shared: 2 * tried, own[0]: tried, own[1]: tried}


KEY = KernelKey.of("a kernel of tensor<64x32xf32>")


def keep(seconds: float = 1.0) -> None:
    tuned.keep([TunedConfig(KEY.kernel, KEY.shapes, "cpu", "kernel", "warps = 4", seconds, 2.0)])


@pytest.mark.parametrize("damage", ["a page", "the end", "other tables"])
def test_what_is_damaged_is_kept_aside_and_tuning_goes_on(damage: str, tmp_path: Path) -> None:
    """One warning names the file, and says where it will be."""
    file = tmp_path / tuned.NAME
    keep()
    tuned.keep_measurements(KEY, "cpu", [Measurement(f"warps = {n}", "timed", "", 1.0, None) for n in range(1000)])
    content = file.read_bytes()
    if damage == "a page":
        file.write_bytes(content[:4096] + bytes(4096 * 3) + content[4 * 4096 :])
    if damage == "the end":
        file.write_bytes(content[: len(content) // 2])
    if damage == "other tables":
        file.unlink()
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE configs (kernel TEXT)")
        database.close()
    damaged = file.read_bytes()
    with pytest.warns(Unreadable) as warned:
        assert tuned.lookup(KEY, "cpu") is None
        assert tuned.dataset() == []
        keep()
    (message,) = [str(each.message) for each in warned]
    assert message.startswith(f"the tuned configs in {file} are ignored: ")
    assert message.endswith("; whoever tunes next moves the file to tuned.damaged")
    assert tuned.lookup(KEY, "cpu") == "warps = 4"
    assert file.with_suffix(tuned.DAMAGED).read_bytes() == damaged


def test_a_database_that_is_not_ours_stays(tmp_path: Path) -> None:
    """One that cannot be opened is no damaged one."""
    file = tmp_path / tuned.NAME
    file.mkdir()
    with pytest.warns(Unreadable, match="are ignored: unable to open database file$"):
        keep()
    assert file.is_dir()


def test_a_file_without_tables_is_no_damaged_one(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Another process is about to make them."""
    (tmp_path / tuned.NAME).touch()
    assert tuned.lookup(KEY, "cpu") is None
    keep()
    assert tuned.lookup(KEY, "cpu") == "warps = 4"
    assert not recwarn.list
