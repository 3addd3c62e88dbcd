"""The kernels of attention and of its gradients: tensor cores without spills and serialized products at the sizes of the
benchmarks, and no bank conflicts in a loop, on the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import long, slow
from numerics.harness import draw_arguments
from numerics.test_cascades import gradients
from xdsl.dialects.builtin import ModuleOp

import irc
from irc.analysis.budgets import BLOCK_BYTES
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import FusedOp
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc.ir.targets import target_of
from irc_tools.bench.rows import Row
from irc_tools.bench.suite import load_suite

SUITE = {row.name: row.program for row in load_suite("attention").rows}
ANY_ORDER = {row.program for row in load_suite("attention").rows if row.any_order}
"""Programs whose sums may be added up in any order, as their rows are timed."""

GRADIENTS = {
    "full 4x16x4096x128": gradients(4, 16, 1, 4096, 4096, 128, 128, "bf16", False),
    "causal 4x16x4096x128": gradients(4, 16, 1, 4096, 4096, 128, 128, "bf16", True),
    "causal 4x32/8x4096x128": gradients(4, 32, 4, 4096, 4096, 128, 128, "bf16", True),
    "full 8x32x2048x64": gradients(8, 32, 1, 2048, 2048, 64, 64, "bf16", False),
    "causal 16x12x1024x64": gradients(16, 12, 1, 1024, 1024, 64, 64, "bf16", True),
    "causal 4x8x4096x256": gradients(4, 8, 1, 4096, 4096, 256, 256, "bf16", True),
    "in parts 1x16x512x128": gradients(1, 16, 1, 512, 512, 128, 128, "bf16", False),
}


def lowered(text: str, level: str) -> ModuleOp:
    options = {"any_order": True} if text in ANY_ORDER else {}
    return lower(isolate(parse(text, "attention.irc")), level, arch="sm_90a", **options)


@long(40, of_all=3)
@pytest.mark.parametrize(
    "text", [*SUITE.values(), *GRADIENTS.values()], ids=[*SUITE, *(f"grad {n}" for n in GRADIENTS)]
)
def test_machine_code(text: str) -> None:
    """A warning of ptxas (C75xx) says that it waits for each product. As many blocks as are to share an SM fit it."""
    module = lowered(text, "all")
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    for op in kernels:
        name = op.sym_name.data
        compiled = compile_source(print_kernels([op]), "sm_90a", name=name)
        assert compiled.warnings == (), name
        resources, machine = compiled.resources[name], target_of(module)
        assert resources.spills == 0, name
        blocks = 1 if op.min_blocks is None else op.min_blocks.value.data
        threads, shared = (
            blocks * op.block.value.data,
            blocks * ((op.shared.value.data if op.shared else 0) + BLOCK_BYTES),
        )
        assert resources.registers * threads <= machine.registers and shared <= machine.shared_memory_per_sm, name


@pytest.mark.parametrize("name", SUITE)
def test_launches(name: str) -> None:
    """One kernel forward, and one more where it walks over the keys in parts. Gradients have a sum over the rows, and a
    kernel for the keys and one for the queries; of heads of 256 elements those of keys and of values are apart, since
    results of a kernel are at most 256 columns wide together. In any order one kernel has all gradients, adds those of the
    queries up in f32, and a map rounds them."""
    module = lowered(SUITE[name], "kernel")
    kinds = sorted(op.kind.value for op in module.walk() if isinstance(op, FusedOp))
    if name.startswith("gradients"):
        assert kinds == ["cascade"] * (3 if "x256 " in name else 2) + ["reduce"]
        return
    if name.startswith("flex forward and gradients"):
        assert kinds == ["cascade", "cascade", "map", "reduce"]
        return
    assert kinds == ["cascade", "reduce"][: 2 if name.startswith("decode 1x") else 1]


@slow
@pytest.mark.parametrize(("head", "causal"), [(64, False), (64, True), (128, True)])
def test_no_conflicts(head: int, causal: bool) -> None:
    text = gradients(1, 16, 1, 256, 256, head, head, "bf16", causal)
    module = isolate(parse(text, "attention.irc"))
    with np.errstate(all="ignore"):
        statistics = irc.compile(text, target="sim", arch="sm_90a").statistics(*draw_arguments(module))
    found = {kernel.name: kernel for kernel in statistics}
    assert set(found) == {"f_0", "f_1", "f_2", "f_3"}
    assert {name: kernel.conflicts for name, kernel in found.items()} == dict.fromkeys(found, 0)


@long(6)
@pytest.mark.parametrize("row", load_suite("attention").rows, ids=lambda row: row.name)
def test_small_sizes(row: Row) -> None:
    """On the simulator, for which a race or a use of a barrier that breaks its protocol is an error; no bank conflicts.
    Heads are as wide as in the suite."""
    dims = {**row.dims, **{name: extent for name, extent in row.small.items() if name != "D"}}
    module = isolate(parse(row.program, "attention.irc", dims=dims))
    with np.errstate(all="ignore"):
        statistics = irc.compile(row.program, target="sim", arch="sm_90a", dims=dims).statistics(
            *draw_arguments(module)
        )
    assert {kernel.name: kernel.conflicts for kernel in statistics if kernel.conflicts} == {}


@long(2)
@pytest.mark.parametrize("name", ["causal 1x16x16384x128 bf16", "gradients causal 1x16x16384x128 bf16"])
def test_long_rows_take_no_memory_but_their_arrays(name: str) -> None:
    """No array of scores: of 65536 tokens those of one head alone have 8 GB."""
    artifact = compile_artifact(parse(SUITE[name], "attention.irc", dims={"S": 65536}))
    own = artifact.manifest["peak"] - artifact.manifest["arena"]
    assert artifact.manifest["arena"] <= 0.1 * own
    assert own == sum(spec.nbytes for spec in (*artifact.arguments, *artifact.results))
