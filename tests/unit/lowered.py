"""Tile programs as the code of a thread, and what there is in it, for the tests of lowering."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import prod
from pathlib import Path
from typing import TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from irc.dialects import cuda
from irc.driver.lowering import passes_of, run_passes
from irc.driver.program import new_context
from irc.ir.parser import parse_ir
from irc.ir.targets import set_target

OpT = TypeVar("OpT", bound=Operation)

THREADS = ("lower-schedule", "lower-to-cuda", "lower-dots", "lower-channels", "allocate-scratch", "insert-barriers")
LOWER = ("assign-layouts", "plan-shared", *THREADS)
PRODUCT = ("merge-dots", "place-operands", *LOWER)
LINE = 128
"""Bytes that scratch memory is rounded up to."""
CHANNEL = (
    "merge-dots",
    "place-operands",
    "overlap-epilogue",
    "assign-layouts",
    "make-channels",
    "specialize-warps",
    "schedule-loops",
    "expand-schedule",
    "take-turns",
    "await-dots",
    *LOWER[1:],
)
GATING = Path(__file__).parent / "gating.mlir"

ADD = """{
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tile.yield %r : f32
    }"""


@dataclass(frozen=True)
class Code:
    """A kernel and what its threads execute. Loops around the counted ops have constant bounds."""

    kernel: cuda.KernelOp

    @property
    def threads(self) -> int:
        return self.kernel.block.value.data

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return self.kernel.shared.value.data if self.kernel.shared is not None else 0

    def ops(self, kind: type[OpT]) -> list[OpT]:
        return [op for op in self.kernel.walk() if isinstance(op, kind)]

    def count(self, kind: type[Operation]) -> int:
        """How often a thread executes ops of a kind."""
        return sum(executions(op) for op in self.ops(kind))

    def vectors(self, kind: type[cuda.LoadOp | cuda.StoreOp | cuda.SharedLoadOp | cuda.SharedStoreOp]) -> list[int]:
        return [op.count.value.data for op in self.ops(kind)]

    def elements(self, kind: type[cuda.LoadOp | cuda.StoreOp]) -> list[int]:
        """The elements that all threads access together, by op."""
        return [self.threads * executions(op) * op.count.value.data for op in self.ops(kind)]

    @property
    def shared_accesses(self) -> str:
        """In program order, runs of shared writes `w` and reads `r`, and barriers of the group `|` and of warps `-`."""
        letters: dict[type[Operation], str] = {
            cuda.SharedStoreOp: "w",
            cuda.SharedLoadOp: "r",
            cuda.LdmatrixOp: "r",
            cuda.SyncOp: "|",
            cuda.NamedSyncOp: "|",
            cuda.WarpSyncOp: "-",
        }
        found = [letters[type(op)] for op in self.kernel.walk() if type(op) in letters]
        return "".join(letter if letter != "|" else "|" * len(list(run)) for letter, run in groupby(found))


def executions(op: Operation) -> int:
    """How often a thread that is there executes an op."""
    loops: list[scf.ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return prod(-(-(number(loop.ub) - number(loop.lb)) // number(loop.step)) for loop in loops)


def number(value: SSAValue) -> int:
    assert isinstance(value.owner, arith.ConstantOp)
    assert isinstance(value.owner.value, IntegerAttr)
    return value.owner.value.value.data


def run(text: str, passes: tuple[str, ...], arch: str = "sm_90a") -> ModuleOp:
    module = parse_ir(new_context(), text, "program.mlir")
    set_target(module, arch)
    run_passes(module, passes_of(passes))
    return module


def lower(text: str, passes: tuple[str, ...] = LOWER) -> Code:
    (kernel,) = [op for op in run(text, passes).ops if isinstance(op, cuda.KernelOp)]
    return Code(kernel)


def one_tile(views: str, body: str, config: str = "") -> str:
    """A program of one block. `views` are in order, the last one the result; %c0 is the offset of everything."""
    attributes = f"results = 1 : i64, config = #kernel.config<{config}>" if config else "results = 1 : i64"
    return f"""tile.program @program({views}) {{{attributes}}} {{
  tile.for_tiles (%t) extents [1] steps [1] {{
    %c0 = arith.constant 0 : index
    {body}
  }}
}}"""


def copy(view: str, shape: str, load: str = "", store: str = "", out: str | None = None, element: str = "f32") -> Code:
    return lower(
        one_tile(
            f"%x: !tile.view<{view}>, %y: !tile.view<{out or view}>",
            f"""%a = tile.load %x[%c0, %c0] {load} : !tile.view<{view}> -> tensor<{shape}x{element}>
    tile.store %a, %y[%c0, %c0] {store} : tensor<{shape}x{element}>, !tile.view<{out or view}>""",
        )
    )
