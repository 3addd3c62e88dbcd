"""A printed account of what was fused: for each kernel the anchor, and the ops of mainloop and epilogue."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from irc.dialects.kernel import FusedOp, YieldOp


def explain(kernels: Iterable[FusedOp]) -> str:
    """One paragraph a kernel: what it computes around, what it does while it loads, what it does before it stores."""
    return "".join(_explain_kernel(kernel) for kernel in kernels)


def _explain_kernel(kernel: FusedOp) -> str:
    name = "kernel" if kernel.sym_name is None else kernel.sym_name.data
    names = _Names(kernel)
    groups = kernel.groups()
    lines = [f"{name}: {len(groups)} ops, {len(kernel.inputs)} operands, {len(kernel.outputs)} results"]
    if not kernel.cores():
        lines += [f"    {names.line(op)}" for op in groups]
    else:
        for title, group in (("Core", "core"), ("Mainloop", "prologue"), ("Epilogue", "epilogue")):
            ops = [op for op in groups if groups[op] == group]
            lines += [f"  {title}:", *(f"    {names.line(op)}" for op in ops)] if ops else []
    stored = ", ".join(names.of(value) for value in kernel.yielded.outputs)
    return "\n".join([*lines, f"  Stores: {stored}", ""])


class _Names:
    """Names for the values of a kernel: arguments keep their hints, ops are numbered."""

    def __init__(self, kernel: FusedOp):
        self._names: dict[SSAValue, str] = {}
        for i, argument in enumerate(kernel.block.args):
            self._names[argument] = argument.name_hint or f"arg{i}"
        ops = [op for op in kernel.block.ops if not isinstance(op, YieldOp)]
        for i, op in enumerate(ops):
            for result in op.results:
                self._names[result] = f"v{i}"

    def of(self, value: SSAValue) -> str:
        return f"{self._names[value]}: {value.type}"

    def line(self, op: Operation) -> str:
        operands = ", ".join(self._names[operand] for operand in op.operands)
        return f"{self.of(op.results[0])} = {op.name.removeprefix('nd.')}({operands})"
