"""The tile, schedule and parts of K of a warp-group product: the candidate that ends first by the model of an SM's
cycles (`wgmma_cycles`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irc.analysis.product_problem import Product
from irc.configs.wgmma_cycles import COLUMNS, GROUPS, STEP_BYTES, Blocking, Model
from irc.dialects.kernel import STAYING, ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import WARP_GROUP, WGMMA_COLUMNS, WGMMA_ROWS
from irc.support.integers import power_of_two

NARROW_COLUMNS = 16
"""As `COLUMNS`, where only the result is stored, and rows of the right operand lie along K: subtiles are half as wide
then. Only where epilogues run beside no products: what narrow subtiles cost those was not measured."""

TALL = 256
TALL_COLUMNS = 128
"""The tallest tile, and its columns."""

MIN_COLUMNS = 16
"""Columns of the narrowest tile."""

ACCUMULATORS = {1: 192, 2: 192, 3: 96}
"""Accumulators of a thread that leave it registers for the rest, by the warp groups of a block that compute."""

FEW_ACCUMULATORS = 128
"""The same where the epilogue reads other tiles, or a producer computes operands, or brings what is left of a
step: these need registers."""

MIN_STEPS = 4
"""Steps along K of the shortest part."""

MAX_PARTS = 128

SHOWN = 4
"""Plans that an explanation lists."""


def ranked_blockings(product: Product, machine: Target, given: ConfigAttr, *, sums: int, parts: int) -> list[Blocking]:
    """The blockings with the rows, the schedule and the parts of K of `given`; first those that have its tile sizes,
    those that are made for its warps, then those with the fewest cycles; among equals the largest tile. `sums`,
    `parts`: accumulators of a tile and tiles of an operand, as in `OperandType`."""
    candidates = _candidates(product, machine, given, sums=sums, parts=parts)
    if not candidates:  # no tile has whole rows: check_config says so
        return ranked_blockings(replace(product, row=1), machine, given, sums=sums, parts=parts)

    def differs(blocking: Blocking) -> tuple[bool, bool]:
        sizes = given.tile or TileSizes()
        return not sizes.agrees(dict(zip("mn", blocking.tile, strict=True))), given.warps not in (None, blocking.warps)

    return [blocking for _, blocking in sorted(candidates, key=lambda c: (*differs(c[1]), *_rank(c)))]


def explain_plans(product: Product, machine: Target, *, sums: int, parts: int) -> str:
    """The blockings with the fewest cycles, the best first, and what the model makes of them; a line each."""
    candidates = sorted(_candidates(product, machine, ConfigAttr.of(), sums=sums, parts=parts), key=_rank)
    return "".join(f"  {model.describe(blocking)}\n" for model, blocking in candidates[:SHOWN])


def _candidates(
    product: Product, machine: Target, given: ConfigAttr, *, sums: int, parts: int
) -> list[tuple[Model, Blocking]]:
    sides = {"m": product, "n": transposed(product)}
    return [
        (Model(sides[side], machine, parts), blocking)
        for side in (_sides(product) if given.swap_ab is None else ("n",) if given.swap_ab else ("m",))
        for blocking in _blockings(sides[side], side, sums, given)
    ]


def _rank(candidate: tuple[Model, Blocking]) -> tuple[float, int]:
    model, blocking = candidate
    return model.cycles(blocking), -blocking.rows * blocking.columns


def _sides(product: Product) -> tuple[str, ...]:
    """The sides along which an instruction's rows are worth a try: N for a right operand that the threads which
    multiply compute, as they do left ones alone, and for a short M."""
    if product.lhs_count > 1 or product.row > 1 or product.lhs_made or (product.rhs_made and product.count > 1):
        return ("m",)
    if product.rhs_made:
        return ("n",)
    is_short = product.m < WGMMA_ROWS < product.n or (product.places > 1 and product.m < WGMMA_ROWS <= product.n)
    return ("m", "n") if is_short else ("m",)


def transposed(product: Product) -> Product:
    """The product of the transposed operands, whose result is the transposed one."""
    return replace(
        product,
        m=product.n,
        n=product.m,
        lhs=product.rhs,
        rhs=product.lhs,
        lhs_pitch=product.rhs_pitch,
        rhs_pitch=product.lhs_pitch,
        lhs_count=product.rhs_count,
        rhs_count=product.lhs_count,
        varying=frozenset({"m": "n", "n": "m"}[side] for side in product.varying),
        rhs_along="k",  # not that of the left operand: what is transposed has few columns
        lhs_made=product.rhs_made,
        rhs_made=product.lhs_made,
    )


def _blockings(product: Product, side: str, sums: int, given: ConfigAttr) -> Iterator[Blocking]:
    takes_turns = product.is_copied and side == "m" and not product.has_rest  # wide tiles gain more
    schedules = (given.schedule,) if given.schedule else ("persistent", "pingpong") if takes_turns else ("persistent",)
    splits = [given.split] if given.split else _splits(product)
    for name in schedules:
        for rows in GROUPS:
            for columns in _columns(product):
                blocking = Blocking(rows, columns, name, 1, side)
                if _fits(product, blocking, sums):
                    yield from (replace(blocking, split=split) for split in splits)


def _columns(product: Product) -> list[int]:
    """Extents of a product's tile along N: a short N at once, else more than a few columns. Those of one scale are
    best: a thread has one number then in place of one for each of its columns."""
    if product.n <= COLUMNS:
        return [max(MIN_COLUMNS, power_of_two(product.n))]
    widest = WGMMA_COLUMNS // product.joined
    step = NARROW_COLUMNS if can_be_narrow(product) else COLUMNS
    found = [n for n in range(COLUMNS, widest + 1, step) if product.is_copied or n == power_of_two(n)]
    fitting = [n for n in found if n >= product.row]
    alike = [n for n in fitting if product.alike and product.alike % n == 0]
    return alike or fitting


def _fits(product: Product, blocking: Blocking, sums: int) -> bool:
    """Whether a thread has registers for it. Threads of a producer that computes operands need some too."""
    is_read_again = product.row > 1 and product.returns
    if blocking.rows > WGMMA_ROWS and is_read_again and not comes_in_subtiles(product, blocking.schedule):
        return False  # whole rows of another array pass through shared memory
    if blocking.rows > 2 * WGMMA_ROWS and (not product.is_copied or blocking.schedule == "pingpong"):
        return False
    if blocking.schedule == "pingpong" and blocking.columns % COLUMNS and blocking.columns > COLUMNS:
        return False
    if blocking.rows == TALL and blocking.columns * product.count > TALL_COLUMNS:
        return False
    held = sums * blocking.rows * blocking.columns * product.count // (blocking.groups * WARP_GROUP)
    most = ACCUMULATORS[2 if blocking.schedule == "pingpong" else blocking.groups]
    has_room = product.is_copied and not product.returns and not product.has_rest
    return held <= (most if has_room else min(most, FEW_ACCUMULATORS))


def comes_in_subtiles(product: Product, schedule: str) -> bool:
    """Whether arrays that the epilogue reads come through shared memory by subtiles, beside the products: by TMA
    (stage-loads), which consumer groups that take turns do not need, or one after the other where there are no whole
    rows."""
    return product.row == 1 or (product.arrives and schedule in STAYING)


def _splits(product: Product) -> list[int]:
    """Numbers of parts of whole steps."""
    step = STEP_BYTES // product.lhs.size
    if product.run:
        parts = [n for n in range(2, MAX_PARTS + 1) if product.can_be_cut(n)]
        return [1, *(n for n in parts if product.k // n >= MIN_STEPS * step)]
    steps = product.k // step if product.k % step == 0 else 0
    parts = [n for n in range(2, MAX_PARTS + 1) if steps % n == 0 and steps // n >= MIN_STEPS]
    return [1, *(n for n in parts if product.can_be_cut(n))]


def can_be_narrow(product: Product) -> bool:
    """Whether tiles may have half as many columns as fill rows of a swizzle; see `NARROW_COLUMNS`."""
    is_plain = product.is_copied and not product.returns and product.row == 1
    return is_plain and product.count == 1 and product.rhs_along == "k"
