"""How long the machine code of kernels is, and that none spills, whatever is unrolled over a thread's elements."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.codegen.sass import disassemble, opcodes_of
from irc.dialects.cuda import KernelOp
from irc.lowering import lower
from irc.program import isolate, parse

ARCH = "sm_90a"
MOST_INSTRUCTIONS = 10_000


def compile_within(module: ModuleOp) -> None:
    """Compiles a program's kernels: none is too long or spills."""
    for op in lower(isolate(module), "all", arch=ARCH).ops:
        if isinstance(op, KernelOp):
            name, source = op.sym_name.data, print_kernels([op])
            compiled = compile_source(source, ARCH, name=name)
            assert compiled.resources[name].spills == 0, name
            assert opcodes_of(disassemble(compiled.cubin)).total() <= MOST_INSTRUCTIONS, name


@pytest.mark.parametrize(
    ("element", "length"), [("f32", 1000), ("f32", 2000), ("f32", 12000), ("bf16", 12000), ("f64", 1000)]
)
def test_norms_of_rows(element: str, length: int) -> None:
    """Of rows that fill a tile and rows that do not, with a weight and a bias that are loaded beside them."""
    rows, row = f"{element}[4096, {length}]", f"{element}[{length}]"
    for result in ("layer_norm(x, axis=-1) * g + b", "rms_norm(x, axis=-1) * g", "softmax(x, axis=-1)"):
        compile_within(parse(f"func f(x: {rows}, g: {row}, b: {row}) -> {rows} {{\n    return {result}\n}}\n", "norm"))
