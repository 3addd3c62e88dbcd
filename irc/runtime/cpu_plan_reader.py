"""From a module of launches and nd ops, as the passes to `cpu` leave it, to `irc.runtime.cpu_plan.CpuPlan`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from irc.dialects.kernel import FusedOp, LaunchOp
from irc.dialects.nd import ReshapeOp
from irc.dialects.nd.base import shape_of
from irc.dialects.tile import ProgramOp
from irc.interpreters.nd.interpreter import entry
from irc.ir.discardable import INTERPRETED
from irc.ir.dtypes import element_of
from irc.ir.locations import describe
from irc.ir.printer import print_ir
from irc.runtime.cpu_plan import Array, CpuKernel, CpuPlan, CpuStep
from irc.support.cuda_wheels import NEEDS_REFERENCE
from irc.support.diagnostics import IrcError


def read_cpu_plan(module: ModuleOp, kernels: Sequence[CpuKernel], host: tuple[str, str, str]) -> CpuPlan:
    """The plan of a module's one function; `kernels` are those that it has machine code of."""
    function = entry(module)
    block = function.body.block
    *ops, last = block.ops
    order: list[SSAValue] = [*block.args, *(result for op in ops for result in op.results)]
    numbers = {value: number for number, value in enumerate(order)}
    returned = tuple(numbers[value] for value in last.operands)
    kept = {*range(len(block.args)), *returned}
    last_use = {numbers[value]: at for at, op in enumerate(ops) for value in (*op.results, *op.operands)}
    dead: list[list[int]] = [[] for _ in ops]
    for number, at in last_use.items():
        if number not in kept:
            dead[at].append(number)
    compiled = {kernel.name for kernel in kernels}
    steps = [
        _step(op, tuple(numbers[value] for value in op.operands), tuple(each), compiled)
        for op, each in zip(ops, dead, strict=True)
    ]
    return CpuPlan(function.sym_name.data, host, tuple(kernels), tuple(steps), returned)


def _step(op: Operation, operands: tuple[int, ...], dead: tuple[int, ...], compiled: set[str]) -> CpuStep:
    results = tuple(Array(shape_of(result), element_of(result.type).name) for result in op.results)
    place = describe(op.location)
    if isinstance(op, ReshapeOp):
        return CpuStep("reshape", op.name, place, operands, dead, results)
    if isinstance(op, LaunchOp) and (name := op.program_name) in compiled:
        return CpuStep("launch", name, place, operands, dead, results, name)
    alone = _alone(op)
    places = tuple(describe(each.location) for each in alone.walk())
    return CpuStep("interpret", _interpreted_name(op), place, operands, dead, results, print_ir(alone), places)


def _interpreted_name(op: Operation) -> str:
    """How a profile calls it, with the reason where one is known."""
    if isinstance(op, FusedOp):
        return _with_reason("kernel" if op.sym_name is None else op.sym_name.data, op)
    program = _launched(op)
    return op.name if program is None else _with_reason(program.sym_name.data, program)


def _with_reason(name: str, op: Operation) -> str:
    reason = op.attributes.get(INTERPRETED)
    return f"{name}, interpreted: {reason.data}" if isinstance(reason, StringAttr) else f"{name}, interpreted"


def _launched(op: Operation) -> ProgramOp | None:
    """The program that an op launches."""
    if not isinstance(op, LaunchOp):
        return None
    program = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(program, ProgramOp):
        name = op.program_name
        raise IrcError(f"{name} is a kernel for a GPU, which the CPU cannot run", op.location, NEEDS_REFERENCE)
    return program


def _alone(op: Operation) -> ModuleOp:
    """A module of a function that has the op alone."""
    block = Block(arg_types=[value.type for value in op.operands])
    copied = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([copied, ReturnOp(*copied.results)])
    types = FunctionType.from_lists([value.type for value in op.operands], [value.type for value in op.results])
    program = _launched(op)
    programs = [] if program is None else [program.clone()]
    return ModuleOp([*programs, FuncOp("op", types, Region(block))])
