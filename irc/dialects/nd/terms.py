"""`nd` expressions written as arithmetic: `(x - m).exp()` inserts the ops and returns the value.

A `Term` is a value and the place where ops that use it go. A Python number meets a term as a splat of the term's type.
Shapes and element types have to agree, as in the IR: there is no broadcasting but `over`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from irc.dialects.nd.base import element_of, shape_of, tensor
from irc.dialects.nd.creation import ConstantOp, ExtentOp, IotaOp
from irc.dialects.nd.declared import defer
from irc.dialects.nd.elementwise import OPS, CastOp
from irc.dialects.nd.reduce import CumprodOp, CumsumOp, MaxOp, SumOp
from irc.dialects.nd.shape import BroadcastOp, FlipOp, PadOp, PermuteOp, ReshapeOp, SliceOp
from irc.ir.dtypes import Element, accumulator
from irc.ir.extents import dims_of
from irc.ir.rewriting import Inserter
from irc.support.extents import varying

Number: TypeAlias = int | float
Decomposition: TypeAlias = "Callable[[Any, Inserter], Term]"
"""Inserts the ops that replace an op of one class, and returns the value of its result."""
Gradient: TypeAlias = "Callable[[Any, Term], Sequence[Term | None]]"
"""(op, cotangent of its first result) -> a cotangent for each operand: None where nothing flows.

The cotangent has the result's type, what is returned the operand's shape and any float element type; the walk converts
it by a deferred cast. A rule inserts ops at the cotangent's place; those that nothing uses are removed.
"""


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

    def apply(self, op: str, *others: Term | Number) -> Term:
        """An elementwise op by its name, of this term and others."""
        build: Any = OPS[op]
        return self._new(build(self.value, *(self._with(other) for other in others)))

    def _with(self, other: Term | Number) -> SSAValue:
        return other.value if isinstance(other, Term) else self.filled(other).value

    def filled(self, value: Number) -> Term:
        """A splat of this term's type."""
        return splat(self.at, value, self.shape, self.element)

    # Arithmetic

    def __add__(self, other: Term | Number) -> Term:
        return self.apply("add", other)

    def __sub__(self, other: Term | Number) -> Term:
        return self.apply("sub", other)

    def __rsub__(self, other: Number) -> Term:
        return self.filled(other) - self

    def __mul__(self, other: Term | Number) -> Term:
        return self.apply("mul", other)

    def __truediv__(self, other: Term | Number) -> Term:
        return self.apply("div", other)

    def __neg__(self) -> Term:
        return self.apply("neg")

    def __invert__(self) -> Term:
        return self.apply("bitwise_not")

    def __and__(self, other: Term | Number) -> Term:
        return self.apply("bitwise_and", other)

    def __xor__(self, other: Term | Number) -> Term:
        return self.apply("bitwise_xor", other)

    def __or__(self, other: Term | Number) -> Term:
        return self.apply("bitwise_or", other)

    def __lshift__(self, other: Term | Number) -> Term:
        return self.apply("shift_left", other)

    def __rshift__(self, other: Term | Number) -> Term:
        return self.apply("shift_right", other)

    def minimum(self, other: Term | Number) -> Term:
        return self.apply("minimum", other)

    def maximum(self, other: Term | Number) -> Term:
        return self.apply("maximum", other)

    def pow(self, other: Term | Number) -> Term:
        return self.apply("pow", other)

    def floor(self) -> Term:
        return self.apply("floor")

    def sign(self) -> Term:
        return self.apply("sign")

    def exp(self) -> Term:
        return self.apply("exp")

    def log(self) -> Term:
        return self.apply("log")

    def sqrt(self) -> Term:
        return self.apply("sqrt")

    def rsqrt(self) -> Term:
        return self.apply("rsqrt")

    def log1p(self) -> Term:
        return self.apply("log1p")

    def reciprocal(self) -> Term:
        return self.apply("reciprocal")

    def sin(self) -> Term:
        return self.apply("sin")

    def cos(self) -> Term:
        return self.apply("cos")

    def tanh(self) -> Term:
        return self.apply("tanh")

    def erf(self) -> Term:
        return self.apply("erf")

    def sigmoid(self) -> Term:
        return self.apply("sigmoid")

    # Tests and choice

    def __lt__(self, other: Term | Number) -> Term:
        return self.apply("less", other)

    def __le__(self, other: Term | Number) -> Term:
        return self.apply("less_equal", other)

    def __gt__(self, other: Term | Number) -> Term:
        return self.apply("greater", other)

    def __ge__(self, other: Term | Number) -> Term:
        return self.apply("greater_equal", other)

    def equal(self, other: Term | Number) -> Term:
        return self.apply("equal", other)

    def where(self, yes: Term, no: Term) -> Term:
        """This bool term chooses."""
        return self.apply("where", yes, no)

    def zero_where(self, condition: Term) -> Term:
        """0 where the condition holds: unlike by a product with 0 also of inf and NaN."""
        return condition.where(self.filled(0), self)

    def kept_where(self, condition: Term) -> Term:
        """0 where the condition does not hold."""
        return condition.where(self, self.filled(0))

    # Types and shapes

    def cast(self, element: Element) -> Term:
        """Converted to another element type; itself where it already has it."""
        return self if element is self.element else self._new(CastOp(self.value, element))

    def reshape(self, shape: Sequence[int]) -> Term:
        return self if tuple(shape) == self.shape else self._new(ReshapeOp(self.value, shape))

    def broadcast(self, shape: Sequence[int], dims: Sequence[int]) -> Term:
        """To `shape`; axis i goes to axis `dims[i]`."""
        return self._new(BroadcastOp(self.value, shape, dims))

    def permute(self, order: Sequence[int]) -> Term:
        """Axis i of the result is axis `order[i]`."""
        return self if list(order) == sorted(order) else self._new(PermuteOp(self.value, order))

    def flip(self, axes: Sequence[int]) -> Term:
        return self._new(FlipOp(self.value, axes))

    def slice(self, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int] | None = None) -> Term:
        return self._new(SliceOp(self.value, starts, stops, steps))

    def pad(self, low: Sequence[int], high: Sequence[int], value: Number = 0) -> Term:
        """With `value` around it."""
        filling = splat(self.at, value, (), self.element)
        return self._new(PadOp(self.value, filling.value, low, high))

    def over(self, shape: Sequence[int], axes: Sequence[int]) -> Term:
        """What a reduction over `axes` of an array of `shape` gave, spread over that array again."""
        return self.broadcast(shape, [axis for axis in range(len(shape)) if axis not in axes])

    # Reductions

    def sum(self, axes: Sequence[int], element: Element | None = None) -> Term:
        """Accumulated in `element`: by default the term's own, f32 for narrow floats."""
        return self._new(SumOp(self.value, axes, element or accumulator(self.element)))

    def max(self, axes: Sequence[int]) -> Term:
        return self._new(MaxOp(self.value, axes))

    def cumsum(self, axis: int) -> Term:
        return self._new(CumsumOp(self.value, axis))

    def cumprod(self, axis: int) -> Term:
        return self._new(CumprodOp(self.value, axis))


def splat(at: Inserter, value: Number, shape: Sequence[int], element: Element) -> Term:
    """An array of one value."""
    return Term(at.value(ConstantOp.splat(value, tensor(shape, element))), at)


def iota(at: Inserter, shape: Sequence[int], axis: int, element: Element) -> Term:
    """The index along `axis`."""
    return Term(at.value(IotaOp(tensor(shape, element), axis)), at)


def count_of(x: Term, axes: Sequence[int], shape: Sequence[int], element: Element) -> Term | float:
    """How many elements `x` has along axes, to calculate with; an array of a shape and an element type where that is
    known when the program is called."""
    count = prod(x.shape[axis] for axis in axes)
    if not varying(count, dims_of(x.value.owner)):
        return float(count)
    return Term(x.at.value(ExtentOp(count, shape)), x.at).cast(element)


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
