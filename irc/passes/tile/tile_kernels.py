"""`tile-kernels`: every `kernel.fused` becomes a `tile.program`, without layouts, and a `kernel.launch` of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.common_subexpression_elimination import cse

from irc.analysis.alike import firsts
from irc.analysis.invariants import FUSED, LAYOUT_FREE, TILED
from irc.analysis.product_problem import starts_operand
from irc.dialects import tile
from irc.dialects.kernel import Anchor, FusedOp, LaunchOp
from irc.dialects.nd.joined import strides_of
from irc.ir.alignment import alignment_of
from irc.ir.blocks import ops_in
from irc.ir.discardable import INTERPRETED
from irc.ir.extents import dims_of
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of, remove_dead_code
from irc.ir.targets import target_of
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS, SHORT_SUMS
from irc.layout.requests import WIDEST
from irc.support.diagnostics import IrcError
from irc.tiling.domains import Bindings, Domains, Operand
from irc.tiling.elsewhere import Strides, Untiled, tiled_elsewhere
from irc.tiling.groups import group_results, reachable
from irc.tiling.nodes import Bounded, Choose, Coordinate, Dot, Load, signless
from irc.tiling.products import MatmulPlan
from irc.tiling.program import ProgramTiling
from irc.tiling.sizes import contiguity
from irc.tiling.tile_groups import Config, GroupTiling, box_group, emit_group, plan_group
from irc.tiling.trace import RegionTrace
from irc.tiling.view_bounds import keep_bounds, keep_window_bounds


@dataclass(frozen=True)
class TileKernelsPass(Pass):
    """Tiles every `kernel.fused` as its `#kernel.config` says; what the config leaves open gets a default. Equal ones
    are tiled once.

    One that cannot be tiled is an error, except on a target that interprets: there it stays as it is, and its attribute
    says why.
    """

    name = "tile-kernels"
    requires = (FUSED,)
    establishes = (TILED, LAYOUT_FREE)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inner = ops_in(op)
        names = {str(o.properties["sym_name"]) for o in inner if "sym_name" in o.properties}
        taken = {n.strip('"') for n in names}
        kernels = [o for o in inner if isinstance(o, FusedOp)]
        alike = firsts(kernels, _how)
        own = [fused for fused, first in alike if first is fused]
        untiled = [Untiled(fused, _name(fused, taken), location_of(fused), _strides(fused)) for fused in own]
        made = dict(zip(own, zip(untiled, tiled_elsewhere(untiled), strict=True), strict=True))
        known: dict[FusedOp, str] = {}
        for fused, first in alike:
            if first is fused and (name := _tiled(op, *made[fused])) is not None:
                known[fused] = name
            if first in known:
                _launch(fused, known[first])
            elif first is not fused:
                fused.attributes[INTERPRETED] = first.attributes[INTERPRETED]
        for fused in kernels:
            if INTERPRETED not in fused.attributes:
                Rewriter.erase_op(fused)


def _how(fused: FusedOp) -> Hashable:
    """What the kernel's code depends on beside its body: its config, and how its arrays lie."""
    return fused.config, _strides(fused)


def _strides(fused: FusedOp) -> Strides:
    return tuple(strides_of(value) for value in (*fused.inputs, *fused.outputs))


def _tiled(module: ModuleOp, untiled: Untiled, made: tile.ProgramOp | None) -> str | None:
    """The name of the kernel's program, which may be made already; None where the interpreter runs the kernel."""
    fused = untiled.kernel
    try:
        program = build_program(untiled) if made is None else made
    except IrcError as error:
        if not target_of(fused).interprets:
            raise
        fused.attributes[INTERPRETED] = StringAttr(f"no tiles: {error.message}")
        return None
    Rewriter.insert_op(program, InsertPoint.after(_last_program(_host(fused, module))))
    return untiled.name


def _launch(fused: FusedOp, name: str) -> None:
    location = location_of(fused)
    launch = LaunchOp(name, list(fused.inputs), [r.type for r in fused.outputs], location=location)
    Rewriter.insert_op(launch, InsertPoint.before(fused))
    for old, new in zip(fused.outputs, launch.outputs, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)


def _host(fused: FusedOp, module: ModuleOp) -> Operation:
    """The op of the module's own block that the kernel is in."""
    current: Operation = fused
    while (parent := current.parent_op()) is not None and parent is not module:
        current = parent
    return current


def _last_program(host: Operation) -> Operation:
    """The programs of a function follow it in the order of their launches."""
    while isinstance(host.next_op, tile.ProgramOp):
        host = host.next_op
    return host


def _name(fused: FusedOp, taken: set[str]) -> str:
    wanted = "kernel" if fused.sym_name is None else fused.sym_name.data
    if fused.sym_name is not None:
        return wanted
    count = 0
    while f"{wanted}_{count}" in taken:
        count += 1
    taken.add(f"{wanted}_{count}")
    return f"{wanted}_{count}"


def build_program(untiled: Untiled) -> tile.ProgramOp:
    """The program of one fused region."""
    fused, strides = untiled.kernel, untiled.strides
    taken, given = strides[: len(fused.inputs)], strides[len(fused.inputs) :]
    bindings = Bindings()
    trace = RegionTrace(fused.block, bindings, _has_short_sums(fused))
    values = list(fused.yielded.outputs)
    config = Config.of(fused.config)
    # Semaphores are written by the stores of the sums.
    results = list(zip(values, given, strict=True))
    groups = group_results(trace, results[:-1] if config.parts > 1 else results)
    operands = [*map(_input, fused.block.args, taken), *map(_operand, values)]
    domains = Domains(bindings, operands, target_of(fused), dims_of(fused))
    for group in groups:
        for result in group.results:
            operand = operands[len(fused.inputs) + result.index]
            operand.shape, operand.strides = result.shape, result.strides
            operand.accesses.append(result.at)
            operand.is_stored = True
    op = tile.ProgramOp(untiled.name, [o.view_type_of_whole() for o in operands], len(values), config=fused.config)
    op.location = untiled.location
    program = ProgramTiling(op, trace, domains)
    plans = [plan_group(program, group, group.nodes(trace), config) for group in groups]
    plans = _traced_again(program, plans, config)
    _settle(program, plans, config)
    block = op.body.block
    for i, (operand, value) in enumerate(zip(operands, (*fused.block.args, *fused.outputs), strict=True)):
        Rewriter.replace_value_with_new_type(block.args[i], operand.view_type())
        block.args[i].name_hint = value.name_hint
    for plan in plans:
        emit_group(program, plan, config)
    remove_dead_code(op)
    cse(op)
    return op


def _traced_again(program: ProgramTiling, plans: list[GroupTiling], config: Config) -> list[GroupTiling]:
    """Plans in which what reductions read and what results read are the same nodes, as
    their columns are now the same."""
    program.trace.forget()
    again: list[GroupTiling] = []
    for plan in plans:
        if plan.matmul is None:
            plan = plan_group(program, plan.group, plan.group.traced_again(program.trace), config)
        again.append(plan)
    return again


def _has_short_sums(fused: FusedOp) -> bool:
    """Whether products that ask for sums of f16 have them."""
    name = None if fused.config is None else fused.config.instruction
    row = None if name is None else MATRIX_INSTRUCTIONS.get(name)
    return fused.kind is Anchor.MATMUL and row is not None and SHORT_SUMS in row.operands


def _operand(value: SSAValue) -> Operand:
    return Operand.contiguous(signless(tile.element_type_of(value.type)), tile.shape_of(value.type))


def _input(argument: BlockArgument, strides: tuple[int, ...]) -> Operand:
    """An argument, or the first part of it where only that is read: nothing is beyond its end."""
    operand = _operand(argument)
    operand.strides = strides
    operand.align = alignment_of(argument)
    for use in argument.uses:
        if starts_operand(use.operation):
            operand.shape = tile.shape_of(use.operation.results[0].type)
    return operand


def _settle(program: ProgramTiling, plans: list[GroupTiling], config: Config) -> None:
    """Decides all dimensions and views: after this, coordinates do not change any more."""
    domains = program.domains
    roots = [r.node for plan in plans for r in plan.group.results]
    for node in reachable(program.trace, roots):
        if isinstance(node, Load):
            domains.operands[node.argument].accesses.append(node.at)
        elif isinstance(node, Bounded):
            keep_window_bounds(domains, node)
        elif isinstance(node, Coordinate | Choose):
            domains.expressions += node.coords()
        elif isinstance(node, Dot):
            keep_bounds(domains, node)
    domains.spaces = [space for plan in plans for space in plan.spaces]
    domains.simplify()
    for plan in plans:
        if plan.matmul is None and not domains.machine.exact_tiles:
            domains.flatten(plan.rows, WIDEST)
            if plan.columns and contiguity(domains, plan.rows[-1:]):
                domains.widen(plan.rows, config.tile.get("d", 1))
        for space in plan.columns:
            domains.force_one(space)
        box_group(program, plan, config)
        if plan.matmul is not None:
            if isinstance(plan.matmul, MatmulPlan):
                plan.matmul.settle(config.tile)
            for space in plan.matmul.single:
                domains.force_one(space)
    domains.settle()
