"""Programs on several ranks, which are processes that exchange arrays by gloo; none waits for one that is gone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).with_name("ranks_of_sharding.py")
SECONDS = 400


def run(tmp_path: Path, *names: str) -> dict[str, str]:
    """What the ranks of each case printed, and how they ended."""
    environment = {**os.environ, "IRC_TEST_TRACE": str(tmp_path / "trace.json"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *names], capture_output=True, text=True, timeout=SECONDS, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = re.split(r"^== (.*)$", done.stdout, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def seconds_of(text: str) -> int:
    found = re.search(r"within (\d+) s", text)
    assert found is not None
    return int(found[1])


def test_steps_on_ranks_equal_those_of_one_process(tmp_path: Path) -> None:
    found = run(tmp_path, "data", "tensors", "both", "machine_code")
    assert "codes [0, 0]" in found["data"], found["data"]
    assert "codes [0, 0]" in found["tensors"], found["tensors"]
    assert "codes [0, 0, 0, 0]" in found["both"], found["both"]
    assert "codes [0, 0]" in found["machine_code"], found["machine_code"]


def test_ranks_end_together_with_the_name_of_the_cause(tmp_path: Path) -> None:
    found = run(tmp_path, "death", "another_program", "early_end", "no_mesh")
    assert "rank 0: rank 1 died" in found["death"] and "codes [70, -9]" in found["death"]
    assert "f32[4, 2]" in found["another_program"] and "f32[4, 3]" in found["another_program"]
    assert "codes [70, 70]" in found["another_program"]
    assert "rank 1: rank 0 ended after call 1, and rank 1 makes another" in found["early_end"]
    assert "the mesh data=3 has 3 ranks, and 2 are running" in found["no_mesh"]
    assert all(seconds_of(text) < 60 for text in found.values())


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"WORLD_SIZE": "2", "RANK": "0"}, "WORLD_SIZE is set, and MASTER_PORT is not"),
        ({"WORLD_SIZE": "2", "RANK": "2", "MASTER_PORT": "1"}, "expected a RANK below WORLD_SIZE=2, found 2"),
        ({"WORLD_SIZE": "two", "RANK": "0", "MASTER_PORT": "1"}, "expected numbers in RANK"),
    ],
)
def test_an_environment_that_is_none_of_a_rank(environment: dict[str, str], message: str) -> None:
    from irc.runtime.rendezvous import Place
    from irc.support.diagnostics import IrcError

    with pytest.raises(IrcError, match=message):
        Place.from_environment(environment)


def test_the_launcher_names_the_rank_that_failed(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text("import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(3)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "irc_tools.launch", "-n", "2", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "rank 1 ended with exit code 3; the others are ended" in done.stderr
