"""How many kernels the examples become, and what is in their machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawing import long
from gpu.programs.examples import EXAMPLES, odd_dims

from irc.codegen.sass import opcodes, uses
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import lower
from irc.driver.program import load
from irc.runtime.artifact import Artifact
from irc.support.diagnostics import IrcError

FOLDER = EXAMPLES[0].parent


def compiled(name: str, **dims: int) -> Artifact:
    return compile_artifact(FOLDER / f"{name}.irc", arch="sm_90a", dims=dims)


def anchors(artifact: Artifact) -> list[Any]:
    return [kernel["anchor"] for kernel in artifact.manifest["kernels"]]


def test_gating_is_one_warp_group_product_without_spills() -> None:
    artifact = compiled("gating")
    assert anchors(artifact) == ["matmul"]
    (kernel,) = artifact.manifest["kernels"]
    assert kernel["spills"] == 0
    assert kernel["config"]["instruction"] == "wgmma"
    (cubin,) = (k.cubin for k in artifact.kernels)
    counts = opcodes(cubin)
    assert uses(counts, "HGMMA")
    assert uses(counts, "UTMALDG")
    assert not uses(counts, "LDL")
    assert not uses(counts, "STL")


def test_the_gated_unit_step_is_one_product_and_one_finish() -> None:
    artifact = compiled("gated_unit_step")
    assert anchors(artifact) == ["matmul", "reduce"]
    assert [kernel["spills"] for kernel in artifact.manifest["kernels"]] == [0, 0]
    assert uses(opcodes(artifact.kernels[0].cubin), "HGMMA")


@pytest.mark.parametrize("name", ["softmax", "rms_norm", "layer_norm", "gelu_chain", "permute_2d"])
def test_one_kernel(name: str) -> None:
    assert len(anchors(compiled(name))) == 1


def test_a_product_with_scales_in_blocks_is_one_kernel_of_multiply_adds() -> None:
    """A multiply-add for each accumulator and step: 64 of a thread, and the scale of a row times that of columns. The
    loop takes two steps at a time, and two are behind it. Scales come by TMA."""
    artifact = compiled("scaled_product", K=2048)
    (kernel,) = artifact.manifest["kernels"]
    assert (kernel["anchor"], kernel["spills"], kernel["config"]["instruction"]) == ("matmul", 0, "wgmma")
    counts = opcodes(artifact.kernels[0].cubin)
    accumulators = kernel["config"]["tile"]["m"] * kernel["config"]["tile"]["n"] // (32 * kernel["config"]["warps"])
    assert uses(counts, "QGMMA")
    assert counts["FFMA"] == 4 * accumulators
    assert counts["FMUL"] <= 4 * 4
    assert not uses(counts, "LDG")


@long(2)
@pytest.mark.parametrize(("arch", "opcode"), [("sm_80", "HMMA"), ("sm_89", "HMMA"), ("sm_100a", "UTCHMMA")])
def test_other_architectures_have_instructions_of_their_own(arch: str, opcode: str) -> None:
    artifact = compile_artifact(FOLDER / "gating.irc", arch=arch, dims={"M": 256, "N": 256, "K": 256})
    assert anchors(artifact) == ["matmul"]
    assert uses(opcodes(artifact.kernels[0].cubin), opcode)


@long(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_odd_sizes_lower_to_kernels(path: Path) -> None:
    """As tests/gpu/test_gpu_examples.py runs them: nothing is a multiple of a tile or aligned for wide accesses."""
    for least in (37, 129):
        try:
            module = load(path, dims=odd_dims(path, least))
        except IrcError:
            continue  # the program does not take these sizes
        lower(module, "all", arch="sm_90a")
