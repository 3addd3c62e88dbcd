"""The training step of GPT-2, on which compile times are measured: it can be compiled, and layers that repeat are
compiled once."""

from __future__ import annotations

from xdsl.dialects import scf

from irc.dialects.cuda import KernelOp
from irc.dialects.host import LaunchOp
from irc.dialects.tile import DotOp, ProgramOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL
from irc_tools.gpt2_step import step_module

TILED = ALL.index("tile-kernels") + 1


def test_layers_that_repeat_are_compiled_once_and_no_product_twice() -> None:
    kernels: list[int] = []
    launches: list[int] = []
    for layers in (2, 3):
        module = step_module(layers=layers)
        run_passes(module, passes_of(ALL[:TILED]), verified=False)
        products = {op.sym_name.data: _products(op) for op in module.ops if isinstance(op, ProgramOp)}
        assert [name for name, count in products.items() if count > 1] == []
        run_passes(module, passes_of(ALL[TILED:]))
        kernels.append(sum(isinstance(op, KernelOp) for op in module.ops))
        launches.append(sum(isinstance(op, LaunchOp) for op in module.walk()))
    assert kernels[0] == kernels[1] < 100
    assert launches[0] < launches[1]


def _products(program: ProgramOp) -> int:
    """Its loops over K."""
    loops = [op for op in program.walk() if isinstance(op, scf.ForOp)]
    return sum(any(isinstance(op, DotOp) for op in loop.body.block.ops) for loop in loops)
