"""The shared memory of a block: by its config, before there are channels, and as it is planned."""

from __future__ import annotations

import pytest

from irc.analysis.budgets import channel_bytes
from irc.analysis.product_problem import product_of
from irc.configs.cascade import cascade_problem
from irc.configs.product import operand_bytes
from irc.dialects import tile
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.lowering import lower, passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.pipelines import TILE as PASSES
from irc.driver.program import parse
from irc.ir.targets import set_target
from irc.scheduling.channels import channel_plan
from irc.scheduling.shared_memory import expected_bytes

TILE = "tensor<64x64xf32>"


def loop(result: str, start: str, first: str, last: str, step: int) -> str:
    return f"""{result} = scf.for %k = {first} to {last} step %c{step} iter_args(%acc = {start}) -> ({TILE}) {{
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x{step}xbf16>
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<{step}x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x{step}xbf16>, tensor<{step}x64xbf16>, {TILE} -> {TILE}
      scf.yield %next : {TILE}
    }}"""


def bytes_of(*loops: str) -> int:
    config = '#kernel.config<stages = 4, warps = 4, instruction = "wgmma">'
    text = f"""tile.program @f(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>)
    {{results = 1 : i64, config = {config}}} {{
      tile.for_tiles (%i) extents [256] steps [64] {{
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        %c256 = arith.constant 256 : index
        %zero = arith.constant 0.0 : f32
        %none = tile.splat %zero : f32 -> {TILE}
        {chr(10).join(loops)}
        tile.store %sum, %y[%c0, %c0] : {TILE}, !tile.view<64x64xf32>
      }}
    }}"""
    module = parse(text, "f.mlir")
    set_target(module, "sm_90a")
    run_passes(module, passes_of(("place-operands",)))
    (program,) = (op for op in module.walk() if isinstance(op, tile.ProgramOp))
    return expected_bytes(program)


def test_loops_one_behind_the_other_share_what_they_fill() -> None:
    whole = bytes_of(loop("%sum", "%none", "%c0", "%c256", 64))
    first, narrow = loop("%part", "%none", "%c0", "%i", 64), loop("%sum", "%part", "%i", "%c256", 32)
    assert bytes_of(first, loop("%sum", "%part", "%i", "%c256", 64)) == whole
    assert bytes_of(first, narrow) == whole + channel_bytes([64 * 32 * 2, 32 * 64 * 2], 4)


BEFORE_LAYOUTS = PASSES[len(KERNEL) : PASSES.index("assign-layouts")]
AFTER = PASSES[PASSES.index("assign-layouts") :]


def product(m: int, n: int, k: int, work: str = "x @ w") -> str:
    return f"func f(x: bf16[{m}, {k}], w: bf16[{k}, {n}], r: bf16[{m}, {n}]) -> bf16[{m}, {n}] {{ return {work} }}"


def attention(batches: int, heads: int, length: int, size: int) -> str:
    array = f"bf16[{batches}, {heads}, {length}, {size}]"
    return f"func f(q: {array}, k: {array}, v: {array}) -> {array} {{ return attention(q, k, v, causal=true) }}"


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        (product(2048, 2048, 2048), "persistent"),
        (product(8192, 8192, 8192), "pingpong"),
        (product(64, 8192, 8192), "persistent"),
        (attention(4, 16, 4096, 128), "dynamic"),
        (attention(16, 12, 1024, 64), "dynamic"),
    ],
)
def test_the_config_and_the_passes_count_what_is_planned(text: str, schedule: str) -> None:
    module = lower(parse(text, "f.irc"), "kernel", arch="sm_90a")
    (kernel,) = (op for op in module.walk() if isinstance(op, FusedOp))
    config = kernel.config
    assert config is not None and config.tile is not None and config.schedule == schedule
    if kernel.kind is Anchor.MATMUL:
        by_config = operand_bytes(product_of(kernel), config, config.tile)
    else:
        by_config = cascade_problem(kernel, config).taken(config.tile["m"], config.tile["k"], config.stages or 1)
    run_passes(module, passes_of(BEFORE_LAYOUTS))
    (program,) = (op for op in module.ops if isinstance(op, tile.ProgramOp))
    expected = expected_bytes(program)
    run_passes(module, passes_of(AFTER))
    assert program.shared is not None and program.shared.value.data == expected
    channels = sum(channel_plan(op).size for op in program.walk() if isinstance(op, tile.ChannelOp))
    assert by_config == (channels if kernel.kind is Anchor.MATMUL else expected)


def test_what_the_epilogue_reads_has_at_least_the_stages_that_are_counted() -> None:
    module = lower(parse(product(4096, 4096, 512, "x @ w + r"), "f.irc"), "kernel", arch="sm_90a")
    run_passes(module, passes_of(BEFORE_LAYOUTS))
    (program,) = (op for op in module.ops if isinstance(op, tile.ProgramOp))
    expected = expected_bytes(program)
    run_passes(module, passes_of(AFTER))
    assert program.shared is not None
    assert 0 < expected <= program.shared.value.data <= 227 * 1024


def test_a_config_that_stages_less_of_a_result_takes_less() -> None:
    module = lower(parse(attention(4, 16, 4096, 128), "f.irc"), "kernel", arch="sm_90a")
    (kernel,) = (op for op in module.walk() if isinstance(op, FusedOp))
    assert kernel.config is not None
    whole, half, quarter = (
        cascade_problem(kernel, kernel.config.replace(**given)).taken(128, 128, 2)
        for given in ({}, {"store_stages": 1}, {"store_stages": 1, "subtile": 32})
    )
    assert (whole - half, half - quarter) == (128 * 64 * 2, 128 * 32 * 2)
