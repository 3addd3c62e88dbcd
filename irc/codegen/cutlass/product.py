"""The product of a kernel as CUTLASS's collective builder takes it: extents, majors, element types, tile, schedule."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import prod

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import is_product
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.dialects.nd.base import shape_of
from irc.ir.dtypes import Element, element_of
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError

TMA_ALIGNMENT = 16
"""Bytes: rows of operands and results of the collectives that load and store by TMA."""

ELEMENTS = {
    "bf16": "cutlass::bfloat16_t",
    "f16": "cutlass::half_t",
    "f32": "float",
    "f8e4m3": "cutlass::float_e4m3_t",
    "f8e5m2": "cutlass::float_e5m2_t",
    "i8": "int8_t",
    "u8": "uint8_t",
    "i32": "int32_t",
}
"""The element types that CUTLASS's collectives for sm_90a take, by irc's names."""

PRODUCTS = "bf16, f16, f8e4m3, f8e5m2, i8, u8, and f32 with precision tf32"
SWIZZLE_BYTES = 128


@dataclass(frozen=True)
class Matrix:
    """An operand of the product: an argument of the kernel, or what is computed before it; and whether its rows (M x K
    of the left operand, K x N of the right one) are contiguous."""

    argument: SSAValue
    element: Element
    row_major: bool


@dataclass(frozen=True)
class Product:
    """`batch` products of m x n x k. axes: for each axis of the result, `l`, `m` or `n`."""

    op: Operation
    batch: int
    m: int
    n: int
    k: int
    lhs: Matrix
    rhs: Matrix
    accumulator: Element
    tile: tuple[int, int, int]
    cluster: tuple[int, int]
    schedule: str
    axes: str


def products_of(kernel: FusedOp) -> list[Product]:
    """The kernel's products, of one shape; IrcError where CUTLASS's collectives do not make them."""
    if kernel.kind is not Anchor.MATMUL:
        raise IrcError(
            f"-t cutlass writes matmul kernels, this one is a {kernel.kind.value} kernel", location_of(kernel)
        )
    first, *others = [_product(kernel, op) for op in kernel.cores()]
    for other in others:
        same = (first.batch, first.m, first.n, first.axes), (other.batch, other.m, other.n, other.axes)
        if same[0] != same[1]:
            found = f"products of {first.m} x {first.n} and of {other.m} x {other.n} in one kernel"
            raise _not_said(found, other.op, "products of one shape")
    return [first, *others]


def _product(kernel: FusedOp, first: Operation) -> Product:
    if not is_product(first):
        raise _not_said("a convolution", first, "a product of matrices")
    lhs, rhs = shape_of(first.operands[0]), shape_of(first.operands[1])
    sides = _sides(first, 0), _sides(first, 1)
    extents = {
        name: prod(n for n, side in zip(shape, roles, strict=True) if side == name)
        for shape, roles, name in (
            (lhs, sides[0], "l"),
            (lhs, sides[0], "m"),
            (rhs, sides[1], "n"),
            (lhs, sides[0], "k"),
        )
    }
    if 0 in extents.values():
        raise _not_said("a product of extent 0", first, "extents of at least 1")
    a, b = (_matrix(first, at, roles) for at, roles in enumerate(sides))
    _check_elements(first, a, b)
    config = kernel.config if kernel.config is not None else ConfigAttr.of()
    axes = "l" * sides[0].count("l") + "m" * sides[0].count("m") + "n" * sides[1].count("n")
    return Product(
        first,
        extents["l"],
        extents["m"],
        extents["n"],
        extents["k"],
        a,
        b,
        element_of(first.results[0].type),
        _tile(config, a.element),
        (config.cluster[0], config.cluster[1]) if config.cluster is not None else (1, 1),
        config.schedule or "persistent",
        axes,
    )


def _not_said(what: str, op: Operation, accepted: str) -> IrcError:
    return IrcError(f"CUTLASS's collectives cannot say {what} ({op.name})", location_of(op), f"accepted: {accepted}")


def _sides(op: Operation, operand: int) -> str:
    """For each axis of an operand `l` (CUTLASS's name of a batch), `k`, or `m` or `n`."""
    iteration = iteration_of(op)
    return "".join(str(role).replace("b", "l") for role in iteration.roles(iteration.inputs[operand].map))


def _matrix(op: Operation, at: int, roles: str) -> Matrix:
    """The operand as a matrix for each batch; axes of one role have to lie side by side, batches outermost."""
    value = op.operands[at]
    free = "mn"[at]
    shape = shape_of(value)
    order = "".join(role for role, _ in groupby(r for r, n in zip(roles, shape, strict=True) if n != 1))
    order = "".join(dict.fromkeys(order)) if len(set(order)) == len(order) else order
    matrix = order.removeprefix("l")
    if matrix not in (f"{free}k", f"k{free}", free, "k", ""):
        raise _not_said(
            f"operand {at} with axes in the order {', '.join(roles)}", op, "batches, then rows and columns of a matrix"
        )
    inner = matrix[-1] if matrix else "k"
    element = element_of(value.type)
    row = prod(n for n, role in zip(shape, roles, strict=True) if role == inner)
    check_rows(op, f"operand {at}", row, element)
    return Matrix(value, element, (inner == "k") == (at == 0))


def check_rows(op: Operation, what: str, row: int, element: Element) -> None:
    """IrcError where TMA cannot load or store an array with rows of so many elements."""
    if row * element.size % TMA_ALIGNMENT:
        found = f"rows of {row} x {element.name} of {what}"
        raise _not_said(found, op, f"rows of a multiple of {TMA_ALIGNMENT} bytes")


def _check_elements(op: Operation, a: Matrix, b: Matrix) -> None:
    names = {a.element.name, b.element.name}
    precision = op.properties.get("precision")
    rounds = isinstance(precision, StringAttr) and precision.data == "tf32"
    alike = len(names) == 1 or all(name.startswith("f8") for name in names)
    if not alike or not names <= ELEMENTS.keys() - {"i32"} or (names == {"f32"} and not rounds):
        raise _not_said(f"a product of {a.element.name} and {b.element.name}", op, PRODUCTS)
    if a.element.size != 2 and (not a.row_major or b.row_major):
        raise _not_said(f"operands of {a.element.name} that are not contiguous along K", op, "x @ transpose(w)")


def _tile(config: ConfigAttr, element: Element) -> tuple[int, int, int]:
    depth = SWIZZLE_BYTES // element.size
    tile = (config.tile or TileSizes()).completed({"m": 128, "n": 128, "k": depth})
    return tile["m"], tile["n"], tile["k"]
