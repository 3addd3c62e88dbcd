"""Warp-group products: their machine code for the shapes of the benchmarks, and what they compute, on the simulator."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from drawing import long

import irc
from irc.codegen.compiling import compile_cached
from irc.codegen.sass import disassemble, opcodes_of, touched_in_flight, uses
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.program import parse
from irc.ir import targets

HEAD = "dim M = 2048, N = 2048, K = 2048\n"
PROGRAMS = {
    "matmul": "func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return x @ w\n}\n",
    "transposed": "func f(x: f16[K, M], w: f16[N, K]) -> f16[M, N] {\n    return transpose(x) @ transpose(w)\n}\n",
    "gating": """func f(x: bf16[M, K], w: bf16[K, N], v: bf16[K, N], b: bf16[N]) -> bf16[M, N] {
    return sigmoid(x @ w + b) * (x @ v)
}
""",
    "gelu": """func f(x: bf16[M, K], w: bf16[K, N], b: bf16[N], r: bf16[M, N]) -> bf16[M, N] {
    return gelu(x @ w + b, approximate="tanh") + r
}
""",
    "prologue": "func f(x: bf16[M, K], s: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return (relu(x) * s) @ w\n}\n",
    "squares": "func f(x: bf16[M, K], w: bf16[K, N]) -> f32[M] {\n    y = cast(x @ w, f32)\n    return sum(y * y, axis=1)\n}\n",
    "softmax": "func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return softmax(x @ w)\n}\n",
    "norm": """func f(x: bf16[M, K], w: bf16[K, N], v: bf16[K, N], r: bf16[M, N], s: bf16[N]) -> (bf16[M, N], bf16[M]) {
    h = sigmoid(x @ w) * (x @ v) + r
    return rms_norm(h) * s, max(h, axis=1)
}
""",
    "residual": "func f(x: bf16[M, K], w: bf16[K, N], r: bf16[M, N]) -> bf16[M, N] {\n    return rms_norm(x @ w + r)\n}\n",
}
IN_ROWS = ("softmax", "norm", "residual")
PINGPONG = {"tile": TileSizes(m=128, n=128, k=64), "schedule": "pingpong", "warps": 4}
ALONG_N = {"swap_ab": True, "instruction": "wgmma"}
NARROW = {"tile": TileSizes(m=128, n=64, k=64), "schedule": "pingpong", "warps": 4}


def configured(name: str, fields: dict[str, Any], **dims: int) -> Any:
    """The program with these fields in the config of its product."""
    module = parse(HEAD + PROGRAMS[name], "program.irc", dims=dims)
    run_passes(module, passes_of(KERNEL[: KERNEL.index("choose-config")]))
    for op in module.walk():
        if isinstance(op, FusedOp) and op.kind is Anchor.MATMUL:
            op.config = ConfigAttr.of(**fields)
    return module


SASS = [
    *((name, {}) for name in PROGRAMS if name not in IN_ROWS),
    ("matmul", {"tile": TileSizes(m=128, n=128, k=64)}),
    ("matmul", {"cluster": (2, 1)}),
    ("matmul", {"cluster": (2, 2)}),
    *((name, PINGPONG) for name in PROGRAMS if name not in ("gating", *IN_ROWS)),
    ("matmul", {**PINGPONG, "cluster": (2, 1)}),
    ("gating", NARROW),
    ("matmul", {"tile": TileSizes(m=192, n=192, k=64)}),
    ("matmul", {**PINGPONG, "tile": TileSizes(m=128, n=192, k=64)}),
    ("transposed", {"tile": TileSizes(m=192, n=176, k=64)}),
]


@long(9)
@pytest.mark.parametrize(("name", "fields"), SASS, ids=str)
def test_machine_code(name: str, fields: dict[str, Any]) -> None:
    """No spill, no accumulator read before it is complete, no warning that products run one after the other."""
    check_machine_code(configured(name, fields), stores_boxes=name != "squares")


@long(2)
@pytest.mark.parametrize("name", ["matmul", "gating", "gelu", "prologue"])
def test_machine_code_of_blocks_that_take_tiles(name: str) -> None:
    """Coordinates that follow from a ticket are in uniform registers, as those that follow from a block's number are:
    TMA takes no others."""
    taken, walked = (configured(name, {"schedule": schedule}, M=8192) for schedule in ("dynamic", "persistent"))
    check_machine_code(taken, stores_boxes=True)
    moved = [opcodes_of(disassemble(compile_artifact(module).kernels[0].cubin)) for module in (taken, walked)]
    assert uses(moved[0], "ATOMG") and not uses(moved[1], "ATOMG")
    assert moved[0]["R2UR"] <= moved[1]["R2UR"] + 8


ROWS = [
    ("softmax", {}, 256),
    ("softmax", {}, 200),
    ("softmax", {"tile": TileSizes(m=128, n=256, k=64), "cluster": (2, 1)}, 256),
    ("softmax", {"tile": TileSizes(m=64, n=256, k=64), "schedule": "pingpong", "warps": 4}, 256),
    ("norm", {}, 128),
    ("residual", {}, 256),
]


@long(4)
@pytest.mark.parametrize(("name", "fields", "columns"), ROWS, ids=str)
def test_machine_code_of_whole_rows(name: str, fields: dict[str, Any], columns: int) -> None:
    """One kernel, which reduces its rows and reads them again."""
    module = configured(name, fields, M=16384, N=columns, K=512)
    assert sum(isinstance(op, FusedOp) for op in module.walk()) == 1
    check_machine_code(module, stores_boxes=True)


def check_machine_code(module: Any, *, stores_boxes: bool) -> None:
    artifact = compile_artifact(module)
    (kernel, *_), (described, *_) = artifact.kernels, artifact.manifest["kernels"]
    sass = disassemble(kernel.cubin)
    counts = opcodes_of(sass)
    assert uses(counts, "HGMMA")
    assert uses(counts, "UTMALDG")
    assert uses(counts, "UTMASTG") == stores_boxes
    assert not touched_in_flight(sass)
    assert not compile_cached(kernel.source, "sm_90a", name=kernel.name).warnings
    assert described["spills"] == 0
    assert not uses(counts, "STL")


def test_an_accumulator_read_too_early_is_found() -> None:
    sass = """
        /*1430*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8].tnspB, R24, gsb0 ;
        /*1440*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*1490*/                   F2FP.BF16.F32.PACK_AB R101, R55, R54 ;
        /*14a0*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*14b0*/                   F2FP.BF16.F32.PACK_AB R25, R25, R24 ;
"""
    assert touched_in_flight(sass) == ["/*1490*/                   F2FP.BF16.F32.PACK_AB R101, R55, R54 ;"]


BATCHED = """func f(x: bf16[B, S, K], w: bf16[K, N]) -> (bf16[B, S, N], bf16[{result}]) {{
    y = x @ w
    return y, sum(y * y, axis={axis})
}}
"""


@pytest.mark.parametrize("text", [BATCHED.format(result="B, S", axis=2), BATCHED.format(result="N", axis=[0, 1])])
def test_a_product_with_several_results_is_computed_once(text: str) -> None:
    head = "dim B = 3, S = 64, N = 128, K = 64\n"
    alone = "func f(x: bf16[B, S, K], w: bf16[K, N]) -> bf16[B, S, N] {\n    return x @ w\n}\n"
    exe = irc.compile(head + text, target="sim")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(spec.shape).astype(np.float32).astype(spec.dtype) for spec in exe.arguments]
    assert products(exe, arrays) == products(irc.compile(head + alone, target="sim"), arrays) > 0
    for found, wanted in zip(exe(*arrays), irc.compile(head + text, target="interpret")(*arrays), strict=True):
        difference = np.abs(found.astype(np.float32) - wanted.astype(np.float32))
        assert difference.max() <= 0.01 * np.abs(wanted.astype(np.float32)).max()


def products(exe: irc.Executable, arrays: list[Any]) -> int:
    """The instructions of the first kernel that multiply."""
    return sum(op.instructions for op in exe.statistics(*arrays)[0].ops if op.op == "cuda.wgmma")


@pytest.fixture
def few_sms(monkeypatch: pytest.MonkeyPatch) -> None:
    """An H200 of four SMs, so that a small product has several tiles for a block."""
    known = {t.name: t for t in targets.TARGETS}
    known["sm_90a"] = dataclasses.replace(known["sm_90a"], sms=4, clusters=MappingProxyType({2: 2, 4: 1}))
    monkeypatch.setattr(targets, "_by_name", lambda: known)


SIMULATED = [
    ("matmul", {"tile": TileSizes(m=128, n=128, k=64)}, (384, 256, 448)),
    ("matmul", {"tile": TileSizes(m=128, n=128, k=64)}, (200, 264, 136)),
    ("matmul", {"tile": TileSizes(m=128, n=128, k=64), "cluster": (2, 1)}, (512, 384, 256)),
    ("matmul", {**PINGPONG, "tile": TileSizes(m=64, n=128, k=64)}, (320, 384, 448)),
    ("matmul", {**PINGPONG, "cluster": (2, 2)}, (512, 512, 128)),
    ("matmul", {**PINGPONG, "stages": 1}, (256, 384, 128)),
    ("transposed", {**PINGPONG, "cluster": (1, 2)}, (384, 512, 192)),
    ("gating", NARROW, (256, 200, 192)),
    ("gelu", {**PINGPONG, "cluster": (2, 1)}, (512, 264, 128)),
    ("prologue", {**PINGPONG, "cluster": (2, 1)}, (512, 256, 128)),
    ("squares", PINGPONG, (256, 384, 128)),
    ("matmul", {"tile": TileSizes(m=64, n=64, k=64), "split": 4}, (128, 64, 512)),
    ("matmul", {"tile": TileSizes(m=64, n=64, k=64), "split": 3}, (40, 72, 312)),
    ("gating", {"tile": TileSizes(m=64, n=64, k=64), "split": 2}, (64, 128, 256)),
    ("prologue", {"tile": TileSizes(m=64, n=64, k=64), "split": 2}, (64, 64, 256)),
    ("matmul", {"tile": TileSizes(m=192, n=96, k=64)}, (400, 200, 136)),
    ("transposed", {"tile": TileSizes(m=192, n=160, k=64)}, (200, 328, 72)),
    ("transposed", {"tile": TileSizes(m=192, n=176, k=64), "cluster": (1, 2)}, (200, 344, 136)),
    ("matmul", {**PINGPONG, "tile": TileSizes(m=128, n=160, k=64)}, (256, 480, 128)),
    ("gating", {"tile": TileSizes(m=128, n=96, k=64)}, (128, 200, 128)),
    ("matmul", {**ALONG_N, "tile": TileSizes(m=16, n=64, k=128)}, (16, 200, 264)),
    ("transposed", {**ALONG_N, "tile": TileSizes(m=32, n=128, k=64)}, (24, 136, 72)),
    ("matmul", {**ALONG_N, "tile": TileSizes(m=16, n=64, k=64), "split": 2}, (1, 128, 256)),
    ("gelu", {**ALONG_N, "tile": TileSizes(m=16, n=64, k=64)}, (8, 128, 64)),
    ("prologue", {**ALONG_N, "tile": TileSizes(m=16, n=64, k=64)}, (16, 128, 128)),
    ("softmax", {"tile": TileSizes(m=128, n=256, k=64)}, (640, 256, 136)),
    ("softmax", {"tile": TileSizes(m=64, n=224, k=64)}, (600, 200, 72)),
    ("softmax", {**PINGPONG, "tile": TileSizes(m=128, n=128, k=64), "cluster": (2, 1)}, (1024, 104, 128)),
    ("norm", {"tile": TileSizes(m=64, n=128, k=64)}, (520, 120, 128)),
    ("norm", {**PINGPONG, "tile": TileSizes(m=64, n=64, k=64)}, (704, 64, 64)),
    ("residual", {"tile": TileSizes(m=128, n=256, k=64), "stages": 3}, (640, 256, 72)),
    ("residual", {"tile": TileSizes(m=128, n=128, k=64)}, (700, 120, 128)),
    ("matmul", {"tile": TileSizes(m=128, n=256, k=64), "stages": 2, "store_stages": 4}, (384, 512, 128)),
    ("gelu", {"tile": TileSizes(m=128, n=128, k=64), "stages": 2, "load_stages": 2}, (640, 256, 128)),
    ("prologue", {"tile": TileSizes(m=128, n=128, k=64), "warps": 8, "registers": 152}, (384, 256, 128)),
]


@long(16)
@pytest.mark.usefixtures("few_sms")
@pytest.mark.parametrize(("name", "fields", "shape"), SIMULATED, ids=str)
def test_on_the_simulator(name: str, fields: dict[str, Any], shape: tuple[int, int, int]) -> None:
    """Right, without a race, a deadlock or a bank conflict, where blocks walk over several tiles."""
    dims = dict(zip("MNK", shape, strict=True))
    reference = irc.compile(HEAD + PROGRAMS[name], target="interpret", dims=dims)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(spec.shape).astype(np.float32).astype(spec.dtype) for spec in reference.arguments]
    exe = irc.compile(configured(name, fields, **dims), target="sim")
    wanted, found = (each if isinstance(each, tuple) else (each,) for each in (reference(*arrays), exe(*arrays)))
    if "swap_ab" not in fields or "split" not in fields:  # turned partial sums of 4 bytes pass through an exchange
        assert sum(kernel.conflicts for kernel in exe.statistics(*arrays)) == 0
    for a, b in zip(found, wanted, strict=True):
        difference = np.abs(a.astype(np.float32) - b.astype(np.float32))
        assert difference.max() <= 0.01 * np.abs(b.astype(np.float32)).max()
