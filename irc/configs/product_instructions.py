"""Which instructions multiply the operands of a product, and how."""

from __future__ import annotations

from collections.abc import Mapping

from irc.analysis.product_problem import Product
from irc.configs.columns import can_have_columns
from irc.dialects.kernel import TileSizes
from irc.ir.targets import KIB, Target
from irc.layout.instructions import atoms_of
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS, SHORT_SUMS, OperandType

_READ_AS = {"tf32": "f32", "u8": "i8"}
"""The types of the IR that hold operands, where they have other names."""

GROUP_COLUMNS = 128
"""Columns of sums that one warp group loads from Tensor Memory: a thread has a register for each."""

MIN_ROWS = 32
"""Rows from which on warp groups multiply, whatever else."""

MIN_STREAMED = 256 * KIB
"""Bytes of operands from which on they do so with fewer rows: a channel of copies reads them at the memory's speed."""


def best_instruction(
    product: Product, machine: Target, preferred: str | None = None, *, indexing: str | None = None
) -> str:
    """`wgmma` or `tcgen05` where it has the operands, else `mma` where it has the type, else `fma`; `preferred` where
    that is possible. Warp groups read by TMA alone, so that `indexing` asks for them or for others. f32 without wgmma
    stays with `fma`, unless it is rounded to tf32: three products are `mma` where that is asked for."""
    whole = [*(["direct"] if not product.is_grouped else []), *(["columns"] if can_have_columns(product) else [])]
    possible = ["fma", *whole]
    if can_use_mma(product, machine):
        possible.append("mma")
    if indexing != "pointers" and can_use_wgmma(product, machine):
        possible.append("wgmma")
    if indexing != "pointers" and can_use_tcgen05(product, machine):
        possible.append("tcgen05")
    if preferred in possible:
        return preferred
    streamed = product.k * (product.m * product.lhs.size + product.n * product.rhs.size)
    by_groups = next((name for name in ("wgmma", "tcgen05") if name in possible), None)
    if by_groups is not None and (product.m >= MIN_ROWS or streamed >= MIN_STREAMED or indexing == "tma"):
        return by_groups
    is_split = product.lhs.name == "f32" and product.precision != "tf32"
    return "mma" if "mma" in possible and not is_split else "fma"


WGMMA_OPERANDS, MMA_OPERANDS, TCGEN05_OPERANDS = (
    MATRIX_INSTRUCTIONS[name].operands for name in ("wgmma", "mma", "tcgen05")
)
"""How warp groups, warps and single threads multiply operands, by element type."""


def are_multiplied(product: Product) -> bool:
    """Whether there are instructions for these two operands together: of one type, or both f8."""
    lhs, rhs = product.lhs, product.rhs
    return lhs is rhs or (lhs.name.startswith("f8") and rhs.name.startswith("f8"))


def can_use_mma(product: Product, machine: Target) -> bool:
    """Whether warp-wide products can compute this: operands of one type, accumulated as the instruction does."""
    return mma_operands(product) is not None and bool(mma_shapes(product, machine))


def mma_shapes(product: Product, machine: Target) -> tuple[tuple[int, int, int], ...]:
    """The shapes (m, n, k) of the machine's warp-wide products of such operands."""
    return machine.mma.get(MATRIX_INSTRUCTIONS["mma"].takes(product.lhs.name).operand, ())


def known_mma_shapes(product: Product, machine: Target) -> list[tuple[int, int, int]]:
    """Those that irc has, in the order in which they are preferred."""
    operand = MATRIX_INSTRUCTIONS["mma"].takes(product.lhs.name).operand
    atoms = atoms_of(_READ_AS.get(operand, operand), product.result.name)
    shapes = mma_shapes(product, machine)
    return [(atom.m, atom.n, atom.k) for atom in atoms if (atom.m, atom.n, atom.k) in shapes]


def can_split_mma(
    product: Product, machine: Target, tile: TileSizes, warps: int, given: tuple[int, ...] | None = None
) -> bool:
    """Whether a tile's rows and columns can be split over the warps, or as is given, so that each has whole
    instructions."""
    rows, columns, _ = max(mma_shapes(product, machine))
    splits = ((m, warps // m) for m in range(1, warps + 1) if warps % m == 0 and given in (None, (m, warps // m)))
    return any(tile["m"] % (rows * m) == 0 and tile["n"] % (columns * n) == 0 for m, n in splits)


def wgmma_operands(product: Product) -> OperandType | None:
    """How wgmma multiplies these operands; None where it does not."""
    return _operands(product, WGMMA_OPERANDS)


def mma_operands(product: Product) -> OperandType | None:
    """How warps multiply these operands; None where they do not."""
    return _operands(product, MMA_OPERANDS)


def tcgen05_operands(product: Product) -> OperandType | None:
    """How tcgen05 multiplies these operands; None where it does not."""
    return _operands(product, TCGEN05_OPERANDS)


def _operands(product: Product, known: Mapping[str, OperandType]) -> OperandType | None:
    if not are_multiplied(product):
        return None
    asked = {("f32", "tf32"): "tf32", ("f16", "f16"): SHORT_SUMS}
    found = known.get(asked.get((product.lhs.name, product.precision), product.lhs.name))
    return found if found is not None and found.accumulator == product.result.name else None


def accumulators(product: Product, operands: OperandType) -> int:
    """Accumulators of a tile by a tensor core: a step that is summed from zero has one beside that of all steps."""
    return max(operands.sums, 2 if product.block or product.is_promoted else 1)


def can_use_wgmma(product: Product, machine: Target) -> bool:
    """Whether warp-group products can compute this: operands of a type that they have, with its accumulator. Those of
    16 bits have to be loaded by tensor maps."""
    operands = wgmma_operands(product)
    if not machine.has_wgmma or operands is None or operands.operand not in machine.wgmma:
        return False
    is_empty = product.batch * product.m * product.n * product.k == 0
    return (product.is_loadable or product.lhs.size != 2) and not is_empty


def can_use_tcgen05(product: Product, machine: Target) -> bool:
    """Whether products with sums in Tensor Memory can compute this: of one left matrix, and of matrices that TMA brings
    or a producer computes, whose sums begin with zero once. Rows that are reduced and read again are those of one warp
    group."""
    if not machine.has_tcgen05 or tcgen05_operands(product) is None:
        return False
    is_read = product.is_loadable or product.lhs.size != 2
    is_plain = is_read and product.lhs_count == 1 and product.row <= GROUP_COLUMNS and not product.taps
    is_whole = not (product.is_grouped or product.has_rest or product.block or product.is_promoted)
    return is_plain and is_whole and product.batch * product.m * product.n * product.k > 0
