"""The steps of a loop nest's dimensions, and its config: what the user set, and for the rest a choice by what the nest
does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from irc.analysis.budgets import EPILOGUE_BYTES, MAX_STAGES
from irc.analysis.product_problem import Product as ProductProblem
from irc.configs.cascade import SHARED_BYTES
from irc.configs.product import ACCUMULATOR_BYTES, choose_product
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.driver.compiler import resolve_arch
from irc.driver.configured import config_of_fields
from irc.ir.dtypes import element_named
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, Target, target
from irc.layout.matrix_instructions import fills_channels
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div, power_of_two
from irc_frontend.graph import fail
from irc_frontend.kernels.access import TileAccess
from irc_frontend.kernels.choices import open_choices
from irc_frontend.kernels.facts import Facts, Product
from irc_frontend.kernels.indices import LoopTile
from irc_frontend.kernels.loops import Choice

ELEMENTS = 4096
"""Of a tile where nothing is multiplied: 16 for each of 256 threads."""

BYTES_PER_THREAD = 32
"""That a thread has at least of such a tile: two vectors. A softmax of 8192 x 1024 bf16 takes an H200 9.7 us so, 11.6
with one (benchmarks/results/2026-11-28-h200-exhaustive.jsonl.gz)."""

ELEMENTS_PER_STEP = 32
"""That a thread has of a step along rows which reduces them: all threads of a block meet behind it, few of them sooner,
and more blocks load meanwhile. irc's own reductions have as many on their way, by unrolled loops of 4 warps."""

REDUCED_TWICE = 2048
"""Elements of such a step that is reduced twice, as by a maximum and a sum relative to it: a thread computes more for
each, and 2 warps leave the others of an SM to load. Cross entropy of 8192 x 50257 bf16 takes an H200 234 us in steps of
4096 elements by 4 warps, 224 so; a softmax of 1024 x 262144 428 and 410; sums alone take 121 and 134."""

ENDED_ELEMENTS = 32768
ENDED_BYTES_PER_THREAD = 256
"""The same where data ends a loop: the steps of the longest follow each other, and there are few of them. Sums of 256
jagged sequences of 512 rows on average take an H200 154 us in steps of 64 rows of 512 bytes. In rows of 128 bytes and
steps of 128, 256, 512 and 1024 they take 100, 70, 67 and 102; by 16 warps in place of 8 77."""

LINE_BYTES = 128
"""Of such a tile along an axis that is contiguous in memory: more blocks share the longest."""

MAX_WARPS = 16
"""Of a block where nothing is multiplied."""

RUN = 256
"""Elements of a tile along an axis that is contiguous in memory, where it has several."""

MIN_RUN = 32
"""Elements that such a tile keeps where others would have more blocks: a sector of 8 bits, two of 16."""

MAX_ELEMENTS_PER_THREAD = 32
"""That a thread holds of a tile before a block has more warps than `MAX_WARPS`."""

ACCUMULATED = 256
"""Columns of accumulators of 64 rows that the threads of a warp group hold: 128 registers of each."""

MIN_COLUMNS = 32
"""Of a tile of products in rows of a block, where wider ones would leave SMs without a block."""

BLOCKS_PER_SM = 2
"""That a nest gives an SM at least, where smaller tiles do."""


OTHERS = ("split", "swap_ab", "reduction", "unroll", "lag", "evict_last")
"""Fields that say how fused regions become loops, which a kernel has of its own."""


OF_PRODUCTS = ("stages", "cluster", "instruction", "subtile", "turns", "registers", "load_stages", "store_stages")
"""Fields that say how products are made."""


def config_of(given: Mapping[str, Any] | None) -> ConfigAttr:
    """The config that a user set. IrcError where a field is none, or its value is not of its type."""
    fields = dict(given or {})
    if others := [name for name in OTHERS if name in fields]:
        raise fail(f"config: {others[0]} is for kernels that irc fuses", "a kernel of tiles has its own loops")
    try:
        return config_of_fields(fields)
    except IrcError as error:
        raise fail(error.message, error.hint) from error


def _check_warps(config: ConfigAttr) -> None:
    warps = config.warps or 1
    if config.instruction == "wgmma" and warps % 4:
        raise fail(f"config: 4 warps execute a wgmma together, found warps = {warps}", "a multiple of 4")
    if config.instruction != "wgmma" and warps & (warps - 1):
        raise fail(f"config: warps are a power of two, found warps = {warps}")


def _check_reads(config: ConfigAttr) -> None:
    reads = "tma" if fills_channels(config.instruction) else "pointers"
    if config.indexing not in (None, reads):
        kind = f"products of {config.instruction}" if config.instruction is not None else "kernels without products"
        raise fail(f'config: {kind} read by {reads}, found indexing = "{config.indexing}"', f'indexing = "{reads}"')


def check(config: ConfigAttr, nests: Sequence[Facts]) -> None:
    """IrcError where the config has a size of a loop that there is not, or is of products where there are none, and
    where its fields do not go together."""
    names = {dim.name for facts in nests for dim in (*facts.outer, *facts.inner)}
    if unknown := [name for name in config.tile or () if name not in names]:
        raise fail(
            f"config: tile has a size of {unknown[0]}, and no loop over tiles has that name",
            f"the loops are over {', '.join(sorted(names))}",
        )
    if config.schedule == "dynamic" and config.cluster not in (None, (1, 1)):
        raise fail(
            f"config: blocks that take tiles by themselves are in no cluster, found cluster = {list(config.cluster)}",
            'schedule = "persistent", or no cluster',
        )
    if any(facts.products for facts in nests):
        return
    of_products = [name for name in OF_PRODUCTS if getattr(config, name) is not None]
    if config.schedule == "pingpong":
        of_products.append("schedule = pingpong")
    if of_products:
        raise fail(
            f"config: {of_products[0]} is for kernels that multiply, and nothing is multiplied here",
            'tile, warps, occupancy, and a schedule of "grid", "persistent" or "dynamic" apply',
        )


def reads_turned(facts: Facts) -> bool:
    """Whether permuted arrays are read as they lie: products read them, and no other work would have its threads read
    memory far apart."""
    multiplied = {load.key for product in facts.products for load in product.loads if load is not None}
    return all(access.key in multiplied and _is_loadable(access) for access in facts.turned)


def choose(facts: Facts, given: ConfigAttr) -> Choice:
    """The steps and the config of one nest."""
    open_ = open_choices()
    return next(choices(facts, given)) if open_ is None else open_.next(lambda: next(choices(facts, given)))


def choices(facts: Facts, given: ConfigAttr) -> Iterator[Choice]:
    """All that the heuristic has, the best first."""
    machine = target(resolve_arch(None))
    found = _products(facts, given, machine) if facts.products else iter([_memory(facts, given, machine)])
    return (_completed(facts, given, each) for each in found)


def _completed(facts: Facts, given: ConfigAttr, found: Choice) -> Choice:
    """What was found around what is given."""
    dims = (*facts.outer, *facts.inner)
    sizes = {dim.name: found.sizes.get(dim.name, 1) for dim in dims}
    if given.tile is not None:
        sizes.update({name: size for name, size in given.tile.items() if name in sizes})
    config = given.replace(tile=None).completed(found.config) if found.config is not None else given
    _check_warps(config)
    _check_reads(config)
    return Choice(sizes, config.replace(tile=TileSizes(sizes) if sizes else None), facts.carried)


# Products


def _products(facts: Facts, given: ConfigAttr, machine: Target) -> Iterator[Choice]:
    if (roles := one_product(facts)) is not None:
        return _product(facts, roles, given, machine)
    return iter([_chain(facts, given, machine)])


@dataclass(frozen=True)
class Roles:
    """The loops of a nest whose products are all of one M, N and K."""

    m: LoopTile
    n: LoopTile
    k: LoopTile


def one_product(facts: Facts) -> Roles | None:
    """The loops of the nest's products, if these are alike."""
    found = {(each.lhs, each.rhs) for each in facts.products}
    if len(found) != 1:
        return None
    ((m, k), (j, n)) = found.pop()
    if m is None or n is None or k is None or j is not k or k not in facts.inner or n not in facts.outer:
        return None
    return Roles(m, n, k) if m in facts.outer else None


def _product(facts: Facts, roles: Roles, given: ConfigAttr, machine: Target) -> Iterator[Choice]:
    """As a kernel of such products has it."""
    product = facts.products[0]
    element = element_named(product.element)
    others = [a for a in facts.accesses if roles.m in a.dims and roles.n in a.dims]
    stored = sum(element_named(a.array.element).size for a in others)
    problem = ProductProblem(
        count=len(facts.products),
        batch=facts.walked,
        m=roles.m.extent,
        n=roles.n.extent,
        k=roles.k.extent,
        lhs=element,
        rhs=element,
        lhs_count=_operands(facts, 0),
        rhs_count=_operands(facts, 1),
        result=element_named("f32" if element.is_float else "i32"),
        is_loadable=all(access is None or _is_loadable(access) for p in facts.products for access in p.loads),
        is_computed=any(access is None for p in facts.products for access in p.loads),
        is_copied=all(access is not None for p in facts.products for access in p.loads),
        rhs_along="k" if product.loads[1] is not None and product.loads[1].dims[-1] is roles.k else "n",
        stored=stored,
        returns=len(others) > 1,
        varying=frozenset(side for side, dim in (("m", roles.m), ("n", roles.n)) if _varies(dim.extent)),
    )
    names = {"m": roles.m.name, "n": roles.n.name, "k": roles.k.name}
    sizes = {role: size for role, name in names.items() if (size := _given(given, name)) is not None}
    fields = given.replace(tile=None).completed(ConfigAttr.of(swap_ab=False))
    wanted = fields.replace(tile=TileSizes(sizes) if sizes else None)
    for chosen in choose_product(problem, machine, wanted, None):
        assert chosen.tile is not None
        tiles = TileSizes(sizes).completed(chosen.tile)
        config = fields.completed(chosen).replace(split=None, swap_ab=None)
        yield Choice({name: tiles[role] for role, name in names.items()}, config)


def _operands(facts: Facts, side: int) -> int:
    """How many operands the products have on a side: they share those that they load alike."""
    loads = [product.loads[side] for product in facts.products]
    return len({load.key for load in loads if load is not None}) + sum(load is None for load in loads)


def _varies(extent: int) -> bool:
    return (known := open_choices()) is not None and known.varies(extent)


def _given(config: ConfigAttr, name: str) -> int | None:
    """The size that the user set."""
    return None if config.tile is None else config.tile.get(name)


def _is_loadable(access: TileAccess) -> bool:
    """Whether tensor maps bring it: rows of multiples of 16 bytes."""
    row = access.array.shape[-1] * element_named(access.array.element).size
    return row % TENSOR_MAP_ALIGNMENT == 0


def _chain(facts: Facts, given: ConfigAttr, machine: Target) -> Choice:
    """Products that feed each other, or whose columns are whole extents, in rows of a block. Where none feeds another,
    there are as many stages as there is room for beside what leaves through shared memory, and tiles are smaller where
    they would leave SMs without a block: along columns first, but along the rows of a left operand that is computed,
    which is computed again for each tile of columns. int4 weights of 4096 x 4096 by 256 rows take an H200 18.1 us in
    tiles of 64 x 128, 22.4 in those of 128 x 64. Blocks of unequal length take the place of those that end, the
    longest of several batches first: given out in turn, some SMs get much more than others. Causal attention of
    64 x 2048 x 64 took an H200 98 to 150 us by the batches that were walked over together, as a count of the steps of
    each SM says."""
    elements = {each.element for each in facts.products}
    is_loaded = all(access is not None for each in facts.products for access in each.loads)
    narrow = elements <= {"f16", "bf16"} or (is_loaded and elements <= {"f8e4m3", "f8e5m2"})
    loadable = all(access is None or _is_loadable(access) for each in facts.products for access in each.loads)
    by_tma = loadable and given.indexing != "pointers"
    instruction = given.instruction or (
        "wgmma" if narrow and machine.has_wgmma and by_tma else "mma" if narrow else "fma"
    )
    rows, is_fed = _row_dims(facts), any(each.is_fed for each in facts.products)
    whole = max((_whole(a) for a in facts.accesses), default=1)
    sizes: dict[str, int] = {}
    for dim in (*facts.outer, *facts.inner):
        if instruction == "wgmma":
            step = 128 if dim in rows and dim.extent > 64 else 64
            if dim not in rows:
                step = 128 if whole + 128 <= ACCUMULATED and dim.extent > 64 else 64
        else:
            step = 64 if instruction == "mma" else 32
        least = 64 if instruction == "wgmma" and (is_fed or dim in rows) else 16
        sizes[dim.name] = _given(given, dim.name) or min(step, max(power_of_two(dim.extent), least))
    if instruction == "wgmma" and not is_fed:
        free = [dim for dim in facts.outer if _given(given, dim.name) is None]
        columns, tall = [dim for dim in free if dim not in rows], [dim for dim in free if dim in rows]
        if any(each.loads[0] is None for each in facts.products):
            _spread(facts, sizes, tall, 64, machine, wanted=1)
        _spread(facts, sizes, columns, MIN_COLUMNS, machine, wanted=1)
        _spread(facts, sizes, tall, 64, machine, wanted=1)
    tall = max((sizes[dim.name] for dim in rows), default=64)
    warps = {"wgmma": max(tall // 64, 1) * 4, "mma": 4, "fma": 4}[instruction]
    config = ConfigAttr.of(
        instruction=instruction,
        warps=warps,
        stages=1 if instruction != "wgmma" else 2 if is_fed else _stages(facts, sizes, machine),
        schedule="persistent" if instruction == "wgmma" and not facts.bounded else "grid",
        group=max(1, SHARED_BYTES // max(_streamed(facts), 1)) if facts.bounded else None,
    )
    return Choice(sizes, config)


def _streamed(facts: Facts) -> int:
    """Bytes that all steps of a block's loops load, at most."""
    inner = {dim.number for dim in facts.inner}
    loads = {load for each in facts.products for load in each.loads if load is not None}
    return sum(
        _whole(load)
        * prod(dim.extent for dim in load.dims if dim is not None and dim.number in inner)
        * element_named(load.array.element).size
        for load in loads
        if any(dim is not None and dim.number in inner for dim in load.dims)
    )


def _stages(facts: Facts, sizes: Mapping[str, int], machine: Target) -> int:
    """Of what products that do not feed each other load or compute, beside the tiles that are stored. Of left operands
    that are computed in registers, stages hold what they are computed from, once."""
    loads = [(each, side, load) for each in facts.products for side, load in enumerate(each.loads)]
    streamed = [each for each, side, load in loads if side == 0 and load is None and _is_in_registers(each)]
    step = sum(
        (_made(each, side, sizes) if load is None else elements_of(load, sizes)) * element_named(each.element).size
        for each, side, load in loads
        if side == 1 or each not in streamed
    )
    if streamed:
        multiplied = [load.array for _, _, load in loads if load is not None]
        own = {a.key: a for a in facts.accesses if a not in facts.stores and a.array not in multiplied}
        step += sum(elements_of(each, sizes) * element_named(each.array.element).size for each in own.values())
    stored = sum(elements_of(store, sizes) for store in facts.stores) * ACCUMULATOR_BYTES
    return max(1, min(MAX_STAGES, (machine.shared_memory - EPILOGUE_BYTES - stored) // max(step, 1)))


def _is_in_registers(product: Product) -> bool:
    """Whether a left operand that is computed is so by the threads that multiply: one of 16 bits."""
    return element_named(product.element).size == 2


def _made(product: Product, side: int, sizes: Mapping[str, int]) -> int:
    """Elements of an operand that is computed."""
    rows, columns, depth = product.shape
    extents = (rows, depth) if side == 0 else (depth, columns)
    dims = product.lhs if side == 0 else product.rhs
    return prod(extent if dim is None else sizes[dim.name] for extent, dim in zip(extents, dims, strict=True))


def sums_of(facts: Facts, sizes: Mapping[str, int]) -> list[int]:
    """Elements of the accumulators of each product."""
    found: list[int] = []
    for product in facts.products:
        rows, columns = product.lhs[0], product.rhs[1]
        tall = product.shape[0] if rows is None else sizes[rows.name]
        wide = product.shape[1] if columns is None else sizes[columns.name]
        found.append(tall * wide)
    return found


def _row_dims(facts: Facts) -> list[LoopTile]:
    return [dim for dim in facts.outer if any(each.lhs[0] is dim for each in facts.products)]


def _whole(access: TileAccess) -> int:
    """Elements of an access along axes that are no loop's, rounded to powers of two."""
    return prod(map(power_of_two, access.whole))


# Memory


def _memory(facts: Facts, given: ConfigAttr, machine: Target) -> Choice:
    """A tile that keeps each thread's loads in flight: along the axes that are contiguous first, then along those of
    loops inside, then along the others."""
    rank = max((len(a.dims) for a in facts.accesses), default=0)
    largest = [a for a in facts.accesses if a.dims and len(a.dims) == rank]
    ends = [a.dims[-1] for a in largest]
    runs = [dim for dim in facts.outer if dim in ends]
    is_ended = bool(runs) and any(dim in facts.ended and dim not in ends for dim in facts.inner)
    elements, bytes_each = (ENDED_ELEMENTS, ENDED_BYTES_PER_THREAD) if is_ended else (ELEMENTS, BYTES_PER_THREAD)
    if any(dim in ends and facts.reduced.count(dim) > 1 for dim in facts.inner):
        elements = REDUCED_TWICE
    room = max(1, elements // max((_whole(a) for a in facts.accesses), default=1))
    others = [dim for dim in facts.outer if dim not in runs]
    inner = sorted(facts.inner, key=lambda dim: dim not in ends)
    most = RUN if len(facts.outer) + len(inner) > 1 else ELEMENTS
    if is_ended:
        most = LINE_BYTES // max(element_named(each.array.element).size for each in largest)
    sizes = {dim.name: min(power_of_two(dim.extent), most, room) for dim in runs}
    if not others:
        _spread(facts, sizes, runs, MIN_RUN, machine)
    room = max(1, room // prod(sizes.values()))
    for dim in (*inner, *reversed(others)):
        if dim.name not in sizes:
            sizes[dim.name] = _given(given, dim.name) or min(power_of_two(dim.extent), room)
            room = max(1, room // sizes[dim.name])
    _spread(facts, sizes, others, 1, machine)
    tiles = [(elements_of(access, sizes), element_named(access.array.element).size) for access in facts.accesses]
    held, size = max(tiles, default=(1, ACCUMULATOR_BYTES))
    if is_ended:  # rows that are gathered are along the loop
        held, size = prod(sizes[dim.name] for dim in (*runs, *inner)), LINE_BYTES // most
    meets = any(dim in facts.reduced and dim in ends for dim in facts.inner)
    warps = held // (machine.warp_size * (ELEMENTS_PER_STEP if meets else max(1, bytes_each // size)))
    most_warps = MAX_WARPS if held <= MAX_WARPS * machine.warp_size * MAX_ELEMENTS_PER_THREAD else 2 * MAX_WARPS
    config = ConfigAttr.of(warps=1 << (max(1, min(most_warps, warps)).bit_length() - 1), schedule="grid")
    return Choice(sizes, config)


def elements_of(access: TileAccess, sizes: Mapping[str, int]) -> int:
    """Of a tile of these sizes, those along an axis of gathered rows left out: other accesses have them."""
    return _whole(access) * prod(sizes[dim.name] for dim in access.dims if dim is not None)


def _spread(
    facts: Facts,
    sizes: dict[str, int],
    dims: Sequence[LoopTile],
    least: int,
    machine: Target,
    wanted: int = BLOCKS_PER_SM,
) -> None:
    """Smaller tiles along `dims`, of `least` elements or more, until each SM has as many as wanted. Where one block has
    an SM, they are not cut into more than there are SMs: some would compute two of them, which take as long as one."""
    while True:
        large = next((dim for dim in dims if sizes[dim.name] > least), None)
        if large is None or _blocks(facts, sizes) >= wanted * machine.sms:
            return
        smaller = {**sizes, large.name: sizes[large.name] // 2}
        if wanted == 1 and _blocks(facts, smaller) > machine.sms:
            return
        sizes.update(smaller)


def _blocks(facts: Facts, sizes: Mapping[str, int]) -> int:
    return facts.walked * prod(ceil_div(dim.extent, sizes[dim.name]) for dim in facts.outer)
