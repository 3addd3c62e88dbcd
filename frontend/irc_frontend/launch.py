"""A kernel's program, or the user's code of one, as the attribute of a recorded launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import StringAttr, TensorType

from irc.ir.printer import print_ir

if TYPE_CHECKING:
    from irc.dialects import cuda, tile


class Launch:
    """A tile program, or a kernel of the user's CUDA C++, equal to others of the same text; `name` is what its kernels
    are called. result_types: of the arrays that it writes. whole: the same kernel with tiles of the whole extent, which
    says what it computes."""

    __slots__ = ("_op", "_text", "name", "result_types", "whole")

    def __init__(
        self,
        name: str,
        op: tile.ProgramOp | cuda.KernelOp,
        result_types: Sequence[TensorType[Any]],
        whole: Launch | None = None,
    ):
        self.name = name
        self.result_types = list(result_types)
        self.whole = whole
        self._op = op
        self._text = print_ir(op)

    @classmethod
    def of_program(cls, name: str, program: tile.ProgramOp, whole: Launch | None = None) -> Launch:
        """Of a tile program, whose views are the arrays."""
        from irc.dialects import tile

        views = [value.type for value in program.outputs]
        types = [TensorType(view.element_type, view.get_shape()) for view in views if isinstance(view, tile.ViewType)]
        return cls(name, program, types, whole)

    def named(self, name: str) -> tile.ProgramOp | cuda.KernelOp:
        """A copy of the op with this symbol."""
        copy = self._op.clone()
        copy.sym_name = StringAttr(name)
        return copy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Launch) and (self.name, self._text) == (other.name, other._text)

    def __hash__(self) -> int:
        return hash((self.name, self._text))
