"""Printing of scf: loops and branches. A carried value is a local that the loop's end assigns; it is the loop's
result too."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from irc.codegen.printer import KernelPrinter, prints
from irc.ir.discardable import UNROLL


@prints(scf.ForOp)
def for_loop(p: KernelPrinter, op: scf.ForOp) -> None:
    block = op.body.block
    counter, *carried = block.args
    lower, upper, step = p.value(op.lb), p.value(op.ub), p.value(op.step)
    _carry(p, carried, op.iter_args)
    name = p.fresh(counter.name_hint or "i")
    p.name(counter, name)
    _pragma(p, op)
    p.line(f"for ({p.type(counter.type)} {name} = {lower}; {name} < {upper}; {name} += {step}) {{")
    p.block(block)
    p.line("}")
    for result, value in zip(op.results, carried, strict=True):
        p.name(result, p.value(value))


def _pragma(p: KernelPrinter, op: scf.ForOp) -> None:
    unroll = op.attributes.get(UNROLL)
    if isinstance(unroll, IntegerAttr):
        p.line(f"#pragma unroll {unroll.value.data}")
    elif unroll is not None:
        p.line("#pragma unroll")


def _carry(p: KernelPrinter, carried: Sequence[SSAValue], initial: Sequence[SSAValue]) -> None:
    for value, start in zip(carried, initial, strict=True):
        p.declare(value, p.value(start))


def _assign(p: KernelPrinter, targets: Sequence[str], values: Sequence[SSAValue]) -> None:
    """Assign all at once: a value that another assignment overwrites is kept aside first."""
    texts = [p.value(value) for value in values]
    changed = [(t, x, v) for t, x, v in zip(targets, texts, values, strict=True) if t != x]
    overwritten = {target for target, _, _ in changed}
    for index, (target, text, value) in enumerate(changed):
        if text in overwritten and len(changed) > 1:
            kept = p.fresh(f"next_{target}")
            p.line(f"const {p.type(value.type)} {kept} = {text};")
            changed[index] = (target, kept, value)
    for target, text, _ in changed:
        p.line(f"{target} = {text};")


@prints(scf.IfOp)
def branch(p: KernelPrinter, op: scf.IfOp) -> None:
    for result in op.results:
        p.declare(result)
    p.line(f"if ({p.value(op.cond)}) {{")
    p.block(op.true_region.block)
    if op.false_region.blocks and (op.results or len(op.false_region.block.ops) > 1):
        p.line("} else {")
        p.block(op.false_region.block)
    p.line("}")


@prints(scf.WhileOp)
def while_loop(p: KernelPrinter, op: scf.WhileOp) -> None:
    """The condition's block gives the results and the arguments of the other block."""
    before, after = op.before_region.block, op.after_region.block
    _carry(p, before.args, op.arguments)
    for result in op.results:
        p.declare(result)
    p.line("while (true) {")
    p.block(before)
    p.block(after)
    p.line("}")


@prints(scf.ConditionOp)
def condition(p: KernelPrinter, op: scf.ConditionOp) -> None:
    loop = op.parent_op()
    assert isinstance(loop, scf.WhileOp)
    _assign(p, [p.value(result) for result in loop.results], op.args)
    for argument, result in zip(loop.after_region.block.args, loop.results, strict=True):
        p.name(argument, p.value(result))
    p.line(f"if (!({p.value(op.condition)})) break;")


@prints(scf.YieldOp)
def end_of_block(p: KernelPrinter, op: scf.YieldOp) -> None:
    parent = op.parent_op()
    if isinstance(parent, scf.ForOp):
        targets: Sequence[SSAValue] = parent.body.block.args[1:]
    elif isinstance(parent, scf.WhileOp):
        targets = parent.before_region.block.args
    else:
        assert parent is not None
        targets = parent.results
    _assign(p, [p.value(target) for target in targets], op.arguments)
