"""widen-arithmetic: arithmetic on f16, bf16 and f8 becomes f32, and every rounding an `nd.cast`.

A value that the user declared narrow is computed in f32 and not rounded; its op carries `nd.declared = bf16`. It is
rounded by an inserted cast, once, only where docs/language.md (Numbers) says that it is seen or asked for:

- results of the function, what a tile program stores and what its loops carry,
- operands of `matmul`, `grouped_matmul`, `conv` and `attention`, of `bitcast`, and of collectives,
- casts to a narrow type that the user wrote. A cast that a decomposition left (`nd.deferred`) rounds nothing.

A cast by the user from a widened value to f32 is the value itself, no longer declared narrow. Where a decomposition
left the cast, what reshapes and permutes the value is declared narrow, too. Products of narrow operands give the f32
accumulator. Ops that only move elements keep a narrow operand narrow (an argument, a rounded value) and move a widened
one in f32. `sum` and `prod` get their operand in the type that they accumulate in, also for integers. Other integer ops
stay.

With `strict-rounding` every op rounds its result to the declared type at once, as eager frameworks do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from irc.dialects import nd
from irc.dialects.nd.declared import declare, is_deferred
from irc.ir.discardable import DECLARED, DEFERRED, STRICT
from irc.ir.dtypes import Element, element_named, element_of
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, remove_dead_code

MOVES = (nd.IndexMapOp, nd.TriangleOp, nd.TakeOp, nd.TakeAlongOp, nd.WhereOp, nd.SortOp, nd.TopkOp)
"""Ops whose float results are elements of their operands (or zero)."""

ROUNDED = (nd.AttentionFamilyOp, nd.BitcastOp, nd.CollectiveOp)
"""Ops that take rounded operands and give a rounded result."""


@dataclass(frozen=True)
class WidenArithmeticPass(Pass):
    """Computes narrow floats in f32 and makes every rounding an nd.cast."""

    name = "widen-arithmetic"

    strict_rounding: bool = False
    """Round the result of every op to its declared type, as eager frameworks do."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strict_rounding:
            op.attributes[STRICT] = UnitAttr()
        for symbol in op.ops:
            for region in symbol.regions:
                for block in region.blocks:
                    _Widening(self.strict_rounding).run(block)
            remove_dead_code(symbol)


def _declare_moved(value: SSAValue, element: Attribute) -> None:
    """What only takes the value to another shape or order is declared as it is."""
    for op in [use.operation for use in value.uses if isinstance(use.operation, nd.ReshapeOp | nd.PermuteOp)]:
        declare(op, element)
        _declare_moved(op.results[0], element)


def is_narrow(type: Attribute) -> bool:
    """Whether the type is a tensor of f16, bf16 or f8."""
    return isinstance(type, TensorType) and element_of(type).is_narrow_float


@dataclass
class _Widening:
    """One walk over a block and those in it, in order. Keys of the maps are values of the program as it was, of narrow
    type."""

    strict: bool
    unrounded: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The f32 value that stands for a narrow one that is computed wider."""
    rounded: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The narrow value, once something needed it, for keys of `unrounded`."""
    widened: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The exact f32 copy of a value that is narrow: an argument, a constant, an explicit cast."""
    replaced: list[Operation] = field(default_factory=list[Operation])

    def run(self, block: Block) -> None:
        self._walk(block)
        for op in reversed(self.replaced):
            op.detach()
            op.erase()

    def _walk(self, block: Block) -> None:
        for op in list(block.ops):
            self._visit(op)
            if not op.has_trait(IsolatedFromAbove):
                for inner in (inner for region in op.regions for inner in region.blocks):
                    self._walk(inner)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, nd.AccumulateOp | nd.ReduceWindowOp):
            self._accumulate(op)
            return
        if not any(is_narrow(value.type) for value in (*op.operands, *op.results)):
            return
        match op:
            case nd.CastOp():
                self._cast(op)
            case nd.IotaOp():
                self._iota(op)
            case nd.MatmulOp() if op.precision.data == "f16":
                self._take_rounded(op)
            case nd.MatmulOp() | nd.GroupedMatmulOp() | nd.ConvOp():
                self._product(op)
            case nd.ConstantOp():
                return
            case _ if isinstance(op, MOVES):
                self._move(op)
            case nd.NdOp() if not isinstance(op, ROUNDED):
                self._compute(op, [self.wide(operand, op) for operand in op.operands])
            case _:
                self._take_rounded(op)

    # Operands

    def wide(self, value: SSAValue, user: Operation) -> SSAValue:
        """The f32 value to compute with, inserted before `user` where it is new; the value itself where it is not
        narrow."""
        if not is_narrow(value.type):
            return value
        if value in self.unrounded:
            return self.unrounded[value]
        if value not in self.widened:
            self.widened[value] = self._widen(value, user)
        return self.widened[value]

    def _widen(self, value: SSAValue, user: Operation) -> SSAValue:
        at = _beside(value, user)
        constant = value.owner
        if isinstance(constant, nd.ConstantOp) and constant.splat_value is not None:
            return at.value(nd.ConstantOp.splat(constant.splat_value, nd.tensor(nd.shape_of(value), _f32())))
        return _hinted(at.value(nd.CastOp(value, _f32())), value)

    def narrow(self, value: SSAValue, user: Operation) -> SSAValue:
        """The value rounded to its declared type, inserted before `user` where it is new."""
        if value not in self.unrounded:
            return value
        if value not in self.rounded:
            cast = nd.CastOp(self.unrounded[value], element_of(value.type))
            self.rounded[value] = _hinted(_beside(value, user).value(cast), value)
        return self.rounded[value]

    # Ops

    def _take_rounded(self, op: Operation) -> None:
        """The op stays; it sees rounded values."""
        for index, operand in enumerate(op.operands):
            if operand in self.unrounded:
                op.operands[index] = self.narrow(operand, op)

    def _move(self, op: Operation) -> None:
        """In f32 where a moved value is not rounded, else in the narrow type."""
        if any(operand in self.unrounded for operand in op.operands):
            self._compute(op, [self.wide(operand, op) for operand in op.operands])

    def _product(self, op: nd.MatmulOp | nd.GroupedMatmulOp | nd.ConvOp) -> None:
        """Of rounded operands; a narrow result is the unrounded f32 accumulator. f64 accumulates and rounds by
        itself."""
        self._take_rounded(op)
        if is_narrow(op.result.type) and element_of(op.operands[0].type).name != "f64":
            self._compute(op, op.operands)

    def _accumulate(self, op: nd.AccumulateOp | nd.ReduceWindowOp) -> None:
        """The operand in the type that is accumulated in; a narrow result is the unrounded accumulator."""
        target = element_of(op.result.type)
        wide = _f32() if target.is_narrow_float else target
        x = self.wide(op.x, op)
        if element_of(x.type) is not wide:
            x = Inserter.before(op).value(nd.CastOp(x, wide))
        if x is not op.x or target is not wide:
            self._compute(op, [x])

    def _iota(self, op: nd.IotaOp) -> None:
        """Counted in i64, then rounded: an index beyond the type's digits is what it rounds to."""
        at = Inserter.before(op)
        index = at.value(nd.IotaOp(nd.tensor(nd.shape_of(op.result), element_named("i64")), op.axis.value.data))
        self._replace(op, [at.value(nd.CastOp(index, element_of(op.result.type)))])

    def _cast(self, op: nd.CastOp) -> None:
        target = element_of(op.result.type)
        source = self.unrounded.get(op.x, op.x)
        if target is _f32():
            self._cast_to_f32(op)
        elif target.is_narrow_float and is_deferred(op) and element_of(source.type) is _f32():
            self._keep_wide(op, source)
        else:
            op.operands[0] = source
            op.attributes.pop(DEFERRED, None)

    def _cast_to_f32(self, op: nd.CastOp) -> None:
        """The f32 value itself. Where the user wrote the cast, it is declared f32 from here on."""
        value = self.wide(op.x, op)
        if not is_deferred(op) and isinstance(value.owner, Operation):
            value.owner.attributes.pop(DECLARED, None)
        elif op.x in self.unrounded and not self.strict:
            _declare_moved(op.result, element_of(op.x.type).type)
        self._replace(op, [value])

    def _keep_wide(self, op: nd.CastOp, source: SSAValue) -> None:
        """The cast is dropped: its f32 operand stands for the narrow result."""
        if self.strict:
            op.attributes.pop(DEFERRED, None)
            return
        if isinstance(source.owner, Operation) and source.has_one_use():
            declare(source.owner, element_of(op.result.type).type)
        self.unrounded[op.result] = source
        self.replaced.append(op)

    def _compute(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        """Rebuilds the op on other operands with f32 in place of narrow results."""
        new = type(op).create(
            operands=operands,
            result_types=[_wide_type(result.type) for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            location=op.location,
        )
        narrow = [result for result in op.results if is_narrow(result.type)]
        if narrow and not self.strict:
            declare(new, element_of(narrow[0].type).type)
        self._replace(op, Inserter.before(op)(new).results)

    def _replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """`values` stand for the op's results: as they are, or unrounded ones for narrow results."""
        self.replaced.append(op)
        for old, new in zip(op.results, values, strict=True):
            _hinted(new, old)
            if new.type == old.type:
                old.replace_all_uses_with(new)
            elif self.strict:
                at = Inserter.before(op)
                old.replace_all_uses_with(_hinted(at.value(nd.CastOp(new, element_of(old.type))), old))
            else:
                self.unrounded[old] = new


def _beside(value: SSAValue, user: Operation) -> Inserter:
    """Before a user of the value, in the value's own block: users further in share what is made of it."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while user.parent is not block:
        outer = user.parent_op()
        assert outer is not None
        user = outer
    return Inserter.before(user)


def _f32() -> Element:
    return element_named("f32")


def _wide_type(type: Attribute) -> Attribute:
    return nd.tensor(nd.shape_of(type), _f32()) if is_narrow(type) else type


def _hinted(value: SSAValue, like: SSAValue) -> SSAValue:
    """The value, named like another where it has no name."""
    if value.name_hint is None:
        value.name_hint = like.name_hint
    return value
