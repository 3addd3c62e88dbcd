"""How long the machine code of kernels is and how long NVRTC takes, and that none spills, whatever is unrolled over a
thread's elements."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch
from drawing import long
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from xdsl.dialects.builtin import ModuleOp

from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.codegen.sass import disassemble, opcodes_of
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc_frontend.torch.decompositions import decompositions
from irc_frontend.torch.division import divide
from irc_frontend.torch.program import CompiledSubgraph
from tests.drawing import seeds
from tests.unit.test_suite_kernels import made_within

ARCH = "sm_90a"
MAX_INSTRUCTIONS = 10_000
NVRTC = 3.0
"""Seconds of a processor that a kernel may take (see `made_within`)."""


def compile_within(module: ModuleOp) -> int:
    """Compiles a program's kernels, none of which may be too long, take too long or spill; gives their number."""
    kernels = [op for op in lower(isolate(module), "all", arch=ARCH).ops if isinstance(op, KernelOp)]
    for op in kernels:
        name, source = op.sym_name.data, print_kernels([op])
        compiled = made_within(NVRTC, lambda name=name, source=source: compile_source(source, ARCH, name=name))
        assert compiled.resources[name].spills == 0, name
        assert opcodes_of(disassemble(compiled.cubin)).total() <= MAX_INSTRUCTIONS, name
    return len(kernels)


def program(arguments: str, result: str, *lines: str) -> ModuleOp:
    body = "".join(f"    {line}\n" for line in lines)
    return parse(f"func f({arguments}) -> {result} {{\n{body}}}\n", "program")


@long(4)
@pytest.mark.parametrize(("element", "length"), [("f32", 1000), ("f32", 2000), ("bf16", 12000), ("f64", 1000)])
def test_norms_of_rows(element: str, length: int) -> None:
    """Of rows that fill a tile and rows that do not, with a weight and a bias that are loaded beside them."""
    rows, row = f"{element}[4096, {length}]", f"{element}[{length}]"
    for result in ("layer_norm(x, axis=-1) * g + b", "rms_norm(x, axis=-1) * g", "softmax(x, axis=-1)"):
        compile_within(program(f"x: {rows}, g: {row}, b: {row}", rows, f"return {result}"))


def windows(element: str, shape: tuple[int, int, int, int], size: int, step: int, is_turned: bool = False) -> ModuleOp:
    """The sums of windows of size x size over the last two axes of an array with channels first, term by term;
    is_turned: with channels last."""
    batch, channels, *extents = shape
    high, wide = ((extent - size) // step + 1 for extent in extents)
    rows = " + ".join(f"x[:, :, {i}:{i + (high - 1) * step + 1}:{step}]" for i in range(size))
    columns = " + ".join(f"y[:, :, :, {i}:{i + (wide - 1) * step + 1}:{step}]" for i in range(size))
    result = (batch, high, wide, channels) if is_turned else (batch, channels, high, wide)
    last = "return permute(z, [0, 2, 3, 1])" if is_turned else "return z"
    return program(f"x: {element}{list(shape)}", f"{element}{list(result)}", f"y = {rows}", f"z = {columns}", last)


@long(4)
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize(("size", "step", "is_turned"), [(7, 1, False), (13, 13, False), (5, 2, True)])
def test_sums_of_windows(element: str, size: int, step: int, is_turned: bool) -> None:
    """Where each element is read at many places; those of 13 x 13 are summed along one axis first."""
    count = compile_within(windows(element, (4, 33, 131, 117), size, step, is_turned))
    assert count == (2 if size == 13 else 1)


def test_long_chains() -> None:
    """As a loop over the places of windows gives them, each gathered: the sum is cut, its terms are not stored."""
    terms = [f"x[:, {i}:{i + 1000}] * x[{i}, 0]" for i in range(100)]
    module = program("x: f32[301, 1100]", "f32[301, 1000]", f"return {' + '.join(terms)}")
    assert 1 < compile_within(module) <= 3


def averaged(size: tuple[int, int], turns: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.adaptive_avg_pool2d(x, size)
        return y.permute(0, 2, 3, 1).contiguous() if turns else y

    return run


@long(3)
@pytest.mark.parametrize(
    ("dtype", "size", "turns"),
    [(torch.float32, (5, 7), False), (torch.bfloat16, (1, 3), False), (torch.bfloat16, (5, 7), True)],
)
def test_adaptive_pools(dtype: torch.dtype, size: tuple[int, int], turns: bool) -> None:
    """Windows of 28 x 18 and more are reductions along each axis, not a sum of 504 terms."""
    with FakeTensorMode():
        x = torch.empty((4, 33, 131, 117), dtype=dtype)
        graph: Any = make_fx(averaged(size, turns), decomposition_table=decompositions())(x)
    division = divide(graph.graph, {})
    assert not any(division.left)
    parts = [part for level in division.subgraphs for part in level]
    assert sum(compile_within(CompiledSubgraph(part).module()) for part in parts) <= 3


ELEMENTS = ("f32", "bf16", "f16")
RESULTS = (
    "{f}(x, axis={axes}, keepdims=true)",
    "softmax(x, axis={axis})",
    "layer_norm(x + y, axis={axis}) * y",
    "rms_norm(x, axis={axis}) * w + w",
    "(x - mean(x, axis={axes}, keepdims=true)) / sqrt(var(x, axis={axes}, keepdims=true) + 0.001)",
)


def drawn(random: Random) -> ModuleOp:
    """A reduction, a norm or a sum of windows of an array with odd extents."""
    element, rank = random.choice(ELEMENTS), random.randint(2, 4)
    if random.random() < 0.25:
        size = random.choice((2, 3, 4, 6, 9))
        step = random.randint(1, size)
        shape = (random.randint(1, 5), random.randint(2, 70), random.randint(size, 150), random.randint(size, 150))
        return windows(element, shape, size, step, is_turned=random.random() < 0.5)
    shape = [2 * int(2 ** (random.random() * 20 / rank)) + 1 for _ in range(rank)]
    axes = sorted(random.sample(range(rank), random.randint(1, rank - 1)))
    axis = random.randrange(rank)
    text = random.choice(RESULTS).format(f=random.choice(("sum", "max", "var", "mean")), axes=axes, axis=axis)
    weight = [extent if at == axis else 1 for at, extent in enumerate(shape)]
    kept = [1 if at in axes else extent for at, extent in enumerate(shape)]
    result = kept if text.startswith(("sum", "max", "var", "mean")) else shape
    arguments = ", ".join(
        f"{name}: {element}{extents}" for name, extents in (("x", shape), ("y", shape), ("w", weight))
    )
    return program(arguments, f"{element}{result}", f"return {text}")


@long(6)
@pytest.mark.parametrize("seed", seeds(16))
def test_drawn_kernels(seed: int) -> None:
    compile_within(drawn(Random(seed)))
