"""Products whose rows lie on both sides of what is contracted, as convolutions of one tap.

With channels first, a convolution of one tap has images before its channels in memory, and places behind them. As a
product it has rows of both: tensor maps bring no tiles of these, so that threads load them, and a permute behind it
moves its columns between them, where its kernel ends. As a convolution it has the order of the result, and what follows
it in its kernel; x is copied with channels last.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from irc.analysis.costs import flops_of
from irc.analysis.op_classes import instructions_of, is_cast, is_elementwise, size_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, ints, rank_of, shape_of
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import Inserter
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK, Target
from irc.ir.walks import reached, users_of
from irc.support.integers import round_up

COLUMNS = (64, 128)
"""Of a tile of few columns, and of others."""


def moved_columns(op: nd.MatmulOp) -> nd.PermuteOp | None:
    """The permute that moves the columns of a product where what is contracted was in the left operand; None where
    there is none, or rows are not on both sides of it, or the right operand is no matrix."""
    contracted = ints(op.lhs_contract)
    if ints(op.lhs_batch) or len(contracted) != 1 or rank_of(op.rhs) != 2 or not op.result.has_one_use():
        return None
    if contracted[0] == 0 or rank_of(op.lhs) > TENSOR_MAP_RANK:
        return None
    (axis,), shape = contracted, shape_of(op.lhs)
    if any(all(n == 1 for n in side) for side in (shape[:axis], shape[axis + 1 :])) or 0 in (*shape, *shape_of(op.rhs)):
        return None
    (use,) = op.result.uses
    permute, last = use.operation, len(shape) - 1
    order = [*range(axis), last, *range(axis, last)]
    return permute if isinstance(permute, nd.PermuteOp) and [*ints(permute.permutation)] == order else None


def pays(op: nd.MatmulOp, permute: nd.PermuteOp, machine: Target) -> bool:
    """Whether a copy of the left operand takes less than is saved: loads by threads, products by warps, and a kernel of
    what follows."""
    size, columns, costs = element_of(op.lhs).size, iteration_of(op).extent("n"), machine.costs.windows
    read, stored = size * size_of(op.lhs), size * size_of(op.result)
    (axis,) = ints(op.lhs_contract)
    row = size * prod(shape_of(op.lhs)[axis + 1 :])
    loaded = costs.loaded_unaligned if row % TENSOR_MAP_ALIGNMENT else costs.loaded
    few, many = COLUMNS
    padded = flops_of(op) * round_up(columns, few if columns <= few else many) / columns
    multiplied = padded * costs.by_warps / machine.flops[element_of(op.lhs).name]
    now = (read + stored) * loaded / machine.bandwidth + multiplied
    then = (3 * read + stored) / machine.bandwidth + machine.launch_time
    if following := [each for each in reached(_followed_by(permute), _followed_by) if not is_cast(each)]:
        now += 2 * stored / machine.bandwidth + machine.launch_time
        instructions = sum(map(instructions_of, following)) * size_of(op.result)
        then += instructions / (machine.sms * machine.clock * costs.following)
    return now > then


def _followed_by(op: Operation) -> list[Operation]:
    """The elementwise ops that read a result: its kernel can hold them."""
    return [user for user in users_of(op) if is_elementwise(user)]


def convolution(op: nd.MatmulOp, permute: nd.PermuteOp) -> nd.ConvOp:
    """The convolution of the left operand that has the permute's result, inserted in its place: the first axis is that
    of images, the others but for the channels' are of space."""
    (axis,), (depth,) = ints(op.lhs_contract), ints(op.rhs_contract)
    rank, (rows, columns) = rank_of(op.lhs), shape_of(op.rhs)
    axes = [0, axis, *(each for each in range(1, rank) if each != axis)]
    ends, space = (0, rank - 1) if depth else (rank - 1, 0), range(1, rank - 1)
    at = Inserter.before(permute)
    kernel = at.value(nd.ReshapeOp(op.rhs, (rows, *[1] * (rank - 2), columns)))
    conv = nd.ConvOp(
        op.lhs,
        kernel,
        x_axes=axes,
        kernel_axes=[*ends, *space],
        result_axes=axes,
        element=element_of(permute.result),
        location=op.location,
    )
    conv.attributes |= permute.attributes
    conv.result.name_hint = permute.result.name_hint
    permute.result.replace_all_uses_with(at.value(conv))
    return conv
