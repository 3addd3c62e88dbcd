"""Ops as plain data, which processes send each other: a program of a hundred ops is some kB, and is read in a
millisecond, where its text takes a parser's time."""

from __future__ import annotations

import pickle
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from irc.ir.blocks import ops_in
from irc.ir.locations import set_location


def packed(op: Operation) -> bytes:
    """An op and all that is nested in it, with locations and names of values. What others define is an operand of the
    op alone, and becomes an argument of a block that is nowhere. Ops have no successors."""
    others = list(dict.fromkeys(op.operands))
    numbers = {value: number for number, value in enumerate(others)}
    content = _packed(op, numbers)
    types = [value.type for value in others]
    return pickle.dumps((types, content, _uses(op, numbers)), pickle.HIGHEST_PROTOCOL)


def unpacked(content: bytes) -> Operation:
    """The op that was packed, as a new one: what passes make of it is the same, as uses have their order too."""
    others, found, uses = pickle.loads(content)
    values: list[SSAValue] = list(Block(arg_types=others).args)
    op = _unpacked(found, values)
    ops = ops_in(op)
    for number, users in uses:
        _reorder(values[number], [(ops[user], index) for user, index in users])
    return op


def _uses(op: Operation, numbers: dict[SSAValue, int]) -> list[tuple[int, list[tuple[int, int]]]]:
    """The uses of each value that has several, in their order: the numbers of ops and of their operands. Those by other
    ops are left out."""
    places = {inner: number for number, inner in enumerate(ops_in(op))}
    several = [value for value in numbers if value.has_more_than_one_use()]
    return [
        (numbers[value], [(places[use.operation], use.index) for use in value.uses if use.operation in places])
        for value in several
    ]


def _reorder(value: SSAValue, users: list[tuple[Operation, int]]) -> None:
    uses = {(use.operation, use.index): use for use in value.uses}
    for user in reversed(users):
        value.remove_use(uses[user])
        value.add_use(uses[user])


def _packed(op: Operation, numbers: dict[SSAValue, int]) -> tuple[Any, ...]:
    """`numbers` has the values that are defined before the op, in order."""
    assert not op.successors, f"{op.name} has successors"
    operands = tuple(numbers[operand] for operand in op.operands)
    results = tuple((value.type, value.name_hint) for value in op.results)
    regions = tuple(tuple(_packed_block(block, numbers) for block in region.blocks) for region in op.regions)
    for value in op.results:
        numbers[value] = len(numbers)
    return type(op), operands, results, dict(op.properties), dict(op.attributes), op.location, regions


def _packed_block(block: Block, numbers: dict[SSAValue, int]) -> tuple[Any, ...]:
    for value in block.args:
        numbers[value] = len(numbers)
    arguments = tuple((value.type, value.name_hint, value.location) for value in block.args)
    return arguments, tuple(_packed(op, numbers) for op in block.ops)


def _unpacked(content: tuple[Any, ...], values: list[SSAValue]) -> Operation:
    kind, operands, results, properties, attributes, location, regions = content
    found = [values[operand] for operand in operands]
    made = [Region([_unpacked_block(block, values) for block in region]) for region in regions]
    op: Operation = kind.create(
        operands=found,
        result_types=[type for type, _ in results],
        properties=properties,
        attributes=attributes,
        regions=made,
    )
    set_location(op, location)
    for value, (_, hint) in zip(op.results, results, strict=True):
        value.name_hint = hint
        values.append(value)
    return op


def _unpacked_block(content: tuple[Any, ...], values: list[SSAValue]) -> Block:
    arguments, ops = content
    block = Block(arg_types=[type for type, _, _ in arguments])
    for value, (_, hint, location) in zip(block.args, arguments, strict=True):
        value.name_hint, value.location = hint, location
        values.append(value)
    for op in ops:
        block.add_op(_unpacked(op, values))
    return block
