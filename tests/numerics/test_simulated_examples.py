"""The examples on the simulator, small: right results, and accesses to memory that waste nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from drawing import long
from example_sizes import DIMS, EXAMPLES

import irc
from irc.interpreters.sim import KernelStatistics
from irc_tools.inputs import make_arguments
from irc_tools.run import main

PERMUTES = ("permute_2d", "permute_3d", "permute_5d", "permute_heads", "permute_nchw")

ALIGNED = (
    *PERMUTES,
    "cross_entropy",
    "gelu_chain",
    "layer_norm",
    "layer_norm_backward",
    "reductions",
    "rms_norm",
    "softmax",
)
"""Examples that memory bounds; the rows of all large arrays begin at multiples of 16 bytes."""


def test_every_example_has_a_size() -> None:
    assert sorted(DIMS) == sorted(path.stem for path in EXAMPLES.glob("*.irc"))


@long(6)
@pytest.mark.parametrize("name", DIMS)
def test_an_example_passes_its_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    defines = [f"-D{dim}={size}" for dim, size in DIMS[name].items()]
    assert main([str(EXAMPLES / f"{name}.irc"), "--target", "sim", "--check", *defines]) == 0, capsys.readouterr().err


@cache
def statistics(name: str) -> Sequence[KernelStatistics]:
    executable = irc.compile(EXAMPLES / f"{name}.irc", target="sim", arch="sm_90a", dims=DIMS[name])
    return executable.statistics(*make_arguments(executable.arguments, {}, 0))


@long(2)
@pytest.mark.parametrize("name", PERMUTES)
def test_permutes_have_no_bank_conflicts(name: str) -> None:
    assert {kernel.name: kernel.conflicts for kernel in statistics(name) if kernel.conflicts} == {}


@pytest.mark.parametrize("name", ALIGNED)
def test_aligned_arrays_are_moved_in_whole_sectors(name: str) -> None:
    for kernel in statistics(name):
        assert kernel.sectors() <= 1.05 * kernel.ideal_sectors()


@pytest.mark.parametrize("name", ["permute_2d", "permute_heads", "permute_5d"])
def test_a_permute_moves_each_byte_once(name: str) -> None:
    (kernel,) = statistics(name)
    executable = irc.compile(EXAMPLES / f"{name}.irc", target="sim", arch="sm_90a", dims=DIMS[name])
    moved = sum(spec.nbytes for spec in (*executable.arguments, *executable.results))
    assert 32 * kernel.sectors() <= 1.05 * moved
