"""Tile loops and partitions of warps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, LocationAttr, StringAttr
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def, var_region_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.ir.operations import BuiltOp, PureOp
from irc.ir.properties import numbers, values_of
from irc.support.integers import ceil_div

DYNAMIC = "dynamic"
"""The schedule whose blocks take tiles while the kernel runs."""

SCHEDULES = ("grid", "persistent", DYNAMIC)


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the body of `map`, `reduce` and `scan`."""

    name = "tile.yield"
    traits = traits_def(IsTerminator(), Pure())


@irdl_op_definition
class ForTilesOp(BuiltOp):
    """The body runs once for every tile of a domain of `extents`, in steps of `steps`.

    The block arguments are the offsets of the tile: multiples of the steps. The last dimension is the fastest in the
    order of tiles; with `group` g, g rows of tiles are taken together, column by column, so that they share the L2
    cache (rows and columns are the last two dimensions). Dimensions in `fastest`, which are none of these two, are
    faster than all others: their tiles follow one another. Along the dimensions in `reversed` the last tile comes
    first: where tiles further on have longer loops, the blocks that begin last have the least to do. `schedule` "grid"
    gives each block one tile, "persistent" lets as many blocks as the device runs at once take tiles in turn. With
    "dynamic" there are as many blocks, and each takes the next tile that is left when it is ready for one: a block that
    begins late leaves its share to the others. Several in one program share the grid: each has a range of consecutive
    blocks. With `cluster` [r, c], r x c blocks of a cluster take that many rows and columns of neighboring tiles at the
    same time. With `turn` [t, n], the loop takes every n-th of its block's tiles, from the t-th on: the others are
    those of other partitions.
    """

    name = "tile.for_tiles"
    extents = prop_def(DenseArrayBase)
    steps = prop_def(DenseArrayBase)
    schedule = opt_prop_def(StringAttr)
    group = opt_prop_def(IntegerAttr)
    fastest = opt_prop_def(DenseArrayBase)
    reverse = opt_prop_def(DenseArrayBase, prop_name="reversed")
    cluster = opt_prop_def(DenseArrayBase)
    turn = opt_prop_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        extents: Sequence[int],
        steps: Sequence[int],
        *,
        schedule: str = "grid",
        group: int | None = None,
        fastest: Sequence[int] | None = None,
        reverse: Sequence[int] | None = None,
        cluster: Sequence[int] | None = None,
        body: Region | None = None,
        location: LocationAttr | None = None,
    ):
        body = body if body is not None else Region(Block(arg_types=[IndexType()] * len(extents)))
        properties = extents, steps, schedule, group, fastest, reverse, cluster
        super().__init__(*properties, location=location, regions=[body])

    @property
    def offsets(self) -> tuple[SSAValue, ...]:
        return tuple(self.body.block.args)

    @property
    def extent_values(self) -> tuple[int, ...]:
        return values_of(self.extents)

    @property
    def step_values(self) -> tuple[int, ...]:
        return values_of(self.steps)

    @property
    def tile_counts(self) -> tuple[int, ...]:
        """The number of tiles in each dimension."""
        return tuple(ceil_div(n, s) for n, s in zip(self.extent_values, self.step_values, strict=True))

    @property
    def schedule_name(self) -> str:
        return "grid" if self.schedule is None else self.schedule.data

    @property
    def stays(self) -> bool:
        """Whether blocks stay for several tiles."""
        return self.schedule_name != "grid"

    @property
    def fastest_dims(self) -> tuple[int, ...]:
        """The dimensions along which tiles follow one another first, the last one the fastest."""
        return values_of(self.fastest)

    @property
    def reversed_dims(self) -> tuple[int, ...]:
        """The dimensions along which the last tile comes first."""
        return values_of(self.reverse)

    @property
    def cluster_shape(self) -> tuple[int, int]:
        """Blocks of a cluster along the last two dimensions."""
        rows, columns = values_of(self.cluster) or (1, 1)
        return rows, columns

    @property
    def turns(self) -> tuple[int, int]:
        """(t, n): which of each n tiles of a block are this loop's."""
        own, count = values_of(self.turn) or (0, 1)
        return own, count

    def verify_(self) -> None:
        args = self.body.block.args
        verify_same("as many offsets as extents:", len(self.extent_values), len(args))
        verify_same("as many steps as extents:", len(self.extent_values), len(self.step_values))
        if any(not isinstance(arg.type, IndexType) for arg in args):
            raise VerifyException(f"expected offsets of type index, found {[str(a.type) for a in args]}")
        if any(n < 0 for n in self.extent_values) or any(s < 1 for s in self.step_values):
            raise VerifyException(
                f"expected extents >= 0 and steps >= 1, found {list(self.extent_values)} and {list(self.step_values)}"
            )
        if self.schedule_name not in SCHEDULES:
            expected = ", ".join(f'"{name}"' for name in SCHEDULES)
            raise VerifyException(f'expected a schedule of {expected}, found "{self.schedule_name}"')
        if self.schedule_name == DYNAMIC and (self.cluster_shape != (1, 1) or self.turn is not None):
            raise VerifyException(f'expected neither clusters nor turns with the schedule "{DYNAMIC}"')
        dims = self.reversed_dims
        if len(set(dims)) != len(dims) or not set(dims) <= set(range(len(args))):
            raise VerifyException(f"expected different dimensions below {len(args)} as reversed, found {list(dims)}")
        dims, outer = self.fastest_dims, max(0, len(args) - 2)
        if len(set(dims)) != len(dims) or not set(dims) <= set(range(outer)):
            raise VerifyException(f"expected different dimensions below {outer} as fastest, found {list(dims)}")
        if self.cluster is not None:
            self._verify_cluster(values_of(self.cluster))
        if self.turn is not None and (len(values_of(self.turn)) != 2 or not 0 <= self.turns[0] < self.turns[1]):
            raise VerifyException(f"expected a turn below the number of turns, found {list(values_of(self.turn))}")

    def _verify_cluster(self, cluster: tuple[int, ...]) -> None:
        if len(cluster) != 2 or len(self.extent_values) < 2 or any(blocks < 1 for blocks in cluster):
            raise VerifyException(f"expected a cluster of rows and columns of tiles, found {list(cluster)}")
        if any(tiles % blocks for tiles, blocks in zip(self.tile_counts[-2:], cluster, strict=True)):
            raise VerifyException(
                f"expected whole clusters of {list(cluster)}, found {list(self.tile_counts[-2:])} tiles"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(f" extents {list(self.extent_values)} steps {list(self.step_values)}")
        if self.schedule_name != "grid":
            printer.print_string(f' schedule "{self.schedule_name}"')
        if self.group is not None:
            printer.print_string(f" group {self.group.value.data}")
        if self.fastest is not None:
            printer.print_string(f" fastest {list(self.fastest_dims)}")
        if self.reverse is not None:
            printer.print_string(f" reversed {list(self.reversed_dims)}")
        if self.cluster is not None:
            printer.print_string(f" cluster {list(self.cluster_shape)}")
        if self.turn is not None:
            printer.print_string(f" turn {list(self.turns)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> ForTilesOp:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_keyword("extents")
        extents = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_keyword("steps")
        steps = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        schedule = parser.parse_str_literal() if parser.parse_optional_keyword("schedule") else "grid"
        group = parser.parse_integer() if parser.parse_optional_keyword("group") else None
        fastest = None
        if parser.parse_optional_keyword("fastest"):
            fastest = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        reverse = None
        if parser.parse_optional_keyword("reversed"):
            reverse = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        cluster = None
        if parser.parse_optional_keyword("cluster"):
            cluster = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        turn = None
        if parser.parse_optional_keyword("turn"):
            turn = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([n.resolve(IndexType()) for n in names])
        if not region.blocks:
            region.add_block(Block(arg_types=[IndexType()] * len(names)))
        op = cls(
            extents,
            steps,
            schedule=schedule,
            group=group,
            fastest=fastest,
            reverse=reverse,
            cluster=cluster,
            body=region,
        )
        op.turn = numbers(turn)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


@irdl_op_definition
class TurnOffsetsOp(PureOp):
    """The offsets of the tile that turn `turn` has in the round of this one, which is n tiles of a block where the loop
    over tiles has `turn` [t, n]. What another turn does with its tile is computed from them. In the last round there
    may be no such tile; then they are any numbers."""

    name = "tile.turn_offsets"
    turn = prop_def(IntegerAttr)
    offsets = var_result_def(IndexType)

    assembly_format = "attr-dict `:` type($offsets)"

    def __init__(self, turn: int, dimensions: int):
        super().__init__(turn, [IndexType()] * dimensions)

    @property
    def turn_number(self) -> int:
        return self.turn.value.data

    def verify_(self) -> None:
        loop = self.parent_op()
        while loop is not None and not isinstance(loop, ForTilesOp):
            loop = loop.parent_op()
        if loop is None:
            raise VerifyException("expected a loop over tiles around it")
        verify_same("as many offsets as the loop has:", len(loop.offsets), len(self.offsets))
        if not 0 <= self.turn_number < loop.turns[1]:
            raise VerifyException(f"expected a turn below {loop.turns[1]}, found {self.turn_number}")


@irdl_op_definition
class PartitionsOp(BuiltOp):
    """Regions that run at the same time, each on its own warps: `tile.partitions @load warps 4 registers 40 {...}
    @compute warps 8 registers 232 {...}`.

    `warps` has the number of warps of each partition, `registers` the number of registers that a thread of each may
    use. What a partition does with a channel, filling or draining it, is what its ops do; what crosses partitions is a
    channel, or an argument of the program.
    """

    name = "tile.partitions"
    names = prop_def(ArrayAttr[StringAttr])
    warps = prop_def(DenseArrayBase)
    registers = opt_prop_def(DenseArrayBase)
    partitions = var_region_def()

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        partitions: Sequence[Region],
        names: Sequence[str],
        warps: Sequence[int],
        registers: Sequence[int] | None = None,
    ):
        super().__init__(ArrayAttr([StringAttr(name) for name in names]), warps, registers, regions=[list(partitions)])

    @property
    def partition_names(self) -> tuple[str, ...]:
        return tuple(name.data for name in self.names)

    @property
    def warp_counts(self) -> tuple[int, ...]:
        return values_of(self.warps)

    @property
    def register_counts(self) -> tuple[int, ...]:
        return values_of(self.registers)

    def verify_(self) -> None:
        verify_same("as many names as partitions:", len(self.partitions), len(self.names))
        verify_same("as many warp counts as partitions:", len(self.partitions), len(self.warp_counts))
        if self.registers is not None:
            verify_same("as many register counts as partitions:", len(self.partitions), len(self.register_counts))
        if twice := [name for name in self.partition_names if self.partition_names.count(name) > 1]:
            raise VerifyException(f"expected a name for each partition, found @{twice[0]} twice")

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=True)
        for at, partition in enumerate(self.partitions):
            printer.print_string(" ")
            printer.print_symbol_name(self.partition_names[at])
            printer.print_string(f" warps {self.warp_counts[at]}")
            if self.registers is not None:
                printer.print_string(f" registers {self.register_counts[at]}")
            printer.print_string(" ")
            printer.print_region(partition, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> PartitionsOp:
        attributes = parser.parse_optional_attr_dict_with_keyword()
        names: list[str] = []
        warps: list[int] = []
        registers: list[int] = []
        regions: list[Region] = []
        while (name := parser.parse_optional_symbol_name()) is not None:
            names.append(name.data)
            parser.parse_keyword("warps")
            warps.append(parser.parse_integer(allow_boolean=False))
            if parser.parse_optional_keyword("registers"):
                registers.append(parser.parse_integer(allow_boolean=False))
            region = parser.parse_region()
            regions.append(region if region.blocks else Region(Block()))
        op = cls(regions, names, warps, registers or None)
        if attributes is not None:
            op.attributes |= attributes.data
        return op


def verify_body(body: Region, arguments: Sequence[Attribute], yields: Sequence[Attribute]) -> None:
    found = [a.type for a in body.block.args]
    if found != list(arguments):
        raise VerifyException(f"expected body arguments {[str(t) for t in arguments]}, found {[str(t) for t in found]}")
    last = body.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"expected a body that ends in tile.yield, found {last.name if last else 'nothing'}")
    types = [v.type for v in last.arguments]
    if types != list(yields):
        raise VerifyException(f"expected the body to yield {[str(t) for t in yields]}, found {[str(t) for t in types]}")
