"""Programs lowered to kernels, with arguments and what they should give, for the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numerics.harness import TOLERANCES, Array, assert_close, draw_arguments, result_elements
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL
from irc.driver.program import isolate, parse, signature
from irc.interpreters.nd.interpreter import evaluate
from irc.interpreters.sim import KernelStatistics
from irc.ir.dtypes import Element
from irc.ir.functions import entry_of
from irc.ir.targets import set_target
from irc.runtime.artifact import ArraySpec
from irc.runtime.sim import SimProgram


@dataclass(frozen=True)
class Lowered:
    """A program of kernels, with arguments, and what it should give."""

    module: ModuleOp
    arguments: tuple[ArraySpec, ...]
    results: tuple[ArraySpec, ...]
    arrays: Sequence[Array]
    expected: Sequence[Array]
    elements: Sequence[Element]
    _counts: list[KernelStatistics] = field(default_factory=list[KernelStatistics])

    def check(self, module: ModuleOp | None = None, *, lazy: bool = False) -> None:
        """AssertionError where a result, of the program or of another module in its stead, is wrong."""
        program = SimProgram(self.module if module is None else module, self.arguments, self.results, lazy=lazy)
        found, counts = program.counted(self.arrays)
        if module is None:
            self._counts[:] = counts
        for i, (a, b, element) in enumerate(zip(self.expected, found, self.elements, strict=True)):
            assert_close(a, b, element, TOLERANCES, f"result {i}")

    def counts(self) -> Sequence[KernelStatistics]:
        """What its kernels do, as they were checked last."""
        if not self._counts:
            self._counts[:] = SimProgram(self.module, self.arguments, self.results).counted(self.arrays)[1]
        return self._counts

    def ops(self, name: str) -> int:
        """How many ops of this name its kernels have."""
        return sum(op.name == name for op in self.module.walk())


def lowered(
    text: str,
    tile: tuple[int, int, int] | None = None,
    *,
    arch: str = "sm_90a",
    instruction: str | None = None,
    dims: tuple[tuple[str, int], ...] = (),
    always: bool = False,
    stages: int = 2,
    swap_ab: bool | None = None,
    split: int | None = None,
    cluster: tuple[int, int] | None = None,
    schedule: str | None = None,
    shape: tuple[int, int, int] | None = None,
    warp_grid: tuple[int, int, int] | None = None,
    load_stages: int | None = None,
    given: Mapping[int, Array] | None = None,
) -> Lowered:
    """The kernels of a program. `tile`, `stages`, `split`, `cluster`, `schedule`, `shape`, `warp_grid` and `load_stages` are those of its products.
    given: arguments by number, in place of drawn ones. always: operands are aligned and arranged where that does not
    pay, too."""
    module = isolate(parse(text, "test", dims=dict(dims)))
    arguments, results = signature(entry_of(module))
    first = ALL.index("choose-config")
    arranged = ALL.index("arrange-convolutions")
    set_target(module, arch)
    run_passes(module, passes_of(ALL[:arranged]))
    arrays, elements = draw_arguments(module), result_elements(module)
    for number, array in (given or {}).items():
        arrays[number] = array
    expected = evaluate(module, arrays)
    run_passes(module, passes_of(ALL[arranged:first], instruction=instruction, always=always))
    for op in module.walk():
        if tile is not None and isinstance(op, FusedOp) and op.anchor.data == "matmul":
            op.config = ConfigAttr.of(
                tile=TileSizes(dict(zip("mnk", tile, strict=True))),
                stages=stages,
                swap_ab=swap_ab,
                split=split,
                cluster=cluster,
                schedule=schedule,
                shape=shape,
                warp_grid=warp_grid,
                load_stages=load_stages,
                instruction=None if shape is None and warp_grid is None else "mma",
            )
    run_passes(module, passes_of(ALL[first:], instruction=instruction))
    return Lowered(module, arguments, results, arrays, expected, elements)
