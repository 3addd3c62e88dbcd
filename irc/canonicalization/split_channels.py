"""Permutes around work on channels that are split into groups, as of a group norm between convolutions.

A convolution makes and reads arrays in any order of axes, but it does not make the axes of groups: work with these has
more axes, meets no permute, and lies channels first. It gets the permutes, from channels last and back, that the
convolutions around it take for nothing. `cancel-permutes` then finds the order of that work; where that is the one it
had, the permutes are taken out again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from irc.canonicalization.axis_orders import Order, main_arrays
from irc.dialects import nd
from irc.dialects.nd.base import ints, rank_of, shape_of
from irc.ir.rewriting import Inserter
from irc.support.shapes import inverse
from irc.support.windows import in_order


@dataclass
class Permuted:
    """A reshape of x with permutes before and behind it, in the place of the reshape alone."""

    before: nd.PermuteOp
    reshape: nd.ReshapeOp
    behind: nd.PermuteOp
    is_split: bool
    x: SSAValue

    def undo(self) -> None:
        """Puts the reshape alone there again, unless the work on the groups is done in the other order now."""
        if self.is_split:
            is_kept = bool(self.behind.result.uses) and self.reshape.result.has_one_use()
        else:
            is_kept = self.before.x is self.x
        if is_kept:
            made = nd.ReshapeOp(self.before.x, shape_of(self.behind.result))
            made.attributes.update(self.reshape.attributes)
            made.result.name_hint = self.behind.result.name_hint
            self.behind.result.replace_all_uses_with(Inserter.before(self.behind).value(made))
        for op in (self.behind, self.reshape, self.before):
            if not op.results[0].uses:
                op.detach()
                op.erase()


def permute_split_channels(block: Block) -> list[Permuted]:
    """Puts permutes around the splits of channels of what convolutions make, and around what merges channels of what
    they read."""
    if not any(isinstance(op, nd.ConvOp) for op in block.ops):
        return []
    around = _Around()
    made: list[Permuted] = []
    for op in [op for op in block.ops if isinstance(op, nd.ReshapeOp)]:
        split, merged = _split_axis(op.x, op.result), _split_axis(op.result, op.x)
        if split is not None and around.is_made(op.x, split):
            orders = _last(split, rank_of(op.x)), _last(split, rank_of(op.result), 2)
            made.append(_permuted(op, *orders, is_split=True))
        elif merged is not None and around.is_read(op.result, merged):
            orders = _last(merged, rank_of(op.x), 2), _last(merged, rank_of(op.result))
            made.append(_permuted(op, *orders, is_split=False))
    return made


def _split_axis(whole: SSAValue, parts: SSAValue) -> int | None:
    """The axis, others behind it, that a reshape makes two of; None where it does something else, or these are one but
    for extents of 1."""
    before, after = shape_of(whole), shape_of(parts)
    for axis in range(len(before) - 1 if len(after) == len(before) + 1 else 0):
        first, second = after[axis : axis + 2]
        if (*after[:axis], first * second, *after[axis + 2 :]) == before and 1 not in (first, second):
            return axis
    return None


def _last(axis: int, rank: int, count: int = 1) -> Order:
    """The order with so many axes, from this one on, behind all others."""
    moved = range(axis, axis + count)
    return (*(each for each in range(rank) if each not in moved), *moved)


def _permuted(op: nd.ReshapeOp, before: Order, after: Order, *, is_split: bool) -> Permuted:
    """The reshape of what is permuted, permuted back."""
    at, extents = Inserter.before(op), shape_of(op.result)
    x = at(nd.PermuteOp(op.x, before))
    reshaped = at(nd.ReshapeOp(x.result, [extents[axis] for axis in after]))
    back = at(nd.PermuteOp(reshaped.result, inverse(after)))
    for made in (x, reshaped, back):
        made.attributes.update(op.attributes)
    back.result.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(back.result)
    op.detach()
    op.erase()
    return Permuted(x, reshaped, back, is_split, x.x)


@dataclass
class _Around:
    """What is known of arrays and an axis of each, while the block is changed: neither answer depends on that."""

    _made: dict[tuple[SSAValue, int], bool] = field(default_factory=dict[tuple[SSAValue, int], bool])
    _read: dict[tuple[SSAValue, int], bool] = field(default_factory=dict[tuple[SSAValue, int], bool])

    def is_made(self, value: SSAValue, axis: int) -> bool:
        """Whether the array can be made with the axis last for nothing: of what convolutions make, whose channels it
        has."""
        if (value, axis) not in self._made:
            self._made[value, axis] = self._find_made(value, axis)
        return self._made[value, axis]

    def _find_made(self, value: SSAValue, axis: int) -> bool:
        owner = value.owner
        match owner:
            case nd.ConvOp():
                return not ints(owner.parts) and in_order(range(rank_of(value)), ints(owner.result_axes))[1] == axis
            case nd.PermuteOp():
                return inverse(ints(owner.permutation)) == _last(axis, rank_of(value))
            case nd.BroadcastOp():
                return rank_of(owner.x) <= 1
            case Operation() if value in (arrays := main_arrays(owner)):
                return all(self.is_made(array, axis) for array in arrays if array is not value)
            case _:
                return False

    def is_read(self, value: SSAValue, axis: int) -> bool:
        """Whether all that reads the array reads it with the axis last for nothing: convolutions, and work for them."""
        if (value, axis) not in self._read:
            users = [use.operation for use in value.uses]
            self._read[value, axis] = bool(users) and all(self._reads(user, value, axis) for user in users)
        return self._read[value, axis]

    def _reads(self, user: Operation, value: SSAValue, axis: int) -> bool:
        match user:
            case nd.ConvOp():
                is_channels = in_order(range(rank_of(value)), ints(user.x_axes))[1] == axis
                return value is user.x and value is not user.kernel and is_channels
            case nd.PermuteOp():
                return ints(user.permutation) == _last(axis, rank_of(value))
            case nd.ReshapeOp():
                return _split_axis(value, user.result) == axis
            case _:
                arrays = main_arrays(user)
                results = [result for result in user.results if result in arrays]
                return value in arrays and all(self.is_read(result, axis) for result in results)
