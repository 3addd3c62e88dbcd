"""Ops that move tiles between global memory and registers or shared buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.layouts import SharedAttr
from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.im2col import Im2colAttr
from irc.dialects.tile.types import BufferType, ViewType, element_type_of, shape_of
from irc.ir.operations import BuiltOp, EffectOp
from irc.ir.properties import values_of
from irc.layout.lane_swizzles import LANE_BITS

Part: TypeAlias = tuple[SSAValue, SSAValue, int]
"""The number of the part that a store adds, the view of semaphores, the number of parts."""


class AccessOp(BuiltOp):
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

    def __init__(
        self,
        view: SSAValue,
        offsets: Sequence[SSAValue],
        *,
        map: AffineMap | AffineMapAttr | None = None,
        checked: Sequence[int] = (),
        **named: Any,
    ):
        """An identity is left out, unless it is given as an attribute."""
        if isinstance(map, AffineMap):
            map = None if map == AffineMap.identity(len(offsets)) else AffineMapAttr(map)
        super().__init__(view, offsets, map=map, checked=sorted(checked) or None, **named)

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
    def gathers(self) -> bool:
        """Whether tiles of integers say where elements are."""
        return not all(isinstance(symbol.type, IndexType) for symbol in self.symbols)

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


@irdl_op_definition
class LoadOp(AccessOp):
    """Global memory -> registers. A coordinate outside a checked dimension of the view reads `other` (0 where absent).

    `through`: where the box of the view that the tile covers lies in shared memory on its way, by the coordinates of
    the box (irc/layout/staging.py); then what is outside the view may be anything. `lane_swizzle`: for each bit of a
    lane's number, what it XORs into the positions of a run that the lane takes from there one after the other
    (irc/layout/lane_swizzles.py). `across`: vectors that begin within words are put together from whole words, and
    what is outside the view may be anything, too."""

    name = "tile.load"
    other = opt_operand_def()
    through = opt_prop_def(SharedAttr)
    lane_swizzle = opt_prop_def(DenseArrayBase)
    across = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`other` $other^ `:` type($other))? "
        "attr-dict `:` type($view) `->` type($result)"
    )

    @staticmethod
    def of(view: SSAValue, offsets: Sequence[SSAValue], result_type: Attribute, **named: Any) -> LoadOp:
        return LoadOp(view, offsets, result=result_type, **named)

    def verify_(self) -> None:
        self.verify_access(self.result.type)
        if self.other is not None:
            verify_same("`other` of type", self.view_type.element_type, self.other.type)
        if self.lane_swizzle is not None and self.through is None:
            raise VerifyException("expected `through`, found `lane_swizzle` alone: it is of runs in shared memory")
        if self.lane_swizzle is not None and (
            len(self.lane_swizzle_values) != LANE_BITS or min(self.lane_swizzle_values) < 0
        ):
            found = list(self.lane_swizzle_values)
            raise VerifyException(f"expected {LANE_BITS} positions of 0 and more in `lane_swizzle`, found {found}")

    @property
    def lane_swizzle_values(self) -> tuple[int, ...]:
        return values_of(self.lane_swizzle)


@irdl_op_definition
class StoreOp(AccessOp):
    """Registers or a shared buffer -> global memory. What falls outside a checked dimension of the view is dropped, and
    so are elements from `end` on, along dimension `end_dim` of the tile: those behind are another tile's.

    A store from a buffer is asynchronous: the buffer may be written again after a `store_wait`. With `add` elements are
    added to what is in memory, each at once, in any order of the stores of a launch. The view is a result in the
    program's `sums`, of f32: sums in any order differ in their last bits from run to run.

    With `part` they are added in order: the store of part number `part` of the `of_parts` that add to these elements
    waits until those before it have. `semaphores` is a view of i32, another one of the `sums`, with a word for each 8
    elements along each dimension of the tile; that of the tile's first element is the number of the next part, and the
    last one leaves 0.
    """

    name = "tile.store"
    tile = operand_def()
    end = opt_operand_def(IndexType)
    part = opt_operand_def(IndexType)
    semaphores = opt_operand_def(ViewType)
    end_dim = opt_prop_def(IntegerAttr)
    add = opt_prop_def(UnitAttr)
    of_parts = opt_prop_def(IntegerAttr)

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$tile `,` $view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`end` $end^)? "
        "(`part` $part^)? (`in` $semaphores^ `:` type($semaphores))? attr-dict `:` type($tile) `,` type($view)"
    )

    @staticmethod
    def of(
        tile: SSAValue,
        view: SSAValue,
        offsets: Sequence[SSAValue],
        *,
        end: tuple[int, SSAValue] | None = None,
        add: bool = False,
        part: Part | None = None,
        **named: Any,
    ) -> StoreOp:
        dim, place = end or (None, None)
        own, semaphores, count = part or (None, None, None)
        properties = {"end_dim": dim, "add": add, "of_parts": count}
        return StoreOp(view, offsets, tile=tile, end=place, part=own, semaphores=semaphores, **properties, **named)

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
        self._verify_part()

    def _verify_part(self) -> None:
        given = (self.part, self.semaphores, self.of_parts)
        if all(each is None for each in given):
            return
        if self.part is None or self.semaphores is None or self.of_parts is None or self.add is None:
            raise VerifyException(
                "expected a part together with the view of `semaphores`, the number of_parts, and add"
            )
        assert isinstance(self.semaphores.type, ViewType)
        found = self.semaphores.type.element_type, self.semaphores.type.rank
        if found != (i32, len(self.offsets)):
            raise VerifyException(
                f"expected semaphores of i32 of rank {len(self.offsets)}, found {self.semaphores.type}"
            )
        if self.of_parts.value.data < 2:
            raise VerifyException(f"expected two parts or more, found {self.of_parts.value.data}")

    @property
    def own_end(self) -> tuple[int, SSAValue] | None:
        return None if self.end is None or self.end_dim is None else (self.end_dim.value.data, self.end)

    @property
    def own_part(self) -> Part | None:
        """The part, the view of semaphores, and how many parts there are; None where the store waits for no other."""
        if self.part is None or self.semaphores is None or self.of_parts is None:
            return None
        return self.part, self.semaphores, self.of_parts.value.data


@irdl_op_definition
class StoreWaitOp(EffectOp):
    """All but the latest `pending` stores from buffers have read their buffers."""

    name = "tile.store_wait"
    pending = opt_prop_def(IntegerAttr)

    assembly_format = "attr-dict"

    def __init__(self, pending: int = 0):
        super().__init__(pending or None)

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
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? `->` $buffer "
        "attr-dict `:` type($view) `->` type($buffer)"
    )

    @staticmethod
    def of(view: SSAValue, offsets: Sequence[SSAValue], buffer: SSAValue, **named: Any) -> CopyOp:
        return CopyOp(view, offsets, buffer=buffer, **named)

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
