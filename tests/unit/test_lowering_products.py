"""From tile programs to the code of a thread: products, their channels and their instructions."""

from __future__ import annotations

import pytest
from lowered import CHANNEL, GATING, PRODUCT, Code, executions, lower, number, one_tile
from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.dialects import cuda
from irc.driver.lowering import lower as lower_module
from irc.driver.program import parse
from irc.layout.shared import IDENTITY, panels

# Products


def product(m: int, n: int, k: int, element: str, acc: str, config: str, passes: tuple[str, ...] = PRODUCT) -> Code:
    """One tile of a product with K in steps of `k`, twice."""
    return lower(
        one_tile(
            f"%x: !tile.view<{m}x{2 * k}x{element}>, %w: !tile.view<{2 * k}x{n}x{element}>, %y: !tile.view<{m}x{n}x{acc}>",
            f"""%ck = arith.constant {k} : index
    %cK = arith.constant {2 * k} : index
    %zero = arith.constant 0.0 : {acc}
    %z = tile.splat %zero : {acc} -> tensor<{m}x{n}x{acc}>
    %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<{m}x{n}x{acc}>) {{
      %a = tile.load %x[%c0, %k] : !tile.view<{m}x{2 * k}x{element}> -> tensor<{m}x{k}x{element}>
      %b = tile.load %w[%k, %c0] : !tile.view<{2 * k}x{n}x{element}> -> tensor<{k}x{n}x{element}>
      %d = tile.dot %a, %b, %c : tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>, tensor<{m}x{n}x{acc}> -> tensor<{m}x{n}x{acc}>
      scf.yield %d : tensor<{m}x{n}x{acc}>
    }}
    tile.store %h, %y[%c0, %c0] : tensor<{m}x{n}x{acc}>, !tile.view<{m}x{n}x{acc}>""",
            config,
        ),
        passes,
    )


def test_a_product_by_multiply_adds() -> None:
    code = product(64, 32, 16, "f32", "f32", 'warps = 4, instruction = "fma"')
    assert code.threads == 128
    assert code.count(arith.MulfOp) * code.threads == 64 * 32 * 16 * 2
    # A step writes both operands after the last one's readers, and reads after both are written.
    assert code.shared_accesses == "|w|r"
    assert code.shared == (64 * 16 + 16 * 32) * 4


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_a_product_by_mma(warps: int) -> None:
    code = product(64, 32, 32, "bf16", "f32", f'warps = {warps}, instruction = "mma"')
    assert {op.instruction.data for op in code.ops(cuda.MmaOp)} == {"m16n8k16"}
    assert code.count(cuda.MmaOp) * warps == (64 // 16) * (32 // 8) * (32 // 16) * 2
    # Like multiply-adds; then the accumulator is exchanged for wide stores, within warps where each has whole rows.
    assert code.shared_accesses == ("|w|r|w-r" if warps < 4 else "|w|r|w|r")


def test_both_ways_hold_each_element_of_the_result_once() -> None:
    for config, element in (('warps = 4, instruction = "fma"', "f32"), ('warps = 4, instruction = "mma"', "bf16")):
        assert sum(product(64, 32, 32, element, "f32", config).elements(cuda.StoreOp)) == 64 * 32


def test_a_channel_program_has_its_barriers_and_its_work() -> None:
    code = lower(GATING.read_text(), CHANNEL)
    assert code.threads == 128 + 256
    stages = 4
    inits = code.ops(cuda.BarrierInitOp)
    assert [(executions(op), op.count.value.data) for op in inits] == [(stages, 1), (stages, 2)]
    stage = (128 * 64 + 64 * 256) * 2
    (expect,) = code.ops(cuda.BarrierExpectOp)
    assert expect.bytes.value.data == stage
    assert code.shared > stages * stage
    wgmma = code.ops(cuda.WgmmaOp)
    assert {op.n.value.data for op in wgmma} == {256}
    boxes = [argument.type for argument in code.kernel.body.block.args if isinstance(argument.type, cuda.TensorMapType)]
    assert len(boxes) == 3


@pytest.mark.parametrize(("left", "copied"), [("w", (64 + 32) * 64 * 2), ("relu(w)", 64 * 64 * 2)])
def test_threads_that_write_a_part_of_a_stage_arrive_beside_its_copies(left: str, copied: int) -> None:
    """Products of one left operand share a stage, whose parts a prologue or TMA fills."""
    text = f"""func gate(x: bf16[1024, 512], w: bf16[512, 256], v: bf16[512, 256]) -> bf16[1024, 256] {{
    return silu(x @ {left}) * (x @ relu(v))
}}"""
    module = lower_module(parse(text, "gate.irc"), "cuda", arch="sm_90a")
    (kernel,) = [op for op in module.ops if isinstance(op, cuda.KernelOp)]
    code = Code(kernel)
    full, _ = [op.count.value.data for op in code.ops(cuda.BarrierInitOp)]
    assert full == 1 + 128
    (expect,) = code.ops(cuda.BarrierExpectOp)
    assert expect.bytes.value.data == copied


def evaluate(value: SSAValue, variable: int) -> int:
    """An index expression of one loop variable."""
    if not isinstance(value.owner, Operation):
        return variable
    if isinstance(value.owner, arith.ConstantOp):
        return number(value)
    operands = [evaluate(operand, variable) for operand in value.owner.operands]
    match value.owner:
        case arith.AddiOp():
            return operands[0] + operands[1]
        case arith.AndIOp():
            return operands[0] & operands[1]
        case arith.ShLIOp():
            return operands[0] << operands[1]
        case arith.ShRUIOp():
            return operands[0] >> operands[1]
        case arith.IndexCastOp():
            return operands[0]
        case other:
            raise AssertionError(f"{other.name} in an index expression")


@pytest.mark.parametrize("k", [16, 64, 128])
def test_wgmma_walks_along_k_from_panel_to_panel(k: int) -> None:
    code = product(64, 64, k, "bf16", "f32", 'warps = 4, stages = 2, instruction = "wgmma"', CHANNEL)
    (wgmma,) = code.ops(cuda.WgmmaOp)
    assert executions(wgmma) == 2 * k // 16
    assert isinstance(wgmma.lhs.owner, arith.AddiOp)
    lhs = panels((64, k), 1, min(64, k), IDENTITY)
    units = [evaluate(wgmma.lhs.owner.rhs, step) for step in range(k // 16)]
    assert units == [lhs((0, 16 * step)) * 2 // 16 for step in range(k // 16)]


@pytest.mark.parametrize(("stages", "releases", "pending"), [(1, 1, [0]), (2, 2, [1, 0, 0])])
def test_a_channel_of_one_stage_is_released_before_it_is_waited_for(
    stages: int, releases: int, pending: list[int]
) -> None:
    """With a dot in flight over one stage, the producer and the consumers would wait for each other."""
    code = product(64, 64, 64, "bf16", "f32", f'warps = 4, stages = {stages}, instruction = "wgmma"', CHANNEL)
    assert len(code.ops(cuda.BarrierArriveOp)) == releases
    assert [op.pending.value.data for op in code.ops(cuda.WgmmaWaitOp)] == pending


def test_an_accumulator_from_outside_a_loop_is_the_same_in_every_iteration() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<16x32xf32>, %w: !tile.view<32x16xf32>, %c: !tile.view<16x16xf32>, %y: !tile.view<16x16xf32>",
            """%c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %bias = tile.load %c[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32>
    scf.for %k = %c0 to %c32 step %c16 {
      %a = tile.load %x[%c0, %k] : !tile.view<16x32xf32> -> tensor<16x16xf32>
      %b = tile.load %w[%k, %c0] : !tile.view<32x16xf32> -> tensor<16x16xf32>
      %d = tile.dot %a, %b, %bias : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      tile.store %d, %y[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
    }""",
            'warps = 1, instruction = "fma"',
        ),
        PRODUCT,
    )
    assert not {op.array for op in code.ops(cuda.LoadOp)} & {op.array for op in code.ops(cuda.SetOp)}
