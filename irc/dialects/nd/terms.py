"""`nd` expressions written as arithmetic: `(x - m).exp()` inserts the ops and returns the value.

A `Term` is a value and the place where ops that use it go. A Python number meets a term as a splat of the term's type.
Shapes and element types have to agree, as in the IR: there is no broadcasting but `over`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.declared import defer
from irc.ir.dtypes import Element, accumulator
from irc.ir.rewriting import Inserter

Number: TypeAlias = int | float
Decomposition: TypeAlias = "Callable[[Any, Inserter], Term]"
"""Inserts the ops that replace an op of one class, and returns the value of its result."""


@dataclass(frozen=True)
class Term:
    """An `nd` value; operators and methods insert ops at `at` and return their result."""

    value: SSAValue
    at: Inserter

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def element(self) -> Element:
        return element_of(self.value)

    @property
    def op(self) -> Operation:
        """The op that defines the value."""
        assert isinstance(self.value.owner, Operation)
        return self.value.owner

    def _new(self, op: Operation) -> Term:
        return Term(self.at.value(op), self.at)

    def _with(self, other: Term | Number) -> SSAValue:
        return other.value if isinstance(other, Term) else self.filled(other).value

    def filled(self, value: Number) -> Term:
        """A splat of this term's type."""
        return splat(self.at, value, self.shape, self.element)

    # Arithmetic

    def __add__(self, other: Term | Number) -> Term:
        return self._new(nd.AddOp(self.value, self._with(other)))

    def __sub__(self, other: Term | Number) -> Term:
        return self._new(nd.SubOp(self.value, self._with(other)))

    def __rsub__(self, other: Number) -> Term:
        return self.filled(other) - self

    def __mul__(self, other: Term | Number) -> Term:
        return self._new(nd.MulOp(self.value, self._with(other)))

    def __truediv__(self, other: Term | Number) -> Term:
        return self._new(nd.DivOp(self.value, self._with(other)))

    def __neg__(self) -> Term:
        return self._new(nd.NegOp(self.value))

    def __invert__(self) -> Term:
        return self._new(nd.BitwiseNotOp(self.value))

    def __and__(self, other: Term | Number) -> Term:
        return self._new(nd.BitwiseAndOp(self.value, self._with(other)))

    def __xor__(self, other: Term | Number) -> Term:
        return self._new(nd.BitwiseXorOp(self.value, self._with(other)))

    def __or__(self, other: Term | Number) -> Term:
        return self._new(nd.BitwiseOrOp(self.value, self._with(other)))

    def __lshift__(self, other: Term | Number) -> Term:
        return self._new(nd.ShiftLeftOp(self.value, self._with(other)))

    def __rshift__(self, other: Term | Number) -> Term:
        return self._new(nd.ShiftRightOp(self.value, self._with(other)))

    def minimum(self, other: Term | Number) -> Term:
        return self._new(nd.MinimumOp(self.value, self._with(other)))

    def maximum(self, other: Term | Number) -> Term:
        return self._new(nd.MaximumOp(self.value, self._with(other)))

    def pow(self, other: Term | Number) -> Term:
        return self._new(nd.PowOp(self.value, self._with(other)))

    def floor(self) -> Term:
        return self._new(nd.FloorOp(self.value))

    def sign(self) -> Term:
        return self._new(nd.SignOp(self.value))

    def exp(self) -> Term:
        return self._new(nd.ExpOp(self.value))

    def log(self) -> Term:
        return self._new(nd.LogOp(self.value))

    def sqrt(self) -> Term:
        return self._new(nd.SqrtOp(self.value))

    def rsqrt(self) -> Term:
        return self._new(nd.RsqrtOp(self.value))

    def log1p(self) -> Term:
        return self._new(nd.Log1pOp(self.value))

    def reciprocal(self) -> Term:
        return self._new(nd.ReciprocalOp(self.value))

    def sin(self) -> Term:
        return self._new(nd.SinOp(self.value))

    def cos(self) -> Term:
        return self._new(nd.CosOp(self.value))

    def tanh(self) -> Term:
        return self._new(nd.TanhOp(self.value))

    def erf(self) -> Term:
        return self._new(nd.ErfOp(self.value))

    def sigmoid(self) -> Term:
        return self._new(nd.SigmoidOp(self.value))

    # Tests and choice

    def __lt__(self, other: Term | Number) -> Term:
        return self._new(nd.LessOp(self.value, self._with(other)))

    def __le__(self, other: Term | Number) -> Term:
        return self._new(nd.LessEqualOp(self.value, self._with(other)))

    def __gt__(self, other: Term | Number) -> Term:
        return self._new(nd.GreaterOp(self.value, self._with(other)))

    def __ge__(self, other: Term | Number) -> Term:
        return self._new(nd.GreaterEqualOp(self.value, self._with(other)))

    def equal(self, other: Term | Number) -> Term:
        return self._new(nd.EqualOp(self.value, self._with(other)))

    def where(self, yes: Term, no: Term) -> Term:
        """This bool term chooses."""
        return self._new(nd.WhereOp(self.value, yes.value, no.value))

    # Types and shapes

    def cast(self, element: Element) -> Term:
        """Converted to another element type; itself where it already has it."""
        return self if element is self.element else self._new(nd.CastOp(self.value, element))

    def reshape(self, shape: Sequence[int]) -> Term:
        return self if tuple(shape) == self.shape else self._new(nd.ReshapeOp(self.value, shape))

    def broadcast(self, shape: Sequence[int], dims: Sequence[int]) -> Term:
        """To `shape`; axis i goes to axis `dims[i]`."""
        return self._new(nd.BroadcastOp(self.value, shape, dims))

    def permute(self, order: Sequence[int]) -> Term:
        """Axis i of the result is axis `order[i]`."""
        return self if list(order) == sorted(order) else self._new(nd.PermuteOp(self.value, order))

    def flip(self, axes: Sequence[int]) -> Term:
        return self._new(nd.FlipOp(self.value, axes))

    def slice(self, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int] | None = None) -> Term:
        return self._new(nd.SliceOp(self.value, starts, stops, steps))

    def pad(self, low: Sequence[int], high: Sequence[int], value: Number = 0) -> Term:
        """With `value` around it."""
        filling = splat(self.at, value, (), self.element)
        return self._new(nd.PadOp(self.value, filling.value, low, high))

    def over(self, shape: Sequence[int], axes: Sequence[int]) -> Term:
        """What a reduction over `axes` of an array of `shape` gave, spread over that array again."""
        return self.broadcast(shape, [axis for axis in range(len(shape)) if axis not in axes])

    # Reductions

    def sum(self, axes: Sequence[int], element: Element | None = None) -> Term:
        """Accumulated in `element`: by default the term's own, f32 for narrow floats."""
        return self._new(nd.SumOp(self.value, axes, element or accumulator(self.element)))

    def max(self, axes: Sequence[int]) -> Term:
        return self._new(nd.MaxOp(self.value, axes))

    def cumsum(self, axis: int) -> Term:
        return self._new(nd.CumsumOp(self.value, axis))

    def cumprod(self, axis: int) -> Term:
        return self._new(nd.CumprodOp(self.value, axis))


def splat(at: Inserter, value: Number, shape: Sequence[int], element: Element) -> Term:
    """An array of one value."""
    return Term(at.value(nd.ConstantOp.splat(value, nd.tensor(shape, element))), at)


def iota(at: Inserter, shape: Sequence[int], axis: int, element: Element) -> Term:
    """The index along `axis`."""
    return Term(at.value(nd.IotaOp(nd.tensor(shape, element), axis)), at)


def widened(value: SSAValue, at: Inserter) -> Term:
    """The value in the type that arithmetic on it is done in; the cast is deferred, as the user did not ask for it."""
    return wide(Term(value, at))


def wide(term: Term) -> Term:
    """The term in the type that arithmetic on it is done in, by a deferred cast."""
    return deferred_cast(term, accumulator(term.element))


def narrowed(term: Term, op: Operation) -> Term:
    """The term in the element type of the op that it replaces, by a deferred cast where that is another."""
    return deferred_cast(term, element_of(op.results[0]))


def deferred_cast(term: Term, element: Element) -> Term:
    """A cast that the user did not write; the term itself where it has the element type."""
    result = term.cast(element)
    if result is not term:
        defer(result.op)
    return result
