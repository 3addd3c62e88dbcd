"""Common subexpressions: of ops that compute the same, the first stays.

Two ops are the same when their name, operands, properties, attributes (`nd.declared` among them) and result types are;
operands of commutative ops count in any order. The op that stays gets the locations of both. It is `nd.relaxed` where
both are.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import is_side_effect_free

from irc.canonicalization.arithmetic import COMMUTATIVE
from irc.ir.discardable import RELAXED
from irc.ir.rewriting import fuse_locations


def merge_common(op: Operation) -> bool:
    """Merges common subexpressions in every block nested in `op`; returns whether there were any.

    Blocks are scopes of their own: nothing is shared with the blocks around them.
    """
    changed = False
    for region in op.regions:
        for block in region.blocks:
            changed |= merge_in_block(block)
    return changed


def merge_in_block(block: Block) -> bool:
    known: dict[Hashable, list[Operation]] = {}
    changed = False
    for op in list(block.ops):
        if op.regions:
            changed |= merge_common(op)
            continue
        if not op.results:
            continue
        alike = known.setdefault(_key(op), [])
        first = next((other for other in alike if _is_same(op, other)), None)
        if first is None:
            alike.append(op)
            continue
        if not is_side_effect_free(op):
            continue
        first.location = fuse_locations(first.location, op.location)
        if RELAXED not in op.attributes:
            first.attributes.pop(RELAXED, None)
        for old, new in zip(op.results, first.results, strict=True):
            old.replace_all_uses_with(new)
            new.name_hint = new.name_hint or old.name_hint
        block.erase_op(op)
        changed = True
    return changed


def _key(op: Operation) -> Hashable:
    """What few ops have in common that are not the same: without attributes, whose hash takes long, where it can be."""
    operands = [id(operand) for operand in op.operands]
    if len(operands) == 2 and isinstance(op, COMMUTATIVE):
        operands.sort()
    return op.name, tuple(operands) or frozenset(op.properties.items())


def _is_same(op: Operation, other: Operation) -> bool:
    """Of ops with the same key."""
    return op.properties == other.properties and _kept(op) == _kept(other) and op.result_types == other.result_types


def _kept(op: Operation) -> dict[str, Attribute]:
    return {name: value for name, value in op.attributes.items() if name != RELAXED}
