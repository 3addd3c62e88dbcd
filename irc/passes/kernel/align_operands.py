"""`align-operands`: rows that TMA cannot read are copied to aligned ones before a product reads them.

A tensor map wants rows that are multiples of 16 bytes apart (CUDA driver API, cuTensorMapEncodeTiled). Without one a
product reads its operands by threads, element by element where rows begin at any element, at a fraction of the tensor
cores' speed. A copy with longer rows moves each operand once more; the product reads the part of it that was there.
What a kernel computes element by element, or stores beside a reduction, for such products alone, it stores with longer
rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from irc.analysis.invariants import FUSED
from irc.analysis.op_classes import is_elementwise, is_made, is_unit_reshape, shape_of
from irc.analysis.product_problem import is_loadable, product_of
from irc.configs.product_instructions import best_instruction
from irc.dialects.kernel import Anchor, FusedOp, YieldOp
from irc.dialects.nd import ConstantOp, PadOp, ReshapeOp, SliceOp
from irc.ir.blocks import ops_in
from irc.ir.discardable import UNREAD
from irc.ir.dtypes import element_of
from irc.ir.iteration import is_broadcast
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, Target, target_of
from irc.support.integers import ceil_div

LINE = 128
"""Bytes to which rows are aligned: those of a box that begin within a line of the L2 take two. On an H200 a product of
4096 x 4096 x 4099 takes 253 us on rows of 8208 bytes, one of 4096 x 4096 x 4093 on rows of 8192 bytes 180."""

STEP_DEPTH = 32
"""Elements along K of a step of a product that reads operands element by element."""


@dataclass(frozen=True)
class AlignOperandsPass(Pass):
    """An operand of a product whose rows begin anywhere -> a copy with rows of a multiple of 128 bytes, by a kernel
    before the product's, and a slice of it in the product. Where the product is too small for the copies to pay, where
    wgmma does not have its types, or where rows of a copy could not be read by TMA either: nothing. A kernel that
    computes the operand element by element, or beside a reduction, for such products alone, stores it with these rows
    itself. A reduction writes no more than before: what is behind its rows is not read.
    """

    name: ClassVar[str] = "align-operands"
    requires = (FUSED,)
    instruction: str | None = None
    """What products are computed with, as of choose-config: where that is not `wgmma`, nothing is copied."""
    always: bool = False
    """Copy also where that is not expected to pay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = target_of(op)
        if not (machine.has_tma and machine.has_wgmma):
            return
        found: dict[FusedOp, list[BlockArgument]] = {}
        for kernel in [inner for inner in ops_in(op) if isinstance(inner, FusedOp) and inner.kind is Anchor.MATMUL]:
            wanted = (kernel.config.instruction if kernel.config is not None else None) or self.instruction
            arguments = _unaligned(kernel)
            if not arguments or wanted not in (None, "wgmma") or not _helps(kernel, arguments, machine):
                continue
            if self.always or _pays(kernel, arguments, machine):
                found[kernel] = arguments
        rows = _Rows({(kernel, argument.index) for kernel, arguments in found.items() for argument in arguments})
        for kernel, arguments in found.items():
            for argument in arguments:
                _align(kernel, argument, rows.aligned(kernel, kernel.inputs[argument.index]))
        rows.drop_unused()


def _unaligned(kernel: FusedOp) -> list[BlockArgument]:
    """The arguments that only products read, as they are, and that no tensor map can load."""
    cores = set(kernel.cores())
    operands = dict.fromkeys(v for core in kernel.cores() for v in core.operands)
    return [
        value
        for value in operands
        if isinstance(value, BlockArgument)
        and len(shape := shape_of(value)) > 1
        and shape[-1] * element_of(value.type).size % TENSOR_MAP_ALIGNMENT
        and all(use.operation in cores for use in value.uses)
    ]


def _helps(kernel: FusedOp, arguments: list[BlockArgument], machine: Target) -> bool:
    """Whether wgmma can multiply the operands as soon as rows are aligned; wider ones go through threads anyway."""
    product = product_of(kernel)
    if product.is_loadable or product.lhs.size > 2:
        return False
    if best_instruction(replace(product, is_loadable=True), machine) != "wgmma":
        return False
    operands = [(core, operand) for core in kernel.cores() for operand in (0, 1)]
    return all(is_loadable(core, at, aligned=core.operands[at] in arguments) for core, at in operands)


def _pays(kernel: FusedOp, arguments: list[BlockArgument], machine: Target) -> bool:
    product, costs = product_of(kernel), machine.costs
    steps = ceil_div(product.k, STEP_DEPTH)
    work = 2 * product.count * product.batch * product.m * product.n * product.k
    fast = work / machine.flops[product.lhs.name]
    saved = max(costs.unaligned * fast, costs.unaligned_step * steps) - fast
    moved = sum(2 * element_of(a.type).size * prod(shape_of(a)) for a in arguments)
    return saved > moved / machine.bandwidth + machine.launch_time * len(arguments)


class _Rows:
    """Arrays with rows of whole lines, each made once. `uses` are the inputs that shall have them, by kernel and
    position."""

    def __init__(self, uses: set[tuple[Operation, int]]):
        self._uses = uses
        self._made: dict[SSAValue, SSAValue] = {}
        self._replaced: list[Operation] = []
        """What made arrays with the rows that they had, in the order in which it may go."""

    def aligned(self, kernel: FusedOp, source: SSAValue) -> SSAValue:
        """The array with longer rows, made before the kernel."""
        if source not in self._made:
            self._made[source] = self._make(kernel, source)
        return self._made[source]

    def _make(self, kernel: FusedOp, source: SSAValue) -> SSAValue:
        owner = source.owner
        if isinstance(owner, ReshapeOp) and _keeps_rows(owner):
            whole = self.aligned(kernel, owner.x)
            view = ReshapeOp(whole, [*shape_of(source)[:-1], shape_of(whole)[-1]], location=owner.location)
            view.result.name_hint = source.name_hint
            _insert_before(kernel, view)
            self._replaced.insert(0, owner)
            return view.result
        if isinstance(owner, FusedOp) and _can_have_longer_rows(owner) and self._is_all(source):
            self._replaced.append(owner)
            return self._with_longer_rows(owner, owner.results.index(source))
        return _copy(kernel, source, source.name_hint or str(len(self._made)))

    def _is_all(self, source: SSAValue) -> bool:
        """Whether all that reads the array, or views of its rows, are inputs that shall have longer ones."""
        return all(
            self._is_all(use.operation.result)
            if isinstance(use.operation, ReshapeOp) and _keeps_rows(use.operation)
            else (use.operation, use.index) in self._uses
            for use in source.uses
        )

    def _with_longer_rows(self, kernel: FusedOp, number: int) -> SSAValue:
        """A result with rows of whole lines, by a kernel that makes the other ones, too."""
        body = kernel.body.clone()
        end = body.block.last_op
        assert isinstance(end, YieldOp)
        zero, pad = _padding(end.operands[number], location_of(kernel))
        if kernel.kind is Anchor.REDUCE:
            pad.attributes[UNREAD] = UnitAttr()
        body.block.insert_ops_before([zero, pad], end)
        end.operands[number] = pad.result
        name = None if kernel.sym_name is None else kernel.sym_name.data
        types = [value.type for value in end.operands]
        new = FusedOp(kernel.inputs, types, kernel.kind, body, sym_name=name, location=kernel.location)
        _insert_before(kernel, new)
        for at, (old, result) in enumerate(zip(kernel.results, new.results, strict=True)):
            result.name_hint = old.name_hint
            if at != number:
                old.replace_all_uses_with(result)
        becomes = dict[SSAValue, SSAValue](zip(kernel.results, new.results, strict=True))
        self._made = {source: becomes.get(made, made) for source, made in self._made.items()}
        return new.results[number]

    def drop_unused(self) -> None:
        """Takes out what nothing reads any more."""
        for op in self._replaced:
            if not any(result.uses for result in op.results):
                op.detach()
                op.erase()


def _keeps_rows(view: ReshapeOp) -> bool:
    before, after = shape_of(view.x), shape_of(view.result)
    return min(len(before), len(after)) > 1 and before[-1] == after[-1]


def _can_have_longer_rows(kernel: FusedOp) -> bool:
    """Whether a kernel makes one array, each element of it from those in its place, or arrays beside a reduction."""
    if kernel.config is not None:
        return False
    if kernel.kind is Anchor.REDUCE:
        return True
    ops = [op for op in kernel.block.ops if op is not kernel.yielded]
    alone = kernel.kind is Anchor.MAP and len(kernel.outputs) == 1
    return alone and all(is_elementwise(op) or is_made(op) or is_broadcast(op) or _is_view_of_rows(op) for op in ops)


def _is_view_of_rows(op: Operation) -> bool:
    return isinstance(op, ReshapeOp) and (_keeps_rows(op) or is_unit_reshape(op))


def _align(kernel: FusedOp, argument: BlockArgument, whole: SSAValue) -> None:
    """Replaces an argument by a slice of one with longer rows."""
    shape = shape_of(argument)
    kernel.operands[argument.index] = whole
    new = kernel.block.insert_arg(whole.type, argument.index)
    new.name_hint, new.location = argument.name_hint, argument.location
    part = SliceOp(new, [0] * len(shape), shape, location=location_of(kernel))
    first = kernel.block.first_op
    assert first is not None
    kernel.block.insert_op_before(part, first)
    argument.replace_all_uses_with(part.result)
    kernel.block.erase_arg(argument)


def _padding(value: SSAValue, location: LocationAttr) -> tuple[ConstantOp, PadOp]:
    """What makes rows of whole lines: zero, and the array with it behind its rows."""
    element, shape = element_of(value.type), shape_of(value)
    step = LINE // element.size
    high = [0] * (len(shape) - 1) + [ceil_div(shape[-1], step) * step - shape[-1]]
    zero = ConstantOp.splat(0, TensorType(element.type, []), location=location)
    return zero, PadOp(value, zero, [0] * len(shape), high, location=location)


def _copy(kernel: FusedOp, source: SSAValue, suffix: str) -> SSAValue:
    """The array with rows of whole lines, made by a kernel before this one and named after it."""
    location = location_of(kernel)
    block = Block(arg_types=[source.type])
    block.args[0].name_hint = source.name_hint
    zero, pad = _padding(block.args[0], location)
    block.add_ops([zero, pad, YieldOp(pad.result, location=location)])
    name = "kernel" if kernel.sym_name is None else kernel.sym_name.data
    copy = FusedOp(
        [source],
        [pad.result.type],
        Anchor.MAP,
        Region(block),
        sym_name=f"{name}_{suffix}_aligned",
        location=location,
    )
    _insert_before(kernel, copy)
    copy.results[0].name_hint = source.name_hint
    return copy.results[0]


def _insert_before(kernel: FusedOp, op: Operation) -> None:
    parent = kernel.parent_block()
    assert parent is not None
    parent.insert_op_before(op, kernel)
