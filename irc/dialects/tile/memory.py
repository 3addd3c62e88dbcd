"""Ops that move tiles between global memory, shared buffers and registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.im2col import Im2colAttr
from irc.dialects.tile.layouts import SharedAttr
from irc.dialects.tile.types import BufferType, ViewType, element_type_of, shape_of
from irc.ir.locations import set_location
from irc.ir.operations import EffectOp, PureOp
from irc.ir.properties import number, numbers, values_of


def verify_same(what: str, expected: object, found: object) -> None:
    """Raises unless both are equal; shapes are shown as lists."""
    if expected != found:
        raise VerifyException(f"expected {what} {_shown(expected)}, found {_shown(found)}")


def _shown(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class AccessOp(IRDLOperation):
    """What `load`, `store` and `copy` share: element (i, j, ...) of the tile is `view[map(o0 + i, o1 + j,
    ...)[symbols]]`.

    `offsets` has one index a tile dimension. `map` goes from tile coordinates and symbols to view coordinates; absent,
    it is the identity. A symbol is an `index` scalar or a tile of integers of the accessed tile's rank, each extent 1
    or the tile's, which gathers. `checked` names the view dimensions whose coordinate can be out of range.
    """

    view = operand_def(ViewType)
    offsets = var_operand_def(IndexType)
    symbols = var_operand_def()
    map = opt_prop_def(AffineMapAttr)
    checked = opt_prop_def(DenseArrayBase)

    @property
    def view_type(self) -> ViewType:
        assert isinstance(self.view.type, ViewType)
        return self.view.type

    @property
    def access_map(self) -> AffineMap:
        """Tile coordinates and symbols -> view coordinates."""
        if self.map is None:
            return AffineMap.identity(len(self.offsets))
        return self.map.data

    @property
    def checked_dims(self) -> tuple[int, ...]:
        return values_of(self.checked)

    @property
    def own_end(self) -> tuple[int, SSAValue] | None:
        """(dimension of the tile, where it ends); None where all of the tile is accessed."""
        return None

    def verify_access(self, tile_type: Attribute) -> None:
        shape, access = shape_of(tile_type), self.access_map
        verify_same("elements of type", self.view_type.element_type, element_type_of(tile_type))
        verify_same("as many offsets as the tile has dimensions:", len(shape), len(self.offsets))
        verify_same("a map with as many dimensions as the tile:", len(shape), access.num_dims)
        verify_same("a map with as many symbols as operands:", len(self.symbols), access.num_symbols)
        verify_same("a map with as many results as the view has dimensions:", self.view_type.rank, len(access.results))
        for dim in self.checked_dims:
            if not 0 <= dim < self.view_type.rank:
                raise VerifyException(f"expected checked dimensions below {self.view_type.rank}, found {dim}")
        for symbol in self.symbols:
            _verify_symbol(symbol.type, shape)


def _verify_symbol(type: Attribute, shape: tuple[int, ...]) -> None:
    if isinstance(type, IndexType):
        return
    if not isinstance(type, TensorType):
        raise VerifyException(f"expected an index or a tile of integers as a symbol, found {type}")
    extents = shape_of(type)
    if len(extents) != len(shape) or any(n not in (1, m) for n, m in zip(extents, shape, strict=True)):
        raise VerifyException(f"expected a symbol that broadcasts to {list(shape)}, found one of {list(extents)}")


def _access_properties(
    map: AffineMap | None, checked: Sequence[int], rank: int
) -> dict[str, AffineMapAttr | DenseArrayBase | None]:
    trivial = map is None or map == AffineMap.identity(rank)
    return {
        "map": None if trivial or map is None else AffineMapAttr(map),
        "checked": numbers(sorted(checked)) if checked else None,
    }


@irdl_op_definition
class LoadOp(AccessOp):
    """Global memory -> registers. A coordinate outside a checked dimension of the view reads `other` (0 where absent).

    `through`: where the box of the view that the tile covers lies in shared memory on its way, by the coordinates of
    the box (irc/layout/staging.py); then what is outside the view may be anything. `across`: the same, as vectors that
    begin within words are put together from whole words."""

    name = "tile.load"
    other = opt_operand_def()
    through = opt_prop_def(SharedAttr)
    across = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`other` $other^ `:` type($other))? "
        "attr-dict `:` type($view) `->` type($result)"
    )

    @staticmethod
    def of(
        view: SSAValue,
        offsets: Sequence[SSAValue],
        result_type: Attribute,
        *,
        symbols: Sequence[SSAValue] = (),
        other: SSAValue | None = None,
        map: AffineMap | None = None,
        checked: Sequence[int] = (),
        location: LocationAttr | None = None,
    ) -> LoadOp:
        op = LoadOp(
            operands=[other, view, list(offsets), list(symbols)],
            result_types=[result_type],
            properties=_access_properties(map, checked, len(offsets)),
        )
        op.location = location if location is not None else op.location
        return op

    def verify_(self) -> None:
        self.verify_access(self.result.type)
        if self.other is not None:
            verify_same("`other` of type", self.view_type.element_type, self.other.type)


@irdl_op_definition
class StoreOp(AccessOp):
    """Registers or a shared buffer -> global memory. What falls outside a checked dimension of the view is dropped, and
    so are elements from `end` on, along dimension `end_dim` of the tile: those behind are another tile's.

    A store from a buffer is asynchronous: the buffer may be written again after a `store_wait`. With `add` elements are
    added to what is in memory, each at once, in any order of the stores of a launch. The view is a result in the
    program's `sums`, of f32: sums in any order differ in their last bits from run to run.
    """

    name = "tile.store"
    tile = operand_def()
    end = opt_operand_def(IndexType)
    end_dim = opt_prop_def(IntegerAttr)
    add = opt_prop_def(UnitAttr)

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$tile `,` $view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`end` $end^)? "
        "attr-dict `:` type($tile) `,` type($view)"
    )

    @staticmethod
    def of(
        tile: SSAValue,
        view: SSAValue,
        offsets: Sequence[SSAValue],
        *,
        symbols: Sequence[SSAValue] = (),
        map: AffineMap | None = None,
        checked: Sequence[int] = (),
        end: tuple[int, SSAValue] | None = None,
        add: bool = False,
        location: LocationAttr | None = None,
    ) -> StoreOp:
        op = StoreOp(
            operands=[tile, None if end is None else end[1], view, list(offsets), list(symbols)],
            properties={
                **_access_properties(map, checked, len(offsets)),
                "end_dim": None if end is None else number(end[0]),
                "add": UnitAttr() if add else None,
            },
        )
        op.location = location if location is not None else op.location
        return op

    def verify_(self) -> None:
        if not isinstance(self.tile.type, TensorType | BufferType):
            raise VerifyException(f"expected a tile or a buffer to store, found {self.tile.type}")
        self.verify_access(self.tile.type)
        if self.add is not None and not isinstance(self.view_type.element_type, Float32Type):
            raise VerifyException(f"expected elements of f32 to add to, found {self.view_type.element_type}")
        if (self.end is None) != (self.end_dim is None):
            raise VerifyException("expected an end together with the dimension that it ends, end_dim")
        if self.end_dim is not None and not 0 <= self.end_dim.value.data < len(self.offsets):
            raise VerifyException(f"expected end_dim below {len(self.offsets)}, found {self.end_dim.value.data}")

    @property
    def own_end(self) -> tuple[int, SSAValue] | None:
        return None if self.end is None or self.end_dim is None else (self.end_dim.value.data, self.end)


@irdl_op_definition
class StoreWaitOp(EffectOp):
    """All but the latest `pending` stores from buffers have read their buffers."""

    name = "tile.store_wait"
    pending = opt_prop_def(IntegerAttr)

    assembly_format = "attr-dict"

    def __init__(self, pending: int = 0):
        super().__init__(properties={"pending": number(pending) if pending else None})

    @property
    def pending_count(self) -> int:
        return 0 if self.pending is None else self.pending.value.data


@irdl_op_definition
class CopyOp(AccessOp):
    """Global memory -> shared buffer, asynchronous inside a channel. Outside a checked dimension the buffer gets 0.

    `via` is "tma", `#tile.im2col<...>` (TMA too), "cp_async" or "registers"; passes make all but the last. `multicast`
    is a dimension of the cluster (0: M, 1: N) along which all blocks make this very copy: each brings a part of it, to
    all of them.
    """

    name = "tile.copy"
    buffer = operand_def(BufferType)
    via = opt_prop_def(StringAttr | Im2colAttr)
    multicast = opt_prop_def(IntegerAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? `->` $buffer "
        "attr-dict `:` type($view) `->` type($buffer)"
    )

    @staticmethod
    def of(
        view: SSAValue,
        offsets: Sequence[SSAValue],
        buffer: SSAValue,
        *,
        symbols: Sequence[SSAValue] = (),
        map: AffineMap | None = None,
        checked: Sequence[int] = (),
        via: str | Im2colAttr | None = None,
        multicast: int | None = None,
        location: LocationAttr | None = None,
    ) -> CopyOp:
        op = CopyOp(
            operands=[buffer, view, list(offsets), list(symbols)],
            properties={
                **_access_properties(map, checked, len(offsets)),
                "via": StringAttr(via) if isinstance(via, str) else via,
                "multicast": None if multicast is None else number(multicast),
            },
        )
        op.location = location if location is not None else op.location
        return op

    def verify_(self) -> None:
        if isinstance(self.via, StringAttr) and self.via.data not in ("tma", "cp_async", "registers"):
            raise VerifyException(f'expected via "tma", "cp_async" or "registers", found {self.via}')
        if isinstance(self.via, Im2colAttr) and sorted({*self.via.dimensions} - {-1}) != [*range(self.view_type.rank)]:
            raise VerifyException(f"expected the dimensions of {self.view_type}, each once, found {self.via}")
        self.verify_access(self.buffer.type)

    @property
    def is_by_tma(self) -> bool:
        """Whether TMA brings it, in one mode or the other."""
        return isinstance(self.via, Im2colAttr) or self.is_via("tma")

    def is_via(self, way: str) -> bool:
        return isinstance(self.via, StringAttr) and self.via.data == way


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A shared buffer of the block, of undefined content. `offset` in bytes is given by `plan-shared`."""

    name = "tile.alloc"
    offset = opt_prop_def(IntegerAttr)
    buffer = result_def(BufferType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type: BufferType):
        super().__init__(result_types=[type])


@irdl_op_definition
class ReadOp(IRDLOperation):
    """Shared buffer -> registers."""

    name = "tile.read"
    buffer = operand_def(BufferType)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($result)"

    def __init__(self, buffer: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[buffer], result_types=[result_type])

    def verify_(self) -> None:
        verify_same("a tile of shape", shape_of(self.buffer.type), shape_of(self.result.type))
        verify_same("elements of type", element_type_of(self.buffer.type), element_type_of(self.result.type))


@irdl_op_definition
class WriteOp(IRDLOperation):
    """Registers -> shared buffer."""

    name = "tile.write"
    tile = operand_def(TensorType)
    buffer = operand_def(BufferType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$tile `,` $buffer attr-dict `:` type($tile) `,` type($buffer)"

    def __init__(self, tile: SSAValue | Operation, buffer: SSAValue | Operation):
        super().__init__(operands=[tile, buffer])

    def verify_(self) -> None:
        verify_same("a tile of shape", shape_of(self.buffer.type), shape_of(self.tile.type))
        verify_same("elements of type", element_type_of(self.buffer.type), element_type_of(self.tile.type))


class BufferAliasOp(PureOp):
    """A shared buffer, the one result, whose elements are some of those of another, the first operand, or all of
    them."""


@irdl_op_definition
class TransposeOp(BufferAliasOp):
    """A shared buffer whose dimension i is dimension `dims[i]` of another one: no element moves, as in
    `memref.transpose`. A dot reads along K what another one reads along N."""

    name = "tile.transpose"
    buffer = operand_def(BufferType)
    result = result_def(BufferType)
    dims = prop_def(DenseArrayBase)
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($result)"

    def __init__(
        self, buffer: SSAValue, dims: Sequence[int], result_type: Attribute, location: LocationAttr | None = None
    ):
        super().__init__(operands=[buffer], result_types=[result_type], properties={"dims": numbers(dims)})
        set_location(self, location)

    @property
    def dim_values(self) -> tuple[int, ...]:
        return values_of(self.dims)

    def verify_(self) -> None:
        verify_permuted(self.buffer.type, self.dim_values, self.result.type)


def verify_permuted(source: Attribute, dims: tuple[int, ...], result: Attribute) -> None:
    """Whether `result` has the dimensions of `source` in the order of `dims`."""
    shape = shape_of(source)
    verify_same("elements of type", element_type_of(source), element_type_of(result))
    if sorted(dims) != list(range(len(shape))):
        raise VerifyException(f"expected a permutation of {len(shape)} dimensions, found {list(dims)}")
    verify_same("a result of shape", tuple(shape[d] for d in dims), shape_of(result))


@irdl_op_definition
class SubviewOp(BufferAliasOp):
    """A box of a shared buffer that begins at `at`, plus the index operands where there are any (one a dimension)."""

    name = "tile.subview"
    buffer = operand_def(BufferType)
    offsets = var_operand_def(IndexType)
    at = opt_prop_def(DenseArrayBase)
    result = result_def(BufferType)
    assembly_format = "$buffer (`[` $offsets^ `]`)? attr-dict `:` type($buffer) `->` type($result)"

    def __init__(
        self,
        buffer: SSAValue | Operation,
        at: Sequence[int],
        result_type: Attribute,
        offsets: Sequence[SSAValue] = (),
    ):
        super().__init__(operands=[buffer, list(offsets)], result_types=[result_type], properties={"at": numbers(at)})

    def verify_(self) -> None:
        verify_box(self.buffer.type, self.result.type, values_of(self.at), len(self.offsets))


def verify_box(source: Attribute, result: Attribute, at: tuple[int, ...], dynamic: int) -> None:
    """Whether `result` at `at` (plus `dynamic` index operands) is a box of `source`."""
    outer, inner = shape_of(source), shape_of(result)
    verify_same("elements of type", element_type_of(source), element_type_of(result))
    verify_same("a result of rank", len(outer), len(inner))
    if dynamic not in (0, len(outer)):
        raise VerifyException(f"expected no index operand or {len(outer)}, found {dynamic}")
    if (at and len(at) != len(outer)) or (not at and not dynamic):
        raise VerifyException(f"expected {len(outer)} numbers in `at`, found {len(at)}")
    for a, n, m in zip(at, inner, outer, strict=False):
        if a < 0 or a + n > m:
            raise VerifyException(f"expected a box inside {list(outer)}, found {list(inner)} at {list(at)}")
