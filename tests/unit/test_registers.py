"""The registers of a thread: by its config, before there is a program, and as its loops hold them."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from irc.analysis.product_problem import product_of
from irc.configs.cascade import cascade_problem
from irc.configs.product import accumulator_registers
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL
from irc.driver.program import isolate, parse
from irc.ir.targets import set_target, target_of
from irc.scheduling.registers import held_registers
from irc.scheduling.schedules import dots_of, in_order

STATISTICS = 4
"""Of a thread of a cascade: the maxima and the sums of its two rows."""

PROGRAMS = {
    "product": "x: bf16[1024, 1024], w: bf16[1024, 1024]) -> bf16[1024, 1024] { return x @ w }",
    "two products": "x: bf16[512, 512], w: bf16[512, 512], v: bf16[512, 512]) -> bf16[512, 512] { return silu(x @ w) * (x @ v) }",
    "sums apart": "x: f32[512, 512], w: f32[512, 512]) -> f32[512, 512] { return x @ w }",
    "cascade": "q: bf16[2, 1024, 128], k: bf16[2, 1024, 128], v: bf16[2, 1024, 128]) -> bf16[2, 1024, 128] { return attention(q, k, v) }",
    "three warp groups": "q: bf16[16, 2048, 64], k: bf16[16, 2048, 64], v: bf16[16, 2048, 64]) -> bf16[16, 2048, 64] { return attention(q, k, v) }",
}


def by_config(kernel: FusedOp) -> int:
    assert kernel.config is not None and kernel.config.tile is not None
    if kernel.kind is Anchor.CASCADE:
        return cascade_problem(kernel, kernel.config).registers(kernel.config.tile["k"]) + STATISTICS
    return accumulator_registers(product_of(kernel), kernel.config, kernel.config.tile, target_of(kernel))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_config_counts_what_the_loop_holds(name: str) -> None:
    module = isolate(parse(f"func f({PROGRAMS[name]}", "f.irc"))
    set_target(module, "sm_90a")
    tiled, scheduled = ALL.index("tile-kernels"), ALL.index("schedule-loops")
    run_passes(module, passes_of(ALL[:tiled]))
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    (kernel,) = (op for op in kernels if op.kind in (Anchor.MATMUL, Anchor.CASCADE))
    expected = by_config(kernel)
    run_passes(module, passes_of(ALL[tiled:scheduled]))
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp) and dots_of(op)]
    assert [held_registers(loop, in_order(loop)) for loop in loops] == [expected]
