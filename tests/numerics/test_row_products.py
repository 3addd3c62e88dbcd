"""Products of one row on the simulator: sums along rows, whose weights are loaded before the kernel waits."""

from __future__ import annotations

import numpy as np
import pytest

import irc
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.codegen.sass import disassemble
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import FusedOp, LaunchOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

PROGRAM = """
func two(x: {0}[1, 512], w: {0}[512, 512], v: {0}[512, 512], r: {0}[1, 512]) -> {0}[1, 512] {{
    y = relu(x @ permute(w, [1, 0]))
    return r + permute(v @ permute(y, [1, 0]), [1, 0])
}}
"""


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_two_products_of_a_row(element: str) -> None:
    program = PROGRAM.format(element)
    found, wanted = (irc.compile(program, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape, scale=0.1).astype(spec.dtype) for spec in found.arguments]
    a, b = (np.asarray(exe(*arrays)).astype(np.float32) for exe in (found, wanted))
    np.testing.assert_allclose(a, b, atol=1e-2 * float(np.abs(b).max()))


GATED = """
func gated(x: bf16[1, 512], a: bf16[96, 512], b: bf16[96, 512]) -> bf16[1, 96] {
    return silu(x @ transpose(a)) * (x @ transpose(b))
}
"""


def test_both_products_of_a_gate() -> None:
    """In one kernel."""
    found, wanted = (irc.compile(GATED, target) for target in ("sim", "interpret"))
    module = lower(parse(GATED, "gated.irc"), "cuda", arch="sm_90a")
    assert sum(isinstance(op, KernelOp) for op in module.ops) == 1
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape, scale=0.2).astype(spec.dtype) for spec in found.arguments]
    a, b = (np.asarray(exe(*arrays)).astype(np.float32) for exe in (found, wanted))
    np.testing.assert_allclose(a, b, atol=1e-2 * float(np.abs(b).max()))


NORMS = {
    "rms, gated": """func f(x: bf16[1, 512], r: bf16[1, 512], g: bf16[512], w: bf16[640, 512], v: bf16[640, 512], u: bf16[2048, 512]) -> (bf16[1, 640], bf16[1, 512], bf16[1, 2048]) {
        y = x + r
        n = rms_norm(y) * g
        return silu(n @ transpose(w)) * (n @ transpose(v)), y, n @ transpose(u)
    }""",
    "layer": """func f(x: bf16[1, 640], g: bf16[640], b: bf16[640], w: bf16[512, 640]) -> bf16[1, 512] {
        return (layer_norm(tanh(x)) * g + b) @ transpose(w)
    }""",
    "softmax": """func f(x: f16[1, 1024], w: f16[512, 1024]) -> f16[1, 512] {
        return softmax(x) @ transpose(w)
    }""",
}


@pytest.mark.parametrize("seldom", [0.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", NORMS)
def test_a_row_is_normalized_by_the_kernels_that_multiply_it(name: str, seldom: float) -> None:
    """No kernel has one row alone, but for the sum of two arrays. An element that is infinite or no number is one in
    all that depends on it."""
    program = NORMS[name]
    module = lower(isolate(parse(program, "norm.irc"), None), "kernel", arch="sm_90a")
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert [op.kind.value for op in kernels] == {"rms, gated": ["map", "reduce", "reduce"]}.get(name, ["reduce"])
    found, wanted = (irc.compile(program, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape, scale=0.2).astype(spec.dtype) for spec in found.arguments]
    if seldom:
        arrays[0][0, 77] = seldom
    results = [exe(*arrays) for exe in (found, wanted)]
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in results), strict=True):
        a, b = (np.asarray(each).astype(np.float32) for each in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-2 * float(np.nanmax(np.abs(b[np.isfinite(b)]), initial=0.0)))


HEADS = """
func f(x: bf16[1, 512], g: bf16[512], q: bf16[1536, 512], k: bf16[512, 512], v: bf16[512, 512]) -> (bf16[1, 3, 512], bf16[1, 512], bf16[1, 512]) {
    n = rms_norm(x) * g
    y = reshape(n @ transpose(q), [1, 3, 2, 256])
    a = y[:, :, 0:1]
    b = y[:, :, 1:2]
    return reshape(concat([a - b, a + b], axis=2), [1, 3, 512]), n @ transpose(k), tanh(n @ transpose(v))
}
"""


def test_queries_are_one_kernel_with_keys_and_values_of_fewer_heads() -> None:
    """And one for what follows them. The queries lie where their parts are stored."""
    module = lower(isolate(parse(HEADS, "heads.irc"), None), "programs", arch="sm_90a")
    assert sum(isinstance(op, LaunchOp) for op in module.walk()) == 2
    found, wanted = (irc.compile(HEADS, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape, scale=0.2).astype(spec.dtype) for spec in found.arguments]
    for a, b in zip(found(*arrays), wanted(*arrays), strict=True):
        a, b = (np.asarray(each).astype(np.float32) for each in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-2 * float(np.abs(b).max()))


def test_weights_are_loaded_before_the_wait() -> None:
    """Of the second kernel: the first may follow what wrote its arguments. In the machine code too, whose assembler
    moves waits."""
    module = lower(isolate(parse(PROGRAM.format("bf16"), "two.irc"), None), "all", arch="sm_90a")
    first, second = (print_kernels([op]) for op in module.ops if isinstance(op, KernelOp))
    for text, is_early in ((first, False), (second, True)):
        code = text[text.index("__global__") :]
        assert (0 <= code.find("load_global_16") < code.index("griddepcontrol.wait")) == is_early
        sass = disassemble(compile_source(text, "sm_90a").cubin)
        assert (sass.index("LDG") < sass.index("ACQBULK")) == is_early
