"""Run-time extents in a module: the dims that it declares, and the module for one size of each.

A module with dims stands for as many modules as there are sizes: `at_sizes` gives each. What a module means is what
these mean, at every level above `cuda`; from there on an extent is an argument of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, IRNode, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.rewriter import Rewriter

from irc.ir.properties import numbers, values_of
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, Sizes, sized

DIMS = "irc.dims"
"""The attribute of a module that declares its dims: `{N = array<i64: least, most, multiple, prime>}`, with a fifth
number where calls are expected to have another size than the largest."""


def dims_of(op: IRNode) -> tuple[Dim, ...]:
    """The dims of the module of an op or a block."""
    declared = getattr(op.get_toplevel_object(), "attributes", {}).get(DIMS)
    if not isinstance(declared, DictionaryAttr):
        return ()
    return tuple(Dim(name, *values_of(cast(DenseArrayBase, entry))) for name, entry in declared.data.items())


def declare_dims(module: Operation, dims: Sequence[Dim]) -> None:
    """Says which dims the module has."""
    if dims:
        module.attributes[DIMS] = DictionaryAttr({dim.name: _entry(dim) for dim in dims})


def _entry(dim: Dim) -> Attribute:
    return numbers([dim.least, dim.most, dim.multiple, dim.prime, *([dim.usual] if dim.usual else [])])


def require_sizes(module: Operation, what: str) -> None:
    """IrcError where the module has dims. what: that needs a size of each."""
    if dims := dims_of(module):
        names = ", ".join(dim.name for dim in dims)
        hint = "give each a size: -D on the command line, dims= in Python"
        raise IrcError(f"{what} is for one size of {names}", module.location, hint)


def fits(value: Attribute) -> bool:
    """Whether an attribute is one that declares dims."""
    return isinstance(value, DictionaryAttr) and all(map(_is_dim, value.data.values()))


def _is_dim(entry: Attribute) -> bool:
    if not isinstance(entry, DenseArrayBase) or entry.elt_type != i64 or len(entry) not in (4, 5):
        return False
    least, most, multiple, prime, *usual = values_of(entry)
    return 0 < least <= most and multiple > 0 and prime > 1 and all(least <= size <= most for size in usual)


def at_sizes(module: Any, sizes: Sizes) -> Any:
    """A copy of a module, at a level above `cuda`, with these sizes in the place of its dims."""
    dims, copy = dims_of(module), module.clone()
    del copy.attributes[DIMS]
    replace_extents(copy, lambda number: sized(number, dims, sizes))
    return copy


def replace_extents(module: Operation, extent: Callable[[int], int]) -> None:
    """Puts what `extent` gives in the place of each extent of a module, at a level above `cuda`."""
    for op in list(module.walk()):
        op.properties = {name: _replaced(value, extent) for name, value in op.properties.items()}
        for value in [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]:
            if (type := _replaced(value.type, extent)) != value.type:
                Rewriter.replace_value_with_new_type(value, type)


def _replaced(value: Attribute, extent: Callable[[int], int]) -> Attribute:
    """An attribute with other extents: those of types, lists of integers and indices. Other numbers are data."""
    change = partial(_replaced, extent=extent)
    match value:
        case IntegerType():  # its width is none
            return value
        case TensorType():
            shape = [*map(extent, value.get_shape())]
            return TensorType(value.element_type, shape, value.encoding)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        case DenseIntOrFPElementsAttr():
            of = cast(TensorType[Any], change(value.type))
            return value if of == value.type else DenseIntOrFPElementsAttr(of, value.data)
        case IntAttr():
            return IntAttr(extent(value.data))
        case IntegerAttr() if isinstance(value.type, IndexType):
            return IntegerAttr(extent(value.value.data), value.type)
        case DenseArrayBase():
            return DenseArrayBase.from_list(cast(Any, value.elt_type), [*map(extent, values_of(value))])
        case ArrayAttr():
            return ArrayAttr([change(each) for each in value.data])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case FunctionType():
            return FunctionType.from_lists([*map(change, value.inputs)], [*map(change, value.outputs)])
        case ParametrizedAttribute():
            own = isinstance(value, TypeAttribute)
            return type(value).new([change(p) if own or isinstance(p, TypeAttribute) else p for p in value.parameters])
        case _:
            return value
