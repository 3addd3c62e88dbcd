"""What the ops of a loop wait for, in the same iteration and in earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from irc.dialects import tile
from irc.ir.blocks import end_of
from irc.ir.walks import makers, reached


@dataclass(frozen=True)
class Source:
    """Where a value in a loop comes from: a result of an op of the body, `distance` iterations before.

    arguments: the carried values that lead there, the first one nearest to the user: in iteration number i < distance
    the value is what the argument number i begins with."""

    value: OpResult
    distance: int
    arguments: tuple[BlockArgument, ...] = ()

    @property
    def op(self) -> Operation:
        return self.value.op


def source_of(value: SSAValue, loop: scf.ForOp) -> Source | None:
    """None of what the body does not compute: values from outside, the loop's variable, and arguments that only such
    values, or each other, go into."""
    block, end = loop.body.block, end_of(loop.body.block)
    arguments: list[BlockArgument] = []
    while isinstance(value, BlockArgument) and value.owner is block and value.index > 0:
        if value in arguments:
            return None
        arguments.append(value)
        value = end.operands[value.index - 1]
    if not isinstance(value, OpResult) or value.op.parent is not block:
        return None
    return Source(value, len(arguments), tuple(arguments))


def passed_on(loop: scf.ForOp) -> list[BlockArgument]:
    """The arguments that change from iteration to iteration, and that no op of the body computes."""
    end = end_of(loop.body.block)
    arguments = zip(loop.body.block.args[1:], end.operands, strict=True)
    return [argument for argument, value in arguments if value is not argument and source_of(argument, loop) is None]


def turns_of(loop: scf.ForOp) -> list[tuple[Operation, Operation]]:
    """Pairs of ops of the body that come one behind the other, though no value says so: the dots between a turn's
    `take` and its `pass` are issued in the turn."""
    pairs: list[tuple[Operation, Operation]] = []
    taken: dict[SSAValue, list[Operation]] = {}
    for op in body_of(loop):
        if isinstance(op, tile.TakeOp):
            taken[op.token] = [op]
        elif isinstance(op, tile.PassOp):
            pairs += [(before, op) for before in taken.pop(op.token, [])]
        elif isinstance(op, tile.DotOp):
            for issued in taken.values():
                pairs.append((issued[0], op))
                issued.append(op)
    return pairs


def operands_of(op: Operation) -> Iterator[SSAValue]:
    """What an op uses, and the ops inside of it use, from outside of it."""
    inside = {value for inner in op.walk() for value in inner.results}
    inside |= {value for inner in op.walk() for region in inner.regions for b in region.blocks for value in b.args}
    found = dict.fromkeys(value for inner in op.walk() for value in inner.operands)
    return (value for value in found if value not in inside)


def sources_of(op: Operation, loop: scf.ForOp) -> list[Source]:
    """What an op of the body depends on."""
    found = (source_of(value, loop) for value in operands_of(op))
    return [source for source in found if source is not None]


def body_of(loop: scf.ForOp) -> list[Operation]:
    """The ops of an iteration, without what ends it."""
    return [op for op in loop.body.block.ops if not isinstance(op, scf.YieldOp)]


def needed_by(ops: Iterable[Operation], block: Block) -> list[Operation]:
    """The ops of a block that these depend on, and they themselves, in their order."""
    found = set(reached(ops, lambda op: makers(operands_of(op)) if op.parent is block else ()))
    return [op for op in block.ops if op in found]
