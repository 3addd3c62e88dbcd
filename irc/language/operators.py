"""What the operators mean: numbers are computed, literals take the type of the array they meet, shapes broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from irc.dialects.nd.table import ROWS
from irc.ir.dtypes import Element, element_named
from irc.language import numbers
from irc.language.builder import Builder, broadcast_shapes
from irc.language.numbers import Number, NumberError
from irc.language.syntax import SourceRange
from irc.language.values import Array, Value, describe

_VERBS = {
    "+": "add {} and {}",
    "-": "subtract {1} from {0}",
    "*": "multiply {} and {}",
    "/": "divide {} by {}",
    "//": "divide {} by {}",
    "%": "take {} modulo {}",
    "**": "raise {} to {}",
    "<<": "shift {} by {}",
    ">>": "shift {} by {}",
    "@": "multiply the matrices {} and {}",
}
"""`cannot ...` for two operands; the others say `combine by`."""
_ROWS = {row.symbol: row for row in ROWS.values() if row.symbol and len(row.parameters) == 2}
"""What operators between two operands mean."""
BOOL = element_named("bool")

Operand = tuple[Value, SourceRange]
"""A value and the place of its expression."""


def binary(builder: Builder, op: str, left: Operand, right: Operand, place: SourceRange) -> Array | Number:
    """`left op right`, without `@`."""
    a, b = left[0], right[0]
    if isinstance(a, Number) and isinstance(b, Number):
        try:
            return numbers.binary(op, a, b)
        except NumberError as error:
            raise builder.rejected(error, place) from None
    _check_arrays(builder, (left, right))
    what = _phrase(op, a, b)
    element = common_element(builder, (a, b), place, what)
    _check_element(builder, op, element, what, place)
    _check_exponent(builder, op, element, left, right)
    x, y = unify(builder, (left, right), element, place, what)
    row = _ROWS[op]
    return builder.emit(row.name, [x, y], x.shape, BOOL if row.op.IS_TEST else element, place)


def _phrase(op: str, a: Value, b: Value) -> str:
    return "cannot " + _VERBS.get(op, f"combine {{}} and {{}} by `{op}`").format(describe(a), describe(b))


def _check_arrays(builder: Builder, operands: Sequence[Operand]) -> None:
    for value, place in operands:
        if not isinstance(value, Array | Number):
            raise builder.error(f"expected an array or a number, found {describe(value)}", place)


def common_element(builder: Builder, values: Sequence[Value], place: SourceRange, what: str) -> Element:
    """The element type of the arrays among `values`, which must agree. `what` begins the message where they do not."""
    elements = {value.element.name: value.element for value in values if isinstance(value, Array)}
    if len(elements) > 1:
        name = max(elements.values(), key=lambda e: (e.is_float, e.size)).name
        raise builder.error(what, place, f"element types must be the same: cast one of them, as in cast(x, {name})")
    if not elements:
        literals = " and ".join(describe(value) for value in values)
        raise builder.error(f"nothing gives {literals} an element type", place, "give one its type: cast(1, f32)")
    return next(iter(elements.values()))


def _check_element(builder: Builder, op: str, element: Element, what: str, place: SourceRange) -> None:
    """The operator takes the element type."""
    takes = _ROWS[op].op.TAKES
    if takes.has(element):
        return
    if element is BOOL:
        hint = "bool takes `& | ^ ~`, comparisons and where: cast(x, i32) makes numbers of it"
    elif element.is_float:
        hint = f"`{op}` takes {'integers and bools' if takes.has(BOOL) else 'integers'}"
    else:
        hint = "integers are divided by `//`; or cast to a float type: cast(x, f32)"
    raise builder.error(what, place, hint)


def _check_exponent(builder: Builder, op: str, element: Element, left: Operand, right: Operand) -> None:
    """`**` on integers takes literals that are not negative; shifts take literal amounts that are not negative."""
    value, place = right
    if op == "**" and not element.is_float:
        if not isinstance(value, Number):
            raise builder.error(
                f"the exponent of an integer must be a literal, found {describe(value)}",
                place,
                "use pow(x, y), or cast both to a float type: cast(x, f32) ** cast(y, f32)",
            )
        if value.value < 0:
            raise builder.error(
                f"a negative exponent of {describe(left[0])}", place, "cast it to a float type: cast(x, f32)"
            )
    if op in ("<<", ">>") and isinstance(value, Number) and value.value < 0:
        raise builder.error("a shift by a negative amount", place, "shift the other way")


def unify(
    builder: Builder, operands: Sequence[Operand], element: Element, place: SourceRange, what: str
) -> list[Array]:
    """Arrays of one shape: literals become splats of `element`, arrays are broadcast. In the order of the operands."""
    arrays = [value for value, _ in operands if isinstance(value, Array)]
    shape = broadcast_shapes([array.shape for array in arrays])
    if shape is None:
        raise builder.error(what, place, "shapes broadcast where extents, counted from the last, are equal or 1")
    unified: list[Array] = []
    for value, value_place in operands:
        if isinstance(value, Number):
            unified.append(builder.literal(value, shape, element, value_place))
        elif isinstance(value, Array):
            unified.append(builder.broadcast(value, shape, value_place))
    return unified


def unary(builder: Builder, op: str, operand: Operand, place: SourceRange) -> Array | Number:
    """`-x`, `+x`, `~x`."""
    value = operand[0]
    if isinstance(value, Number):
        try:
            return numbers.unary(op, value)
        except NumberError as error:
            raise builder.rejected(error, place) from None
    if not isinstance(value, Array):
        raise builder.error(f"`{op}` takes an array or a number, found {describe(value)}", place)
    if op == "~":
        if value.element.is_float:
            raise builder.error(f"`~` takes integers and bools, found {value}", place)
        return builder.emit("bitwise_not", [value], value.shape, value.element, place)
    if value.element is BOOL:
        raise builder.error(
            f"`{op}` takes numbers, found {value}", place, "`~x` negates a bool; cast(x, i32) makes a number"
        )
    return value if op == "+" else builder.emit("neg", [value], value.shape, value.element, place)


def product_element(element: Element) -> Element:
    """The element type that `@` gives for operands of `element`."""
    if element.name in ("f8e4m3", "f8e5m2"):
        return element_named("f32")
    return element_named("i32") if element.name in ("i8", "u8") else element


def matmul(
    builder: Builder,
    left: Operand,
    right: Operand,
    place: SourceRange,
    element: Element | None = None,
    precision: str = "default",
) -> Array:
    """`left @ right`: numpy.matmul. Batches of one operand alone become its free axes where that needs no transpose."""
    a, b = matrices(builder, left, right, place)
    what = _phrase("@", a, b)
    if not a.rank or not b.rank:
        raise builder.error(
            what, place, "a matrix product takes arrays of one axis or more; `*` multiplies by a scalar"
        )
    row, column = a.rank - 1, max(b.rank - 2, 0)
    if a.shape[row] != b.shape[column]:
        hint = f"the extents that are summed over must be equal, found {a.shape[row]} and {b.shape[column]}"
        raise builder.error(what, place, hint)
    batches = 0
    if a.rank > 1 and b.rank > 2:
        a, b, batches = _batched(builder, a, b, what, place)
        row, column = a.rank - 1, b.rank - 2
    return emit_matmul(
        builder,
        (a, b),
        (range(batches), range(batches), [row], [column]),
        element or product_element(a.element),
        precision,
        place,
    )


def matrices(builder: Builder, left: Operand, right: Operand, place: SourceRange) -> tuple[Array, Array]:
    """The operands of a matrix product: two arrays of one number type, or of two f8 types."""
    a, b = left[0], right[0]
    for value, value_place in (left, right):
        if not isinstance(value, Array):
            raise builder.error(f"a matrix product takes arrays, found {describe(value)}", value_place)
    assert isinstance(a, Array) and isinstance(b, Array)
    what = _phrase("@", a, b)
    if all(value.element.is_float and value.element.size == 1 for value in (a, b)):
        return a, b
    if common_element(builder, (a, b), place, what) is BOOL:
        raise builder.error(what, place, "cast them to a number type: cast(x, i32)")
    return a, b


def _batched(builder: Builder, a: Array, b: Array, what: str, place: SourceRange) -> tuple[Array, Array, int]:
    """Operands whose leading axes are broadcast to one shape of batches, and how many those are."""
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    if batch is None:
        raise builder.error(what, place, "leading extents broadcast where they are equal or 1")
    a = builder.broadcast(a, (*batch, *a.shape[-2:]), place)
    return a, builder.broadcast(b, (*batch, *b.shape[-2:]), place), len(batch)


def emit_matmul(
    builder: Builder,
    operands: tuple[Array, Array],
    axes: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
    element: Element,
    precision: str,
    place: SourceRange,
) -> Array:
    """`nd.matmul` with these lhs and rhs batch axes, lhs and rhs contracted axes."""
    a, b = operands
    lhs_batch, rhs_batch, lhs_contract, rhs_contract = axes
    shape = (
        *(a.shape[i] for i in lhs_batch),
        *(a.shape[i] for i in range(a.rank) if i not in lhs_batch and i not in lhs_contract),
        *(b.shape[i] for i in range(b.rank) if i not in rhs_batch and i not in rhs_contract),
    )
    properties = {
        "lhs_batch": lhs_batch,
        "rhs_batch": rhs_batch,
        "lhs_contract": lhs_contract,
        "rhs_contract": rhs_contract,
        "precision": precision,
    }
    return builder.emit("matmul", [a, b], shape, element, place, properties)
