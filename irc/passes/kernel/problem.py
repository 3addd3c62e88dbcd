"""What a kernel computes, in numbers: the extents of its products, the rows and lengths of its reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.dialects.kernel import FusedOp
from irc.dtypes import Element, element_named, element_of
from irc.passes.kernel.op_classes import CHEAP, COSTLY, SCANS, SPLITTABLE, integers, reduced_axes, shape_of, size_of


def power_of_two(n: int) -> int:
    """The least power of two that is not below n, and 1 for n < 1."""
    return 1 << max(n - 1, 0).bit_length()


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Product:
    """The products of a kernel: `count` of them, of extents batch x m x n x k each.

    lhs, rhs: elements of the operands, bf16 where the products round them to that. is_loadable: for both operands, of
    all products, whether tensor maps can load them as they are; an operand that the kernel computes first needs none.
    is_computed: whether there is such a one. cheap, costly: elementwise ops that follow, for each element of the
    result. returns: whether something of the result's size is read by what follows. precision: how f32 operands are
    multiplied, `default f32 tf32 bf16`.
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
    is_computed: bool = False
    cheap: int = 0
    costly: int = 0
    returns: bool = False
    precision: str = "default"


def product_of(kernel: FusedOp) -> Product:
    """The products of a matmul kernel; they have the same extents."""
    cores = kernel.cores()
    op = cores[0]
    size = size_of(op.results[0])
    epilogue = [o for o in _after(kernel, cores) if any(size_of(r) >= size for r in o.results)]
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    lhs_batch, lhs_contract = integers(op, "lhs_batch"), integers(op, "lhs_contract")
    rhs_outer = {*integers(op, "rhs_batch"), *integers(op, "rhs_contract")}
    return Product(
        count=len(cores),
        batch=prod(lhs[axis] for axis in lhs_batch),
        m=prod(extent for axis, extent in enumerate(lhs) if axis not in {*lhs_batch, *lhs_contract}),
        n=prod(extent for axis, extent in enumerate(rhs) if axis not in rhs_outer),
        k=prod(lhs[axis] for axis in lhs_contract),
        lhs=_multiplied(op, 0),
        rhs=_multiplied(op, 1),
        result=element_of(op.results[0].type),
        is_loadable=all(_is_loadable(core, side) for core in cores for side in ("lhs", "rhs")),
        is_computed=any(not isinstance(v, BlockArgument) for core in cores for v in core.operands),
        cheap=sum(o.name in CHEAP and o.name != "nd.cast" for o in epilogue),
        costly=sum(o.name in COSTLY for o in epilogue),
        returns=any(
            isinstance(v, BlockArgument) and size_of(v) >= size for o in _after(kernel, cores) for v in o.operands
        ),
        precision=_precision(op),
    )


def _after(kernel: FusedOp, cores: Sequence[Operation]) -> list[Operation]:
    """The ops that depend on the cores, and those that make what else these read."""
    before: set[Operation] = set()
    for op in reversed(list(kernel.block.ops)):
        users = {use.operation for result in op.results for use in result.uses}
        if op in cores or (users and users <= {*before, *cores}):
            before.add(op)
    return [op for op in kernel.block.ops if op not in before]


def _precision(op: Operation) -> str:
    value = op.properties.get("precision")
    return value.data if isinstance(value, StringAttr) else "default"


def _multiplied(op: Operation, operand: int) -> Element:
    """The element type in which an operand is multiplied."""
    element = element_of(op.operands[operand].type)
    return element_named("bf16") if element.name == "f32" and _precision(op) == "bf16" else element


TENSOR_MAP_RANK = 5
TENSOR_MAP_ALIGNMENT = 16
"""CUDA driver API, cuTensorMapEncodeTiled: at most 5 dimensions, strides but the innermost multiples of 16 bytes."""


def _is_loadable(op: Operation, side: str) -> bool:
    value = op.operands[0 if side == "lhs" else 1]
    if not isinstance(value, BlockArgument):
        return True
    groups = _merged(shape_of(value), _roles(op, side))
    groups = [(role, extent) for role, extent in groups if extent != 1]
    if not groups or prod(extent for _, extent in groups) == 0:
        return False
    names = [role for role, _ in groups]
    if names.count("free") > 1 or names.count("contract") > 1 or len(groups) > TENSOR_MAP_RANK or names[-1] == "batch":
        return False
    pitch = groups[-1][1] * element_of(value.type).size
    return len(groups) == 1 or pitch % TENSOR_MAP_ALIGNMENT == 0


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
    of the domain's size. is_aligned: whether runs of contiguous elements that are alike start at multiples of 16 bytes.
    together: elements of a column that follow each other in one row, when rows are put together so that they start at
    such multiples and fill tiles; else 1.
    """

    count: int
    rows: int
    extent: int
    columns: int
    element: Element
    loaded: Element
    arrays: int
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
        is_aligned=together * _run(shape, axes) * _loaded(kernel, op).size % ALIGNED == 0
        or _run(shape, axes) == prod(shape),
        is_contiguous=_is_contiguous(shape, axes),
        returns=_returns(kernel, shape),
        is_nested=_is_nested(kernel),
        is_splittable=all(core.name in SPLITTABLE for core in cores),
        together=together,
    )


ARG_REDUCTIONS = frozenset({"nd.argmax", "nd.argmin"})

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
