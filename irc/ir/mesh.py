"""The attributes of a module that say how its arrays are divided among the ranks of a mesh.

`irc.mesh = {data = 2 : i64, model = 2 : i64}` of a module names the axes of its mesh; ranks are numbered in row-major
order. A sharding says for each axis of an array which axes of the mesh it is divided along, the outermost first:
`["data", "", "model+data"]`. A function has `irc.sharding` on its arguments, an op `irc.shardings` for its results, a
`func.return` for its operands, with `unit` where one is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, IRNode, Operation

from irc.support.mesh import Mesh, Sharding

MESH = "irc.mesh"
SHARDING = "irc.sharding"
SHARDINGS = "irc.shardings"


def mesh_of(op: IRNode) -> Mesh | None:
    """The mesh of an op's module; None where it has none."""
    declared = getattr(op.get_toplevel_object(), "attributes", {}).get(MESH)
    if not isinstance(declared, DictionaryAttr):
        return None
    sizes = [cast("IntegerAttr", size).value.data for size in declared.data.values()]
    return Mesh(tuple(declared.data), tuple(sizes))


def declare_mesh(module: Operation, mesh: Mesh) -> None:
    """Says which mesh the module is for."""
    sizes: Mapping[str, Attribute] = {n: IntegerAttr(s, i64) for n, s in zip(mesh.names, mesh.sizes, strict=True)}
    module.attributes[MESH] = DictionaryAttr(sizes)


def fits_mesh(value: Attribute) -> bool:
    """Whether an attribute is one that declares a mesh."""
    sizes = value.data.values() if isinstance(value, DictionaryAttr) else ()
    return bool(sizes) and all(isinstance(size, IntegerAttr) and size.value.data > 0 for size in sizes)


def fits_sharding(value: Attribute) -> bool:
    """Whether an attribute is a sharding."""
    return isinstance(value, ArrayAttr) and all(isinstance(axes, StringAttr) for axes in value)  # pyright: ignore[reportUnknownVariableType]


def fits_shardings(value: Attribute) -> bool:
    """Whether an attribute is shardings of several arrays."""
    return isinstance(value, ArrayAttr) and all(isinstance(each, UnitAttr) or fits_sharding(each) for each in value)  # pyright: ignore[reportUnknownArgumentType]


def attribute_of(sharding: Sharding) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr("+".join(axes)) for axes in sharding])


def sharding_of(attribute: Attribute) -> Sharding:
    found = cast("ArrayAttr[StringAttr]", attribute)
    return tuple(tuple(axes.data.split("+")) if axes.data else () for axes in found)


def shard_arguments(function: FuncOp, shardings: Sequence[Sharding | None]) -> None:
    """Says how arguments are divided; None leaves one open."""
    known = [{}] * len(shardings) if function.arg_attrs is None else [each.data for each in function.arg_attrs]
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({**entry, **({} if sharding is None else {SHARDING: attribute_of(sharding)})})
        for entry, sharding in zip(known, shardings, strict=True)
    )


def argument_shardings(function: FuncOp) -> list[Sharding | None]:
    """Of each argument, None where nothing is said."""
    arguments = function.body.block.args
    if function.arg_attrs is None:
        return [None] * len(arguments)
    found = [entry.data.get(SHARDING) for entry in function.arg_attrs]
    return [None if each is None else sharding_of(each) for each in found]


def put_shardings(op: Operation, shardings: Sequence[Sharding | None]) -> None:
    """Says how the results of an op, or the operands of a return, are divided; None leaves one open."""
    op.attributes[SHARDINGS] = ArrayAttr([UnitAttr() if each is None else attribute_of(each) for each in shardings])


def shardings_of(op: Operation, count: int) -> list[Sharding | None]:
    """What `put_shardings` said of so many values; None of each of which nothing is said."""
    found = op.attributes.get(SHARDINGS)
    entries = list(cast("ArrayAttr[Attribute]", found)) if isinstance(found, ArrayAttr) else []
    given = [None if isinstance(each, UnitAttr) else sharding_of(each) for each in entries[:count]]
    return [*given, *[None] * (count - len(given))]
