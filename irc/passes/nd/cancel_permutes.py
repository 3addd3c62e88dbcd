"""cancel-permutes: work between permutes is done in the order of axes in which the fewest bytes are permuted.

A tensor that lies in memory in another order than the program's (channels last) is an argument and a permute, or a
permute and a result. The work between them does not care: elementwise ops, broadcasts, reductions, pads, slices and
concats are the same ops with their axes renamed (`orders.py`). Done in memory's order they meet no permute at all.

**What is chosen together.** A *region* are such ops of one rank that are connected by arrays of that rank. For each
order that one of the region's permutes asks for, the ops that are permuted are those on one side of a minimum cut: an
array that one side makes and the other uses is permuted, which costs its bytes, once for all users; so is the operand
of a broadcast or the result of a reduction whose own axes change places. An array that a permute makes (or that a
permute alone uses) is there in that order already, and a convolution reads and makes arrays in any order; where
all else is equal it makes them with channels last, in which TMA reads them again. Splats and arrays whose axes of
extent 1 alone move are free.

**When.** A region is permuted where its arrays have fewer permutes, and less than half of the bytes are still permuted,
counted exactly for that choice: a kernel that has one array in another order than the rest moves the same bytes
whichever one it is. So a permute is never moved across an op just because it is cheaper there (a cast), a lone permute
and the transposed operand of a product stay where they are, and the pass ends. Products, convolutions, reshapes,
gathers and scans are no part of a region. A product reads its operands in any order of axes that leaves the last one in
its place: it does not ask for one. What a convolution or a product made it reads as well with the contracted axis last.
What a product makes it stores in any such order, and what joins it with others reads it so: a permute of it costs
nothing. Nor does one of 16 bits for products that makes the first axes the last ones: they read a transposed operand as
it lies.

**Groups of channels.** A reshape that splits the channels of what convolutions make, or merges those of what they read,
asks for them last behind it, as they are before it (`split_channels.py`): so does a group norm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.min_cut import Network
from irc.canonicalization.axis_orders import Order, composed, main_arrays, op_in_order, permuted, small_array
from irc.canonicalization.convolution import with_result
from irc.canonicalization.shapes import moves_only_ones
from irc.canonicalization.simplify import splat_of
from irc.canonicalization.split_channels import permute_split_channels
from irc.dialects import nd
from irc.dialects.nd.base import element_of, ints, rank_of, shape_of
from irc.dialects.nd.declared import stored_element
from irc.dialects.nd.elementwise import Elementwise
from irc.dialects.nd.shape import kept_axes
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter
from irc.passes.nd.canonicalize_nd import CanonicalizeNdPass
from irc.support.shapes import inverse
from irc.support.windows import in_order


@dataclass(frozen=True)
class CancelPermutesPass(Pass):
    """Does work between permutes in the order of axes that needs the fewest of them."""

    name = "cancel-permutes"

    fold_constants: bool = True
    """Evaluate ops on constants where the program is simplified again; it is where anything was permuted."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [inner for inner in ops_in(op) if isinstance(inner, FuncOp) and not inner.is_declaration]
        permuted = [each for function in functions for each in permute_split_channels(function.body.block)]
        for _ in range(sum(isinstance(inner, _ASKING) for inner in ops_in(op))):  # each round takes some out
            is_turned = any([_turn(function.body.block) for function in functions])  # noqa: C419
            while permuted:
                permuted.pop().undo()
            if not is_turned:
                return
            CanonicalizeNdPass(fold_constants=self.fold_constants).apply(ctx, op)


def _turn(block: Block) -> bool:
    """Turns what pays in each region of the block; whether anything did."""
    replaced: set[SSAValue] = set()
    for region in _regions(block):
        if replaced.isdisjoint(region.arrays):  # else in the next round
            choices = [choice for order in region.orders() if (choice := region.best(order)) is not None]
            if choices:
                replaced |= _apply(region, max(choices, key=lambda choice: choice.saved))
    return bool(replaced)


_ASKING = (nd.PermuteOp, nd.ConvOp)
"""Ops that ask for an order of axes."""


@dataclass
class _Choice:
    """Ops that are permuted to an order, and the bytes that it saves."""

    order: Order
    ops: set[Operation]
    saved: int


def _bytes_of(value: SSAValue) -> int:
    """Of the array as it is stored: in its declared type."""
    return prod(shape_of(value)) * stored_element(value).size


def _price(value: SSAValue, order: Order, made: Order | None = None) -> int:
    """The bytes of a permute of the array, which is there in the order `made`; nothing where it is a reshape, or a
    product stores it so."""
    shape = shape_of(value)
    current = shape if made is None else [shape[axis] for axis in made]
    if moves_only_ones(current, order) or (made in (None, tuple(range(len(shape)))) and _is_stored_in(value, order)):
        return 0
    return _bytes_of(value)


def _is_stored_in(value: SSAValue, order: Order) -> bool:
    """Whether a product makes the array, and can store it in this order as well."""
    if order[-1] != len(order) - 1:
        return False
    while isinstance(owner := value.owner, Elementwise | nd.ReshapeOp) and value.has_one_use():
        arrays = [each for each in owner.operands if splat_of(each) is None]
        if len(arrays) != 1 or kept_axes(shape_of(arrays[0]), shape_of(value)) is None:
            return False
        (value,) = arrays
    return isinstance(value.owner, nd.MatmulOp)


def _regions(block: Block) -> list[_Region]:
    """The regions of the block that meet a permute or a convolution."""
    if not any(isinstance(op, _ASKING) for op in block.ops):
        return []
    leaders: dict[object, object] = {}

    def leader(node: object) -> object:
        while leaders.setdefault(node, node) is not node:
            leaders[node] = node = leaders[leaders[node]]
        return node

    members: list[Operation] = []
    for op in block.ops:
        arrays = main_arrays(op)
        if not arrays or rank_of(arrays[0]) < 2:
            continue
        members.append(op)
        for array in arrays:
            leaders[leader(op)] = leader(array)
    regions: dict[object, _Region] = defaultdict(_Region)
    for op in members:
        regions[leader(op)].add(op)
    return [region for region in regions.values() if any(True for _ in region.orders())]


@dataclass
class _Region:
    """Connected ops of one rank, in order, and their arrays of that rank."""

    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    arrays: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])

    def add(self, op: Operation) -> None:
        self.ops[op] = None
        self.arrays.update(dict.fromkeys(main_arrays(op)))

    def orders(self) -> Iterator[Order]:
        """The orders in which permutes have the region's arrays, or make others of them, and channels last of those
        that convolutions make; each once."""
        found: dict[Order, None] = {}
        for array in self.arrays:
            if (channels := _channels_of(array)) is not None:
                found[(*(axis for axis in range(rank_of(array)) if axis != channels), channels)] = None
            if isinstance(array.owner, nd.PermuteOp):
                found[inverse(ints(array.owner.permutation))] = None
            found.update(dict.fromkeys(tuple(ints(op.permutation)) for op in _permutes(array)))
        return iter(order for order in found if any(not moves_only_ones(shape_of(x), order) for x in self.arrays))

    def best(self, order: Order) -> _Choice | None:
        """The ops to turn to the order; None where that saves nothing."""
        side = self._network(order).sink_side(_AS_IT_IS, _PERMUTED)
        ops = {op for op in self.ops if op in side}
        if not ops:
            return None
        bytes_before, count_before = self._cost(order, set())
        bytes_after, count_after = self._cost(order, ops)
        if 2 * bytes_after >= bytes_before or count_after >= count_before:  # counts of convolutions come second
            return None
        return _Choice(order, ops, bytes_before - bytes_after)

    def _network(self, order: Order) -> Network[object]:
        """The ops that stay end on the side of the source, those that are permuted on the side of the sink."""
        network: Network[object] = Network()
        network.connect(_AS_IT_IS, _PERMUTED, 0)
        for op in self.ops:
            small = small_array(op, order)
            if small is not None:
                network.connect(_AS_IT_IS, op, _bytes_of(small))
        for array in self.arrays:
            price = _price(array, order)
            if not price:
                continue
            maker, users = self._maker(array, order), self._users(array, order)
            needs_permuted, needs_plain = ("permuted", array), ("as it is", array)
            if _channels_of(array) == order[-1]:
                network.connect(maker, _PERMUTED, _PREFERENCE)
            network.connect(maker, needs_permuted, price)
            network.connect(needs_plain, maker, price)
            for user in users:
                network.connect(needs_permuted, user, inf)
                network.connect(user, needs_plain, inf)
        return network

    def _maker(self, array: SSAValue, order: Order) -> object:
        """Who says in which order the array is made. A convolution makes it as others want it."""
        owner = array.owner
        if isinstance(owner, nd.ConvOp):
            return "any", array
        if isinstance(owner, nd.PermuteOp):
            return _PERMUTED if inverse(ints(owner.permutation)) == order else ("other", array)
        return owner if owner in self.ops and array in self.arrays else _AS_IT_IS

    def _users(self, array: SSAValue, order: Order) -> Iterable[object]:
        """Who says in which order the array is used. A permute that is not undone is one in either, and a convolution
        reads any."""
        users: dict[object, None] = {}
        for use in array.uses:
            user = use.operation
            if isinstance(user, nd.ConvOp):
                continue
            if isinstance(user, nd.PermuteOp):
                if tuple(ints(user.permutation)) == order:
                    users[_PERMUTED] = None
            elif _is_main(user, array) and user in self.ops:
                users[user] = None
            elif not self._takes(user, array, order):
                users[_AS_IT_IS] = None
        return users

    def _takes(self, user: Operation, array: SSAValue, order: Order) -> bool:
        """Whether an op that is no part of the region reads an array that is permuted as well as it does now."""
        if _takes(user, order):
            return True
        is_last = isinstance(user, nd.MatmulOp) and _contracted(user, array) == {order[-1]}
        return is_last and any(_is_product_in(each, order) for each in self.arrays)

    def _cost(self, order: Order, chosen: set[Operation]) -> tuple[int, tuple[int, int]]:
        """The bytes that permutes of the region's arrays and of small ones move; how many the former are, and how many
        convolutions make arrays with something else than channels last."""
        needs: dict[SSAValue, set[Order]] = defaultdict(set)
        for_products: dict[SSAValue, set[Order]] = defaultdict(set)
        for array in self.arrays:
            base, at = _base(array)
            needs[base] |= {composed(at, need) for need in self._needs(array, order, chosen)}
            factors = [op for op in _permutes(array) if _is_factor(op)]
            for_products[base] |= {composed(at, tuple(ints(op.permutation))) for op in factors}
        total = count = unlike = 0
        for base, orders in needs.items():
            plain = tuple(range(rank_of(base)))
            made = [order] if base.owner in chosen and base in self.arrays else [plain]
            if isinstance(base.owner, nd.ConvOp):
                made = sorted({plain, *orders})
            prices = min(
                (
                    (
                        [
                            0 if need in for_products[base] and _is_turn(moved) else _price(base, moved, m)
                            for need in orders
                            for moved in [composed(inverse(m), need)]
                        ],
                        _channels_of(base) not in (None, m[-1]),
                    )
                    for m in made
                ),
                key=lambda found: (sum(found[0]), found[1]),
            )
            total, count = total + sum(prices[0]) + prices[1] * _PREFERENCE, count + sum(map(bool, prices[0]))
            unlike += prices[1]
        total += sum(_bytes_of(small) for op in chosen if (small := small_array(op, order)) is not None)
        return total, (count, unlike)

    def _needs(self, array: SSAValue, order: Order, chosen: set[Operation]) -> set[Order]:
        """The orders in which the array is used; what permutes make of it, if it is no array of the region, as well."""
        plain = tuple(range(rank_of(array)))
        found: set[Order] = set()
        for use in array.uses:
            user = use.operation
            if isinstance(user, nd.ConvOp):
                continue
            if not isinstance(user, nd.PermuteOp):
                if not self._takes(user, array, order):
                    found.add(order if user in chosen and _is_main(user, array) else plain)
            elif user.result not in self.arrays:
                found.add(tuple(ints(user.permutation)))
        return found


_AS_IT_IS = "as it is"
_PERMUTED = "permuted"
_PREFERENCE = 1
"""Bytes that it counts for where a convolution makes an array with something else than channels last."""


def _channels_of(array: SSAValue) -> int | None:
    """The axis of channels of what a convolution makes; None of others, and without axes of space."""
    owner, rank = array.owner, rank_of(array)
    if not isinstance(owner, nd.ConvOp) or rank < 3 or ints(owner.parts):
        return None
    return in_order(range(rank), ints(owner.result_axes))[1]


def _is_product_in(array: SSAValue, order: Order) -> bool:
    """Whether a convolution makes the array, or a permute of what a product makes in this order."""
    owner = array.owner
    if not isinstance(owner, nd.PermuteOp):
        return isinstance(owner, nd.ConvOp)
    value = owner.x
    while isinstance(value.owner, nd.ReshapeOp | nd.CastOp):
        value = value.owner.x
    return inverse(ints(owner.permutation)) == order and isinstance(value.owner, nd.MatmulOp)


def _contracted(op: nd.MatmulOp, array: SSAValue) -> set[int]:
    """The contracted axes of an operand of a product."""
    return set(ints(op.lhs_contract if op.lhs is array else op.rhs_contract))


def _is_main(op: Operation, array: SSAValue) -> bool:
    """Whether the op takes the array with all axes of its work."""
    return array in main_arrays(op)


def _takes(op: Operation, order: Order) -> bool:
    """Whether the op reads a permuted array as well as it reads it now: a product of rows that stay as they are, or the
    split of an axis for such."""
    if isinstance(op, nd.ReshapeOp) and _splits(shape_of(op.x), shape_of(op.result)):
        return order[-1] == len(order) - 1 and all(isinstance(use.operation, nd.MatmulOp) for use in op.result.uses)
    return isinstance(op, nd.MatmulOp) and order[-1] == len(order) - 1


def _is_factor(op: nd.PermuteOp) -> bool:
    """Whether products of 16 bits alone read what the permute makes, also with neighboring axes as one."""
    users = [use.operation for use in op.result.uses]
    users += [use.operation for user in users if isinstance(user, nd.ReshapeOp) for use in user.result.uses]
    return element_of(op.result).size == 2 and all(isinstance(user, nd.MatmulOp | nd.ReshapeOp) for user in users)


def _is_turn(order: Order) -> bool:
    """Whether the first axes become the last ones, and nothing else moves."""
    return order == (*range(order[0], len(order)), *range(order[0]))


def _splits(shape: Sequence[int], result: Sequence[int]) -> bool:
    """Whether a reshape makes several axes of each one that it does not keep, which the last one is."""
    whole, parts = list(shape), list(result)
    while whole and parts and (extent := parts.pop()) <= whole[-1] and whole[-1] % max(extent, 1) == 0:
        whole[-1] //= max(extent, 1)
        if whole[-1] == 1:
            whole.pop()
    return not whole and not parts and len(result) > len(shape) and result[-1] == shape[-1]


def _base(array: SSAValue) -> tuple[SSAValue, Order]:
    """What a permute makes the array of, and how; the array itself where none does."""
    owner = array.owner
    if isinstance(owner, nd.PermuteOp):
        return owner.x, tuple(ints(owner.permutation))
    return array, tuple(range(rank_of(array)))


def _permutes(array: SSAValue) -> list[nd.PermuteOp]:
    return [use.operation for use in array.uses if isinstance(use.operation, nd.PermuteOp)]


def _apply(region: _Region, choice: _Choice) -> set[SSAValue]:
    """Permutes the ops; what others use of them is permuted back. Returns the results that are no more."""
    back = inverse(choice.order)
    replaced: set[SSAValue] = set()
    for op in region.ops:
        if op not in choice.ops:
            continue
        at, result = Inserter.before(op), op.results[0]
        new = op_in_order(op, choice.order, at)
        new.name_hint = new.name_hint or result.name_hint
        if _is_main(op, result):
            new = permuted(new, back, at, result)
        result.replace_all_uses_with(new)
        replaced.add(result)
        op.detach()
        op.erase()
    for array in [array for array in region.arrays if isinstance(array.owner, nd.ConvOp)]:
        _make_as_used(array)
    return replaced


def _make_as_used(array: SSAValue) -> None:
    """Has a convolution make an array in the order in which all uses have it."""
    conv, permutes = array.owner, _permutes(array)
    assert isinstance(conv, nd.ConvOp)
    orders = {tuple(ints(op.permutation)) for op in permutes}
    if ints(conv.parts) or len(orders) != 1 or len(permutes) != len(list(array.uses)):
        return
    made = with_result(conv, orders.pop(), Inserter.before(conv))
    assert isinstance(made.owner, nd.ConvOp)
    made.owner.attributes |= conv.attributes
    for op in permutes:
        Rewriter.replace_op(op, [], [made])
    Rewriter.erase_op(conv)
