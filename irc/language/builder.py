"""Builds `nd` ops for a function: types, locations, literals that take a type, explicit broadcasts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects.nd import ConstantOp, ElementsAttr, ExtentOp, Nd
from irc.ir.dtypes import Element, element_named
from irc.ir.properties import attribute_of
from irc.language.numbers import Number, NumberError, fit
from irc.language.syntax import SourceRange, span_of
from irc.language.values import Array, array_of, tensor_type
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, extent_text

MAX_OPS = 50_000
"""Ops of one function, calls inlined: a chain of functions that call each other twice grows exponentially."""
MAX_ELEMENTS = 2**48
"""Elements of one array; beyond, sizes in bytes leave 64 bits in later levels."""
MAX_RANK = 32

I32, I64 = map(element_named, ("i32", "i64"))

_OPS = {op.name.removeprefix("nd."): op for op in Nd.operations}


class Builder:
    """Appends ops to `block`. Every method that can fail takes the place that its error is about."""

    def __init__(self, file: str, block: Block, dims: Sequence[Dim] = ()):
        """dims: those of the program that are known when it is called, which messages call by their names."""
        self.file = file
        self.dims = dims
        self.block = block
        self.count = 0
        self._file_attribute = StringAttr(file)

    def error(self, message: str, place: SourceRange, hint: str | None = None) -> IrcError:
        return IrcError(self.named(message), span_of(place, self.file), hint and self.named(hint))

    def named(self, text: str) -> str:
        """With names in the place of numbers that stand for extents: no number of the program has their factors."""
        return re.sub(r"\d+", lambda found: extent_text(int(found[0]), self.dims), text) if self.dims else text

    def rejected(self, error: NumberError, place: SourceRange) -> IrcError:
        return self.error(error.message, place, error.hint)

    def location(self, place: SourceRange) -> FileLineColLoc:
        return FileLineColLoc(self._file_attribute, IntAttr(place[0]), IntAttr(place[1]))

    def append(self, op: Operation, place: SourceRange) -> None:
        self._check_count(1, place)
        self.count += 1
        self.block.add_op(op)

    def _check_count(self, more: int, place: SourceRange) -> None:
        if self.count + more > MAX_OPS:
            raise self.error(f"the function has more than {MAX_OPS} operations, calls inlined", place)

    def emit(
        self,
        name: str,
        operands: Sequence[Array],
        shape: tuple[int, ...],
        element: Element,
        place: SourceRange,
        properties: Mapping[str, object] | None = None,
    ) -> Array:
        """Appends `nd.<name>` with one result."""
        return self.emit_several(name, operands, [(shape, element)], place, properties)[0]

    def emit_several(
        self,
        name: str,
        operands: Sequence[Array],
        results: Sequence[tuple[tuple[int, ...], Element]],
        place: SourceRange,
        properties: Mapping[str, object] | None = None,
    ) -> tuple[Array, ...]:
        for shape, element in results:
            self.check_shape(shape, element, place)
        op = _OPS[name].create(
            operands=[operand.value for operand in operands],
            result_types=[tensor_type(shape, element) for shape, element in results],
            properties={key: attribute_of(value) for key, value in (properties or {}).items()},
            location=self.location(place),
        )
        self.append(op, place)
        return tuple(Array(r, shape, element) for r, (shape, element) in zip(op.results, results, strict=True))

    def check_shape(self, shape: Sequence[int], element: Element, place: SourceRange) -> None:
        """Raises IrcError for a shape that is too large to be one array."""
        if len(shape) > MAX_RANK:
            raise self.error(f"an array of {len(shape)} axes: the most is {MAX_RANK}", place)
        count = 1
        for extent in shape:
            count *= max(extent, 1)
        if count > MAX_ELEMENTS:
            raise self.error(f"an array of {count} elements of {element.name}: the most is 2 ** 48", place)

    # Literals

    def literal(self, number: Number, shape: tuple[int, ...], element: Element, place: SourceRange) -> Array:
        """The splat of a literal, or of a size that is known when the program is called, which takes this type."""
        if number.kind == "extent":
            return self._extent(number, shape, element, place)
        try:
            value = fit(number, element)
        except NumberError as error:
            raise self.rejected(error, place) from None
        return self.splat(value, shape, element, place)

    def _extent(self, number: Number, shape: tuple[int, ...], element: Element, place: SourceRange) -> Array:
        if element.size < I32.size:
            wanted = "it takes i32, i64, and floats of 32 bits or more"
            raise self.error(f"{number} is known when the program is called, and no {element.name}", place, wanted)
        self.check_shape(shape, I64, place)
        op = ExtentOp(int(number.value), shape, location=self.location(place))
        self.append(op, place)
        counted = Array(op.result, shape, I64)
        return counted if element is I64 else self.emit("cast", [counted], shape, element, place)

    def splat(self, value: int | float, shape: tuple[int, ...], element: Element, place: SourceRange) -> Array:
        return self.constant(ElementsAttr.splat(value, tensor_type(shape, element)), shape, element, place)

    def constant(self, value: ElementsAttr, shape: tuple[int, ...], element: Element, place: SourceRange) -> Array:
        self.check_shape(shape, element, place)
        op = ConstantOp(value, location=self.location(place))
        self.append(op, place)
        return Array(op.result, shape, element)

    # Shapes

    def broadcast(self, x: Array, shape: tuple[int, ...], place: SourceRange) -> Array:
        """`x` in `shape` by numpy's rule; `x` itself where it has that shape."""
        if x.shape == shape:
            return x
        dims = range(len(shape) - x.rank, len(shape))
        return self.emit("broadcast", [x], shape, x.element, place, {"dims": dims})

    def reshape(self, x: Array, shape: tuple[int, ...], place: SourceRange) -> Array:
        if x.shape == shape:
            return x
        return self.emit("reshape", [x], shape, x.element, place)

    # Calls

    def inline(self, block: Block, arguments: Sequence[Array], place: SourceRange) -> list[Array]:
        """Appends copies of a function's ops; their locations say where they come from and where they were called."""
        self._check_count(sum(1 for _ in block.ops), place)
        caller = self.location(place)
        mapping: dict[SSAValue, SSAValue] = {
            parameter: argument.value for parameter, argument in zip(block.args, arguments, strict=True)
        }
        for op in block.ops:
            if isinstance(op, ReturnOp):
                return [array_of(mapping.get(value, value)) for value in op.operands]
            copy = op.clone(mapping)
            copy.location = called_from(op.location, caller)
            self.append(copy, place)
        raise AssertionError("a function ends in a return")


def called_from(callee: LocationAttr, caller: LocationAttr) -> LocationAttr:
    """The location of an inlined op."""
    return CallSiteLoc(callee, caller)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The common shape by numpy's rule, None where there is none."""
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wanted = {extent for extent in extents if extent != 1}
        if len(wanted) > 1:
            return None
        result.append(wanted.pop() if wanted else 1)
    return tuple(result)
