"""Running one kernel, given as text, on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from irc.dialects.cuda import KernelOp
from irc.driver.program import new_context
from irc.interpreters.sim import Counters, Kernel, Memory, OpStatistics, SimulationError, Span
from irc.ir.parser import parse_ir

Array = np.ndarray[Any, Any]


def kernel_of(
    body: str, arguments: str, *, block: int = 64, grid: int = 1, clauses: str = "", name: str = "test"
) -> KernelOp:
    """The kernel `cuda.kernel @k(arguments) grid [grid, 1, 1] block ... clauses {body}`; its lines start at line 2."""
    return parse_kernel(
        f"cuda.kernel @k({arguments}) grid [{grid}, 1, 1] block {block} {clauses} {{\n{body}\ncuda.return\n}}\n", name
    )


def parse_kernel(text: str, name: str = "test") -> KernelOp:
    """The kernel of a text."""
    module = parse_ir(new_context(), text, name)
    module.verify()
    return next(op for op in module.ops if isinstance(op, KernelOp))


def run(kernel: KernelOp, *arrays: Array | int, counters: Counters | None = None) -> list[Array]:
    """Launches it on the arrays; an int stands for that many bytes of memory that nothing wrote. Gives what is in each
    array afterwards, in its dtype (i32 where nothing was written before)."""
    memories = [
        Memory.empty(f"array {i}", array) if isinstance(array, int) else Memory.of(f"array {i}", array)
        for i, array in enumerate(arrays)
    ]
    Kernel(kernel).launch([Span(memory, 0, memory.size) for memory in memories], counters)
    dtypes = [np.dtype(np.int32) if isinstance(array, int) else array.dtype for array in arrays]
    return [memory.data[: memory.size].view(dtype) for memory, dtype in zip(memories, dtypes, strict=True)]


def fails(kernel: KernelOp, *arrays: Array | int) -> SimulationError:
    """The error that the launch ends with."""
    with pytest.raises(SimulationError) as caught:
        run(kernel, *arrays)
    return caught.value


def counted(kernel: KernelOp, *arrays: Array | int) -> Mapping[str, OpStatistics]:
    """What each op of the kernel does; of several ops of a name, the last."""
    counters = Counters()
    run(kernel, *arrays, counters=counters)
    return {entry.op: entry for entry in counters.ops(kernel)}


POINTER = "%x: !cuda.ptr<i32>"
BOTH = "%x: !cuda.ptr<i32>, %y: !cuda.ptr<i32>"
X = np.arange(64, dtype=np.int32)
"""One element a thread."""

START = """
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %base = cuda.shared {offset = 0 : i64}
  %ti = arith.index_cast %t : index to i32
  %four = arith.constant 4 : i32
  %bytes = arith.muli %ti, %four : i32
  %own = arith.addi %base, %bytes : i32
"""
"""Names of a thread's number, of a register array, and of its own word of shared memory."""


def shared(body: str, *, block: int = 64, grid: int = 1, arguments: str = BOTH):
    """A kernel of START and a body, with 256 bytes of shared memory."""
    return kernel_of(START + body, arguments, block=block, grid=grid, clauses="shared 256")
