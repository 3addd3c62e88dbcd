"""lower-to-cuda: what a block does with tiles becomes what each thread does with registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.alignments import check_alignments
from irc.analysis.budgets import ALIGNMENT
from irc.analysis.configs import config_of
from irc.analysis.invariants import LAID_OUT, SCHEDULED, SHARED_PLANNED, THREADS, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import cuda, tile
from irc.ir.extents import dims_of
from irc.ir.properties import values_of
from irc.ir.targets import target_of
from irc.layout.instructions import LANES
from irc.lowering import tensor_memory
from irc.lowering.emitter import Emitter
from irc.lowering.extents import Extents, check_numbers
from irc.lowering.ops import lower_block
from irc.lowering.values import Code, ThreadGroup

INT32_ELEMENTS = 2**31 - 2**24
"""From this many elements of a view on, offsets need 64 bits: a tile that reaches over the end counts further."""


@dataclass(frozen=True)
class LowerToCudaPass(ProgramPass):
    """Tile programs -> cuda kernels.

    Every tile becomes a register array by its fragment, every buffer an address by its layout. What exchanges take of
    shared memory is `cuda.scratch`, and what barriers have to order is `cuda.shared_access`: `allocate-scratch` and
    `insert-barriers` follow. Runs after assign-layouts, plan-shared and lower-schedule.
    """

    name: ClassVar[str] = "lower-to-cuda"
    requires = (TILED, LAID_OUT, SHARED_PLANNED, SCHEDULED)
    establishes = (THREADS,)

    def run(self, program: tile.ProgramOp) -> None:
        check_alignments(program)
        Rewriter.replace_op(program, lower_program(program))


def lower_program(program: tile.ProgramOp) -> cuda.KernelOp:
    views = program.body.block.args
    types: list[cuda.PtrType] = []
    for view in views:
        assert isinstance(view.type, tile.ViewType)
        types.append(cuda.PtrType(view.type.element_type))
    body = Block(arg_types=types)
    for view, argument in zip(views, body.args, strict=True):
        argument.name_hint = view.name_hint
    e = Emitter(body, program.location)
    thread = e.value(cuda.ThreadIdOp(), "thread")
    partitions = next((op for op in program.body.block.ops if isinstance(op, tile.PartitionsOp)), None)
    threads = LANES * sum(partitions.warp_counts) if partitions is not None else _value(program.threads, 256)
    has_channel = any(isinstance(op, tile.ChannelOp) for op in program.body.block.ops)
    code = Code(
        e,
        ThreadGroup(thread, threads),
        body,
        Extents(body, e, dims_of(program)),
        dict(zip(views, body.args, strict=True)),
        has_stmatrix=target_of(program).has_tma,
        shared_align=ALIGNMENT if has_channel else 16,
    )
    accumulators = [op for op in program.walk() if isinstance(op, tile.AccumulatorOp)]
    if accumulators:
        tensor_memory.allocate(code, accumulators)
    lower_block(code, program.body.block)
    with e.inside(body):
        if accumulators:
            tensor_memory.free(code, accumulators)
        e.insert(cuda.ReturnOp())
    return _kernel(program, code, threads)


def _kernel(program: tile.ProgramOp, code: Code, threads: int) -> cuda.KernelOp:
    operands, writes = _arguments(program, code)
    check_numbers(program, code.kernel)
    kernel = cuda.KernelOp(
        program.sym_name.data,
        Region(code.kernel),
        grid=[_value(program.grid, 1), 1, 1],
        block=threads,
        cluster=_cluster(program),
        shared=_value(program.shared, 0),
        index=64 if _largest_index(program, code) >= INT32_ELEMENTS else 32,
        min_blocks=config_of(program).occupancy or (1 if code.channels else None),
        operands=operands,
        writes=writes,
        dims=[dim.name for dim in code.extents.sizes] or None,
        domains=program.domains,
        in_place=None if program.in_place is None else values_of(program.in_place),
        updates=None if program.updates is None else values_of(program.updates),
        sums=None if program.sums is None else values_of(program.sums),
    )
    kernel.location = program.location
    return kernel


def _cluster(program: tile.ProgramOp) -> list[int] | None:
    """The blocks of a cluster, side by side in the grid; None without clusters."""
    sizes = {prod(op.cluster_shape) for op in program.body.block.ops if isinstance(op, tile.ChannelOp)}
    return [max(sizes), 1, 1] if max(sizes, default=1) > 1 else None


def _largest_index(program: tile.ProgramOp, code: Code) -> int:
    """What offsets and coordinates stay below: the elements of a view, or the bound of a loop over none."""
    sizes = [prod(v.type.get_shape()) for v in program.body.block.args if isinstance(v.type, tile.ViewType)]
    constants = [op.value for op in code.kernel.walk() if isinstance(op, arith.ConstantOp)]
    bounds = [v.value.data for v in constants if isinstance(v, IntegerAttr) and isinstance(v.type, IndexType)]
    return max([*sizes, *bounds], default=0)


def _arguments(program: tile.ProgramOp, code: Code) -> tuple[list[int], list[int]]:
    """The number of the launch's operand behind each argument of the kernel, and whether the kernel writes it: views,
    then the sizes of dims. An argument that nothing uses is dropped."""
    body = code.kernel
    views: list[SSAValue] = list(program.body.block.args)
    numbers = {code.pointers[view]: number for number, view in enumerate(views)}
    numbers |= {argument: views.index(view) for (view, _), argument in code.tensor_maps.items()}
    numbers |= {argument: len(views) + number for number, argument in enumerate(code.extents.sizes.values())}
    for argument in reversed(body.args):
        if not argument.uses.get_length():
            body.erase_arg(argument)
    first_result = len(views) - program.result_count
    operands = [numbers[argument] for argument in body.args]
    return operands, [int(first_result <= operand < len(views)) for operand in operands]


def _value(number: IntegerAttr | None, default: int) -> int:
    return default if number is None else number.value.data
