"""`irc.analysis.costs`: operations and bytes of fused kernels."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from irc.analysis.costs import Cost, cost_of, flops_of
from irc.dialects import nd
from irc.dialects.kernel import FusedOp
from irc.dialects.nd.base import tensor
from irc.driver.program import new_context
from irc.ir.parser import parse_ir

MATMUL = """
func.func @f(%a: tensor<2x4x8xbf16>, %b: tensor<2x8x16xbf16>, %c: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %r = kernel.fused @k matmul (%x = %a : tensor<2x4x8xbf16>, %y = %b : tensor<2x8x16xbf16>, %z = %c : tensor<16xf32>) -> tensor<2x4x16xf32> {
    %p = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<2x4x8xbf16>, tensor<2x8x16xbf16>) -> tensor<2x4x16xf32>
    %q = nd.broadcast %z {dims = [2]} : tensor<16xf32> -> tensor<2x4x16xf32>
    %s = nd.add %p, %q : tensor<2x4x16xf32>
    kernel.yield %s : tensor<2x4x16xf32>
  }
  func.return %r : tensor<2x4x16xf32>
}
"""

REDUCE = """
func.func @f(%a: tensor<32x64xf32>) -> (tensor<32xf32>, tensor<32x64xf32>) {
  %r, %t = kernel.fused @k reduce (%x = %a : tensor<32x64xf32>, %y = %a : tensor<32x64xf32>) -> (tensor<32xf32>, tensor<32x64xf32>) {
    %e = nd.exp %x : tensor<32x64xf32>
    %m = nd.mul %e, %y : tensor<32x64xf32>
    %s = nd.sum %m {axes = [1]} : tensor<32x64xf32> -> tensor<32xf32>
    kernel.yield %s, %e : tensor<32xf32>, tensor<32x64xf32>
  }
  func.return %r, %t : tensor<32xf32>, tensor<32x64xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MATMUL, Cost(2 * 2 * 4 * 16 * 8 + 2 * 4 * 16, (2 * 4 * 8 + 2 * 8 * 16) * 2 + 16 * 4, 2 * 4 * 16 * 4)),
        (REDUCE, Cost(3 * 32 * 64, 32 * 64 * 4, 32 * 4 + 32 * 64 * 4)),
    ],
)
def test_costs_of_kernels(text: str, expected: Cost) -> None:
    module = parse_ir(new_context(), text, "test.mlir")
    module.verify()
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert cost_of(kernel) == expected


def _value(*shape: int) -> SSAValue:
    return test.TestOp(result_types=[tensor(shape, f32)]).results[0]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (nd.CastOp(_value(4, 8), bf16), 0),
        (nd.PermuteOp(_value(4, 8), [1, 0]), 0),
        (nd.SumOp(_value(4, 8), [0, 1]), 4 * 8),
        (nd.CumsumOp(_value(4, 8), 1), 4 * 8),
        (nd.ConvOp(_value(2, 3, 16), _value(5, 3, 4)), 2 * (2 * 5 * 13) * (3 * 4)),
        (nd.SoftmaxOp(_value(4, 8), 1), 4 * 8),
        (nd.SortOp(_value(4, 8), 1), 4 * 8),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_operations_of_an_op(op: nd.NdOp, expected: int) -> None:
    assert flops_of(op) == expected
