"""`concat-in-place`: what kernels make for a concat they write where it lies in the result, which no kernel copies.

A concat as a kernel of its own reads and writes all that others have just written. In place its operands are parts of
one array: kernels write and read them with its strides (`irc/dialects/nd/joined.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.invariants import FUSED
from irc.analysis.op_classes import behind_views, is_cast, is_view, shape_of
from irc.dialects.kernel import Anchor, FusedOp, YieldOp
from irc.dialects.nd import ConcatOp, ReshapeOp
from irc.dialects.nd.base import integer
from irc.dialects.nd.joined import is_in_place, lies_in_another, parts_along
from irc.ir.blocks import ops_in
from irc.ir.discardable import IN_PLACE
from irc.ir.dtypes import Element, element_of
from irc.ir.extents import dims_of
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, location_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT
from irc.support.shapes import reshaped_strides, row_major

LEAST_WIDTH = 64
"""Bytes of a row of a part: shorter ones would be written and read in less than two sectors of 32 bytes."""

MOST_COPIES = 1
"""Kernels that copy an array to its part, in the place of the one that copies all."""

MOST_BYTES = 1 << 31
"""Of the result: offsets in it stay within 32 bits."""


@dataclass(frozen=True)
class ConcatInPlacePass(Pass):
    """A kernel that concatenates results of other kernels, and does nothing else -> `nd.concat` between kernels, whose
    operands lie side by side in its result (`nd.in_place`).

    An operand may be such a concat along the same axis: of a chain of them, each longer than the one before, the last
    one's memory holds all. Apart lie arguments, results of the function, what others than kernels read, what is in two
    concats, sums that several blocks add to, and what cascades make or read: one of them is copied to its part. Left to
    a kernel are concats of more such arrays, rows of less than 64 bytes and those that do not begin at multiples of 16,
    and all of a module with extents that are known when it is called.
    """

    name: ClassVar[str] = "concat-in-place"
    requires = (FUSED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if dims_of(op):
            return
        for function in [inner for inner in ops_in(op) if isinstance(inner, FuncOp) and not inner.is_declaration]:
            for kernel in [inner for inner in function.body.block.ops if isinstance(inner, FusedOp)]:
                found = _concat_of(kernel)
                apart = None if found is None else _arrays_apart(kernel, found)
                if found is not None and apart is not None and len(apart) <= MOST_COPIES < len(found.arrays):
                    _join(kernel, found, apart)


@dataclass(frozen=True)
class _Concat:
    """What a kernel concatenates along an axis: arrays between kernels, each in another shape than it has there
    perhaps. shape: of all of them."""

    arrays: tuple[SSAValue, ...]
    shapes: tuple[tuple[int, ...], ...]
    axis: int
    shape: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Of each array where it lies in the result."""
        return row_major(self.shape)


def _concat_of(kernel: FusedOp) -> _Concat | None:
    """The concat that a kernel is, but for reshapes and casts that round nothing."""
    concats = [op for op in kernel.block.ops if isinstance(op, ConcatOp)]
    if len(concats) != 1 or len(kernel.outputs) != 1:
        return None
    (concat,) = concats
    element = element_of(kernel.outputs[0].type)
    others = [op for op in kernel.block.ops if op not in (concat, kernel.yielded)]
    if not all(is_view(op) or (is_cast(op) and _holds(op.results[0], element)) for op in others):
        return None
    sources = list(map(_source, concat.inputs))
    arguments = [source for source in sources if isinstance(source, BlockArgument)]
    if len(arguments) < len(sources) or _source(kernel.yielded.outputs[0]) is not concat.result:
        return None
    arrays = tuple(kernel.inputs[argument.index] for argument in arguments)
    if any(element_of(array.type) is not element for array in arrays):
        return None
    return _Concat(arrays, tuple(map(shape_of, concat.inputs)), integer(concat.axis), shape_of(concat.result))


def _holds(value: SSAValue, element: Element) -> bool:
    """Whether the elements of an array are of this type, or of one that has all its values."""
    found = element_of(value.type)
    return found is element or (element.is_narrow_float and found.name == "f32")


def _source(value: SSAValue) -> SSAValue:
    """What a value is, but for casts and reshapes."""
    while isinstance(owner := value.owner, Operation) and (is_cast(owner) or is_view(owner)):
        value = owner.operands[0]
    return value


def _arrays_apart(kernel: FusedOp, concat: _Concat) -> list[int] | None:
    """The numbers of the arrays that cannot lie where they lie in the result, and have to be copied there; None where
    no array can lie there."""
    size = element_of(kernel.outputs[0].type).size
    roots = list(map(behind_views, concat.arrays))
    if 0 in concat.shape or prod(concat.shape) * size >= MOST_BYTES or len(set(roots)) < len(roots):
        return None
    rows = prod(concat.shape[: concat.axis])
    for part in parts_along(concat.shapes, concat.axis, size):
        if part.offset % TENSOR_MAP_ALIGNMENT or (rows > 1 and part.pitch % TENSOR_MAP_ALIGNMENT):
            return None
        if rows > 1 and part.width < LEAST_WIDTH:
            return None
    pairs = enumerate(zip(roots, concat.shapes, strict=True))
    return [number for number, (root, shape) in pairs if not _can_lie(kernel, root, shape, concat)]


def _can_lie(kernel: FusedOp, root: SSAValue, shape: tuple[int, ...], concat: _Concat) -> bool:
    """Whether an array, in this shape, can lie in the result: what makes it and what reads it allows that."""
    owner = root.owner
    if not isinstance(owner, Operation) or lies_in_another(root):
        return False
    if is_in_place(owner):
        assert isinstance(owner, ConcatOp)
        if integer(owner.axis) != concat.axis or shape_of(root) != shape:
            return False
    elif not isinstance(owner, FusedOp) or owner.kind is Anchor.CASCADE or _adds_in_turn(owner):
        return False
    strides = reshaped_strides(shape, concat.strides, shape_of(root))
    return strides is not None and _are_read_apart(root, shape_of(root), strides)


def _adds_in_turn(kernel: FusedOp) -> bool:
    """Whether blocks add to a result, which is set to zero before."""
    return kernel.config is not None and kernel.config.split_sums == "serial"


def _are_read_apart(value: SSAValue, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether all that reads an array reads its elements so far apart: kernels, also in other shapes."""
    for use in value.uses:
        user = use.operation
        if is_view(user):
            after = shape_of(user.results[0])
            found = reshaped_strides(shape, strides, after)
            if found is None or not _are_read_apart(user.results[0], after, found):
                return False
        elif not isinstance(user, FusedOp) or user.kind is Anchor.CASCADE:
            return False
    return True


def _join(kernel: FusedOp, concat: _Concat, apart: Sequence[int]) -> None:
    """Puts a concat in place of the kernel, of copies of the arrays with these numbers."""
    at, (result,) = Inserter.before(kernel), kernel.outputs
    copied = [_copy(kernel, x, at) if number in apart else x for number, x in enumerate(concat.arrays)]
    pairs = zip(copied, concat.shapes, strict=True)
    operands = [array if shape_of(array) == shape else at.value(ReshapeOp(array, shape)) for array, shape in pairs]
    made = at(ConcatOp(operands, concat.axis))
    made.attributes[IN_PLACE] = UnitAttr()
    made.result.name_hint = result.name_hint
    whole = made.result
    if shape_of(result) != concat.shape:
        whole = at.value(ReshapeOp(whole, shape_of(result)))
    Rewriter.replace_op(kernel, [], [whole])


def _copy(kernel: FusedOp, array: SSAValue, at: Inserter) -> SSAValue:
    """The array, copied by a kernel like this one."""
    block = Block(arg_types=[array.type])
    block.add_op(YieldOp(block.args[0], location=location_of(kernel)))
    name = None if kernel.sym_name is None else f"{kernel.sym_name.data}_part"
    made = FusedOp([array], [array.type], Anchor.MAP, Region(block), sym_name=name, config=kernel.config)
    made.outputs[0].name_hint = array.name_hint
    return at.value(made)
