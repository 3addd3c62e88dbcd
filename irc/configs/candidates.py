"""The heuristic's configs for a kernel, and the first of them that goes with what is given."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from irc.analysis.op_classes import shape_of
from irc.analysis.product_problem import product_of
from irc.analysis.reduction_problem import reduction_of
from irc.configs.cascade import choose_cascade
from irc.configs.check import check_config
from irc.configs.cpu import choose_on_cpu
from irc.configs.memory import choose_map, choose_permute, choose_reduction, evict_last, with_registers
from irc.configs.product import choose_product
from irc.configs.windows import choose_windows, multiplies_windows, reads_windows
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp
from irc.ir.extents import dims_of
from irc.ir.targets import Target, shares_gpu
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div


def legal_config(kernel: FusedOp, machine: Target, instruction: str | None) -> ConfigAttr:
    """What the kernel's config sets, completed by the first of the heuristic's candidates that goes with it. Where none
    does, the IrcError of the first."""
    given, refused = kernel.config or ConfigAttr.of(), None
    if given.split_sums == "serial" and given.schedule is None:
        given = given.replace(schedule="grid")
    for chosen in candidates(kernel, machine, instruction):
        config = given.completed(chosen)
        try:
            check_config(kernel, config, machine)
        except IrcError as error:
            refused = refused or error
            continue
        return config
    assert refused is not None
    raise refused


def candidates(kernel: FusedOp, machine: Target, instruction: str | None = None) -> Iterator[ConfigAttr]:
    """The heuristic's configs for a kernel, the best first; what the kernel's own sets is taken as given."""
    given = kernel.config or ConfigAttr.of()
    if machine.exact_tiles:
        yield choose_on_cpu(kernel)
        return
    match kernel.kind:
        case Anchor.CASCADE:
            yield from choose_cascade(kernel, machine, given, instruction)
            return
        case Anchor.MATMUL:
            product, dims = product_of(kernel), dims_of(kernel)
            for each in dict.fromkeys((product.at_usual(dims), product)):  # rows in one tile are not of all sizes
                yield from choose_product(each, machine, given, instruction, is_beside=shares_gpu(kernel))
            return
        case Anchor.REDUCE:
            chosen = choose_reduction(reduction_of(kernel), machine, given)
        case Anchor.PERMUTE:
            chosen = choose_permute(kernel)
        case Anchor.MAP if multiplies_windows(kernel):
            yield choose_windows(kernel, machine).replace(evict_last=evict_last(kernel, machine))
            return
        case Anchor.MAP if reads_windows(kernel):
            chosen = choose_windows(kernel, machine)
        case Anchor.MAP:
            chosen = choose_map([shape_of(value) for value in kernel.outputs], kernel, machine)
            if chosen.occupancy is None:
                yield chosen.replace(evict_last=evict_last(kernel, machine))
                return
    config = given.completed(chosen)
    assert config.warps is not None
    chosen = with_registers(chosen, config.warps * machine.warp_size, _blocks(kernel, config), machine)
    yield chosen.replace(evict_last=evict_last(kernel, machine))


def _blocks(kernel: FusedOp, config: ConfigAttr) -> int:
    """Of a kernel that memory bounds."""
    assert config.tile is not None
    if kernel.kind is Anchor.REDUCE:
        reduction = reduction_of(kernel)
        return ceil_div(reduction.rows * reduction.together, config.tile["d"]) * (config.split or 1)
    elements = max((prod(shape_of(value)) for value in kernel.outputs), default=1)
    return ceil_div(elements, max(1, prod(config.tile.values())))
