"""`#kernel.config`: the choices that turn a fused region into a kernel, as typed data.

`choose-config` and the user write it, lowering only reads it. Every field is optional, and only the fields that are
set are printed: `#kernel.config<tile = {m = 128, n = 256, k = 64}, stages = 4, schedule = "persistent">`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Generic, TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from irc.dialects.kernel.tile_sizes import TileSizes
from irc.ir.targets import MAX_REGISTERS
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS

SCHEDULES = ("grid", "persistent", "dynamic", "pingpong")
STAYING = ("persistent", "dynamic")
"""Schedules whose blocks stay for several tiles, and whose warps that compute are all at one tile."""
REDUCTIONS = ("persistent", "looped")
INDEXINGS = ("tma", "pointers")
INSTRUCTIONS = (*MATRIX_INSTRUCTIONS, "direct", "columns")
EVICT_LAST = ("inputs",)
SPLIT_SUMS = ("parallel", "serial")

MAX_LAG = 15
"""Powers of two by which weights may exceed 1: f16 holds them."""


Check = Callable[[Any], str | None]
"""Says nothing of a value that a field may hold; of another one the end of the sentence "FIELD ..."."""


def _check_positive(value: Any) -> str | None:
    if type(value) is not int or value < 1:
        return "must be a positive integer"
    return None


def _check_sizes(value: Any) -> str | None:
    if not isinstance(value, TileSizes) or not value or any(_check_positive(size) for size in value.values()):
        return "must be positive integers by the names of dimensions, such as {m = 128, n = 256, k = 64}"
    return None


def _check_flag(value: Any) -> str | None:
    return None if type(value) is bool else "must be true or false"


def _check_registers(value: Any) -> str | None:
    is_fit = type(value) is int and 24 <= value <= MAX_REGISTERS and value % 8 == 0
    return None if is_fit else f"must be a multiple of 8 from 24 to {MAX_REGISTERS}"


def _check_lag(value: Any) -> str | None:
    if type(value) is not int or not 1 <= value <= MAX_LAG:
        return f"must be a number of powers of two from 1 to {MAX_LAG}"
    return None


def _check_positives(count: int) -> Check:
    def check(value: Any) -> str | None:
        if type(value) is tuple and len(value) == count and not any(_check_positive(v) for v in value):
            return None
        return f"must be a list of {count} positive integers"

    return check


def _check_order(value: Any) -> str | None:
    if type(value) is not tuple or sorted(value) != list(range(len(value))):
        return "must list every dimension from 0 once"
    return None


def _check_choice(choices: tuple[str, ...]) -> Check:
    expected = " or ".join(f'"{choice}"' for choice in choices)

    def check(value: Any) -> str | None:
        return None if value in choices else f"must be {expected}"

    return check


def _field(check: Check) -> Any:
    """A field that is None, or what `check` lets it hold."""
    return field(default=None, metadata={"check": check})


@dataclass(frozen=True)
class ConfigFields:
    """The fields of a `#kernel.config`, which `ConfigAttr` explains; None where nothing was chosen."""

    tile: TileSizes | None = _field(_check_sizes)  # noqa: RUF009
    stages: int | None = _field(_check_positive)
    cluster: tuple[int, ...] | None = _field(_check_positives(2))
    warps: int | None = _field(_check_positive)
    warp_grid: tuple[int, ...] | None = _field(_check_positives(3))
    schedule: str | None = _field(_check_choice(SCHEDULES))
    group: int | None = _field(_check_positive)
    split: int | None = _field(_check_positive)
    split_sums: str | None = _field(_check_choice(SPLIT_SUMS))
    reduction: str | None = _field(_check_choice(REDUCTIONS))
    unroll: int | None = _field(_check_positive)
    occupancy: int | None = _field(_check_positive)
    indexing: str | None = _field(_check_choice(INDEXINGS))
    subtile: int | None = _field(_check_positive)
    instruction: str | None = _field(_check_choice(INSTRUCTIONS))
    shape: tuple[int, ...] | None = _field(_check_positives(3))
    evict_last: str | None = _field(_check_choice(EVICT_LAST))
    swap_ab: bool | None = _field(_check_flag)
    turns: bool | None = _field(_check_flag)
    lag: int | None = _field(_check_lag)
    registers: int | None = _field(_check_registers)
    load_stages: int | None = _field(_check_positive)
    store_stages: int | None = _field(_check_positive)
    loop_order: tuple[int, ...] | None = _field(_check_order)

    def __post_init__(self) -> None:
        for name, check in checks().items():
            value = getattr(self, name)
            if value is not None and (fault := check(value)):
                raise ValueError(f"{name} {fault}, found {_text(value)}")


@cache
def checks() -> dict[str, Check]:
    """The check of each field, in the order in which they are written."""
    return {each.name: each.metadata["check"] for each in fields(ConfigFields)}


def _text(value: Any) -> str:
    """The value as it is written in IR."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    return str(value)


T = TypeVar("T")


class _Of(Generic[T]):
    """A field of what an attribute holds, by the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, attribute: ConfigAttr, owner: type) -> T:
        return getattr(attribute.data, self._name)


@irdl_attr_definition
class ConfigAttr(Data[ConfigFields]):
    """The choices for one kernel. Made by `ConfigAttr.of(tile=TileSizes(m=128, n=128, k=64),
    stages=4)`.

    - `tile`: elements of a tile, powers of two, by the roles of the anchor's iteration dimensions, those of one role
      together; what is left out is chosen. Lowering clamps them.
      `{m = 128, n = 256, k = 64}` of a matmul, k for each step. m and n can be other multiples of 8; of a wgmma kernel,
      multiples of 64 along the rows of the instruction (a warp group has 64) and of 8 along its columns, of 16 for
      integers and where a right operand of 16 bits lies along N; of a tcgen05 kernel, multiples of 128 rows and of 16
      columns; of an mma kernel, what its warps can divide into whole instructions.
      `{m = 128, k = 128}` of a cascade: rows, and columns of its first product for each step.
      `{d = 4, r = 1024}` of a reduction: rows, and elements of the reduced extent for each step; `s` for `r` of a scan.
      `{d = 1024}` of a map. `{result = 64, operand = 64}` of a permutation: elements of a run in the memory of either.
    - `stages`: buffers in the channel of the operands of a wgmma, tcgen05 or mma kernel; with one, mma has no
      channel.
    - `warps`: warps that compute (a producer warp group comes on top).
    - `warp_grid`: how these lie along M, N and K of a tile of an mma kernel, `[2, 2, 1]`: chosen where it is left out,
      one along K. Warps along K have parts of each step, whose sums they add at the end.
    - `schedule`: `grid`, a block for each tile; `persistent`, blocks that walk over the tiles, one for each SM or its
      `occupancy` of them, with shares of equal size; `dynamic`, as many blocks that each take the next tile which is
      left when they are ready for it, without clusters: for kernels beside which others hold SMs;
      `pingpong`, blocks that walk as persistent ones do, with two consumer groups of `warps` that take turns in the
      tiles, of a wgmma or tcgen05 kernel.
    - `cluster`: blocks of a cluster, along M and N, that share what they read; of a wgmma kernel.
    - `group`: rows of tiles that are walked together, for the L2 cache.
    - `split`: parts of the reduced extent of a reduction, of K of a matmul, or of the columns of a cascade, that
      different blocks compute.
    - `split_sums`: how the parts of K of a matmul are added up. `parallel`, each is stored, and a second kernel adds
      them; `serial`, blocks add them to one array in turn, in the order of the parts, and what follows the product is
      done by a second kernel, if anything is. `parallel` where it is left out.
    - `reduction`: `persistent`, a row is held in registers, or `looped`, it is read in steps.
    - `unroll`: steps of a looped reduction whose loads are in flight together, or neighbors along K of a step.
    - `occupancy`: blocks that an SM has to have room for, which bounds the registers of a thread.
    - `subtile`: columns of the accumulator that the epilogue treats at a time, a divisor of the tile's (else none).
    - `instruction`: `wgmma`, `tcgen05`, `mma` or `fma`, what computes a product of tiles of its operands; `direct`, its
      sums are in registers, and so is what is multiplied in each step: a tile has columns of several groups of a
      convolution; `columns`, the same where a thread has all rows of its columns: `k` of the tile are neighbors along K
      that threads side by side walk from, each in steps of `unroll` neighbors.
    - `shape`: the extents of an `mma` along M, N and K where the chip has several, `[16, 8, 8]` instead of
      `[16, 8, 16]`; the largest of which the tile is a multiple where it is left out.
    - `evict_last`: `inputs`, the L2 evicts what threads load after what they store.
    - `swap_ab`: `true`, the kernel computes the transposed product: the 64 rows of its instructions lie along N, which
      pays where M is short. `false` by default.
    - `turns`: `true`, the warp groups of a cascade's block issue the first product of each step one after the other.
      `false` by default.
    - `lag`: what the exponentials of a cascade are relative to is raised where its maximum has grown by more than so
      many powers of two, 8 for instance. Where it is left out, it follows the maximum.
    - `registers`: of a thread that multiplies in a wgmma or tcgen05 kernel; the partition that loads has less.
    - `load_stages`: stages of the channel through which arrays that the epilogue of a wgmma kernel reads come; where it
      is set, vectors come so, too.
    - `store_stages`: subtiles of results of a wgmma kernel that are on their way to memory, a divisor of how many a
      tile has (else one).
    - `loop_order`: of a kernel in Python, the dimensions of its outer loop by their numbers, the outermost first:
      `[1, 0]`, tiles that follow each other are beside each other along the first one. In order by default.
    - `indexing`: `tma` or `pointers`, how the operands of products are read: by wgmma and tcgen05 the one, by all other
      instructions the other. Where `instruction` is left out, it is one of those.
    """

    name = "kernel.config"

    tile = _Of[TileSizes | None]()
    stages = _Of[int | None]()
    cluster = _Of[tuple[int, ...] | None]()
    warps = _Of[int | None]()
    warp_grid = _Of[tuple[int, ...] | None]()
    schedule = _Of[str | None]()
    group = _Of[int | None]()
    split = _Of[int | None]()
    split_sums = _Of[str | None]()
    reduction = _Of[str | None]()
    occupancy = _Of[int | None]()
    unroll = _Of[int | None]()
    indexing = _Of[str | None]()
    subtile = _Of[int | None]()
    instruction = _Of[str | None]()
    shape = _Of[tuple[int, ...] | None]()
    evict_last = _Of[str | None]()
    swap_ab = _Of[bool | None]()
    turns = _Of[bool | None]()
    lag = _Of[int | None]()
    registers = _Of[int | None]()
    load_stages = _Of[int | None]()
    store_stages = _Of[int | None]()
    loop_order = _Of[tuple[int, ...] | None]()

    @staticmethod
    def of(**values: Any) -> ConfigAttr:
        """A config with these fields set. ValueError where a value is not of its field's type."""
        return ConfigAttr(ConfigFields(**values))

    def replace(self, **values: Any) -> ConfigAttr:
        """The same config with other values of these fields; None unsets one."""
        return ConfigAttr(replace(self.data, **values))

    def completed(self, chosen: ConfigAttr) -> ConfigAttr:
        """This config, with the fields and tile sizes that are not set taken from another."""
        unset = {
            f.name: getattr(chosen.data, f.name) for f in fields(ConfigFields) if getattr(self.data, f.name) is None
        }
        if self.tile is not None and chosen.tile is not None:
            unset["tile"] = self.tile.completed(chosen.tile)
        return self.replace(**unset)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConfigFields:
        values: dict[str, Any] = {}

        def parse_field() -> None:
            start = parser.pos
            name = parser.parse_identifier("a field of #kernel.config")
            if name not in checks():
                close = get_close_matches(name, checks(), n=1)
                known = f"did you mean `{close[0]}`?" if close else f"its fields are {', '.join(checks())}"
                parser.raise_error(f"#kernel.config has no field `{name}`; {known}", start, parser.pos)
            if name in values:
                parser.raise_error(f"#kernel.config sets `{name}` twice", start, parser.pos)
            if parser.parse_optional_punctuation("=") is None:
                parser.raise_error(f"expected `{name} = ` and a value, found no value", start, parser.pos)
            start = parser.pos
            value = _parse_value(parser)
            if fault := checks()[name](value):
                parser.raise_error(f"{name} {fault}, found {_text(value)}", start, parser.pos)
            values[name] = value

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field)
        return ConfigFields(**values)

    def print_parameter(self, printer: Printer) -> None:
        values = {name: getattr(self.data, name) for name in checks()}
        texts = [f"{name} = {_text(value)}" for name, value in values.items() if value is not None]
        with printer.in_angle_brackets():
            printer.print_string(", ".join(texts))


def _parse_value(parser: AttrParser) -> Any:
    if (text := parser.parse_optional_str_literal()) is not None:
        return text
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return number
    numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if numbers is not None:
        return tuple(numbers)
    sizes: dict[str, int] = {}
    if parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_size(parser, sizes)) is None:
        parser.raise_error("expected an integer, a string, true, false, a list of integers or sizes by name")
    return TileSizes(sizes)


def _parse_size(parser: AttrParser, sizes: dict[str, int]) -> None:
    start = parser.pos
    name = parser.parse_identifier("the name of a dimension")
    if name in sizes:
        parser.raise_error(f"the size of `{name}` is set twice", start, parser.pos)
    parser.parse_punctuation("=")
    sizes[name] = parser.parse_integer()
