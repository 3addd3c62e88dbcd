"""The config of a kernel of a cascade: a block has rows of both products and walks over the columns of the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd, prod

from xdsl.ir import Operation, SSAValue

from irc.analysis.budgets import (
    OTHER_REGISTERS,
    STORE_STAGES,
    SUBTILE_COLUMNS,
    SUM_REGISTERS,
    block_memory,
    cascade_registers,
    channel_bytes,
    tile_registers,
)
from irc.analysis.cascade_parts import blocks_of, blocks_of_sm, parts_of
from irc.analysis.cascades import Cascade, cascade_in, computed_from, rows_of
from irc.analysis.op_classes import shape_of, size_of
from irc.analysis.pages import page_rows
from irc.analysis.product_problem import is_loadable, multiplied
from irc.analysis.strided_views import strided_view
from irc.configs.shares import even_group
from irc.dialects import nd
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.extents import dims_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import KIB, Target
from irc.layout.instructions import GROUP_WARPS, WARP_GROUP, WGMMA_ROWS
from irc.support.integers import ceil_div

ROWS = (128, 192)
"""Of a block: two warp groups share what is loaded, and one computes exponentials while the other multiplies. A third
one overlaps more, where its registers suffice."""

TURN_ROWS = 192
"""Rows from which on warp groups issue the first product of a step in turn: the exponentials of one of three run beside
the products of the others. Two do so without turns, and steps that a mask may be applied to run best in order."""

MORE_ROWS = 1.17
"""The speed of a block of the most rows for each of its rows, of one of the fewest, where the config sets no `m`: on an
H200, at 64 columns. Masked ones are no faster."""

STEPS = (128, 96, 80, 64, 48, 32, 16)
"""Columns of the scores of a step, the most first. 112 are slower than either neighbor on an H200."""

LONG = 32
"""Columns of a step from which on its products are worth the waits between them, where the config sets no `k`."""

SUM_BYTES = 4
"""Of an element of what a step adds to sums, which is in f32."""

MULTIPLE = 16
"""Of which steps are: the depth of an instruction on 16 bits."""

MAX_STAGES = 2
"""Each step takes so long that one more in flight is enough. Of steps that pages make short there are more, with as
many columns in all."""

SHORT = 1024
"""Columns of the scores up to which a block is over so soon that loads of the next one's matter more than its turn."""

SHARED_BYTES = 16 << 20
"""Of the right operands of batches that are walked over together, longest rows first: a third of an H200's L2. Several
scores take twice as long to a step, and two thirds."""

MMA_ROWS, MMA_STEP, MMA_WARPS = 64, 64, 4
"""Of warp-wide products, whose left operands pass through shared memory."""


@dataclass(frozen=True)
class CascadeProblem:
    """rows, steps: extents of the scores' rows and columns. scores: how many there are. held, streamed: elements of
    operands for each row, and for each column of the scores; apart: these where an operand of two products has a
    buffer for each. channels: of operands. columns: of the products, all together. moved: bytes of results, and of
    arrays that are read with them, for each row. size: bytes of an operand's element. is_loadable: whether tensor
    maps load all operands. is_masked: whether the work of a block may depend on its rows. is_searched: whether numbers
    of an array, which do not fall, may say from where to where its columns go. is_relative: whether exponentials are
    relative to a reduction. lasting: values for each of the scores that stay until other scores
    are there, beside one of each. summed: columns of the products that contract the rows, of which each step adds a
    part to sums. page: rows of the pages in which operands lie along the columns, 0 where none does. batches: those
    that tiles walk over together, and how often there are so many. is_slow: whether there are more blocks than SMs, and
    one by itself takes longer for its columns than these take to come."""

    rows: int
    steps: int
    scores: int
    held: int
    streamed: int
    apart: int
    columns: int
    moved: int
    size: int
    is_loadable: bool
    is_masked: bool
    is_searched: bool
    is_relative: bool
    lasting: int
    channels: int
    summed: int = 0
    page: int = 0
    batches: tuple[int, int] = (1, 1)
    is_slow: bool = False

    def shared_memory(self, rows: int, step: int, stages: int, instruction: str | None = "wgmma") -> int:
        """Bytes of operands that are held, of what the steps in flight load, and of arrays beside results."""
        streamed = self.streamed if instruction == "wgmma" else self.apart
        added = step * (self.size * rows + SUM_BYTES * self.summed) if self.summed else 0
        return rows * (self.size * self.held + self.moved) + self.size * stages * step * streamed + added

    def taken(self, rows: int, step: int, stages: int, instruction: str | None = "wgmma") -> int:
        """The same with the barriers of a channel of each operand."""
        barriers = self.channels * channel_bytes([], stages) if instruction == "wgmma" else 0
        return self.shared_memory(rows, step, stages, instruction) + barriers

    def registers(self, step: int) -> int:
        """Of a thread, for its elements of 64 rows: of a step of the scores, of the first operand that is computed of
        them, and of the results. Further operands take the place of scores that are no longer needed."""
        size = WGMMA_ROWS * (4 * step * (self.scores + self.lasting) + self.size * step + 4 * self.columns)
        return tile_registers(size, WARP_GROUP)

    def allowed_registers(self, rows: int, machine: Target, blocks: int = 1) -> int:
        warps = GROUP_WARPS * ceil_div(rows, WGMMA_ROWS)
        return cascade_registers(machine, warps, blocks, reduces_rows=self.scores == 1, adds_sums=self.summed > 0)

    def is_divided(self, rows: int, step: int) -> bool:
        """Whether warp groups divide what a step adds to sums: its columns, or those of the sums."""
        return not self.summed or not (step % rows and self.summed % rows)

    def most_stages(self, step: int) -> int:
        return MAX_STAGES * (STEPS[0] // step if self.page else 1)

    def is_of_page(self, step: int) -> bool:
        """Whether a step has columns of one page."""
        return self.page % step == 0


def cascade_problem(kernel: FusedOp, config: ConfigAttr) -> CascadeProblem:
    """Of the products of a kernel with a cascade, whose columns the config may split."""
    cascade = cascade_in(kernel)
    first, last = ([iteration_of(op) for op in ops] for ops in (cascade.scores, cascade.products))
    operands: list[tuple[Operation, int]] = [(op, side) for op in cascade.scores for side in (0, 1)]
    operands += [(op, 1) for op in cascade.products]
    held: dict[SSAValue, int] = {}
    streamed = {op.operands[1]: each.extent("n") for op, each in zip(cascade.products, last, strict=True)}
    for op, each in zip(cascade.scores, first, strict=True):
        rows, columns = cascade.sides(op)
        held[rows] = streamed[columns] = each.extent("k")
    wide = {op.operands[1]: iteration_of(op).extent("n") for op in cascade.across}
    held = wide | held
    return CascadeProblem(
        rows_of(cascade.products[0]),
        last[0].extent("k"),
        len(first),
        sum(held.values()),
        sum(streamed.values()),
        sum(each.extent("k") for each in first) + sum(each.extent("n") for each in last),
        sum(each.extent("n") for each in last),
        _moved(kernel, cascade, config),
        multiplied(cascade.products[0], 0).size,
        all(_is_loadable(op, side) for op, side in operands),
        any(isinstance(op, nd.WhereOp) for op in kernel.block.ops),
        any(isinstance(op, nd.AscendingOp) for op in kernel.block.ops),
        bool(cascade.references),
        _lasting(cascade),
        len(held) + len(streamed),
        sum(wide.values()),
        page_rows(cascade),
        _batches(cascade),
    )


def _batches(cascade: Cascade) -> tuple[int, int]:
    """Of the results: those that share right operands, if there are such, and how often."""
    product = cascade.products[0]
    whole = prod(shape_of(product.results[0])[:-1]) // max(rows_of(product), 1)
    apart = prod(shape_of(product.operands[1])[:-2])
    return (whole, 1) if apart >= whole else (whole // max(apart, 1), apart)


def _lasting(cascade: Cascade) -> int:
    """How many values, of some scores alone, are used with others: each is there until these are. One takes the place
    of the scores."""
    along = [set(computed_from([op])) for op in cascade.scores]
    found = 0
    for at, values in enumerate(along):
        others = set[SSAValue]().union(*along[:at], *along[at + 1 :])
        alone = values - others
        used = [v for v in alone if any(r in others for use in v.uses for r in use.operation.results)]
        found += max(0, len(used) - 1)
    return found


def _is_loadable(op: Operation, side: int) -> bool:
    """Whether tensor maps load an operand: an array, or what the kernel takes from one."""
    view = strided_view(op.operands[side])
    return view.is_loadable if view.is_moved or _is_apart(op, side) else is_loadable(op, side)


def _is_apart(op: Operation, side: int) -> bool:
    """Whether a product adds up over several axes of an operand that are not side by side, as over positions and over
    heads that share keys."""
    iteration = iteration_of(op)
    axes = [axis for axis in iteration.axes(iteration.inputs[side].map, "k") if shape_of(op.operands[side])[axis] != 1]
    return any(b != a + 1 for a, b in pairwise(axes))


def _moved(kernel: FusedOp, cascade: Cascade, config: ConfigAttr) -> int:
    """Bytes for each row of arrays that lie along the results: those that are stored, and that what follows reads.
    Without the latter, results are staged by subtiles, beside sums one at a time. Of parts of the columns of a cascade
    the products themselves are stored, and what follows is another kernel."""
    results = [op.results[0] for op in cascade.products]
    size, extents = size_of(results[0]), [iteration_of(op).extent("n") for op in cascade.products]
    if (config.split or 1) > 1:
        return element_of(results[0].type).size * sum(extents)
    pairs = zip(kernel.outputs, kernel.yielded.outputs, strict=True)
    sums = {value for value, output in pairs if output.owner in cascade.across}
    read = [v for v in kernel.block.args if size_of(v) == size and v not in cascade.operands]
    stored = [v for v in kernel.outputs if size_of(v) == size and v not in sums]
    count = 1 if cascade.across else config.store_stages or STORE_STAGES
    most = count * (config.subtile or SUBTILE_COLUMNS)
    columns = sum(extents if read else (min(most, extent) for extent in extents))
    return sum(element_of(v.type).size for v in (*read, *stored)) * columns // len(results)


def choose_cascade(
    kernel: FusedOp, machine: Target, given: ConfigAttr, instruction: str | None
) -> Iterator[ConfigAttr]:
    """The configs, the best first."""
    cascade = cascade_in(kernel)
    split = given.split or parts_of(cascade, machine)
    is_slow = blocks_of_sm(cascade, machine) > 1 and blocks_of(cascade) * split > machine.sms
    problem = cascade_problem(kernel, given.replace(split=split))
    for config in _choose(replace(problem, is_slow=is_slow), machine, given, instruction):
        if split > 1:
            yield config.replace(split=split)
        else:  # tiles are counted where their number is known
            yield config if dims_of(kernel) else _shared_evenly(problem, machine, config)


def _choose(
    problem: CascadeProblem, machine: Target, given: ConfigAttr, instruction: str | None
) -> Iterator[ConfigAttr]:
    preferred = given.instruction or instruction
    by_groups = preferred == "wgmma" or (preferred is None and given.indexing != "pointers")
    if by_groups and machine.has_wgmma and problem.is_loadable:
        yield from _wgmma(problem, machine, given)
    wanted = preferred if preferred == "fma" else "mma"
    stages = given.stages or 2
    for step in (MMA_STEP, MMA_STEP // 2, MMA_STEP // 4):
        rows = (given.tile or {}).get("m", MMA_ROWS)
        tile = TileSizes(m=rows, k=step)
        yield ConfigAttr.of(tile=tile, stages=stages, warps=MMA_WARPS, schedule="grid", instruction=wanted)


def _wgmma(problem: CascadeProblem, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """Where no step fits beside what is held and stored, blocks of one warp group hold less. They do where each step
    has several scores, too, and only one step fits: its operands stay until its last product, and nothing is loaded
    meanwhile."""
    asked = (given.tile or {}).get("m")
    rows = [asked] if asked else dict.fromkeys([_rows(problem, machine, given), WGMMA_ROWS])
    configs = [config for each in rows for config in _of_rows(each, problem, machine, given)]
    if not problem.summed:
        yield from _side_by_side(problem, machine, given)
    if problem.scores > 1:
        configs.sort(key=lambda each: ((each.tile or {}).get("k", 0) >= LONG, each.stages or 1), reverse=True)
    yield from configs


def _side_by_side(problem: CascadeProblem, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """Blocks of one warp group that share an SM, where each has few steps: one begins or ends while others multiply.
    What an array has numbers for is in many parts, of which a block has few. So do blocks that memory waits for."""
    is_short = problem.steps <= SHORT or (problem.is_searched and problem.scores == 1)
    if problem.scores > 1:
        shapes = [(2, 64)] if is_short else []
    else:
        shapes = [(3, 64)] if is_short and problem.is_masked else []
        shapes += [(2, 128)] if is_short or problem.is_slow else []
        shapes += [(2, 64)] if problem.is_searched else []
    is_open = given.occupancy is None and "k" not in (given.tile or {})
    for blocks, longest in shapes if is_open else []:
        step = gcd(longest, problem.page)
        counts = [given.stages] if given.stages else range(problem.most_stages(step), MAX_STAGES - 1, -1)
        if problem.registers(step) > problem.allowed_registers(WGMMA_ROWS, machine, blocks):
            continue
        for stages in counts:
            if problem.taken(WGMMA_ROWS, step, stages) <= block_memory(machine, blocks):
                yield _config(problem, WGMMA_ROWS, step, stages, _schedule(problem)).replace(occupancy=blocks)


def _of_rows(rows: int, problem: CascadeProblem, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    allowed, asked = problem.allowed_registers(rows, machine), (given.tile or {}).get("k")
    steps = [asked] if asked else [step for step in STEPS if problem.registers(step) <= allowed]
    steps = [step for step in steps if problem.is_divided(rows, step) and problem.is_of_page(step)]
    counts = [(step, given.stages or problem.most_stages(step)) for step in steps]
    for step, stages in [(step, stages) for step, most in counts for stages in range(most, 0, -1)]:
        if problem.taken(rows, step, stages) <= machine.shared_memory:
            takes_turns = rows >= TURN_ROWS and problem.scores == 1 and not problem.is_masked
            config = _config(problem, rows, step, stages, _schedule(problem))
            yield config.replace(turns=True if takes_turns else None)


def _schedule(problem: CascadeProblem) -> str:
    """Blocks stay on their SMs, and load for a tile while they multiply for the one before. Where the work of tiles
    differs, they take the next one when they have loaded all of one; of gradients not where tiles are over so soon that
    each has to wait for its number. Of rows that are one tile, the longest begin first, on the next SM that is free."""
    if not problem.is_masked:
        return "persistent"
    if problem.rows > WGMMA_ROWS and (problem.scores == 1 or problem.steps > SHORT):
        return "dynamic"
    return "grid" if problem.steps > SHORT else "persistent"


def _config(problem: CascadeProblem, rows: int, step: int, stages: int, schedule: str) -> ConfigAttr:
    shared = SHARED_BYTES if problem.scores == 1 else 2 * SHARED_BYTES
    group = max(1, shared // (problem.size * problem.steps * problem.streamed))
    return ConfigAttr.of(
        tile=TileSizes(m=rows, k=step),
        stages=stages,
        warps=GROUP_WARPS * (rows // WGMMA_ROWS),
        schedule=schedule,
        group=group if problem.is_masked else None,
        indexing="tma",
        instruction="wgmma",
    )


def _shared_evenly(problem: CascadeProblem, machine: Target, config: ConfigAttr) -> ConfigAttr:
    """Of blocks that stay, and have the tiles of their numbers, the group of batches with which their shares are most
    equal, where loops go up to the diagonal."""
    is_square = problem.rows == problem.steps
    if config.group is None or config.tile is None or config.schedule != "persistent" or not is_square:
        return config
    inner, outer = problem.batches
    tile, step, blocks = config.tile["m"], config.tile["k"], machine.sms * (config.occupancy or 1)
    group = even_group(config.group, outer=outer, batches=inner, rows=problem.rows, tile=tile, step=step, blocks=blocks)
    return config.replace(group=group)


def _rows(problem: CascadeProblem, machine: Target, given: ConfigAttr) -> int:
    """The rows of blocks that take the least time for all rows, of those whose registers hold the longest steps, or
    those that are given."""
    if problem.rows <= WGMMA_ROWS:
        return WGMMA_ROWS
    need = problem.registers((given.tile or {}).get("k", STEPS[0]))
    held = [rows for rows in ROWS if need <= problem.allowed_registers(rows, machine)] or [min(ROWS)]
    more = 1 if problem.is_masked else MORE_ROWS
    return min(held, key=lambda rows: rows * ceil_div(problem.rows, rows) / (more if rows > min(ROWS) else 1))


def check_cascade(problem: CascadeProblem, config: ConfigAttr, machine: Target) -> str | None:
    """What makes a config impossible; None of a legal one."""
    tile = config.tile or TileSizes()
    rows, step, warps = tile.get("m", min(ROWS)), tile.get("k", STEPS[0]), config.warps or GROUP_WARPS
    if step % MULTIPLE:
        return f"steps are multiples of {MULTIPLE}, the depth of an instruction, found k = {step}"
    if not problem.is_of_page(step):
        return f"a step is of one page of {problem.page} rows, found k = {step}"
    if config.lag and not problem.is_relative:
        return f"lag is of exponentials relative to a maximum or minimum, of which it has none, found {config.lag}"
    if config.instruction == "wgmma":
        if not machine.has_wgmma or not problem.is_loadable:
            found = "operands that no tensor map loads" if machine.has_wgmma else machine.name
            return f"wgmma is an instruction of sm_90a, for operands that tensor maps load, found {found}"
        if config.turns and warps < 2 * GROUP_WARPS:
            return f"turns are of two warp groups or more, found {warps} warps and turns = true"
        if rows * GROUP_WARPS != warps * WGMMA_ROWS:
            return f"each 4 warps of wgmma compute {WGMMA_ROWS} rows of a cascade, found {warps} warps and m = {rows}"
        if not problem.is_divided(rows, step):
            sums = f"steps of k = {step} beside sums of {problem.summed} columns"
            return f"of what a step adds, k or the columns are a multiple of m = {rows}, found {sums}"
        spared = SUM_REGISTERS if problem.summed else 0
        if (need := problem.registers(step) + OTHER_REGISTERS - spared) > machine.registers_per_thread:
            limit = machine.registers_per_thread
            return f"steps of k = {step} need about {need} registers in each thread, {machine.name} has {limit}"
        need, blocks = problem.registers(step), config.occupancy or 1
        limit = problem.allowed_registers(rows, machine, blocks)
        if blocks > 1 and need > limit:
            held = f"steps of k = {step} hold {need} registers in each thread"
            return f"{held}, of {blocks} blocks on an SM it has {limit}"
    need = problem.taken(rows, step, config.stages or 1, config.instruction)
    limit = block_memory(machine, config.occupancy)
    if need > limit:
        found = f"{tile} in {config.stages or 1} stages needs {need / KIB:g} KiB of shared memory"
        return f"{found}, a block of {machine.name} has {limit / KIB:g}"
    return None
