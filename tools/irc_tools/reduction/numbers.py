"""Edits of attributes: extents, constants, and what is not needed."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    ShapedType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from irc.ir.extents import replace_extents
from irc_tools.reduction.edits import Edit


def shrink_extents(module: ModuleOp) -> list[Edit]:
    """One extent of arrays and tiles, wherever it stands: 1, 2, and its halves."""
    found = {extent for value in _values(module) for extent in _shape(value.type)}
    return [
        partial(_put_extent, module, extent, smaller)
        for extent in sorted(found, reverse=True)
        for smaller in _smaller(extent)
    ]


def _values(module: ModuleOp) -> list[SSAValue]:
    ops = [*module.walk()]
    blocks = [block for op in ops for region in op.regions for block in region.blocks]
    return [*(result for op in ops for result in op.results), *(arg for block in blocks for arg in block.args)]


def _shape(type: Attribute) -> tuple[int, ...]:
    """The extents of a type, and of types in it."""
    if isinstance(type, TensorType):
        return type.get_shape()
    own = tuple(type.get_shape()) if isinstance(type, ShapedType) else ()
    parameters: Any = getattr(type, "parameters", ())
    return own + tuple(extent for each in parameters if isinstance(each, Attribute) for extent in _shape(each))


def _smaller(extent: int) -> list[int]:
    halves = [extent >> shift for shift in range(extent.bit_length() - 2, 0, -1)]
    return [each for each in dict.fromkeys([1, 2, *halves]) if 0 < each < extent]


def _put_extent(module: ModuleOp, extent: int, smaller: int) -> bool:
    replace_extents(module, lambda number: smaller if number == extent else number)
    return True


def simplify_constants(module: ModuleOp) -> list[Edit]:
    """Numbers of constants: 0, 1, and half of what they are."""
    return [
        partial(_put, op, name, number)
        for op in module.walk()
        for name, value in op.properties.items()
        if name == "value"
        for number in _simpler(value)
    ]


def _simpler(value: Attribute) -> list[Attribute]:
    match value:
        case IntegerAttr() if value.type != i1:
            number = value.value.data
            simpler = [each for each in (0, 1, number // 2) if abs(each) < abs(number)]
            return [IntegerAttr(each, cast(Any, value.type)) for each in simpler]
        case FloatAttr():
            return [FloatAttr(each, value.type) for each in (0.0, 1.0) if each != value.value.data]
        case DenseIntOrFPElementsAttr():
            of = cast(Any, value.type)
            return [] if value.is_splat() else [DenseIntOrFPElementsAttr.from_list(of, [0])]
        case _:
            return []


def _put(op: Operation, name: str, value: Attribute) -> bool:
    op.properties[name] = value
    return True


def drop_attributes(module: ModuleOp) -> list[Edit]:
    """Attributes that are no properties, and properties that an op can do without."""
    edits: list[Edit] = []
    for op in module.walk():
        edits += [partial(_drop, op.attributes, name) for name in op.attributes]
        edits += [partial(_drop, op.properties, name) for name in op.properties]
    return edits


def _drop(attributes: dict[str, Attribute], name: str) -> bool:
    return attributes.pop(name, None) is not None


def drop_names(module: ModuleOp) -> list[Edit]:
    """Names of values."""
    return [partial(_unname, value) for value in _values(module) if value.name_hint is not None]


def _unname(value: SSAValue) -> bool:
    value.name_hint = None
    return True
