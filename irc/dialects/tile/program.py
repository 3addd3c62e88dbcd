"""Programs: the code of one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.channel import ChannelOp
from irc.dialects.tile.memory import StoreOp
from irc.dialects.tile.order import OrderOp
from irc.dialects.tile.protocol import verify_order, verify_protocol
from irc.dialects.tile.queue import TakeTicketOp
from irc.dialects.tile.types import ViewType, verify_fragment
from irc.ir.operations import CodeOp, PureOp, Reach
from irc.ir.properties import pairs_of, values_of

DECIDED = {"threads": 1, "shared": 0, "grid": 1}
"""What passes decide about a program, and its least value."""


@irdl_op_definition
class ProgramOp(CodeOp):
    """A kernel: the code of one launch. Arguments are views of the launch's operands, then of its `results` results.

    Passes add what they decide: `threads` of a block (`assign-layouts`), bytes of `shared` memory that channels and
    buffers take (`plan-shared`), blocks of the `grid` (`lower-schedule`), and, where these depend on run-time extents,
    the `domains` of which they are the tiles, as `cuda.kernel` has them. `in_place` are pairs of the numbers of an
    operand and of a result that may be written over it, counted behind the operands (`mark-in-place`). `updates` are
    such pairs of a result that has what the operand holds wherever nothing is stored: it is written over the operand,
    or over a copy of it that is made before the launch. `sums` are the numbers of results, counted so, that are zero
    before the launch, and that its stores add to; a counter of tickets is one.
    """

    PROPERTIES: ClassVar[tuple[str, ...]] = ("results", *DECIDED, "domains", "in_place", "updates", "sums", "config")
    REQUIRED: ClassVar[tuple[str, ...]] = ("results",)

    name = "tile.program"
    results_count = prop_def(IntegerAttr, prop_name="results")
    threads = opt_prop_def(IntegerAttr)
    shared = opt_prop_def(IntegerAttr)
    grid = opt_prop_def(IntegerAttr)
    domains = opt_prop_def(ArrayAttr)
    in_place = opt_prop_def(DenseArrayBase)
    updates = opt_prop_def(DenseArrayBase)
    sums = opt_prop_def(DenseArrayBase)
    config = opt_prop_def()

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    def __init__(
        self,
        name: str,
        views: Sequence[ViewType],
        results: int,
        *,
        config: Attribute | None = None,
        location: LocationAttr | None = None,
    ):
        super().__init__(name, results, config=config, location=location, regions=[Region(Block(arg_types=views))])

    @property
    def result_count(self) -> int:
        """How many trailing arguments are results."""
        return self.results_count.value.data

    @property
    def arrays(self) -> list[Reach]:
        return [arg.type.reach for arg in self.body.block.args if isinstance(arg.type, ViewType)]

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        args = self.body.block.args
        return tuple(args[: len(args) - self.result_count])

    @property
    def outputs(self) -> tuple[SSAValue, ...]:
        args = self.body.block.args
        return tuple(args[len(args) - self.result_count :])

    def verify_(self) -> None:
        args = self.body.block.args
        for arg in args:
            if not isinstance(arg.type, ViewType):
                raise VerifyException(f"expected views as arguments of a program, found {arg.type}")
        if not 0 <= self.result_count <= len(args):
            raise VerifyException(f"expected at most {len(args)} results, found {self.result_count}")
        for name, least in DECIDED.items():
            value = self.properties.get(name)
            if isinstance(value, IntegerAttr) and value.value.data < least:
                raise VerifyException(f"expected {name} of {least} or more, found {value.value.data}")
        inputs = len(args) - self.result_count
        for operand, result in self.shared_places:
            if not (0 <= operand < inputs <= result < len(args)):
                raise VerifyException(f"expected in_place to pair an operand and a result, found {operand}, {result}")
        for operand, result in self.updated:
            if not (0 <= operand < inputs <= result < len(args)) or args[operand].type != args[result].type:
                raise VerifyException(
                    f"expected updates to pair an operand and a result of its type, found {operand}, {result}"
                )
            if args[operand].uses:
                raise VerifyException(f"expected operand {operand}, which a result updates, not to be read")
        self._verify_sums(inputs)
        arguments = (arg for op in self.walk() for region in op.regions for b in region.blocks for arg in b.args)
        results = (result for op in self.walk() for result in op.results)
        for type in dict.fromkeys(value.type for value in (*arguments, *results)):
            verify_fragment(type)
        for op in self.walk():
            if isinstance(op, ChannelOp):
                verify_protocol(op)
            elif isinstance(op, OrderOp):
                verify_order(op)

    def _verify_sums(self, inputs: int) -> None:
        """Whether what is added to is nothing but a sum."""
        args = self.body.block.args
        if any(not inputs <= number < len(args) for number in values_of(self.sums)):
            raise VerifyException(f"expected results in sums, found {list(values_of(self.sums))}")
        sums = {args[number] for number in values_of(self.sums)}
        for use in (use for arg in args for use in arg.uses):
            adds = isinstance(use.operation, TakeTicketOp) or (
                isinstance(use.operation, StoreOp) and use.operation.add is not None
            )
            if adds != (use.operation.operands[use.index] in sums):
                found = f"{use.operation.name} of {'another view' if adds else 'a sum'}"
                raise VerifyException(
                    f"expected stores that add to the program's sums, and nothing else, found {found}"
                )

    @property
    def summed(self) -> tuple[SSAValue, ...]:
        """The results of `sums`."""
        return tuple(self.body.block.args[number] for number in values_of(self.sums))

    @property
    def shared_places(self) -> tuple[tuple[int, int], ...]:
        """The pairs of `in_place`."""
        return pairs_of(self.in_place)

    @property
    def updated(self) -> tuple[tuple[int, int], ...]:
        """The pairs of `updates`."""
        return pairs_of(self.updates)


@irdl_op_definition
class ExtentOp(PureOp):
    """`tile.extent 65672 : index`: what an extent is in a call, where the number is one that stands for it
    (`irc.dims`)."""

    name = "tile.extent"
    extent = prop_def(IntegerAttr)
    result = result_def(IndexType)
    assembly_format = "$extent attr-dict"

    def __init__(self, extent: int) -> None:
        super().__init__(IntegerAttr(extent, IndexType()))
