"""Ops as plain data are what they were, and what is lowered from them is what is lowered from the ops."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from irc.dialects.kernel import FusedOp
from irc.driver.compiler import lower_program
from irc.ir.blocks import ops_in
from irc.ir.plain_ops import packed, unpacked
from irc.ir.printer import print_ir

TEXT = """
func f(x: bf16[128, 64], w: bf16[64, 96], b: bf16[96]) -> (bf16[128, 96], f32[128]) {
    y = relu(x @ w + b)
    return softmax(y), sum(cast(x, f32), axis=1)
}
"""


@pytest.mark.parametrize("level", ["nd", "kernel", "tile", "all"])
def test_what_is_unpacked_is_what_was_packed(level: str) -> None:
    """With its locations and the names of its values, which `print_ir` shows."""
    module = lower_program(TEXT, level, arch="sm_90a")
    again = unpacked(packed(module))
    assert isinstance(again, ModuleOp)
    assert again is not module
    assert print_ir(again, locations=True) == print_ir(module, locations=True)
    assert again.is_structurally_equivalent(module)


def test_uses_keep_their_order() -> None:
    """Which is that in which they came, whatever the order of the ops: passes go through them."""
    value = arith.ConstantOp.from_int_and_width(1, 32)
    late, early = arith.AddiOp(value, value), arith.AddiOp(value, value)
    module = ModuleOp([value, early, late])
    users = [op for op in ops_in(module) if op is not module][1:]
    order = [(users.index(use.operation), use.index) for use in value.result.uses]
    assert order != sorted(order, reverse=True)
    again = unpacked(packed(module))
    first, *others = [op for op in ops_in(again) if op is not again]
    assert [(others.index(use.operation), use.index) for use in first.results[0].uses] == order


def test_operands_of_others_become_arguments() -> None:
    """Which have their types, and are one where they were one; other users of what the op defines are left out."""
    module = lower_program(TEXT, "kernel", arch="sm_90a")
    for kernel in [op for op in ops_in(module) if isinstance(op, FusedOp)]:
        again = unpacked(packed(kernel))
        inputs = list(kernel.operands)
        assert [value.type for value in again.operands] == [value.type for value in inputs]
        assert list(map(list(again.operands).index, again.operands)) == list(map(inputs.index, inputs))
        assert all(isinstance(value, BlockArgument) for value in again.operands)
        assert not any(value.uses.get_length() for value in again.results)
        assert again.regions[0].is_structurally_equivalent(kernel.regions[0])
