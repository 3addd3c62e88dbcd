"""The examples on the simulator, small: right results, and accesses to memory that waste nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

import irc
from irc.interpreters.sim import KernelStatistics
from irc_tools.inputs import make_arguments
from irc_tools.run import main

EXAMPLES = Path(__file__).parents[2] / "examples"

DIMS: Mapping[str, Mapping[str, int]] = {
    "attention": {"B": 1, "H": 2, "S": 64},
    "cross_entropy": {"B": 16, "C": 200},
    "cross_entropy_backward": {"B": 16, "C": 200},
    "gated_unit_step": {"B": 256, "H": 256},
    "gating": {"M": 256, "K": 128, "N": 256},
    "gelu_chain": {"M": 64, "N": 128},
    "heads": {"B": 1},
    "image": {"N": 2, "H": 24, "W": 40},
    "layer_norm": {"M": 32},
    "layer_norm_backward": {"M": 32},
    "mixed_precision": {"M": 64, "N": 64, "K": 128},
    "mlp": {"B": 64, "D": 64},
    "permute_2d": {"M": 256, "N": 192},
    "permute_3d": {"A": 16, "B": 64, "C": 64},
    "permute_5d": {"N": 2, "H": 32, "W": 32},
    "permute_heads": {"B": 2, "S": 64, "H": 4},
    "permute_nchw": {"N": 2, "H": 16, "W": 16},
    "reductions": {"A": 8, "B": 16, "C": 64},
    "rms_norm": {"M": 32},
    "rms_norm_backward": {"M": 32},
    "softmax": {"M": 32},
    "softmax_backward": {"M": 32},
    "train_mlp": {"N": 64, "D": 64, "H": 128, "C": 64},
}
"""Sizes at which a run takes about a second or less."""

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


@pytest.mark.parametrize("name", DIMS)
def test_an_example_passes_its_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    defines = [f"-D{dim}={size}" for dim, size in DIMS[name].items()]
    assert main([str(EXAMPLES / f"{name}.irc"), "--target", "sim", "--check", *defines]) == 0, capsys.readouterr().err


@cache
def statistics(name: str) -> Sequence[KernelStatistics]:
    executable = irc.compile(EXAMPLES / f"{name}.irc", target="sim", arch="sm_90a", dims=DIMS[name])
    return executable.statistics(*make_arguments(executable.arguments, {}, 0))


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
