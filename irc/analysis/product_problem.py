"""What a kernel of matrix products computes, in numbers, and how its operands lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.block_sums import block_sum
from irc.analysis.cuts import divided, extents_to_cut
from irc.analysis.op_classes import (
    behind_views,
    instructions_of,
    is_cast,
    is_cheap,
    is_costly,
    is_elementwise,
    is_grouped,
    is_move,
    is_product,
    is_reduction,
    is_scan,
    is_view,
    precision_of,
    shape_of,
    size_of,
)
from irc.analysis.operand_work import OperandWork
from irc.analysis.readers import reader_of
from irc.analysis.whole_rows import row_extent
from irc.analysis.window_operands import (
    has_pairs_of_taps,
    has_rows_of_taps,
    is_window_loadable,
    rows_of,
    rows_read,
    run_of,
)
from irc.dialects.kernel import FusedOp
from irc.ir.alignment import alignment_of
from irc.ir.dtypes import Element, element_named, element_of
from irc.ir.extents import dims_of
from irc.ir.iteration import Iteration, Kind, Pattern, iteration_of, pattern_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.layout.windows import Reach
from irc.support.extents import Dim, sized_all, varying
from irc.support.integers import ceil_div


@dataclass(frozen=True)
class Product:
    """The products of a kernel: `count` of them, of extents batch x m x n x k each.

    lhs, rhs: elements of the operands, bf16 where the products round them to that. lhs_count, rhs_count: how many
    different ones the products have.
    is_loadable: for both operands, of all products, whether tensor maps can load them as they are; an operand that the
    kernel computes first needs none. is_computed: whether there is such a one. lhs_made, rhs_made: what makes an
    operand of 16 bits that is computed, else None. is_copied: whether TMA brings all operands as wgmma reads them.
    is_gathered: whether the threads that multiply load the left operand, in rows of taps. is_paired: whether no other
    threads could bring these in longer words than pairs, which would go through shared memory.
    lhs_pitch, rhs_pitch: bytes between the rows of the operands in memory, 0 where they have one. rhs_along: the
    dimension along which the right operand is contiguous, "k" or "n".
    written: bytes of operands that another kernel writes just before.
    cuts: the extents of K that can be cut into parts, none where what follows needs whole products. taps: points of a
    convolution's window, 0 where there is none. run: elements of K at one tap, where they are innermost: a step inside
    of them reads at one place; else 0. places: batches whose right operands are the same. reread: how often one
    column's products read an element of the left operand. walked: the contracted extents in the order of the left
    operand; rows_read: what all rows read of it along each of its axes at one place of the last one, along which it
    moves by `step`, where columns lie side by side in both operands, else none. stored_along: the side along which the
    result is contiguous, "m" or "n". varying: the sides whose extent is known when the program is called: `m` or `n`
    stands for it.
    stored: bytes of results for each element of a product. cheap, costly: elementwise ops that follow, for each element
    of the result; instructions: those of a thread for them. returns: whether something of the result's size is read by
    what follows; arrives: whether TMA can bring all of it by subtiles of tiles. reads_vectors: whether something less
    is read, but for single numbers. row: columns that a tile has to have, as what follows reduces rows and reads them
    again; else 1. precision: how f32 operands are multiplied, `default f32 tf32 bf16`; `f32` and `f16` of 16 bits say
    how they are summed. is_grouped: whether they are in groups whose ends are data; blocks then go their own ways.
    has_rest: whether data cuts K, so that what is left of a step has a loop of its own, in which threads bring the
    operands.
    block: elements of K of a block that is scaled before blocks are added up, 0 where none is; a step along K is one.
    alike: neighboring columns whose blocks have one scale, 0 where there are no such groups. scales: arrays that blocks
    are scaled by, and that TMA brings in the stage of the operands (stage-scales).
    is_added_up: whether the one kernel that reads what follows the products adds up parts of them, where they are few.
    """

    count: int
    batch: int
    m: int
    n: int
    k: int
    lhs: Element
    rhs: Element
    result: Element
    is_loadable: bool
    lhs_count: int = 1
    rhs_count: int = 1
    is_computed: bool = False
    lhs_made: OperandWork | None = None
    rhs_made: OperandWork | None = None
    is_copied: bool = False
    is_gathered: bool = False
    is_paired: bool = False
    lhs_pitch: int = 0
    rhs_pitch: int = 0
    rhs_along: str = "k"
    written: int = 0
    cuts: tuple[int, ...] = ()
    taps: int = 0
    run: int = 0
    places: int = 1
    reread: float = 1
    walked: tuple[int, ...] = ()
    rows_read: tuple[Reach, ...] = ()
    stored_along: str = "n"
    varying: frozenset[str] = frozenset()
    stored: int = 0
    cheap: int = 0
    costly: int = 0
    instructions: int = 1
    returns: bool = False
    reads_vectors: bool = False
    arrives: bool = False
    row: int = 1
    precision: str = "default"
    is_grouped: bool = False
    has_rest: bool = False
    block: int = 0
    alike: int = 0
    scales: int = 0
    is_added_up: bool = False

    @property
    def is_promoted(self) -> bool:
        """Whether the program asks for sums of 16-bit operands that are as accurate as those of f32."""
        return self.precision == "f32" and self.lhs.is_float and self.lhs.size == 2

    @property
    def joined(self) -> int:
        """Products of one left operand, at most: an instruction computes the columns of all of these."""
        return self.count - self.lhs_count + 1

    def come_in_pairs(self, side: str, step: int) -> bool:
        """Whether tiles of `step` along a side, "m" or "n", are known to come in pairs."""
        return side not in self.varying and ceil_div(self.m if side == "m" else self.n, step) % 2 == 0

    def can_be_cut(self, parts: int) -> bool:
        """Whether K has so many parts of one extent."""
        return divided(self.cuts, parts) is not None

    def at_usual(self, dims: Sequence[Dim]) -> Product:
        """The product of the usual sizes of dims. What stands for these is as large as the largest, and 521 at
        least."""
        sizes = {dim.name: dim.usual_size for dim in dims}
        batch, m, n = sized_all((self.batch, self.m, self.n), dims, sizes)
        return replace(self, batch=batch, m=m, n=n)

    def made(self, side: str) -> OperandWork | None:
        """What the threads that multiply compute the operand from whose rows are those of the instruction."""
        return self.lhs_made if side == "m" else self.rhs_made


def product_of(kernel: FusedOp) -> Product:
    """The products of a matmul kernel; they have the same extents. Groups whose ends are data are taken to be of one
    size."""
    cores = kernel.cores()
    op = cores[0]
    blocks = block_sum(kernel)
    size = size_of((blocks or op).results[0])
    after = _after(kernel, cores if blocks is None else [blocks])
    epilogue = [o for o in after if any(size_of(r) >= size for r in o.results)]
    returned = [(o, v) for o in after for v in o.operands if isinstance(v, BlockArgument) and size_of(v) >= size]
    iteration, is_gathered = iteration_of(op), has_rows_of_taps(op)
    places = prod(dim.extent for i, dim in enumerate(iteration.dims) if dim.role == "m" and i not in rows_of(op))
    groups = iteration.extent("b") if is_grouped(op) else 1
    count = 1 if blocks is None else iteration.extent("b")
    extents = {role: ceil_div(iteration.extent(role), groups if role == _cut(iteration) else 1) for role in "mnk"}
    return Product(
        count=len(cores),
        batch=iteration.extent("b") // count * places,
        m=extents["m"] // max(places, 1),
        n=extents["n"],
        k=extents["k"] * count,
        lhs=multiplied(op, 0),
        rhs=multiplied(op, 1),
        result=element_of(op.results[0].type),
        is_loadable=all(is_loadable(core, operand) for core in cores for operand in (int(is_gathered), 1)),
        is_computed=any(stored_array(v) is None for core in cores for v in core.operands),
        lhs_made=_made(op, 0),
        rhs_made=_made(op, 1),
        lhs_count=len({(core.operands[0], iteration_of(core).inputs[0].map) for core in cores}),
        rhs_count=len({core.operands[1] for core in cores}),
        is_copied=all(_is_copied(core, operand) for core in cores for operand in (0, 1)),
        is_gathered=is_gathered,
        is_paired=has_pairs_of_taps(op),
        lhs_pitch=_pitch(op, 0),
        rhs_pitch=_pitch(op, 1),
        rhs_along="k" if _is_along_k(op, 1) else "n",
        written=_written(kernel, cores),
        cuts=_cuts(kernel, op),
        taps=0 if is_product(op) or is_grouped(op) else prod(d.extent for d in iteration.dims if d.kind is Kind.WINDOW),
        run=run_of(op),
        places=places,
        reread=iteration.extent("b") * iteration.extent("m") * iteration.extent("k") / max(1, size_of(op.operands[0])),
        walked=tuple(iteration.dims[i].extent for i in iteration.along(iteration.inputs[0].map, "k")),
        rows_read=rows_read(op),
        stored_along=_stored_along(op),
        varying=frozenset(side for side in ("m", "n") if varying(iteration.extent(side), dims_of(kernel))),
        stored=sum(element_of(v.type).size for v in kernel.outputs if size_of(v) >= size),
        cheap=sum(is_cheap(o) and not is_cast(o) for o in epilogue),
        costly=sum(is_costly(o) for o in epilogue),
        instructions=1 + sum(map(instructions_of, epilogue)),
        returns=bool(returned),
        reads_vectors=any(isinstance(v, BlockArgument) and 1 < size_of(v) < size for o in after for v in o.operands),
        arrives=all(is_elementwise(o) and _is_boxed(v, shape_of(op.results[0])) for o, v in returned),
        row=row_extent(kernel),
        precision=precision_of(op) or "default",
        is_grouped=is_grouped(op),
        has_rest=is_grouped(op) and _cut(iteration) == "k",
        block=0 if blocks is None else extents["k"],
        alike=0 if blocks is None else _alike(kernel, extents["n"]),
        scales=0 if blocks is None else _scales(kernel, op),
        is_added_up=not any(map(is_reduction, after)) and reader_of(kernel) is not None,
    )


def _alike(kernel: FusedOp, columns: int) -> int:
    """See `Product.alike`: what a reshape that makes columns of groups of them has in a group."""
    views = [op for op in kernel.block.ops if is_view(op) and shape_of(op.results[0])[-1:] == (columns,)]
    merged = [extent for op in views for extent in shape_of(op.operands[0])[-1:]]
    return min((extent for extent in merged if extent not in (1, columns)), default=0)


def _scales(kernel: FusedOp, product: Operation) -> int:
    """See `Product.scales`."""
    multiplied = [stored_array(value) for value in product.operands]
    return sum(_has_aligned_rows(v) for v in kernel.block.args if v not in multiplied)


def _cut(iteration: Iteration) -> str | None:
    """The role of the dimension that data cuts, `m` or `k`."""
    return None if iteration.segments is None else iteration.dims[iteration.segments.along].role


def _is_boxed(value: SSAValue, shape: tuple[int, ...]) -> bool:
    """Whether tensor maps can load the subtiles of a tile of the result from an array of its shape."""
    return shape_of(value) == shape and _has_aligned_rows(value)


def _has_aligned_rows(value: SSAValue) -> bool:
    """Whether rows of an array are whole units of what tensor maps load."""
    shape = shape_of(value)
    if not shape or alignment_of(value) % TENSOR_MAP_ALIGNMENT:
        return False
    return shape[-1] * element_of(value.type).size % TENSOR_MAP_ALIGNMENT == 0


def _after(kernel: FusedOp, cores: Sequence[Operation]) -> list[Operation]:
    """The ops that depend on the cores, and those that make what else these read."""
    before: set[Operation] = set()
    for op in reversed(list(kernel.block.ops)):
        users = {use.operation for result in op.results for use in result.uses}
        if op in cores or (users and users <= {*before, *cores}):
            before.add(op)
    return [op for op in kernel.block.ops if op not in before]


def _made(op: Operation, operand: int) -> OperandWork | None:
    """See `Product.lhs_made`."""
    value, element = op.operands[operand], multiplied(op, operand)
    if element.size != 2 or (stored_array(value) is not None and element_of(value.type) is element):
        return None
    return OperandWork.of(op, operand)


def multiplied(op: Operation, operand: int) -> Element:
    """The element type in which an operand is multiplied."""
    element = element_of(op.operands[operand].type)
    return element_named("bf16") if element.name == "f32" and precision_of(op) == "bf16" else element


def stored_array(value: SSAValue) -> SSAValue | None:
    """The operand of the kernel that a value is, or is the first part of; None of a value that is computed."""
    if isinstance(value.owner, Operation) and starts_operand(value.owner):
        return value.owner.operands[0]
    return value if isinstance(value, BlockArgument) else None


def starts_operand(op: Operation) -> bool:
    """Whether an op is the only use of an operand of its kernel and takes the first part of it, element by element: a
    view of the operand with fewer elements, at the same strides."""
    if not is_move(op) or len(op.operands) != 1 or not isinstance(op.operands[0], BlockArgument):
        return False
    return op.operands[0].has_one_use() and iteration_of(op).inputs[0].is_identity and not is_view(op)


def is_loadable(op: Operation, operand: int, *, aligned: bool = False) -> bool:
    """Whether tensor maps can load the left (0) or right (1) operand of a product; with `aligned`, a copy of it with
    rows that are aligned. What is computed needs none."""
    value = op.operands[operand]
    array = stored_array(value)
    if array is None:
        return True
    if not aligned and alignment_of(array) % TENSOR_MAP_ALIGNMENT:
        return False
    if pattern_of(op) is Pattern.CONVOLUTION:
        return array is value and is_window_loadable(op, operand)
    shape, roles = shape_of(value), _roles(op, operand)
    if aligned or array is not value:
        # Rows that are apart do not merge with what is outside them.
        groups = [*_merged(shape[:-1], roles[:-1]), (roles[-1], shape[-1])]
        row = TENSOR_MAP_ALIGNMENT if aligned else shape_of(array)[-1]
    else:
        groups = _merged(shape, roles)
        row = groups[-1][1] if groups else 0
    groups = [(role, extent) for role, extent in groups if extent != 1]
    if not groups or prod(extent for _, extent in groups) == 0:
        return False
    names = [role for role, _ in groups]
    if (
        None in names
        or any(names.count(role) > 1 for role in "mnk")
        or len(groups) > TENSOR_MAP_RANK
        or names[-1] == "b"
    ):
        return False
    return len(groups) == 1 or row * element_of(value.type).size % TENSOR_MAP_ALIGNMENT == 0


def written_before(kernel: FusedOp) -> tuple[bool, ...]:
    """Of each operand, whether another kernel gives it: all that a config asks about what is around the kernel."""
    return tuple(isinstance(behind_views(value).owner, FusedOp) for value in kernel.inputs)


def _written(kernel: FusedOp, cores: Sequence[Operation]) -> int:
    """See `Product.written`."""
    arrays = {stored_array(value) for core in cores for value in core.operands}
    operands = zip(kernel.block.args, written_before(kernel), strict=True)
    values = [argument for argument, is_written in operands if is_written and argument in arrays]
    return sum(size_of(value) * element_of(value.type).size for value in values)


def _cuts(kernel: FusedOp, op: Operation) -> tuple[int, ...]:
    """See `Product.cuts`. Parts of what is the first part of an array are no boxes of it."""
    needs_whole = any(is_reduction(o) or is_scan(o) for o in kernel.block.ops)
    starts = any(stored_array(v) not in (None, v) for core in kernel.cores() for v in core.operands)
    return () if needs_whole or starts else extents_to_cut(op)


def _stored_along(op: Operation) -> str:
    """See `Product.stored_along`."""
    iteration, shape = iteration_of(op), shape_of(op.results[0])
    inner = max((axis for axis, extent in enumerate(shape) if extent != 1), default=None)
    return "m" if inner in iteration.axes(iteration.result, "m") else "n"


def _is_copied(op: Operation, operand: int) -> bool:
    """Whether the operand is an array that TMA loads, of 16 bits, or of 8 and contiguous along K."""
    value = op.operands[operand]
    if stored_array(value) is None or not is_loadable(op, operand):
        return False
    size = element_of(value.type).size
    return size == 2 or (size == 1 and _is_along_k(op, operand))


def _is_along_k(op: Operation, operand: int) -> bool:
    """Whether the operand's innermost axis is contracted."""
    groups = _merged(shape_of(op.operands[operand]), _roles(op, operand))
    return bool(groups) and groups[-1][0] == "k"


def _pitch(op: Operation, operand: int) -> int:
    value = op.operands[operand]
    groups, array = _merged(shape_of(value), _roles(op, operand)), stored_array(value)
    row = groups[-1][1] if groups and array in (None, value) else shape_of(value if array is None else array)[-1]
    return row * element_of(value.type).size if len(groups) > 1 else 0


def _roles(op: Operation, operand: int) -> tuple[str | None, ...]:
    """The role of each axis of an operand: `b m k` of the left one, `b n k` of the right one; of an axis of several
    groups that inside of them, None of one along which a window moves."""
    iteration = iteration_of(op)
    found = [{iteration.dims[i].role for i in e.used_dims()} for e in iteration.inputs[operand].map.results]
    inside = [roles - {"b"} if len(roles) > 1 else roles for roles in found]
    return tuple(next(iter(roles)) if len(roles) == 1 else None for roles in inside)


def _merged(shape: Sequence[int], roles: Sequence[str | None]) -> list[tuple[str | None, int]]:
    """Adjacent axes with the same role as one."""
    groups: list[tuple[str | None, int]] = []
    for role, extent in zip(roles, shape, strict=True):
        if extent == 1:
            continue
        if groups and groups[-1][0] == role:
            groups[-1] = (role, groups[-1][1] * extent)
        else:
            groups.append((role, extent))
    return groups
