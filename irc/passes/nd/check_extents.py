"""check-extents: run-time extents are where kernels can have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from irc.dialects.nd import ReshapeOp
from irc.ir.extents import dims_of
from irc.ir.iteration import Iteration, Kind, iteration_of, pattern_of
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, extent_text, varying

_HINT = "give it a size: -D on the command line, dims= in Python"


@dataclass(frozen=True)
class CheckExtentsPass(Pass):
    """Refuse what needs the value of an extent that is known when the program is called.

    Along such an extent points of ops have nothing to do with each other, or are reduced, and are read at the same
    place: it is not scanned, sliced, padded or gathered from. Other extents are left alone.
    """

    name: ClassVar[str] = "check-extents"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not (dims := dims_of(op)):
            return
        check = _Check(dims)
        for function in [each for each in op.ops if isinstance(each, FuncOp)]:
            for inner in function.walk():
                check.op(inner)


@dataclass(frozen=True)
class _Check:
    dims: tuple[Dim, ...]

    def _varies(self, extent: int) -> bool:
        return bool(varying(extent, self.dims))

    def _fail(self, op: Operation, extent: int, what: str) -> IrcError:
        name = extent_text(extent, self.dims)
        return IrcError(f"{op.name}: {name} is known when the program is called, and {what}", location_of(op), _HINT)

    def op(self, op: Operation) -> None:
        """A varying dimension is parallel, and read where it is. A reshape leaves elements where they are, if all inner
        extents are fixed, which is looked for where programs read memory."""
        if pattern_of(op) is None or isinstance(op, ReshapeOp):
            return
        iteration = iteration_of(op)
        for dim in iteration.dims:
            if self._varies(dim.extent) and dim.kind not in (Kind.PARALLEL, Kind.REDUCE):
                raise self._fail(op, dim.extent, "cannot be walked over")
        for operand, access in zip(op.operands, iteration.inputs, strict=False):
            if isinstance(operand.type, TensorType):
                self._access(op, iteration, access.map, operand.type.get_shape())
        for result in op.results:
            assert isinstance(result.type, TensorType)
            self._access(op, iteration, iteration.result, result.type.get_shape())

    def _access(self, op: Operation, iteration: Iteration, map: AffineMap, shape: tuple[int, ...]) -> None:
        for expr, extent in zip(map.results, shape, strict=True):
            moving = [iteration.dims[i].extent for i in expr.used_dims()]
            varies = [each for each in (*moving, extent) if self._varies(each)]
            is_whole = isinstance(expr, AffineDimExpr) and moving == [extent]
            if varies and not is_whole:
                raise self._fail(op, varies[0], "cannot be cut, shifted or gathered from")
