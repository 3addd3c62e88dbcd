"""Steps of a plan: launches, copies, and events between streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.host.memory import BufferType
from irc.ir.launching import LaunchableInterface
from irc.ir.operations import EffectOp
from irc.ir.properties import number

Kernels = Mapping[str, LaunchableInterface]

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")
"""What ranks do together."""


class StepOp(EffectOp):
    """A step of the plan: it is enqueued on `stream`."""

    stream = prop_def(IntegerAttr, default_value=number(0))

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        """Each buffer that the step touches, and whether it may write it; `kernels` are the module's, by name."""
        return ()


@irdl_op_definition
class LaunchOp(StepOp):
    """Run a kernel: its `operands` property says which of these buffers (or scalars) each of its arguments
    describes. With `sets` the buffers are as many sets of operands, one behind the other, on which the kernel runs side
    by side."""

    name = "host.launch"
    kernel = prop_def(FlatSymbolRefAttr)
    buffers = var_operand_def()
    sets = prop_def(IntegerAttr, default_value=number(1))
    assembly_format = "$kernel `(` $buffers `)` attr-dict `:` `(` type($buffers) `)`"

    def __init__(self, kernel: str, buffers: Sequence[SSAValue], *, stream: int = 0, sets: int = 1) -> None:
        super().__init__(stream, SymbolRefAttr(kernel), buffers, sets)

    @property
    def kernel_name(self) -> str:
        return self.kernel.root_reference.data

    @property
    def operand_sets(self) -> list[Sequence[SSAValue]]:
        """The sets of operands."""
        sets = max(1, self.sets.value.data)
        size = len(self.buffers) // sets
        return [self.buffers[number * size : (number + 1) * size] for number in range(sets)]

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        kernel = kernels.get(self.kernel_name)
        if kernel is None:
            return [(buffer, True) for buffer in self.buffers]
        return [access for each in self.operand_sets for access in accesses_of_set(each, kernel)]

    def verify_(self) -> None:
        sets = self.sets.value.data
        if sets < 1 or len(self.buffers) % sets:
            raise VerifyException(f"expected operands in {sets} sets, found {len(self.buffers)}")


def accesses_of_set(operands: Sequence[SSAValue], kernel: LaunchableInterface) -> list[tuple[SSAValue, bool]]:
    """Each buffer of a set of operands, and whether the kernel may write it."""
    written = {o for o, writes in zip(kernel.operand_of_argument, kernel.written, strict=True) if writes}
    return [(b, i in written) for i, b in enumerate(operands) if isinstance(b.type, BufferType)]


@irdl_op_definition
class MemsetOp(StepOp):
    """Set every byte of a buffer to `value`, 0..255."""

    name = "host.memset"
    buffer = operand_def(BufferType)
    value = prop_def(IntegerAttr, default_value=number(0))
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        return [(self.buffer, True)]

    def verify_(self) -> None:
        if not 0 <= self.value.value.data <= 255:
            raise VerifyException(f"expected a byte, found {self.value.value.data}")


@irdl_op_definition
class CopyOp(StepOp):
    """Copy the bytes of one buffer to another of the same size."""

    name = "host.copy"
    source = operand_def(BufferType)
    destination = operand_def(BufferType)
    assembly_format = "$source `->` $destination attr-dict `:` type($source) `->` type($destination)"

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        return [(self.source, False), (self.destination, True)]

    def verify_(self) -> None:
        if self.source.type != self.destination.type:
            raise VerifyException(f"expected buffers of one size, found {self.source.type} and {self.destination.type}")


@irdl_op_definition
class CollectiveOp(StepOp):
    """What the ranks of a group do together, `all_reduce`, `all_gather` or `reduce_scatter`: the first half of the
    buffers are read, the others written, one for each. `over` are the axes of the mesh that the group runs along,
    `element` is the type of what is joined by `monoid`. Ranks enqueue the same in the same order."""

    name = "host.collective"
    does = prop_def(StringAttr)
    buffers = var_operand_def(BufferType)
    over = prop_def(StringAttr)
    element = prop_def(StringAttr)
    monoid = prop_def(StringAttr, default_value=StringAttr(""))
    assembly_format = "$does `(` $buffers `)` attr-dict `:` `(` type($buffers) `)`"

    def __init__(
        self,
        does: str,
        sources: Sequence[SSAValue],
        destinations: Sequence[SSAValue],
        *,
        over: str,
        element: str,
        monoid: str = "",
        stream: int = 0,
    ) -> None:
        buffers = [*sources, *destinations]
        super().__init__(does=does, buffers=buffers, over=over, element=element, monoid=monoid, stream=stream)

    @property
    def sources(self) -> Sequence[SSAValue]:
        return self.buffers[: len(self.buffers) // 2]

    @property
    def destinations(self) -> Sequence[SSAValue]:
        return self.buffers[len(self.buffers) // 2 :]

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        return [*((each, False) for each in self.sources), *((each, True) for each in self.destinations)]

    def verify_(self) -> None:
        if self.does.data not in COLLECTIVES:
            raise VerifyException(f"expected one of {', '.join(COLLECTIVES)}, found {self.does.data}")
        if len(self.buffers) % 2 or not self.buffers:
            raise VerifyException(f"expected a buffer to write for each that is read, found {len(self.buffers)}")


class EventOp(StepOp):
    """A step on an event."""

    event = prop_def(IntegerAttr)
    assembly_format = "attr-dict"


@irdl_op_definition
class RecordOp(EventOp):
    """The event is complete when all steps before this one on the stream are."""

    name = "host.record"


@irdl_op_definition
class WaitOp(EventOp):
    """Later steps of the stream start when the event, recorded above, is complete."""

    name = "host.wait"
