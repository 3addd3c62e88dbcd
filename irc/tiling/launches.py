"""Launches whose programs change: a program of their own, other operands, other results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd.base import element_of, shape_of
from irc.ir.alignment import alignment_of
from irc.ir.blocks import behind, block_of, ops_in
from irc.ir.walks import makers, makers_of, reached


def programs_of(module: ModuleOp) -> dict[str, tile.ProgramOp]:
    """The programs of a module by their names."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, tile.ProgramOp)}


def own_program(module: ModuleOp, launch: LaunchOp) -> tile.ProgramOp:
    """The program of a launch, which no other one launches: a copy where there are others."""
    programs = programs_of(module)
    program = programs[launch.program_name]
    if [op.program_name for op in module.walk() if isinstance(op, LaunchOp)].count(launch.program_name) == 1:
        return program
    names = (f"{launch.program_name}_{number}" for number in range(1, len(programs) + 2))
    copy = program.clone()
    copy.sym_name = StringAttr(next(name for name in names if name not in programs))
    module.body.block.insert_op_after(copy, program)
    launch.callee = SymbolRefAttr(copy.sym_name.data)
    return copy


def move_before(launch: LaunchOp, values: Iterable[SSAValue]) -> None:
    """Puts before a launch what values are computed from, none of which depends on it."""
    following = dict.fromkeys(behind(launch))
    needed = set(reached(makers(values), lambda op: makers_of(op) if op in following else ()))
    for op in following:
        if op in needed:
            op.detach()
            block_of(launch).insert_op_before(op, launch)


def add_operands(launch: LaunchOp, program: tile.ProgramOp, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    """The views of the program that are these arrays, further operands of the launch where they are none of it."""
    views: dict[SSAValue, SSAValue] = dict(zip(launch.inputs, program.inputs, strict=True))
    for value in values:
        if value in views:
            continue
        type = tile.ViewType.of(shape_of(value), element_of(value).type, align=alignment_of(value))
        views[value] = program.body.block.insert_arg(type, len(program.inputs))
        views[value].name_hint = value.name_hint
        launch.operands = [*launch.operands, value]
    return views


def with_results(launch: LaunchOp, values: Sequence[SSAValue]) -> LaunchOp:
    """The launch whose results stand for these values."""
    made = LaunchOp(launch.callee, list(launch.inputs), [each.type for each in values], location=launch.location)
    assert launch.parent is not None
    launch.parent.insert_op_before(made, launch)
    for before, after in zip(values, made.outputs, strict=True):
        before.replace_all_uses_with(after)
        after.name_hint = before.name_hint
    launch.detach()
    launch.erase()
    return made


def add_counters(module: ModuleOp, programs: Collection[str]) -> None:
    """Gives each launch of the programs of these names a counter of its own, as its last result."""
    for launch in [op for op in ops_in(module) if isinstance(op, LaunchOp) and op.program_name in programs]:
        types = [*(result.type for result in launch.outputs), TensorType(i32, [1])]
        made = LaunchOp(launch.callee, launch.inputs, types, location=launch.location)
        made.attributes |= launch.attributes
        Rewriter.replace_op(launch, made, made.outputs[:-1])


def drop_unused(launch: LaunchOp, program: tile.ProgramOp) -> None:
    """Takes out the results of a launch that nobody uses, with their stores."""
    kept = [number for number, result in enumerate(launch.outputs) if any(True for _ in result.uses)]
    views = program.body.block.args[len(program.inputs) :]
    for number, view in reversed(list(enumerate(views))):
        if number in kept:
            continue
        for use in list(view.uses):
            use.operation.detach()
            use.operation.erase()
        program.body.block.erase_arg(view)
    program.results_count = IntegerAttr(len(kept), i64)
    with_results(launch, [launch.outputs[number] for number in kept])
