"""Run-time extents in a kernel: arguments that bring their sizes, and what has to be known without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, BlockArgument, Operation

from irc.dialects import tile
from irc.ir.extents import dims_of
from irc.lowering.emitter import INDEX, Emitter, Index
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, extent_text, varying


@dataclass
class Extents:
    """What numbers that stand for run-time extents are in a call: computed where the kernel begins."""

    kernel: Block
    e: Emitter
    dims: Sequence[Dim] = ()
    sizes: dict[Dim, BlockArgument] = field(default_factory=dict[Dim, BlockArgument])
    """The argument of the kernel that has a dim's size in a call, in multiples of its `multiple`."""
    _known: dict[int, Index] = field(default_factory=dict[int, Index])
    _last: Operation | None = None
    """The last op that computes one."""

    def of(self, number: int) -> Index:
        """The number, or the value that it stands for."""
        if not (found := varying(number, self.dims)):
            return number
        if number not in self._known:
            factor: Index = number // prod(dim.prime for dim in found)
            with self.e.inside(start := Block()):
                self._known[number] = reduce(self.e.mul, map(self._size, found), factor)
            for op in list(start.ops):
                op.detach()
                self._insert(op)
        return self._known[number]

    def _size(self, dim: Dim) -> Index:
        if dim not in self.sizes:
            self.sizes[dim] = self.kernel.insert_arg(i32, len(self.kernel.args))
            self.sizes[dim].name_hint = dim.name
        return self.e.value(arith.IndexCastOp(self.sizes[dim], INDEX))

    def _insert(self, op: Operation) -> None:
        """Puts an op behind those that compute other extents."""
        if self._last is not None:
            self.kernel.insert_op_after(op, self._last)
        elif (first := self.kernel.first_op) is not None:
            self.kernel.insert_op_before(op, first)
        else:
            self.kernel.add_op(op)
        self._last = op


def check_numbers(program: tile.ProgramOp, kernel: Block) -> None:
    """IrcError where a number that stands for a run-time extent is left in the code."""
    dims = dims_of(program)
    for op in kernel.walk() if dims else ():
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            number = op.value.value.data
            if op.result.type in (INDEX, i32) and varying(number, dims):
                text = extent_text(number, dims)
                raise IrcError(f"{program.sym_name.data} needs {text} where no argument can bring it", op.location)
