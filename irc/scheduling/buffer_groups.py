"""Which buffers travel together: those that are filled in one block and read by one chain of asynchronous dots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.matrix_instructions import is_asynchronous
from irc.dialects import tile
from irc.ir.walks import operands_behind, reached
from irc.scheduling.channels import fills_of, is_exchanged, readers_of, root_of
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class BufferGroup:
    """Buffers that are filled in `block`. `fills` and `readers` are ops of that block, in order: a reader is a dot of
    the chain, reads a buffer to registers, or holds an op that does."""

    block: Block
    buffers: tuple[SSAValue, ...]
    fills: tuple[Operation, ...]
    readers: tuple[Operation, ...]
    dots: tuple[tile.DotOp, ...]
    """The chain."""


def buffer_groups(program: tile.ProgramOp) -> list[BufferGroup]:
    """The groups of a program, in the order in which their first dot comes.

    Dots that go on with each other's sums, or read the same buffer, are one chain: they are issued one behind the
    other, and what they read is free at the same time.
    """
    dots = [op for op in program.walk() if is_asynchronous(op)]
    chains = _Chains(dots)
    for dot in dots:
        for buffer in _buffers_of(dot):
            chains.reads(dot, buffer)
    for read in [op for op in program.walk() if isinstance(op, tile.ReadOp)]:
        beside = next((dot for dot in dots if dot.parent is read.parent), None)
        if beside is not None and _is_own(root_of(read.buffer)):
            chains.reads(beside, root_of(read.buffer), only_first=True)
    members: dict[tuple[tile.DotOp, Block], list[SSAValue]] = {}
    for buffer in _in_order(program):
        if buffer in chains.reader and _is_own(buffer):
            key = chains.find(chains.reader[buffer]), _fill_block(buffer)
            members.setdefault(key, []).append(buffer)
    order = {op: at for at, op in enumerate(program.walk())}
    found = [_group(block, buffers, chains, order) for (_, block), buffers in members.items()]
    return sorted(found, key=lambda group: order[group.readers[0]])


class _Chains:
    """A union of dots, and the first reader of each buffer."""

    def __init__(self, dots: list[tile.DotOp]):
        self._parent = {dot: dot for dot in dots}
        self.reader: dict[SSAValue, tile.DotOp] = {}
        self.dots = dots
        for dot in dots:
            if isinstance(dot.acc.owner, tile.DotOp):
                self.join(dot.acc.owner, dot)

    def find(self, dot: tile.DotOp) -> tile.DotOp:
        while self._parent[dot] is not dot:
            dot = self._parent[dot]
        return dot

    def join(self, first: tile.DotOp, second: tile.DotOp) -> None:
        self._parent[self.find(second)] = self.find(first)

    def reads(self, dot: tile.DotOp, buffer: SSAValue, *, only_first: bool = False) -> None:
        known = self.reader.setdefault(buffer, dot)
        if not only_first:
            self.join(known, dot)


def _buffers_of(dot: tile.DotOp) -> Iterator[SSAValue]:
    """The buffers that a dot multiplies, and those that its left operand in registers is computed from."""

    def computed_from(value: SSAValue) -> list[SSAValue]:
        if isinstance(value.type, tile.BufferType) or isinstance(value.owner, tile.DotOp):
            return []
        return [v for v in operands_behind(value) if isinstance(v.type, TensorType | tile.BufferType)]

    for value in reached([dot.lhs, dot.rhs], computed_from):
        if isinstance(value.type, tile.BufferType) and _is_own(root_of(value)):
            yield root_of(value)


def _is_own(buffer: SSAValue) -> bool:
    """Whether other threads may fill a buffer than those that multiply."""
    return isinstance(buffer.owner, tile.AllocOp) and not is_exchanged(buffer)


def _in_order(program: tile.ProgramOp) -> list[SSAValue]:
    """The program's buffers: those that are read to registers, then those that are multiplied."""
    ops = list(program.walk())
    reads = [op.buffer for op in ops if isinstance(op, tile.ReadOp)]
    multiplied = [v for op in ops if isinstance(op, tile.DotOp) for v in (op.lhs, op.rhs)]
    return list(dict.fromkeys(root_of(v) for v in (*reads, *multiplied) if isinstance(v.type, tile.BufferType)))


def _fill_block(buffer: SSAValue) -> Block:
    """The block that fills a buffer."""
    blocks = {fill.parent for fill in fills_of(buffer)}
    if len(blocks) != 1 or None in blocks:
        raise IrcError(
            f"expected the parts of a dot's operand to be filled in one loop, found {len(blocks)}",
            buffer.owner.location if isinstance(buffer.owner, Operation) else None,
        )
    (block,) = blocks
    assert block is not None
    return block


def _group(block: Block, buffers: list[SSAValue], chains: _Chains, order: dict[Operation, int]) -> BufferGroup:
    chain = chains.find(chains.reader[buffers[0]])
    dots = [dot for dot in chains.dots if chains.find(dot) is chain]
    reads = [op for buffer in buffers for op in readers_of(buffer) if isinstance(op, tile.ReadOp)]
    readers = {block.find_ancestor_op_in_block(op) for op in (*dots, *reads)}
    parts = [use.operation for buffer in buffers for use in buffer.uses if is_fill(use.operation)]
    fills = {*parts, *(fill for buffer in buffers for fill in fills_of(buffer))}
    return BufferGroup(
        block,
        tuple(buffers),
        tuple(sorted(fills, key=lambda op: order[op])),
        tuple(sorted((op for op in readers if op is not None), key=lambda op: order[op])),
        tuple(dots),
    )


def is_fill(op: Operation) -> bool:
    """Whether an op fills a buffer; or is the part that one fills."""
    is_alias = isinstance(op, tile.BufferAliasOp)
    return isinstance(op, tile.CopyOp | tile.WriteOp) or (is_alias and bool(fills_of(op.results[0])))
