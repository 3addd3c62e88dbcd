"""What a kernel computes, in numbers: the extents of its products, the rows and lengths of its reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.dialects.kernel import FusedOp
from irc.dtypes import Element, element_named, element_of
from irc.passes.kernel.op_classes import (
    ARG_REDUCTIONS,
    CHEAP,
    COSTLY,
    ELEMENTWISE,
    REDUCTIONS,
    SCANS,
    SPLITTABLE,
    instructions_of,
    integers,
    is_view,
    reduced_axes,
    shape_of,
    size_of,
)
from irc.passes.kernel.operand_work import OperandWork
from irc.passes.kernel.whole_rows import row_extent


def power_of_two(n: int) -> int:
    """The least power of two that is not below n, and 1 for n < 1."""
    return 1 << max(n - 1, 0).bit_length()


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Product:
    """The products of a kernel: `count` of them, of extents batch x m x n x k each.

    lhs, rhs: elements of the operands, bf16 where the products round them to that. lhs_count, rhs_count: how many
    different ones the products have.
    is_loadable: for both operands, of all products, whether tensor maps can load them as they are; an operand that the
    kernel computes first needs none. is_computed: whether there is such a one. lhs_made, rhs_made: what makes an
    operand of 16 bits that is computed, else None. is_copied: whether TMA brings all operands as wgmma reads them.
    lhs_pitch, rhs_pitch: bytes between the rows of the operands in memory, 0 where they have one. rhs_along: the
    dimension along which the right operand is contiguous, "k" or "n".
    written: bytes of operands that another kernel writes just before.
    divisible: the extent of K that can be cut into parts, 1 where what follows needs whole products.
    stored: bytes of results for each element of a product. cheap, costly: elementwise ops that follow, for each element
    of the result; instructions: those of a thread for them. returns: whether something of the result's size is read by
    what follows; arrives: whether TMA can bring all of it by panels of tiles. row: columns that a tile has to have, as
    what follows reduces rows and reads them again; else 1.
    precision: how f32 operands are multiplied, `default f32 tf32 bf16`.
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
    lhs_pitch: int = 0
    rhs_pitch: int = 0
    rhs_along: str = "k"
    written: int = 0
    divisible: int = 1
    stored: int = 0
    cheap: int = 0
    costly: int = 0
    instructions: int = 1
    returns: bool = False
    arrives: bool = False
    row: int = 1
    precision: str = "default"

    def made(self, side: str) -> OperandWork | None:
        """What the threads that multiply compute the operand from whose rows are those of the instruction."""
        return self.lhs_made if side == "m" else self.rhs_made


def product_of(kernel: FusedOp) -> Product:
    """The products of a matmul kernel; they have the same extents."""
    cores = kernel.cores()
    op = cores[0]
    size = size_of(op.results[0])
    after = _after(kernel, cores)
    epilogue = [o for o in after if any(size_of(r) >= size for r in o.results)]
    returned = [(o, v) for o in after for v in o.operands if isinstance(v, BlockArgument) and size_of(v) >= size]
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    lhs_batch, lhs_contract = integers(op, "lhs_batch"), integers(op, "lhs_contract")
    rhs_outer = {*integers(op, "rhs_batch"), *integers(op, "rhs_contract")}
    return Product(
        count=len(cores),
        batch=prod(lhs[axis] for axis in lhs_batch),
        m=prod(extent for axis, extent in enumerate(lhs) if axis not in {*lhs_batch, *lhs_contract}),
        n=prod(extent for axis, extent in enumerate(rhs) if axis not in rhs_outer),
        k=prod(lhs[axis] for axis in lhs_contract),
        lhs=multiplied(op, 0),
        rhs=multiplied(op, 1),
        result=element_of(op.results[0].type),
        is_loadable=all(is_loadable(core, side) for core in cores for side in ("lhs", "rhs")),
        is_computed=any(stored_array(v) is None for core in cores for v in core.operands),
        lhs_made=_made(op, 0),
        rhs_made=_made(op, 1),
        lhs_count=len({core.operands[0] for core in cores}),
        rhs_count=len({core.operands[1] for core in cores}),
        is_copied=all(_is_copied(core, side) for core in cores for side in ("lhs", "rhs")),
        lhs_pitch=_pitch(op, "lhs"),
        rhs_pitch=_pitch(op, "rhs"),
        rhs_along="k" if _is_along_k(op, "rhs") else "n",
        written=_written(kernel, cores),
        divisible=_divisible(kernel, op),
        stored=sum(element_of(v.type).size for v in kernel.outputs if size_of(v) >= size),
        cheap=sum(o.name in CHEAP and o.name != "nd.cast" for o in epilogue),
        costly=sum(o.name in COSTLY for o in epilogue),
        instructions=1 + sum(map(instructions_of, epilogue)),
        returns=bool(returned),
        arrives=all(o.name in ELEMENTWISE and _is_boxed(v, shape_of(op.results[0])) for o, v in returned),
        row=row_extent(kernel),
        precision=_precision(op),
    )


def _is_boxed(value: SSAValue, shape: tuple[int, ...]) -> bool:
    """Whether tensor maps can load the panels of a tile of the result from an array of its shape."""
    if shape_of(value) != shape or not shape:
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


def _precision(op: Operation) -> str:
    value = op.properties.get("precision")
    return value.data if isinstance(value, StringAttr) else "default"


def multiplied(op: Operation, operand: int) -> Element:
    """The element type in which an operand is multiplied."""
    element = element_of(op.operands[operand].type)
    return element_named("bf16") if element.name == "f32" and _precision(op) == "bf16" else element


TENSOR_MAP_RANK = 5
TENSOR_MAP_ALIGNMENT = 16
"""CUDA driver API, cuTensorMapEncodeTiled: at most 5 dimensions, strides but the innermost multiples of 16 bytes."""


def stored_array(value: SSAValue) -> SSAValue | None:
    """The operand of the kernel that a value is, or is the first part of; None of a value that is computed."""
    if isinstance(value.owner, Operation) and starts_operand(value.owner):
        return value.owner.operands[0]
    return value if isinstance(value, BlockArgument) else None


def starts_operand(op: Operation) -> bool:
    """Whether an op is the only use of an operand of its kernel and takes the first part of it, element by element: a
    view of the operand with fewer elements, at the same strides."""
    if op.name != "nd.slice" or not isinstance(op.operands[0], BlockArgument):
        return False
    return op.operands[0].has_one_use() and not any(integers(op, "starts")) and set(integers(op, "steps")) <= {1}


def is_loadable(op: Operation, side: str, *, aligned: bool = False) -> bool:
    """Whether tensor maps can load the operand on this side of a product; with `aligned`, a copy of it with rows that
    are aligned. What is computed needs none."""
    value = op.operands[0 if side == "lhs" else 1]
    array = stored_array(value)
    if array is None:
        return True
    shape, roles = shape_of(value), _roles(op, side)
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
    if names.count("free") > 1 or names.count("contract") > 1 or len(groups) > TENSOR_MAP_RANK or names[-1] == "batch":
        return False
    return len(groups) == 1 or row * element_of(value.type).size % TENSOR_MAP_ALIGNMENT == 0


def _written(kernel: FusedOp, cores: Sequence[Operation]) -> int:
    """See `Product.written`."""
    arrays = {stored_array(value) for core in cores for value in core.operands}
    total = 0
    for argument, value in zip(kernel.block.args, kernel.operands, strict=True):
        source = value
        while isinstance(source.owner, Operation) and is_view(source.owner):
            source = source.owner.operands[0]
        if argument in arrays and isinstance(source.owner, FusedOp):
            total += size_of(value) * element_of(value.type).size
    return total


def _divisible(kernel: FusedOp, op: Operation) -> int:
    """See `Product.divisible`. Parts of what is the first part of an array are no boxes of it."""
    needs_whole = any(o.name in REDUCTIONS | SCANS for o in kernel.block.ops)
    starts = any(stored_array(v) not in (None, v) for core in kernel.cores() for v in core.operands)
    return 1 if needs_whole or starts else shape_of(op.operands[0])[min(integers(op, "lhs_contract"))]


def _is_copied(op: Operation, side: str) -> bool:
    """Whether the operand is an array that TMA loads, of 16 bits, or of 8 and contiguous along K."""
    value = op.operands[0 if side == "lhs" else 1]
    if stored_array(value) is None or not is_loadable(op, side):
        return False
    size = element_of(value.type).size
    return size == 2 or (size == 1 and _is_along_k(op, side))


def _is_along_k(op: Operation, side: str) -> bool:
    """Whether the operand's innermost axis is contracted."""
    value = op.operands[0 if side == "lhs" else 1]
    return next((role for role, _ in reversed(_merged(shape_of(value), _roles(op, side)))), None) == "contract"


def _pitch(op: Operation, side: str) -> int:
    value = op.operands[0 if side == "lhs" else 1]
    groups, array = _merged(shape_of(value), _roles(op, side)), stored_array(value)
    row = groups[-1][1] if groups and array in (None, value) else shape_of(value if array is None else array)[-1]
    return row * element_of(value.type).size if len(groups) > 1 else 0


def _roles(op: Operation, side: str) -> list[str]:
    """`batch`, `contract` or `free` for each axis of an operand."""
    batch, contract = integers(op, f"{side}_batch"), integers(op, f"{side}_contract")
    rank = len(shape_of(op.operands[0 if side == "lhs" else 1]))
    return ["batch" if i in batch else "contract" if i in contract else "free" for i in range(rank)]


def _merged(shape: tuple[int, ...], roles: list[str]) -> list[tuple[str, int]]:
    """Adjacent axes with the same role as one."""
    groups: list[tuple[str, int]] = []
    for role, extent in zip(roles, shape, strict=True):
        if extent == 1:
            continue
        if groups and groups[-1][0] == role:
            groups[-1] = (role, groups[-1][1] * extent)
        else:
            groups.append((role, extent))
    return groups


@dataclass(frozen=True)
class Reduction:
    """The reductions of a kernel over `rows` of `extent` elements each; `count` is of their accumulators, an index too.

    columns: extent of the innermost kept axis where the rows are not contiguous, else 1.
    is_contiguous: whether the elements of a row follow each other in memory. returns: whether the rows are read again
    after they have been reduced. is_nested: whether one reduction needs the result of another. is_splittable: whether
    parts can be reduced first. element: what is reduced. loaded: the element of the largest operand. arrays: operands
    of the domain's size. weights: those as long as a row, which all rows read. is_aligned: whether runs of contiguous
    elements that are alike start at multiples of 16 bytes. together: elements of a column that follow each other in one
    row, when rows are put together so that they start at such multiples and fill tiles; else 1.
    """

    count: int
    rows: int
    extent: int
    columns: int
    element: Element
    loaded: Element
    arrays: int
    weights: int
    is_aligned: bool
    is_contiguous: bool
    returns: bool
    is_nested: bool
    is_splittable: bool
    together: int


def reduction_of(kernel: FusedOp) -> Reduction:
    """The reductions of a reduce kernel; they have the same axes of the same domain."""
    cores = kernel.cores()
    op = cores[0]
    shape, axes = shape_of(op.operands[0]), reduced_axes(op)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    extent = prod(shape[axis] for axis in axes)
    together = _together(kernel, shape, axes)
    return Reduction(
        count=sum(2 if core.name in ARG_REDUCTIONS else 1 for core in cores),
        rows=prod(shape[axis] for axis in kept),
        extent=extent,
        columns=1 if not long or long[-1] in axes else shape[long[-1]],
        element=max((element_of(core.operands[0].type) for core in cores), key=lambda element: element.size),
        loaded=_loaded(kernel, op),
        arrays=sum(2 * prod(shape_of(value)) > prod(shape) for value in kernel.inputs),
        weights=sum(extent <= prod(shape_of(value)) < prod(shape) // 2 for value in kernel.inputs),
        is_aligned=together * _run(shape, axes) * _loaded(kernel, op).size % ALIGNED == 0
        or _run(shape, axes) == prod(shape),
        is_contiguous=_is_contiguous(shape, axes),
        returns=_returns(kernel, shape),
        is_nested=_is_nested(kernel),
        is_splittable=all(core.name in REDUCTIONS for core in cores),
        together=together,
    )


ALIGNED = 16
"""Bytes of the widest access."""

LEAST_ROWS = 64
"""Rows, each of several put together, for which it is worth it to reduce those several in the end."""

LEAST_ROW = 4096
"""Elements of such a row that waste little of its last tile."""


def _together(kernel: FusedOp, shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Rows of the innermost axes, of a reduction over all others, that are put together; 1 where there is no need."""
    columns, size = _run(shape, axes), _loaded(kernel, kernel.cores()[0]).size
    extent = prod(shape[axis] for axis in axes)
    is_over_columns = 0 < columns * extent == prod(shape) and columns > 1 and not _is_contiguous(shape, axes)
    if not is_over_columns or columns * size % ALIGNED == 0 or any(c.name not in SPLITTABLE for c in kernel.cores()):
        return 1
    if _is_nested(kernel) or _returns(kernel, shape):
        return 1
    least = ALIGNED // gcd(ALIGNED, columns * size)
    together = least * max(1, power_of_two(ceil_div(LEAST_ROW, least * columns)))
    return together if extent >= LEAST_ROWS * together else 1


def _is_contiguous(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    return not long or long[-1] in axes


def _run(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Elements of the innermost axes that are all reduced or all kept."""
    run, first = 1, None
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1 and first is not None and (axis in axes) != first:
            break
        run *= shape[axis]
        first = (axis in axes) if shape[axis] != 1 and first is None else first
    return run


def _is_nested(kernel: FusedOp) -> bool:
    dependent: set[SSAValue] = set()
    cores = kernel.cores()
    for op in kernel.block.ops:
        depends = any(operand in dependent for operand in op.operands)
        if op in cores and depends:
            return True
        if op in cores or depends:
            dependent |= set(op.results)
    return False


def _loaded(kernel: FusedOp, op: Operation) -> Element:
    """The element of the largest operand; of a kernel that reads nothing, what is reduced."""
    largest = max(kernel.inputs, key=lambda value: prod(shape_of(value)), default=op.operands[0])
    return element_of(largest.type)


def _returns(kernel: FusedOp, domain: tuple[int, ...]) -> bool:
    """Whether something of the domain's size depends on a reduction, or a scan gives it."""
    dependent: set[SSAValue] = set()
    for op in kernel.block.ops:
        if op.name not in SCANS and op not in kernel.cores() and not any(v in dependent for v in op.operands):
            continue
        dependent |= set(op.results)
        if any(isinstance(r.type, TensorType) and prod(shape_of(r)) >= prod(domain) > 1 for r in op.results):
            return True
    return False
