"""The machine code of products of every type that Hopper's tensor cores have."""

from __future__ import annotations

import re
from math import prod

import pytest
from drawing import long

from irc.codegen.sass import opcodes, uses
from irc.driver.compiler import compile_artifact
from irc.driver.configured import config_of_fields, configured
from irc.driver.program import parse
from irc.ir.targets import target
from irc.layout.instructions import WARP_GROUP
from irc.runtime.artifact import Artifact

RESULTS = {"i8": "i32", "u8": "i32", "f8e4m3": "f32", "f8e5m2": "f32"}
OPCODES = {"i8": "IGMMA", "u8": "IGMMA", "f8e4m3": "QGMMA", "f8e5m2": "QGMMA"}
MAJORS = {
    "nn": ("[M, K]", "[K, N]", "x, w"),
    "nt": ("[M, K]", "[N, K]", "x, transpose(w)"),
    "tn": ("[K, M]", "[K, N]", "transpose(x), w"),
    "tt": ("[K, M]", "[N, K]", "transpose(x), transpose(w)"),
}


def product(element: str, majors: str, size: int, precision: str = "default", arch: str = "sm_90a") -> Artifact:
    x, w, call = MAJORS[majors]
    text = (
        f"dim M = {size}, N = {size}, K = {size}\n"
        f"func f(x: {element}{x}, w: {element}{w}) -> {RESULTS.get(element, element)}[M, N] {{\n"
        f'    return matmul({call}, precision="{precision}")\n}}\n'
    )
    return compile_artifact(text, arch=arch)


def check(artifact: Artifact, opcode: str) -> None:
    """Of the product's kernel, which is the last."""
    kernel, binary = artifact.manifest["kernels"][-1], artifact.kernels[-1]
    assert kernel["config"]["instruction"] == "wgmma"
    assert kernel["spills"] == 0
    counts = opcodes(binary.cubin)
    assert uses(counts, opcode)
    assert not any(uses(counts, other) for other in ("HGMMA", "QGMMA", "IGMMA", "FFMA") if other != opcode)
    assert fits(kernel["registers"], prod(kernel["block"]), binary.source)
    assert not uses(counts, "LDL")
    assert not uses(counts, "STL")


def fits(registers: int, threads: int, source: str) -> bool:
    """Whether the roles' registers are no more than the block is launched with: it would wait for them forever."""
    (producer,) = map(int, re.findall(r"setmaxnreg\.dec\S* (\d+);", source))
    (consumer,) = set(map(int, re.findall(r"setmaxnreg\.inc\S* (\d+);", source)))
    return producer * WARP_GROUP + consumer * (threads - WARP_GROUP) <= registers * threads


@long(4)
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize("element", ["f32", "i8", "u8", "f8e4m3", "f8e5m2"])
def test_a_large_product_is_on_the_tensor_cores(element: str, majors: str) -> None:
    check(product(element, majors, 4096), OPCODES.get(element, "HGMMA"))


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_f32_in_one_pass(precision: str) -> None:
    check(product("f32", "nn", 2048, precision), "HGMMA")


@long(2)
@pytest.mark.parametrize(("element", "copies"), [("bf16", 2), ("f16", 2), ("i8", 2), ("f8e4m3", 2), ("f32", 0)])
def test_rows_that_tensor_maps_cannot_load(element: str, copies: int) -> None:
    artifact = product(element, "nn", 1001)
    check(artifact, OPCODES.get(element, "HGMMA"))
    assert sum(kernel["launches"] for kernel in artifact.manifest["kernels"][:-1]) == copies
    if element in ("bf16", "f16"):  # copies are read as other arrays are, in steps of 128 bytes
        assert artifact.manifest["kernels"][-1]["config"]["tile"]["k"] == 64


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_16_bits_that_ask_for_promoted_sums(element: str) -> None:
    artifact = product(element, "nn", 4096, "f32")
    check(artifact, "HGMMA")
    assert uses(opcodes(artifact.kernels[-1].cubin), "FADD")
    assert not uses(opcodes(product(element, "nn", 4096).kernels[-1].cubin), "FADD")


def test_f32_is_three_products_a_step() -> None:
    (cubin,) = (k.cubin for k in product("f32", "nt", 4096).kernels)
    shapes = [name for name in opcodes(cubin) if name.startswith("HGMMA")]
    assert all(".TF32" in name for name in shapes)
    assert sum(opcodes(cubin)[name] for name in shapes) % 12 == 0


@long(4)
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("arch", "opcode"), [("sm_80", "DMMA.884"), ("sm_90a", "DMMA.16x8x8")])
def test_f64_has_two_blocks_on_an_sm(arch: str, opcode: str, majors: str) -> None:
    artifact = product("f64", majors, 2048, arch=arch)
    (described,) = artifact.manifest["kernels"]
    counts = opcodes(artifact.kernels[0].cubin)
    assert {name for name in counts if name.startswith("DMMA")} == {opcode}
    assert described["spills"] == 0
    assert 2 * described["shared_memory"] <= target(arch).shared_memory_per_sm
    assert 2 * described["registers"] * described["block"][0] <= target(arch).registers


@long(2)
@pytest.mark.parametrize("majors", MAJORS)
def test_f32_that_is_rounded_is_one_product_of_warps(majors: str) -> None:
    artifact = product("f32", majors, 512, "tf32", "sm_80")
    (described,) = artifact.manifest["kernels"]
    assert (described["config"]["instruction"], described["spills"]) == ("mma", 0)
    counts = opcodes(artifact.kernels[0].cubin)
    assert {name for name in counts if name.startswith("HMMA")} == {"HMMA.1688.F32.TF32"}
    assert not uses(counts, "FFMA")


@pytest.mark.parametrize(
    ("config", "opcode"),
    [({}, "HMMA.16816.F16"), ({"shape": [16, 8, 8]}, "HMMA.1688.F16")],
)
def test_sums_of_f16(config: dict[str, object], opcode: str) -> None:
    text = """func f(x: f16[512, 512], w: f16[512, 512]) -> f16[512, 512] {
    return matmul(x, w, precision="f16")
}"""
    module = configured(parse(text, "f.irc"), config_of_fields({"instruction": "mma", **config}), "sm_80")
    (kernel,) = compile_artifact(module, arch="sm_80").kernels
    assert {name for name in opcodes(kernel.cubin) if name.startswith("HMMA")} == {opcode}


@long(3)
@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
@pytest.mark.parametrize(
    ("element", "opcode"),
    [("u8", "IMMA"), ("i8", "IMMA"), ("f8e4m3", "HMMA"), ("f8e5m2", "HMMA"), ("f32", "FFMA")],
)
def test_other_architectures(element: str, opcode: str, arch: str) -> None:
    artifact = product(element, "nn", 256, arch=arch)
    assert uses(opcodes(artifact.kernels[0].cubin), opcode)
