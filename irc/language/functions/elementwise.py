"""Elementwise functions, casts, and the composed functions that keep the shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from irc.dialects.nd.base import BOOL, FLOAT, NUMBER, Elements
from irc.dialects.nd.declared import declare, defer, is_relaxed, relax
from irc.dialects.nd.table import ROWS, Row
from irc.language import numbers
from irc.language.arguments import Arguments
from irc.language.functions.registry import BUILTINS, Builtin, builtin
from irc.language.numbers import Number, NumberError
from irc.language.operators import BOOL as BOOL_ELEMENT
from irc.language.operators import common_element, unify
from irc.language.values import Array, Several, Value, describe

_ACCESSORS: dict[Elements, Callable[[Arguments, str], Array]] = {
    FLOAT: Arguments.float_array,
    NUMBER: Arguments.number_array,
    BOOL: Arguments.bool_array,
}


def _function(row: Row) -> Builtin:
    """The function that gives an op of the table."""
    names = row.parameters

    def call(args: Arguments) -> Value:
        operands = [_ACCESSORS[row.op.TAKES](args, *names)] if len(names) == 1 else _unified(args, names)
        if not row.op.TAKES.has(operands[0].element):
            raise args.error(f"{row.name} expects floats, found {operands[0]}", None, "cast them: cast(x, f32)")
        element = BOOL_ELEMENT if row.op.IS_TEST else operands[0].element
        return args.emit(row.name, operands, operands[0].shape, element)

    return Builtin(row.name, f"{row.name}({', '.join(names)})", call)


BUILTINS.update({row.name: _function(row) for row in ROWS.values() if row.is_function})


@builtin('gelu(x, approximate="none")')
def gelu(args: Arguments) -> Value:
    approximate = args.choice("approximate", ("none", "tanh"), "none")
    return args.emit_like("gelu", args.float_array("x"), approximate=approximate)


@builtin("leaky_relu(x, slope)")
def leaky_relu(args: Arguments) -> Value:
    return args.emit_like("leaky_relu", args.float_array("x"), slope=args.real("slope", 0.0))


def _unified(args: Arguments, names: Sequence[str]) -> list[Array]:
    """The arguments as numbers of one type and one shape."""
    operands = [args.operand(name) for name in names]
    for name, (value, _) in zip(names, operands, strict=True):
        if not isinstance(value, Array | Number):
            raise args.wrong(name, "an array or a number")
    what = f"{args.function} cannot take {' and '.join(describe(value) for value, _ in operands)}"
    element = common_element(args.builder, [value for value, _ in operands], args.place, what)
    if element is BOOL_ELEMENT:
        raise args.error(what, None, "it takes numbers: cast(x, i32) makes numbers of a bool")
    return unify(args.builder, operands, element, args.place, what)


@builtin("where(c, a, b)")
def where(args: Arguments) -> Value:
    condition = args.bool_array("c")
    branches = [args.operand("a"), args.operand("b")]
    for name in ("a", "b"):
        if not isinstance(args.value(name), Array | Number):
            raise args.wrong(name, "an array or a number")
    values = [value for value, _ in branches]
    what = f"where cannot choose between {describe(values[0])} and {describe(values[1])}"
    both_bools = all(isinstance(value, Number) and value.kind == "bool" for value in values)
    element = BOOL_ELEMENT if both_bools else common_element(args.builder, values, args.place, what)
    shapes = " and ".join(describe(value) for value in (condition, *values))
    unified = unify(
        args.builder, [args.operand("c"), *branches], element, args.place, f"where cannot broadcast {shapes}"
    )
    return args.emit("where", unified, unified[0].shape, element)


@builtin("cast(x, type)")
def cast(args: Arguments) -> Value:
    element = args.element("type")
    value = args.value("x")
    if isinstance(value, Number):
        return _typed(args, value)
    x = args.array("x")
    return args.emit("cast", [x], x.shape, element)


def _typed(args: Arguments, number: Number) -> Array:
    """A literal that is given its type; a float one is truncated to an integer type."""
    element = args.element("type")
    try:
        if element.kind == "bool":
            number = numbers.boolean(number.value != 0)
        elif number.kind == "bool" or (number.kind == "float" and not element.is_float):
            number = numbers.integer(int(number.value))
    except (NumberError, ValueError, OverflowError):
        raise args.error(f"the literal {number} is out of the range of {element.name}", "x") from None
    return args.builder.literal(number, (), element, args.place)


@builtin("bitcast(x, type)")
def bitcast(args: Arguments) -> Value:
    x, element = args.number_array("x"), args.element("type")
    if element is BOOL_ELEMENT or element.bits != x.element.bits:
        raise args.error(
            f"cannot read the bits of {x} as {element.name}", None, f"a type of {x.element.bits} bits fits"
        )
    return args.emit("bitcast", [x], x.shape, element)


@builtin("declared(x, type)")
def declared_function(args: Arguments) -> Value:
    """Marks the op that computes x as declared narrower than it is computed: for IR after `widen-arithmetic`."""
    declare(_computing(args), args.element("type").type)
    return args.value("x")


@builtin("deferred(x)")
def deferred_function(args: Arguments) -> Value:
    """Marks the cast x as one that the user did not write: for IR after `decompose-nd`."""
    defer(_computing(args))
    return args.value("x")


@builtin("relaxed(x)")
def relaxed_function(args: Arguments) -> Value:
    """Marks the op that computes x as one that may be approximated: for IR after `decompose-nd`."""
    op = _computing(args)
    relax(op)
    if not is_relaxed(op):
        raise args.error(f"relaxed expects an operation that has an approximation, found {op.name}", "x")
    return args.value("x")


def _computing(args: Arguments) -> Operation:
    """The op appended last, which computes x."""
    value = args.value("x")
    first = value.values[0] if isinstance(value, Several) and value.values else value
    last = args.builder.block.last_op
    if last is None or not isinstance(first, Array) or first.value.owner is not last:
        raise args.error(f"{args.function} expects an operation for x", "x", f"as in {args.function}(cast(y, f32))")
    return last


@builtin("softmax(x, axis=-1)", "log_softmax(x, axis=-1)")
def softmax(args: Arguments) -> Value:
    return _along(args)


@builtin("layer_norm(x, axis=-1, eps=1e-5)", "rms_norm(x, axis=-1, eps=1e-6)")
def norm(args: Arguments) -> Value:
    return _along(args, eps=args.real("eps", 1e-5 if args.function == "layer_norm" else 1e-6))


def _along(args: Arguments, **properties: object) -> Array:
    x = args.float_array("x")
    return args.emit_like(args.function, x, axis=args.axis("axis", x.rank, -1), **properties)
