"""What a pass printed goes on, by each command, to the kernels and the results of the whole pipeline.

A run draws some passes of some examples by a seed, and simulates behind one of each example; `make test` compiles behind
one in three. A sweep (IRC_SWEEP=all) takes all.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from drawing import ALL as MANY
from drawing import SWEEP, some
from example_sizes import DIMS, EXAMPLES

from irc.driver.pipelines import ALL
from irc_tools import compile as irc_compile
from irc_tools import opt as irc_opt
from irc_tools import run as irc_run

DRAWN = 60
"""Dumps."""

SHARED = ("attention", "train_mlp")
"""Examples of several functions that launch equal kernels: in a dump of all, the name is that of the first one."""


MOVED = {"heads": ("factor-reductions", "scale-exponents", "arrange-convolutions", "recompute-nd")}
"""Passes by examples, behind which the passes before them find more when they run again, as a dump's do up to
split-reductions: factor-reductions takes a division away from where a permute could not pass it, and cancel-permutes
moves the permute. Kernels are others then."""


def points() -> dict[str, list[int]]:
    """For each example the numbers of the passes behind which its dumps go on; behind the last there is nothing."""
    names = DIMS if SWEEP or MANY else some([name for name in DIMS if name not in SHARED], 4)
    every = [(name, number) for name in names for number in range(1, len(ALL))]
    chosen = every if SWEEP else random.Random(13).sample(every, DRAWN)
    return {name: sorted(number for other, number in chosen if other == name) for name, _ in sorted(chosen)}


def simulated(file: Path, folder: Path, *options: str) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    """The results of a run on the simulator."""
    assert irc_run.main([str(file), "--target", "sim", "--output", str(folder), *options]) == 0
    return [np.load(path) for path in sorted(folder.glob("*.npy"))]


def emitted(file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The kernels and the host plan of the function that is compiled."""
    capsys.readouterr()
    assert irc_compile.main([str(file), "--emit", "cuda", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("name", "numbers"), points().items(), ids=points())
def test_dumps_go_on(name: str, numbers: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, defines = EXAMPLES / f"{name}.irc", [f"-D{dim}={size}" for dim, size in DIMS[name].items()]
    dumped = ["-p", "all", "--dump-dir", str(tmp_path / "dumps"), "-o", str(tmp_path / "all.mlir")]
    assert irc_opt.main([str(text), *defines, *dumped]) == 0
    files = sorted((tmp_path / "dumps").iterdir())
    whole, compiled = (tmp_path / "all.mlir").read_text(), emitted(text, capsys, *defines)
    expected = simulated(text, tmp_path / "whole", *defines)
    for number in numbers:
        file = files[number]
        assert irc_opt.main([str(file), "-p", "all", "-o", str(tmp_path / "on.mlir")]) == 0
        is_moved = ALL[number - 1] in MOVED.get(name, ())
        assert ((tmp_path / "on.mlir").read_text() == whole) is not is_moved, file.name
        if not is_moved and (MANY or SWEEP or number in numbers[::3]):
            assert name in SHARED or emitted(file, capsys) == compiled, file.name
        if not SWEEP and number != numbers[0]:
            continue
        for found, wanted in zip(simulated(file, tmp_path / file.stem), expected, strict=True):
            if is_moved:
                np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=0.02, atol=0.02)
            else:
                np.testing.assert_array_equal(found, wanted, file.name)
