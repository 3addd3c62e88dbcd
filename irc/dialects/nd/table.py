"""The table of the elementwise ops: a row says what is known of an op, and everything that treats ops alike reads it:
the verifier, the language, `irc_frontend`, the interpreters, gradients, decompositions, costs, kernels.

A row is the class of its op under a decorator:

    @unary_row(np.tanh, "math.tanh", gradient=lambda g, x, y: g * (1 - y * y), cost=Cost.LONG, aten="tanh")
    class TanhOp(UnaryOp):
        "The hyperbolic tangent."
        name = "nd.tanh"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition

from irc.dialects.nd.elementwise import OPS, Elementwise
from irc.dialects.nd.terms import Decomposition, Gradient, Term, narrowed, wide, widened
from irc.ir.dtypes import element_named

OpT = TypeVar("OpT", bound=Elementwise)
Scalar: TypeAlias = str | tuple[str, ...]
"""By name, an op of `arith` or `math`; or one for each of floats, signed and unsigned integers (the scalar itself where
there is none), of comparisons their predicates; or a function of `irc/tiling/scalar_code.py`, which imports those
dialects. Empty: decompose-nd takes the op apart."""
OfUnary: TypeAlias = "Callable[[Term, Term, Term], Term]"
"""(g, x, y): the cotangent of the result, the operand, the result."""
OfBinary: TypeAlias = "Callable[[Term, Term, Term, Term], tuple[Term | None, Term | None]]"
"""(g, a, b, y): the cotangent of the result, the operands, the result."""


class Cost(Enum):
    """What a scalar function is for a machine, for each element."""

    CHEAP = "an instruction or two"
    SHORT = "several instructions, or one of the special function unit"
    LONG = "many instructions: what several loops use is computed once for all"


class Fields(TypedDict, total=False):
    """What a row may say beside what it has to: the fields of `Row`."""

    cost: Cost
    instructions: int
    is_relaxable: bool
    decomposition: Decomposition
    symbol: str
    is_function: bool
    parameters: tuple[str, ...]
    aten: str


@dataclass(frozen=True)
class Row:
    """What is known of an elementwise op beside the types, which its class has.

    numpy: the result of arrays, and of the op's properties by name; of narrow floats in f32.
    scalar: how a kernel computes it.
    gradient: None of an op through which nothing flows, as it takes or gives no floats. At points without a derivative
    it follows torch.
    cost, instructions: how much it is, and about how many machine instructions for an element of f32.
    is_relaxable: whether a function exists that is cheaper and off by up to about 2 ** -20 of the result.
    decomposition: what decompose-nd makes of it, with the same NaN and infinities.
    symbol, is_function, parameters: how the language spells it: an operator, a function, the names of its parameters.
    aten: PyTorch's op that means the same, of the result type that the class says.
    """

    op: type[Elementwise]
    numpy: Callable[..., Any]
    scalar: Scalar
    gradient: Gradient | None = None
    cost: Cost = Cost.CHEAP
    instructions: int = 10
    is_relaxable: bool = False
    decomposition: Decomposition | None = None
    symbol: str = ""
    is_function: bool = False
    parameters: tuple[str, ...] = ()
    aten: str = ""

    @property
    def name(self) -> str:
        """The op's name without `nd.`."""
        return self.op.name.removeprefix("nd.")

    @property
    def carries_floats(self) -> bool:
        """Whether it has a float result of float operands."""
        return self.op.TAKES.has(element_named("f32")) and not self.op.IS_TEST


ROWS: dict[type[Operation], Row] = {}
"""By op."""


def row_named(name: str) -> Row | None:
    """The row of an elementwise op, by its name without `nd.`."""
    op = OPS.get(name)
    return None if op is None else ROWS.get(op)


def defined_in(module: str) -> list[str]:
    """The names of the classes of rows that a module has."""
    return [op.__name__ for op in ROWS if op.__module__ == module]


def row(
    numpy: Callable[..., Any],
    scalar: Scalar,
    gradient: Gradient | None = None,
    **fields: Unpack[Fields],
) -> Callable[[type[OpT]], type[OpT]]:
    """Defines the op of a class, and its row."""

    def define(cls: type[OpT]) -> type[OpT]:
        op = irdl_op_definition(cls)
        is_cheap = fields.get("cost", Cost.CHEAP) is Cost.CHEAP
        names = tuple(name for name, _ in op.get_irdl_definition().operands)
        defaults: Fields = {
            "instructions": 1 if is_cheap else 10,
            "is_function": not fields.get("symbol"),
            "parameters": ("x", "y") if len(names) == 2 else names,
        }
        known: Fields = {**defaults, **fields}
        entry = ROWS[op] = Row(op, numpy, scalar, gradient, **known)
        OPS[entry.name] = op
        op.RELAXABLE = entry.is_relaxable
        return op

    return define


def unary_row(
    numpy: Callable[..., Any],
    scalar: Scalar,
    gradient: OfUnary | None = None,
    **fields: Unpack[Fields],
) -> Callable[[type[OpT]], type[OpT]]:
    """An op of one operand. The gradient is a formula, which gets the op's properties by name, too."""

    def rule(op: Any, g: Term) -> list[Term | None]:
        assert gradient is not None
        formula: Callable[..., Term] = gradient
        return [formula(wide(g), widened(op.x, g.at), widened(op.result, g.at), **op.options())]

    return row(numpy, scalar, gradient and rule, **fields)


def binary_row(
    numpy: Callable[..., Any],
    scalar: Scalar,
    gradient: OfBinary | None = None,
    **fields: Unpack[Fields],
) -> Callable[[type[OpT]], type[OpT]]:
    """An op of two operands."""

    def rule(op: Any, g: Term) -> tuple[Term | None, Term | None]:
        assert gradient is not None
        a, b, y = (widened(value, g.at) for value in (op.lhs, op.rhs, op.result))
        return gradient(wide(g), a, b, y)

    return row(numpy, scalar, gradient and rule, **fields)


def flat(op: Elementwise, g: Term) -> list[Term | None]:
    """The gradient of what is constant between jumps."""
    return [None] * len(op.operands)


def composed(formula: Callable[..., Term]) -> Decomposition:
    """The decomposition by a formula of the operands and the properties, in f32 where they are narrower."""

    def decompose(op: Any, at: Any) -> Term:
        return narrowed(formula(*(widened(x, at) for x in op.operands), **op.options()), op)

    return decompose
