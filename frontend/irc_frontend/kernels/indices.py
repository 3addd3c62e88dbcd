"""What loops over tiles give: the tile of a loop's dimension, and positions, by which arrays are indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir.affine import AffineExpr

from irc.support.diagnostics import IrcError
from irc_frontend.graph import fail
from irc_frontend.tile_indices import TileIndex, open_trace

if TYPE_CHECKING:
    from irc_frontend.tensor import Tensor


class Positions(Protocol):
    """What makes the values of indices: the trace."""

    def positions(self, dim: LoopTile) -> Tensor: ...

    def scalar(self, index: Index) -> Tensor: ...

    def load(self, array: Tensor, key: Any) -> Tensor: ...

    def store(self, array: Tensor, key: Any, value: Any, *, add: bool = False) -> None: ...

    def check_iterated(self, value: Tensor) -> None: ...

    def check_decided(self, value: Tensor) -> None: ...


class Unknown(TileIndex):
    """What has no value while its kernel is traced: a comparison, of which the trace would take one side, is an
    error."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise self._undecided()

    def __eq__(self, other: object) -> bool:
        if self is other or other is None or isinstance(other, slice | type(...)):
            return self is other
        if isinstance(self, LoopTile) and isinstance(other, LoopTile) and open_trace() is None:
            return False
        raise self._undecided()

    def __lt__(self, other: Any) -> bool:
        raise self._undecided()

    __le__ = __gt__ = __ge__ = __lt__

    def _undecided(self) -> IrcError:
        return fail(
            "a position is not known while its kernel is traced",
            "`if` and `while` cannot depend on one: where(condition, a, b) chooses elements, and `m.index` and "
            "`m.begin.value` are numbers for the condition",
        )


class Index(Unknown):
    """A position that is known when the kernel runs: where a tile begins, or an element of a range that is walked one
    by one. Indexing by it takes the axis away. It can be added to, multiplied and divided by integers."""

    __slots__ = ("expr", "limit", "made")

    def __init__(self, trace: Positions, expr: AffineExpr, limit: int | None = None):
        self.trace = trace
        self.made = trace
        self.expr = expr
        self.limit = limit
        """What it is at most, where that is less than the expression."""

    def _with(self, expr: AffineExpr) -> Index:
        if self.limit is not None:
            raise fail("the end of a tile takes no arithmetic", "it is begin plus the tile's size, within the array")
        return Index(self.made, expr)

    def __add__(self, other: int | Index) -> Index:
        return self._with(self.expr + _expr(other))

    __radd__ = __add__

    def __sub__(self, other: int | Index) -> Index:
        return self._with(self.expr - _expr(other))

    def __rsub__(self, other: int) -> Index:
        return self._with(_expr(other) - self.expr)

    def __mul__(self, other: int) -> Index:
        return self._with(self.expr * _integer(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Index:
        return self._with(self.expr // _integer(other))

    def __mod__(self, other: int) -> Index:
        return self._with(self.expr % _integer(other))

    @property
    def value(self) -> Tensor:
        """As a number of tiles, i32."""
        return self.made.scalar(self)


def _expr(value: int | Index) -> AffineExpr:
    return value.expr if isinstance(value, Index) else AffineExpr.constant(_integer(value))


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise fail(f"a position meets integers, found {type(value).__name__}", "position.value is a number of tiles")
    return value.__index__()


class LoopTile(Unknown):
    """The tile that a loop is at along one dimension: `step` elements of `extent`, the last tile of which may go beyond
    the end. Indexing by it loads a tile or stores one. As an extent, `zeros((m, n))`, it is `step`."""

    __slots__ = ("extent", "made", "name", "number", "step")

    def __init__(self, trace: Positions, name: str, number: int, step: int, extent: int):
        self.trace = trace
        self.made = trace
        self.name = name
        self.number = number
        """Of the symbol that is its offset."""
        self.step = step
        self.extent = extent

    @property
    def is_ragged(self) -> bool:
        """Whether its last tile goes beyond the end."""
        return self.extent % self.step != 0

    @property
    def begin(self) -> Index:
        """The position of the tile's first element."""
        return Index(self.made, AffineExpr.symbol(self.number))

    @property
    def end(self) -> Index:
        """The position behind its last one."""
        return Index(self.made, AffineExpr.symbol(self.number) + self.step, self.extent if self.is_ragged else None)

    @property
    def index(self) -> Tensor:
        """The positions of its elements, i32[step]."""
        return self.made.positions(self)

    def __index__(self) -> int:
        return self.step

    def __repr__(self) -> str:
        return f"<tile {self.name} of {self.step} from {self.extent}>"
