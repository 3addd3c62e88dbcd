"""What the files of canonicalize-nd share: tables of simplifications, and small questions about values.

A simplification is a function of an op and an inserter. It returns the value that replaces the op's result, or None;
it inserts nothing where it returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from irc.dialects import nd
from irc.dialects.nd.declared import is_relaxed, relax
from irc.ir.discardable import DECLARED
from irc.ir.rewriting import Inserter

Simplification: TypeAlias = Callable[[Any, Inserter], SSAValue | None]
Table: TypeAlias = dict[type[Operation], list[Simplification]]
Asked: TypeAlias = dict[type[Operation], list[tuple[Simplification, frozenset[type] | None]]]
OperationT = TypeVar("OperationT", bound=Operation)
SimplificationT = TypeVar("SimplificationT", bound=Callable[[Any, Inserter], SSAValue | None])


_WANTED: dict[Simplification, frozenset[type]] = {}
"""By simplification, the classes of ops one of which has to define an operand."""


def of_operands(*classes: type[Operation]) -> Callable[[SimplificationT], SimplificationT]:
    """Says of a simplification that it does nothing where no operand is defined by an op of these classes. Most ops
    have none of them: they are not asked."""

    def note(simplification: SimplificationT) -> SimplificationT:
        _WANTED[simplification] = frozenset(classes)
        return simplification

    return note


def merged(*tables: Mapping[type[Operation], Sequence[Simplification]]) -> Table:
    """One table with the simplifications of each op in the order of the tables."""
    result: Table = {}
    for table in tables:
        for cls, simplifications in table.items():
            result.setdefault(cls, []).extend(simplifications)
    return result


def for_each(classes: Sequence[type[Operation]], *simplifications: Simplification) -> Table:
    """A table that gives every class the same simplifications."""
    return {cls: list(simplifications) for cls in classes}


@dataclass(eq=False, repr=False)
class SimplifyPattern(RewritePattern):
    """Replaces an op by the first simplification that gives a value: of `general`, then of its class.

    A declared type (`nd.declared`) and `nd.relaxed` move to the new op.
    """

    table: Table
    general: Sequence[Simplification] = ()
    _of: Asked = field(default_factory=Asked)
    """What was asked for: of each class, `general` and its own, each with what it wants of operands."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        simplifications = self._of.get(type(op))
        if simplifications is None:
            every = (*self.general, *self.table.get(type(op), ()))
            simplifications = self._of[type(op)] = [(each, _WANTED.get(each)) for each in every]
        if not simplifications or len(op.results) != 1:
            return
        makers = {type(operand.owner) for operand in op.operands}
        at = None
        for simplify, wanted in simplifications:
            if wanted is not None and wanted.isdisjoint(makers):
                continue
            if at is None:
                if rewriter.insertion_point.insert_before is not op:
                    rewriter.insertion_point = InsertPoint.before(op)
                at = Inserter(rewriter, op.location)
            value = simplify(op, at)
            if value is not None:
                _carry(op, value)
                rewriter.replace(op, (), [value])
                return


def _carry(op: Operation, value: SSAValue) -> None:
    new = value.owner
    if value.first_use is not None or not isinstance(new, Operation):
        return
    if DECLARED in op.attributes:
        new.attributes.setdefault(DECLARED, op.attributes[DECLARED])
    if is_relaxed(op):
        relax(new)


def defined_by(value: SSAValue, cls: type[OperationT]) -> OperationT | None:
    """The op that defines the value, where it is of the class."""
    owner = value.owner
    return owner if isinstance(owner, cls) else None


def splat_of(value: SSAValue) -> bool | int | float | None:
    """The number at every place of a constant, else None."""
    owner = value.owner
    return owner.splat_value if isinstance(owner, nd.ConstantOp) else None


def reshaped_splat(at: Inserter, operand: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The number of a splat, in another shape."""
    value = splat_of(operand)
    assert value is not None
    return at.value(nd.ConstantOp.splat(value, nd.tensor(shape, nd.element_of(operand))))


def is_splat(value: SSAValue, number: bool | int | float) -> bool:
    """Whether the value is a constant that is `number` everywhere; -0.0 and 0.0 are told apart."""
    found = splat_of(value)
    return found is not None and found == number and copysign(1, found) == copysign(1, number)


def splat_like(at: Inserter, number: bool | int | float, value: SSAValue) -> SSAValue:
    """A constant of the value's type."""
    return at.value(nd.ConstantOp.splat(number, nd.type_of(value)))


def rebuilt(at: Inserter, op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
    """The op on other operands, its result of another shape and the same element type."""
    result = nd.tensor(shape, nd.element_of(op.results[0]))
    new = type(op).create(
        operands=operands, result_types=[result], properties=dict(op.properties), attributes=dict(op.attributes)
    )
    return at.value(new)
