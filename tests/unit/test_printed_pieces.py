"""The text of a module is the same where some of its ops were printed by themselves, elsewhere."""

from __future__ import annotations

import pickle

import pytest
from xdsl.ir import Operation

from irc.dialects.cuda import KernelOp
from irc.dialects.tile import ProgramOp
from irc.driver.compiler import lower_program
from irc.ir.plain_ops import packed, unpacked
from irc.ir.printer import Piece, print_ir, print_piece

TEXT = """
func f(x: bf16[256, 128], w: bf16[128, 192], v: f32[192, 64]) -> (bf16[256, 192], f32[256, 64], f32[256]) {
    y = relu(x @ w)
    return y, cast(y, f32) @ v, softmax(sum(cast(x, f32), axis=1))
}
"""


def elsewhere(op: Operation) -> Piece:
    """As another process prints it, that knows nothing of the module."""
    return pickle.loads(pickle.dumps(print_piece(unpacked(packed(op)))))


@pytest.mark.parametrize("level", ["tile", "cuda"])
def test_pieces_are_printed_as_their_ops(level: str) -> None:
    """Aliases are numbered through, and each is declared once."""
    module = lower_program(TEXT, level, arch="sm_90a")
    whole = print_ir(module)
    kernels = [op for op in module.ops if isinstance(op, ProgramOp | KernelOp)]
    assert len(kernels) > 2
    if level == "tile":
        assert whole.count("#frag1 =") == 1
        assert any("#frag =" in print_ir(op) for op in kernels[1:])
    assert print_ir(module, pieces={op: elsewhere(op) for op in kernels}) == whole
    assert print_ir(module, pieces={kernels[1]: elsewhere(kernels[1])}) == whole
