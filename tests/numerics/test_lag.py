"""References that lag behind the maxima of a cascade: right on the interpreters and on the simulator, and what uses the
maximum itself has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from xdsl.dialects.builtin import ModuleOp

from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects import tile
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import FusedOp, TileSizes
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse, signature
from irc.interpreters.nd import interpreter as nd
from irc.interpreters.tile import interpreter
from irc.ir.functions import entry_of
from irc.runtime.sim import SimProgram

Array = np.ndarray[Any, Any]

DIMS = """
dim B = 2, S = {rows}, T = {columns}, D = {head}
func f(q: bf16[B, S, D], k: bf16[B, T, D], v: bf16[B, T, D]) -> {results} {{
"""

ATTENTION = DIMS.replace("{results}", "bf16[B, S, D]") + "    return attention(q, k, v, causal={causal})\n}}\n"

WITH_MAXIMUM = (
    DIMS.replace("{results}", "(bf16[B, S, D], f32[B, S], f32[B, S])")
    + """
    s = cast(q @ permute(k, [0, 2, 1]), f32) * 0.125
    m = max(s, axis=-1)
    p = exp(s - reshape(m, [B, S, 1]))
    l = sum(p, axis=-1)
    return cast(cast(cast(p, bf16) @ v, f32) / reshape(l, [B, S, 1]), bf16), m, m + log(l)
}}
"""
)

LOG_SUM = (
    DIMS.replace("{results}", "(bf16[B, S, D], f32[B, S, 1])")
    + """
    s = cast(q @ permute(k, [0, 2, 1]), f32) * 0.125
    m = max(s, axis=-1, keepdims=true)
    p = exp(s - m)
    l = sum(p, axis=-1, keepdims=true)
    return cast(cast(cast(p, bf16) @ v, f32) / l, bf16), m + log(l)
}}
"""
)

MINIMUM = (
    DIMS.replace("{results}", "bf16[B, S, D]")
    + """
    s = cast(q @ permute(k, [0, 2, 1]), f32) * 0.125
    p = exp(reshape(min(s, axis=-1), [B, S, 1]) - s)
    return cast(cast(cast(p, bf16) @ v, f32) / reshape(sum(p, axis=-1), [B, S, 1]), bf16)
}}
"""
)

HIDDEN = (
    DIMS.replace("{results}", "bf16[B, S, D]")
    + """
    s = cast(q @ permute(k, [0, 2, 1]), f32) * 0.125
    seen = iota([S, T], i32, axis=1) < iota([S, T], i32, axis=0) - 10
    return cast(softmax(where(broadcast(seen, [B, S, T]), s, -inf)), bf16) @ v
}}
"""
)
"""The first rows see no column."""

PROGRAMS = {
    "in order": (ATTENTION, {"rows": 384, "columns": 256, "head": 64, "causal": "false"}, {"m": 192, "k": 64}),
    "overlapped": (ATTENTION, {"rows": 256, "columns": 128, "head": 128, "causal": "false"}, {"m": 128, "k": 32}),
    "causal": (ATTENTION, {"rows": 256, "columns": 256, "head": 64, "causal": "true"}, {"m": 128, "k": 64}),
    "maximum": (WITH_MAXIMUM, {"rows": 256, "columns": 256, "head": 64}, {"m": 128, "k": 64}),
    "log sum": (LOG_SUM, {"rows": 256, "columns": 256, "head": 64}, {"m": 128, "k": 64}),
    "minimum": (MINIMUM, {"rows": 256, "columns": 256, "head": 64}, {"m": 128, "k": 64}),
}
"""Text, its dims, and the tile sizes; none, those that are chosen."""


def kernels(text: str, sizes: Mapping[str, int] | None = None) -> tuple[ModuleOp, ModuleOp]:
    """A program, and its one kernel, whose references lag behind by 8 powers of two."""
    module = isolate(parse(text, "lag.irc"))
    lowered = lower(module, "kernel", arch="sm_90a")
    cascades = [op for op in lowered.walk() if isinstance(op, FusedOp) and "cascade" in str(op.properties["anchor"])]
    assert len(cascades) == 1
    assert cascades[0].config is not None
    if sizes:
        cascades[0].config = cascades[0].config.replace(tile=TileSizes(sizes), warps=sizes["m"] // 16, turns=None)
    cascades[0].config = cascades[0].config.replace(lag=8)
    return module, lowered


def arrays(module: ModuleOp, growth: float) -> list[Array]:
    """Keys that grow from the first one to the last: so do the maxima, by `growth` powers of two, about."""
    rng = np.random.default_rng(0)
    shapes = [each.shape for each in signature(entry_of(module))[0]]
    q, k, v = (rng.standard_normal(shape) for shape in shapes)
    k *= np.linspace(0.1, 1.0, k.shape[1])[:, None] * growth / 4
    return [x.astype(ml_dtypes.bfloat16) for x in (q, k, v)]


def close(found: Sequence[Array], expected: Sequence[Array]) -> bool:
    pairs = [(x.astype(np.float64), y.astype(np.float64)) for x, y in zip(found, expected, strict=True)]
    return all(np.abs(x - y).max() < 1e-2 * np.abs(y).max() for x, y in pairs)


def on_simulator(module: ModuleOp, lowered: ModuleOp, inputs: Sequence[Array]) -> Sequence[Array]:
    return SimProgram(lower(lowered, "all", arch="sm_90a"), *signature(entry_of(module))).run(inputs, None)


@long(9)
@pytest.mark.parametrize("growth", [1, 4, 40])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_right(name: str, growth: float) -> None:
    text, dims, sizes = PROGRAMS[name]
    module, lowered = kernels(text.format(**dims), sizes)
    inputs = arrays(module, growth)
    expected = nd.evaluate(module, inputs, precision="float64")
    tiles = lower(lowered, "tile", arch="sm_90a")
    assert any(isinstance(op, tile.AnyOp) for op in tiles.walk())
    assert close(interpreter.evaluate(tiles, inputs), expected)
    assert close(on_simulator(module, lowered, inputs), expected)


def test_special_values() -> None:
    """Rows without any column are NaN, as in numpy; infinities and NaN stay in their rows."""
    module, lowered = kernels(HIDDEN.format(rows=192, columns=192, head=64))
    q, k, v = arrays(module, 4)
    q[0, 40, 3], q[1, 50, 5] = np.nan, np.inf
    with np.errstate(all="ignore"):
        (expected,) = nd.evaluate(module, [q, k, v], precision="float64")
        (found,) = on_simulator(module, lowered, [q, k, v])
    assert np.isnan(expected[:, :11]).all()
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.nanmax(np.abs(found - expected)) < 2e-2


LARGE = {
    "64": ATTENTION.format(rows=4096, columns=4096, head=64, causal="false").replace("B = 2", "B = 64"),
    "64 causal": ATTENTION.format(rows=4096, columns=4096, head=64, causal="true").replace("B = 2", "B = 64"),
    "128": ATTENTION.format(rows=4096, columns=4096, head=128, causal="false").replace("B = 2", "B = 64"),
    "256 causal": ATTENTION.format(rows=4096, columns=4096, head=256, causal="true").replace("B = 2", "B = 64"),
}


@long(2)
@pytest.mark.parametrize("name", LARGE)
def test_ptxas_neither_spills_nor_serializes(name: str) -> None:
    """What has been summed stays in its registers where it is rescaled in a branch between products."""
    _, lowered = kernels(LARGE[name])
    (kernel,) = (op for op in lower(lowered, "all", arch="sm_90a").ops if isinstance(op, KernelOp))
    compiled = compile_source(print_kernels([kernel]), "sm_90a", name=kernel.sym_name.data)
    assert compiled.warnings == ()
    assert compiled.resources[kernel.sym_name.data].spills == 0
