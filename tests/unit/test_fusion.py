"""Fusion of random programs: kernels in order, nothing left outside, and the same results at every step."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from irc.analysis.code_size import LITTLE_WORK, MAX_WORK, Unrolled
from irc.analysis.reduction_problem import reduction_of
from irc.dialects import nd
from irc.dialects.kernel import Anchor, FusedOp, TileSizes
from irc.driver.lowering import lower
from irc.driver.program import parse
from irc.fusion import recomputation
from irc.fusion import reductions as fuse_reductions
from irc.interpreters.kernel import evaluate
from irc.passes.kernel.choose_config import ChooseConfigPass
from irc.passes.kernel.fuse_kernels import FuseKernelsPass, fuse_block
from irc.passes.kernel.split_reductions import SplitReductionsPass
from irc.support.integers import ceil_div

SIDE = 6
MATRIX, VECTOR = (SIDE, SIDE), (SIDE,)


def _add(block: Block, values: list[SSAValue], op: Operation) -> None:
    block.add_op(op)
    values.append(op.results[0])


def _of(values: list[SSAValue], shape: tuple[int, ...], pick: int) -> SSAValue:
    fitting = [value for value in values if nd.shape_of(value) == shape]
    return fitting[-1 - pick % len(fitting)]


Recipe = list[tuple[int, int, int]]

recipes = st.lists(st.tuples(st.integers(0, 16), st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=24)
"""For each op: its kind, and which of the latest values it reads."""


def build(recipe: Recipe, outputs: list[int]) -> ModuleOp:
    """A function of two matrices and a vector. The last value is a result, and those that `outputs` picks."""
    matrix, vector = nd.tensor(MATRIX, f32), nd.tensor(VECTOR, f32)
    block = Block(arg_types=[matrix, matrix, vector])
    values: list[SSAValue] = list(block.args)
    for kind, a, b in recipe:
        _add_op(block, values, kind, a, b)
    made = values[3:]
    results = [made[-1], *(made[pick % len(made)] for pick in outputs)]
    block.add_op(ReturnOp(*results))
    types = [matrix, matrix, vector], [value.type for value in results]
    return ModuleOp([FuncOp("f", types, Region(block))])


def _add_op(block: Block, values: list[SSAValue], kind: int, a: int, b: int) -> None:
    x, y, v, w = (_of(values, shape, pick) for shape in (MATRIX, VECTOR) for pick in (a, b))
    axis = (a + b) % 2
    match kind:
        case 0 | 1 | 2:
            _add(block, values, (nd.AddOp, nd.SubOp, nd.MaximumOp)[kind](x, y))
        case 3 | 4 | 5:
            _add(block, values, (nd.TanhOp, nd.ReluOp, nd.NegOp)[kind - 3](x))
        case 6:
            _add(block, values, nd.AddOp(v, w))
        case 7:
            _add(block, values, nd.SigmoidOp(v))
        case 8 | 9:
            _add(block, values, nd.BroadcastOp(v, MATRIX, [axis]))
        case 10 | 11:
            _add(block, values, (nd.MaxOp, nd.MinOp)[kind - 10](x, [axis]))
        case 12:
            _add(block, values, nd.SumOp(_tenth(block, x), [axis]))
        case 13 | 14:
            _add(block, values, nd.MatmulOp(_tenth(block, x), y, lhs_contract=[1], rhs_contract=[0]))
        case 15:
            _add(block, values, nd.PermuteOp(x, [1, 0]))
        case _:
            flat = nd.ReshapeOp(x, [SIDE * SIDE])
            positive = nd.AbsOp(flat.result)
            block.add_ops([flat, positive])
            _add(block, values, nd.ReshapeOp(positive.results[0], MATRIX))


def _tenth(block: Block, value: SSAValue) -> SSAValue:
    """A value small enough that sums of sums stay in range."""
    constant = nd.ConstantOp.splat(0.1, nd.tensor(MATRIX, f32))
    product = nd.MulOp(value, constant.result)
    block.add_ops([constant, product])
    return product.results[0]


def _arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in (MATRIX, MATRIX, VECTOR)]


def _same(module: ModuleOp, expected: tuple[np.ndarray, ...]) -> None:
    module.verify()
    for found, wanted in zip(evaluate(module, _arguments()), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def _check_order(module: ModuleOp) -> None:
    """Every kernel follows what it reads, which a cycle between kernels would make impossible."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    seen: set[SSAValue] = set(function.body.block.args)
    for op in function.body.block.ops:
        assert all(operand in seen for operand in op.operands), op.name
        seen |= set(op.results)
        assert isinstance(op, FusedOp | ReturnOp | nd.ReshapeOp), op.name


@examples(200, one_in=2)
@given(recipes, st.lists(st.integers(0, 40), max_size=3), st.integers(0, 3), st.booleans())
def test_random_programs_mean_the_same(recipe: Recipe, outputs: list[int], recomputations: int, are_huge: bool) -> None:
    """`are_huge`: as if the rows of reductions were so long that no block goes over them again."""
    module = build(recipe, outputs)
    module.verify()
    expected = evaluate(module, _arguments())
    with pytest.MonkeyPatch.context() as patch:
        for each in (fuse_reductions, recomputation) if are_huge else ():
            patch.setattr(each, "can_return", lambda domain, axes, machine: False)
        FuseKernelsPass(max_recomputations=recomputations).apply(Context(), module)
    _check_order(module)
    _same(module, expected)
    ChooseConfigPass().apply(Context(), module)
    for kernel in [op for op in module.walk() if isinstance(op, FusedOp)]:
        _use_small_tiles(kernel)
    SplitReductionsPass().apply(Context(), module)
    _check_order(module)
    _same(module, expected)


def _use_small_tiles(kernel: FusedOp) -> None:
    """Tiles that do not divide the extents, so that splitting has parts and padding."""
    assert kernel.config is not None
    if kernel.kind is Anchor.MATMUL:
        kernel.config = kernel.config.replace(tile=TileSizes(m=4, n=4, k=4))
    elif kernel.kind is Anchor.REDUCE and not _is_read_again(kernel):
        kernel.config = kernel.config.replace(split=4)


def _is_read_again(kernel: FusedOp) -> bool:
    return reduction_of(kernel).returns


@examples(30)
@given(recipes)
def test_fusion_is_deterministic(recipe: Recipe) -> None:
    module, again = build(recipe, [3]), build(recipe, [3])
    FuseKernelsPass().apply(Context(), module)
    FuseKernelsPass().apply(Context(), again)
    assert str(module) == str(again)


def test_a_diamond_through_another_kernel_is_no_cycle() -> None:
    """y = x @ w; z = y + softmax-like work on y: the sum may not join the product, the reduction stands between."""
    matrix = nd.tensor(MATRIX, f32)
    block = Block(arg_types=[matrix, matrix])
    x, w = block.args
    product = nd.MatmulOp(x, w, lhs_contract=[1], rhs_contract=[0])
    largest = nd.MaxOp(product.results[0], [0])
    back = nd.BroadcastOp(largest.results[0], MATRIX, [1])
    result = nd.SubOp(product.results[0], back.results[0])
    block.add_ops([product, largest, back, result, ReturnOp(result.results[0])])
    FuncOp("f", ([matrix, matrix], [matrix]), Region(block))
    kernels = fuse_block(block, "f")
    assert [kernel.kind for kernel in kernels] == [Anchor.MATMUL, Anchor.REDUCE]


@pytest.mark.parametrize("ops", [2000])
def test_a_long_chain_is_cut(ops: int) -> None:
    """Into kernels of about as much code as one may have."""
    matrix = nd.tensor(MATRIX, f32)
    block = Block(arg_types=[matrix])
    value: SSAValue = block.args[0]
    for _ in range(ops):
        op = nd.TanhOp(value)
        block.add_op(op)
        value = op.results[0]
    block.add_op(ReturnOp(value))
    FuncOp("f", ([matrix], [matrix]), Region(block))
    work = [Unrolled(kernel).work for kernel in fuse_block(block, "f")]
    assert max(work) < MAX_WORK + LITTLE_WORK
    assert len(work) == ceil_div(sum(work), MAX_WORK)


def test_a_value_is_computed_at_few_places() -> None:
    """Each step of a sum that doubles its reach reads the one before at two places, so that its first step is stored."""
    row = nd.tensor([128], f32)
    block = Block(arg_types=[row])
    zero = nd.ConstantOp.splat(0.0, nd.tensor([], f32))
    block.add_op(zero)
    value: SSAValue = block.args[0]
    for reach in (1, 2, 4, 8, 16, 32, 64):
        later = nd.SliceOp(value, [reach], [128])
        moved = nd.PadOp(later.results[0], zero.results[0], [0], [reach])
        total = nd.AddOp(value, moved.results[0])
        block.add_ops([later, moved, total])
        value = total.results[0]
    block.add_op(ReturnOp(value))
    FuncOp("f", ([row], [row]), Region(block))
    kernels = fuse_block(block, "f")
    assert [sum(op.name == "nd.pad" for op in kernel.block.ops) for kernel in kernels] == [2, 5]


GATED = """
func layer(x: bf16[1, 512], scale: bf16[512], gate: bf16[1024, 512], up: bf16[1024, 512], down: bf16[512, 1024]) -> bf16[1, 512] {
    y = rms_norm(x) * scale
    g = y @ transpose(gate)
    return x + (silu(g) * (y @ transpose(up))) @ transpose(down)
}
"""


def test_a_gated_layer_of_one_row_is_two_kernels() -> None:
    """Both products of the gate with the norm before them, and the last product with what it is added to."""
    kernels = [op for op in lower(parse(GATED, "gated.irc"), "kernel", arch="sm_90a").walk() if isinstance(op, FusedOp)]
    sums = [sum(isinstance(op, nd.SumOp) for op in kernel.block.ops) for kernel in kernels]
    assert sums == [3, 1]
