"""Products on sm_100a: their machine code, and what they compute on the simulator, by tcgen05 or else by mma.sync."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc
from irc.codegen.compiling import compile_cached
from irc.codegen.sass import disassemble, opcodes_of, uses
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import CUDA, KERNEL
from irc.driver.program import new_context, parse
from irc.interpreters.sim.errors import SimulationError
from irc.ir import targets
from irc.ir.parser import parse_ir

ARCH = "sm_100a"
HEAD = "dim M = 2048, N = 2048, K = 2048\n"
PROGRAMS = {
    "matmul": "func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return x @ w\n}\n",
    "batched": "func f(x: bf16[3, M, K], w: bf16[3, K, N]) -> bf16[3, M, N] {\n    return x @ w\n}\n",
    "transposed": "func f(x: f16[K, M], w: f16[N, K]) -> f16[M, N] {\n    return transpose(x) @ transpose(w)\n}\n",
    "gelu": """func f(x: bf16[M, K], w: bf16[K, N], b: bf16[N], r: bf16[M, N]) -> bf16[M, N] {
    return gelu(x @ w + b, approximate="tanh") + r
}
""",
    "f8": "func f(x: f8e4m3[M, K], w: f8e5m2[N, K]) -> f32[M, N] {\n    return x @ transpose(w)\n}\n",
    "i8": "func f(x: i8[M, K], w: i8[N, K]) -> i32[M, N] {\n    return x @ transpose(w)\n}\n",
    "u8": "func f(x: u8[M, K], w: u8[N, K]) -> i32[M, N] {\n    return x @ transpose(w)\n}\n",
    "bytes_across": "func f(x: i8[M, K], w: i8[K, N]) -> i32[M, N] {\n    return x @ w\n}\n",
    "f8_across": "func f(x: f8e4m3[M, K], w: f8e4m3[K, N]) -> f32[M, N] {\n    return x @ w\n}\n",
    "tf32": """func f(x: f32[M, K], w: f32[K, N]) -> f32[M, N] {
    return matmul(x, w, precision="tf32")
}
""",
    "prologue": "func f(x: bf16[M, K], s: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return (relu(x) * s) @ w\n}\n",
    "weights": "func f(x: bf16[M, K], w: i8[K, N], s: bf16[N]) -> bf16[M, N] {\n    return x @ (cast(w, bf16) * s)\n}\n",
    "gating": """func f(x: bf16[M, K], w: bf16[K, N], v: bf16[K, N], b: bf16[N]) -> bf16[M, N] {
    return sigmoid(x @ w + b) * (x @ v)
}
""",
    "long": """func f(x: bf16[M, K], w: bf16[K, N], b: bf16[N], r: bf16[M, N]) -> (bf16[M, N], bf16[M, N], bf16[M, N]) {
    h = cast(x @ w + b, f32)
    u = tanh(h) * sigmoid(h) + log(1.0 + exp(h)) * erf(h) - sqrt(h * h + 1.0) / (2.0 + cos(h))
    v = tanh(u * h) + sigmoid(u - h) * erf(u + h) + log(2.0 + u * u) + exp(-u * u) * sin(u) * cos(h)
    return cast(u + cast(r, f32), bf16), cast(v - cast(r, f32), bf16), cast(v * u * h, bf16)
}
""",
    "softmax": "func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {\n    return softmax(x @ w)\n}\n",
    "residual": "func f(x: bf16[M, K], w: bf16[K, N], r: bf16[M, N]) -> bf16[M, N] {\n    return rms_norm(x @ w + r)\n}\n",
    "squares": "func f(x: bf16[M, K], w: bf16[K, N]) -> f32[M] {\n    y = cast(x @ w, f32)\n    return sum(y * y, axis=1)\n}\n",
}
ELSEWHERE = {
    "wide_rows": "func f(x: bf16[M, K], w: bf16[K, 256]) -> bf16[M, 256] {\n    return softmax(x @ w)\n}\n",
    "doubles": "func f(x: f64[M, K], w: f64[K, N]) -> f64[M, N] {\n    return x @ w\n}\n",
    "singles": "func f(x: f32[M, K], w: f32[K, N]) -> f32[M, N] {\n    return x @ w\n}\n",
    "attention": """func f(q: bf16[M, K], k: bf16[N, K], v: bf16[N, K]) -> bf16[M, K] {
    return softmax(q @ transpose(k)) @ v
}
""",
}
"""What tcgen05 does not compute so far."""


def configured(text: str, fields: dict[str, Any], **dims: int) -> Any:
    """The program for sm_100a with these fields in the config of its product."""
    module = parse(HEAD + text, "program.irc", dims=dims)
    targets.set_target(module, ARCH)
    run_passes(module, passes_of(KERNEL[: KERNEL.index("choose-config")]))
    for op in module.walk():
        if isinstance(op, FusedOp) and op.kind is Anchor.MATMUL:
            op.config = ConfigAttr.of(**fields)
    return module


def tile(m: int, n: int, k: int = 64, **fields: Any) -> dict[str, Any]:
    return {"tile": TileSizes(m=m, n=n, k=k), "instruction": "tcgen05", **fields}


SASS = [
    *((name, {}) for name in PROGRAMS if name not in ("prologue", "weights", "softmax", "residual", "long")),
    ("matmul", tile(128, 128)),
    ("matmul", tile(256, 128, warps=8)),
    ("gelu", tile(128, 256, warps=8, stages=4)),
    ("gelu", tile(128, 128, schedule="pingpong", warps=4)),
]


OPCODES = {"f8": "UTCQMMA", "f8_across": "UTCQMMA", "bytes_across": "UTCIMMA", "i8": "UTCIMMA", "u8": "UTCIMMA"}
"""Of products, where it is not that of 16 bits."""


@long(5)
@pytest.mark.parametrize(("name", "fields"), SASS, ids=str)
def test_machine_code(name: str, fields: dict[str, Any]) -> None:
    """Products and loads of Tensor Memory, columns that are allocated and freed, no spill, no warning."""
    artifact = compile_artifact(configured(PROGRAMS[name], fields), arch=ARCH)
    (kernel, *_), (described, *_) = artifact.kernels, artifact.manifest["kernels"]
    counts = opcodes_of(disassemble(kernel.cubin))
    for opcode in (OPCODES.get(name, "UTCHMMA"), "UTCBAR", "LDTM", "UTCATOMSWS", "UTMALDG"):
        if (name, opcode) == ("tf32", "UTMALDG"):
            continue  # threads round its operands
        assert uses(counts, opcode), opcode
    assert not uses(counts, "HMMA") and not uses(counts, "IMMA")
    assert not compile_cached(kernel.source, ARCH, name=kernel.name).warnings
    assert described["spills"] == 0


@pytest.fixture
def few_sms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A B200 of four SMs, so that a small product has several tiles for a block."""
    known = {t.name: t for t in targets.TARGETS}
    known[ARCH] = dataclasses.replace(known[ARCH], sms=4)
    monkeypatch.setattr(targets, "_by_name", lambda: known)


SIMULATED = [
    ("matmul", {}, (384, 256, 448)),
    ("matmul", tile(128, 128, schedule="grid"), (256, 256, 128)),
    ("matmul", tile(128, 128), (384, 256, 448)),
    ("matmul", tile(128, 128), (200, 264, 136)),
    ("matmul", tile(128, 128, stages=1), (300, 384, 192)),
    ("matmul", tile(128, 128, k=128, stages=2), (256, 384, 320)),
    ("matmul", tile(128, 256, warps=8), (400, 520, 136)),
    ("matmul", tile(128, 48), (160, 232, 72)),
    ("matmul", tile(256, 64), (600, 128, 128)),
    ("matmul", tile(256, 128, warps=8), (600, 256, 128)),
    ("matmul", tile(128, 128, schedule="pingpong", warps=4), (640, 384, 448)),
    ("matmul", tile(128, 128, schedule="pingpong", warps=8), (400, 384, 128)),
    ("matmul", tile(128, 64, schedule="dynamic"), (640, 128, 128)),
    ("matmul", tile(128, 64, split=3), (200, 72, 384)),
    ("matmul", tile(128, 128, split=2, split_sums="serial"), (200, 136, 512)),
    ("gating", tile(128, 64, split=2), (128, 128, 256)),
    ("gelu", tile(128, 64, split=2, split_sums="serial"), (128, 136, 512)),
    ("i8", tile(128, 64, k=64, split=2), (128, 72, 256)),
    ("batched", tile(128, 64), (200, 72, 136)),
    ("transposed", tile(128, 64), (264, 200, 136)),
    ("transposed", tile(128, 96, schedule="pingpong", warps=4), (384, 200, 72)),
    ("f8", {}, (300, 200, 272)),
    ("f8", tile(128, 128, k=128, schedule="pingpong", warps=4), (384, 256, 400)),
    ("i8", {}, (300, 200, 272)),
    ("i8", tile(128, 128, k=64, warps=8), (384, 200, 176)),
    ("u8", tile(256, 64, k=128), (600, 200, 272)),
    ("bytes_across", {}, (300, 208, 272)),
    ("f8_across", tile(128, 128, k=128, schedule="pingpong", warps=4), (384, 256, 400)),
    ("tf32", {}, (300, 200, 100)),
    ("tf32", tile(128, 128, k=32), (384, 256, 96)),
    ("prologue", {}, (300, 200, 136)),
    ("prologue", tile(128, 128, warps=8), (384, 256, 128)),
    ("weights", {}, (300, 208, 136)),
    ("weights", tile(128, 128, schedule="pingpong", warps=4), (384, 256, 128)),
    ("gelu", tile(128, 128), (300, 264, 128)),
    ("gelu", tile(128, 128, warps=8), (300, 264, 128)),
    ("gelu", tile(128, 256, warps=8), (300, 264, 128)),
    ("gelu", tile(128, 128, schedule="pingpong", warps=4), (512, 264, 128)),
    ("gating", {}, (300, 200, 136)),
    ("gating", tile(128, 128, warps=8), (384, 256, 192)),
    ("gating", tile(128, 64, schedule="pingpong", warps=4), (600, 200, 128)),
    ("gating", tile(256, 64, warps=8), (600, 128, 128)),
    ("softmax", {}, (640, 104, 136)),
    ("softmax", tile(128, 128, schedule="pingpong", warps=4), (1024, 128, 128)),
    ("residual", {}, (640, 128, 136)),
    ("residual", tile(128, 64, schedule="pingpong", warps=4), (600, 56, 64)),
    ("long", tile(128, 256, warps=8), (200, 256, 64)),
    ("squares", tile(128, 64), (400, 200, 72)),
    ("squares", tile(128, 128, warps=8), (400, 200, 72)),
]


@long(6)
@pytest.mark.usefixtures("few_sms")
@pytest.mark.parametrize(("name", "fields", "shape"), SIMULATED, ids=str)
def test_on_the_simulator(name: str, fields: dict[str, Any], shape: tuple[int, int, int]) -> None:
    """Right, without a race, a deadlock or a column that is never freed, where blocks walk over several tiles."""
    assert multiplied(PROGRAMS[name], fields, shape) == {"cuda.tcgen05_mma"}


def test_threads_that_issue_nothing_can_miss_a_stage() -> None:
    """A stage is filled again as soon as the products of one thread are complete: others must not wait for it."""
    module = configured(PROGRAMS["matmul"], {}, M=256, N=64, K=2048)
    run_passes(module, passes_of(CUDA[CUDA.index("choose-config") : CUDA.index("lower-dots")]))
    text, waits = re.subn(r"(cuda.channel_wait %\w+) by %\w+", r"\1", str(module))
    assert waits == 1
    arrays = [np.zeros(shape, ml_dtypes.bfloat16) for shape in ((256, 2048), (2048, 64))]
    right, wrong = (parse_ir(new_context(), each, "kernel.mlir") for each in (str(module), text))
    irc.compile(right, target="sim", arch=ARCH)(*arrays)
    with pytest.raises(SimulationError, match="can miss it"):
        irc.compile(wrong, target="sim", arch=ARCH)(*arrays)


@long(3)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_computed_otherwise(name: str) -> None:
    assert "cuda.tcgen05_mma" not in multiplied(ELSEWHERE[name], {}, (128, 128, 64))


def multiplied(text: str, fields: dict[str, Any], shape: tuple[int, int, int]) -> set[str]:
    """The instructions of tensor cores by which the program is computed, as the interpreter does."""
    dims = dict(zip("MNK", shape, strict=True))
    reference = irc.compile(HEAD + text, target="interpret", dims=dims)
    rng = np.random.default_rng(0)
    arrays = [drawn(rng, spec.shape, spec.dtype) for spec in reference.arguments]
    exe = irc.compile(configured(text, fields, **dims), target="sim", arch=ARCH)
    results = (each if isinstance(each, tuple) else (each,) for each in (exe(*arrays), reference(*arrays)))
    for found, wanted in zip(*results, strict=True):
        difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        assert difference.max() <= 0.01 * np.abs(wanted.astype(np.float64)).max()
    return {op.op for kernel in exe.statistics(*arrays) for op in kernel.ops if op.op.endswith("mma")}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)
