"""A kernel's program, or the user's code of one, as the attribute of a recorded launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr, TensorType

from irc.dialects import cuda, tile
from irc.ir.printer import print_ir


class Launch:
    """A tile program, equal to others of the same text; `name` is what its kernels are called. whole: the same kernel
    with tiles of the whole extent, which says what it computes."""

    __slots__ = ("_program", "_text", "name", "whole")

    def __init__(self, name: str, program: tile.ProgramOp, whole: Launch | None = None):
        self.name = name
        self.whole = whole
        self._program = program
        self._text = print_ir(program)

    @property
    def result_types(self) -> list[TensorType[Any]]:
        """Of the arrays that it writes."""
        types = [value.type for value in self._program.outputs]
        return [TensorType(type.element_type, type.get_shape()) for type in types if isinstance(type, tile.ViewType)]

    def named(self, name: str) -> tile.ProgramOp:
        """A copy of the program with this symbol."""
        copy = self._program.clone()
        copy.sym_name = StringAttr(name)
        return copy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Launch) and (self.name, self._text) == (other.name, other._text)

    def __hash__(self) -> int:
        return hash((self.name, self._text))


class CodeLaunch:
    """The same of a kernel of the user's CUDA C++. result_types: of the arrays that it writes."""

    __slots__ = ("_kernel", "_text", "name", "result_types")

    def __init__(self, name: str, kernel: cuda.KernelOp, result_types: Sequence[TensorType[Any]]):
        self.name = name
        self.result_types = list(result_types)
        self._kernel = kernel
        self._text = print_ir(kernel)

    def named(self, name: str) -> cuda.KernelOp:
        """A copy of the kernel with this symbol."""
        copy = self._kernel.clone()
        copy.sym_name = StringAttr(name)
        return copy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeLaunch) and (self.name, self._text) == (other.name, other._text)

    def __hash__(self) -> int:
        return hash((self.name, self._text))
