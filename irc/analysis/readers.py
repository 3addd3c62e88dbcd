"""The one kernel that reads what another gives, where it can do some of the other's work."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from irc.analysis.code_size import Unrolled
from irc.analysis.op_classes import is_view, size_of
from irc.dialects.kernel import Anchor, FusedOp

MAX_PARTS = 8
"""Parts of a sum that a reader loads for each element."""

MAX_PLACES = 2
"""Of what a reader computes at which it needs the same element, as each half of a row that is rotated."""


def reader_of(kernel: FusedOp) -> FusedOp | None:
    """The only op that reads the results of a kernel, through views, if it is a kernel of elementwise work or of
    reductions that needs each element at a place or two."""
    readers = {reader for value in kernel.results for reader, _ in uses_of(value)}
    reader = next(iter(readers)) if len(readers) == 1 else None
    if not isinstance(reader, FusedOp) or reader.kind not in (Anchor.MAP, Anchor.REDUCE):
        return None
    places = [Unrolled(reader).places[index] for value in kernel.results for _, index in uses_of(value)]
    is_spread = domain_of(reader) > min(map(size_of, kernel.results))
    return None if is_spread or max(places) > MAX_PLACES else reader


def domain_of(reader: FusedOp) -> int:
    """Elements that a kernel of elementwise work computes, or that one of reductions reduces."""
    is_map = reader.kind is Anchor.MAP
    return max(map(size_of, reader.outputs if is_map else [op.operands[0] for op in reader.cores()]))


def uses_of(value: SSAValue) -> Iterator[tuple[Operation, int]]:
    """What reads a value, also through views, and as which operand."""
    for use in value.uses:
        if is_view(use.operation):
            yield from uses_of(use.operation.results[0])
        else:
            yield use.operation, use.index
