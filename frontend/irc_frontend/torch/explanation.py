"""`explain`: what irc does of a model, and what it leaves to torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch._dynamo import reset
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_leaves
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from irc.analysis.costs import cost_of
from irc.analysis.op_classes import is_fusible
from irc.dialects import nd
from irc.dialects.kernel import FusedOp, LaunchOp
from irc.driver.compiler import Origin
from irc.driver.lowering import levels
from irc.ir.functions import entry_of
from irc.support.diagnostics import IrcError
from irc_frontend.torch.backend import backend
from irc_frontend.torch.graphs import Compiled, watching


@dataclass(frozen=True)
class GraphReport:
    """One graph of torch's compiler. kind: forward, backward or inference. compiled: nodes that irc does. left: how
    many nodes torch does, by op and reason. kernels, nbytes, flops: of all its programs, as irc would run them on a
    GPU, without sorting, which stays with torch there; every operand of a kernel is read once and every result written
    once. The operations of kernels written in Python are not counted."""

    kind: str
    compiled: int
    left: Counter[tuple[str, str]]
    programs: int
    kernels: int
    nbytes: int
    flops: int


@dataclass(frozen=True)
class Explanation:
    """The graphs of a model, in the order in which they were compiled, and how often torch could not trace on, by what
    it says of that: there a graph ends, or a whole function stays in Python. `print` shows them as tables, and `report`
    how their programs are compiled. origins: of the programs."""

    graphs: Sequence[GraphReport]
    breaks: Counter[str]
    origins: Sequence[Origin] = field(default=(), repr=False)

    @property
    def compiled(self) -> int:
        """Nodes that irc does."""
        return sum(graph.compiled for graph in self.graphs)

    @property
    def left(self) -> Counter[tuple[str, str]]:
        """How many nodes torch does, by op and reason."""
        return sum((graph.left for graph in self.graphs), Counter[tuple[str, str]]())

    def report(self, path: str | Path | None = None, target: str | None = None) -> str:
        """An HTML page of how irc's programs are compiled, for their target or another one, as `Executable.report`."""
        from irc.driver.reporting import write_report

        if not self.origins:
            raise IrcError("irc has no program of this model", hint="print the explanation: it says what torch does")
        return write_report([origin.on(target) for origin in self.origins], None if path is None else Path(path))

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip()

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        graphs = Table("graph", box=SIMPLE_HEAD)
        for heading in ("ops compiled", "ops left", "programs", "kernels", "MB", "GFLOP"):
            graphs.add_column(heading, justify="right")
        for graph in self.graphs:
            left = graph.left.total()
            numbers = (graph.compiled, left, graph.programs, graph.kernels)
            graphs.add_row(graph.kind, *map(str, numbers), f"{graph.nbytes / 1e6:.1f}", f"{graph.flops / 1e9:.2f}")
        if self.graphs:
            yield graphs
        if self.left:
            ops = Table("left to torch", "why", box=SIMPLE_HEAD)
            ops.add_column("count", justify="right")
            for (op, reason), count in self.left.most_common():
                ops.add_row(op, reason, str(count))
            yield ops
        if self.breaks:
            breaks = Table("graph breaks: what torch's compiler does not trace runs in Python", box=SIMPLE_HEAD)
            breaks.add_column("count", justify="right")
            for reason, count in self.breaks.most_common():
                breaks.add_row(Text(reason), str(count))
            yield breaks


def explain(model: Callable[..., Any], *inputs: Any, **options: Any) -> Explanation:
    """Compiles a model for these inputs, runs it once, with its backward pass where a result needs gradients, and says
    what became of it. Buffers, gradients and the state of torch's random numbers are as before; what torch's compiler
    knows is forgotten, as by its own `explain`: it says once alone why it does not trace a function."""
    found: list[tuple[str, Compiled]] = []

    def explained(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        return backend(module, examples)

    reset()
    before = _breaks()
    with watching(lambda kind, compiled: found.append((kind, compiled))), _unchanged(model):
        results = torch.compile(model, backend=explained)(*inputs, **options)
        _backward(model, results, (inputs, options))
    breaks = _breaks() - before
    reset()
    return Explanation([_report(kind, compiled) for kind, compiled in found], breaks, _origins(found))


def _origins(found: Sequence[tuple[str, Compiled]]) -> list[Origin]:
    """What the programs of the graphs were compiled of, called by the kind of the graph."""
    reporters = [(kind, program.executable.reporter) for kind, compiled in found for program in compiled.programs]
    return [replace(each, title=kind) for kind, each in reporters if isinstance(each, Origin)]


def _breaks() -> Counter[str]:
    """How often torch's compiler has stopped to trace, by the first line of the reason."""
    found = Counter[str]()
    for reason, count in (counters["unimplemented"] | counters["graph_break"]).items():
        found[reason.splitlines()[0]] += count
    return found


@contextmanager
def _unchanged(model: Any) -> Generator[None]:
    buffers = [*model.buffers()] if isinstance(model, torch.nn.Module) else []
    kept = [buffer.clone() for buffer in buffers]
    with torch.random.fork_rng():
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, value in zip(buffers, kept, strict=True):
                    buffer.copy_(value)


def _backward(model: Any, results: Any, inputs: Any) -> None:
    """The gradients of the results, with respect to all that wants them; they are not kept."""
    tensors = [x for x in tree_leaves(results) if isinstance(x, torch.Tensor) and x.requires_grad]
    wanted = [*model.parameters()] if isinstance(model, torch.nn.Module) else []
    wanted = [x for x in [*wanted, *tree_leaves(inputs)] if isinstance(x, torch.Tensor) and x.requires_grad]
    if tensors and wanted:
        torch.autograd.grad(tensors, wanted, [torch.ones_like(x) for x in tensors], allow_unused=True)


def _report(kind: str, compiled: Compiled) -> GraphReport:
    reasons = compiled.division.reasons
    left = Counter((str(node.target), reason) for node, reason in reasons.items() if not _is_item(node))
    subgraphs = [program.subgraph for program in compiled.programs]
    computed = {node for each in subgraphs for node in (*each.own, *each.repeated)}
    costs = [cost_of(op) for program in compiled.programs for op in _kernels(program.module())]
    return GraphReport(
        kind=kind,
        compiled=sum(not _is_item(node) for node in computed),
        left=left,
        programs=len(compiled.programs),
        kernels=len(costs),
        nbytes=sum(cost.bytes_read + cost.bytes_written for cost in costs),
        flops=sum(cost.flops for cost in costs),
    )


def _kernels(module: ModuleOp) -> list[FusedOp | LaunchOp]:
    """The kernels of an nd module on a GPU: those that irc fuses, and launches of those written in Python."""
    for level, lowered in levels(module, ["nd", "kernel"]):
        if level == "nd":
            _cut_out_unfusible(lowered)
    return [op for op in module.walk() if isinstance(op, FusedOp | LaunchOp)]


def _cut_out_unfusible(module: ModuleOp) -> None:
    """Makes what ops that no kernel holds read results of the function, and what they give arguments of it."""
    function = entry_of(module)
    block, last = function.body.block, function.get_return_op()
    assert last is not None
    for op in [op for op in block.ops if isinstance(op, nd.NdOp) and not is_fusible(op)]:
        last.operands = [*last.operands, *op.operands]
        for result in op.results:
            SSAValue.get(result).replace_all_uses_with(block.insert_arg(result.type, len(block.args)))
        op.detach()
        op.erase()
    function.update_function_type()


def _is_item(node: torch.fx.Node) -> bool:
    """Whether it takes one result of a node that has several."""
    return getattr(node.target, "__name__", "") == "getitem"
