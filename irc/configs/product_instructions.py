"""Which instructions multiply the operands of a product, and how."""

from __future__ import annotations

from dataclasses import dataclass

from irc.analysis.product_problem import Product
from irc.dialects.kernel import TileSizes
from irc.ir.targets import KIB, Target

MIN_ROWS = 32
"""Rows from which on warp groups multiply, whatever else."""

MIN_STREAMED = 256 * KIB
"""Bytes of operands from which on they do so with fewer rows: a channel of copies reads them at the memory's speed."""


def best_instruction(product: Product, machine: Target, preferred: str | None = None) -> str:
    """`wgmma` where it has the operands, else `mma` where it has the type, else `fma`; `preferred` where that is
    possible. f32 without wgmma stays with `fma`."""
    possible = ["fma"]
    if can_use_mma(product, machine):
        possible.append("mma")
    if can_use_wgmma(product, machine):
        possible.append("wgmma")
    if preferred in possible:
        return preferred
    streamed = product.k * (product.m * product.lhs.size + product.n * product.rhs.size)
    if "wgmma" in possible and (product.m >= MIN_ROWS or streamed >= MIN_STREAMED):
        return "wgmma"
    return "mma" if "mma" in possible else "fma"


@dataclass(frozen=True)
class WarpGroupOperands:
    """How irc multiplies operands of an element type with wgmma. `operand`: the instruction's name of them
    (`Target.wgmma`); `accumulator`: the element type of sums; `parts`: tiles that each operand becomes; `sums`:
    accumulators of a tile, 2 where the sums of one step along K are added to those of all (promote-sums)."""

    operand: str
    accumulator: str
    parts: int = 1
    sums: int = 1


WGMMA_OPERANDS = {
    "bf16": WarpGroupOperands("bf16", "f32"),
    "f16": WarpGroupOperands("f16", "f32"),
    "f32": WarpGroupOperands("tf32", "f32", parts=2, sums=2),
    "tf32": WarpGroupOperands("tf32", "f32"),
    "f8e4m3": WarpGroupOperands("f8e4m3", "f32", sums=2),
    "f8e5m2": WarpGroupOperands("f8e5m2", "f32", sums=2),
    "i8": WarpGroupOperands("i8", "i32"),
    "u8": WarpGroupOperands("u8", "i32"),
}
"""By element type; f32 operands are `tf32` where a product asks for that precision."""

MMA_OPERANDS = {"bf16": "f32", "f16": "f32", "f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32", "f64": "f64"}
"""Operands that irc multiplies with `mma.sync`, and what it accumulates into; f8 is widened to f16 on the way."""


def are_multiplied(product: Product) -> bool:
    """Whether there are instructions for these two operands together: of one type, or both f8."""
    lhs, rhs = product.lhs, product.rhs
    return lhs is rhs or (lhs.name.startswith("f8") and rhs.name.startswith("f8"))


def can_use_mma(product: Product, machine: Target) -> bool:
    """Whether warp-wide products can compute this: operands of one type, accumulated as the instruction does."""
    same = are_multiplied(product) and product.result.name == MMA_OPERANDS.get(product.lhs.name)
    return same and bool(mma_shapes(product, machine))


def mma_shapes(product: Product, machine: Target) -> tuple[tuple[int, int, int], ...]:
    """The shapes (m, n, k) of the machine's warp-wide products of such operands."""
    return machine.mma.get("f16" if product.lhs.name.startswith("f8") else product.lhs.name, ())


def can_split_mma(product: Product, machine: Target, tile: TileSizes, warps: int) -> bool:
    """Whether a tile's rows and columns can be split over the warps so that each has whole instructions."""
    rows, columns, _ = max(mma_shapes(product, machine))
    splits = ((m, warps // m) for m in range(1, warps + 1) if warps % m == 0)
    return any(tile["m"] % (rows * m) == 0 and tile["n"] % (columns * n) == 0 for m, n in splits)


def wgmma_operands(product: Product) -> WarpGroupOperands | None:
    """How wgmma multiplies these operands; None where it does not."""
    if not are_multiplied(product):
        return None
    name = "tf32" if product.lhs.name == "f32" and product.precision == "tf32" else product.lhs.name
    found = WGMMA_OPERANDS.get(name)
    return found if found is not None and found.accumulator == product.result.name else None


def can_use_wgmma(product: Product, machine: Target) -> bool:
    """Whether warp-group products can compute this: operands of a type that they have, with its accumulator. Those of
    16 bits have to be loaded by tensor maps."""
    operands = wgmma_operands(product)
    if not machine.has_wgmma or operands is None or operands.operand not in machine.wgmma:
        return False
    is_empty = product.batch * product.m * product.n * product.k == 0
    return (product.is_loadable or product.lhs.size != 2) and not is_empty
