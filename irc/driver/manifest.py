"""The manifest of a compilation: what `irc-compile` writes as `manifest.json` and `Executable.kernels` gives.

    {"arch", "arena", "peak", "streams", "kernels": [{"name", "anchor", "ops", "config", "grid", "block",
    "shared_memory", "registers", "spills", "flops", "element", "bytes_read", "bytes_written", "location",
    "launches", "sets"}, ...]}

`arena` is the bytes of scratch memory of a call, `peak` all of its device memory: arena, constants, arguments and
results. `ops` names the nd ops of the kernel in order; `config` has the fields that were chosen; `grid`, `block` and
`cluster` are extents along x, y, z; `shared_memory` (static and dynamic), `spills`, `bytes_read` and `bytes_written`
are bytes, `registers` 32-bit registers of a thread, `flops` operations (`irc.analysis.costs`), `element` what its
products multiply; `launches` is how many of it a call makes, `location` that of the first, `sets` how many sets of
operands they have together: `grid`, `flops` and bytes are of one. Of a program with run-time extents these are of the
numbers that stand for the extents, and `fixed` has what of `flops` and bytes does not grow with them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType

from irc.analysis.costs import Cost, cost_of
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.ir.blocks import ops_in
from irc.ir.dtypes import element_of
from irc.ir.extents import at_sizes, dims_of
from irc.ir.iteration import CONTRACTIONS, pattern_of
from irc.ir.locations import describe
from irc.ir.properties import values_of
from irc.ir.rewriting import location_of


@dataclass(frozen=True)
class KernelFacts:
    """What the kernel level knows of a kernel, gone after tiling."""

    anchor: str
    ops: tuple[str, ...]
    config: dict[str, Any]
    cost: Cost
    element: str
    location: str
    fixed: Cost | None = None
    """Where the module has run-time extents: of the cost, what does not grow with them."""


def kernel_facts(module: ModuleOp) -> dict[str, KernelFacts]:
    """The facts of every `kernel.fused` that has a name, by name."""
    named = [op for op in ops_in(module) if isinstance(op, FusedOp)]
    facts = {op.sym_name.data: _facts(op) for op in named if op.sym_name is not None}
    if dims := dims_of(module):
        empty = at_sizes(module, {dim.name: 0 for dim in dims})
        fixed = {name: each.cost for name, each in kernel_facts(empty).items()}
        facts = {name: replace(each, fixed=fixed[name]) for name, each in facts.items()}
    return facts


def _facts(op: FusedOp) -> KernelFacts:
    return KernelFacts(
        anchor=op.kind.value,
        ops=tuple(inner.name for inner in op.block.ops if inner is not op.yielded),
        config=_config(op.config),
        cost=cost_of(op),
        element=_element(op),
        location=describe(location_of(op)),
    )


def _element(op: FusedOp) -> str:
    """The element of what products multiply, whose rate limits them; f32 where there is none."""
    products = (inner.operands[0].type for inner in op.block.ops if pattern_of(inner) in CONTRACTIONS)
    types = [type for type in products if isinstance(type, TensorType)]
    return element_of(types[0]).name if types else "f32"


def _config(config: ConfigAttr | None) -> dict[str, Any]:
    if config is None:
        return {}
    values = {field.name: getattr(config.data, field.name) for field in fields(config.data)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, TileSizes):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def kernel_entry(kernel: KernelOp, facts: KernelFacts | None, resources: dict[str, int]) -> dict[str, Any]:
    """The entry of one kernel. `resources`: registers, spills and static shared memory, as the assembler reports them.

    A kernel that was written by hand at a lower level has no facts: its anchor is empty, its ops and config too."""
    cost = Cost(0, 0, 0) if facts is None else facts.cost
    cluster = values_of(kernel.cluster) or (1, 1, 1)
    dynamic = 0 if kernel.shared is None else kernel.shared.value.data
    return {
        "name": kernel.sym_name.data,
        "anchor": "" if facts is None else facts.anchor,
        "ops": [] if facts is None else list(facts.ops),
        "config": {} if facts is None else facts.config,
        "grid": list(values_of(kernel.grid)),
        "block": [kernel.block.value.data, 1, 1],
        "cluster": list(cluster),
        "shared_memory": dynamic + resources.get("shared", 0),
        "registers": resources.get("registers", 0),
        "spills": resources.get("spills", 0),
        **_work(cost),
        **({} if facts is None or facts.fixed is None else {"fixed": _work(facts.fixed)}),
        "element": "f32" if facts is None else facts.element,
        "location": kernel_location(kernel, facts),
    }


def _work(cost: Cost) -> dict[str, int]:
    return {"flops": cost.flops, "bytes_read": cost.bytes_read, "bytes_written": cost.bytes_written}


def kernel_location(kernel: KernelOp, facts: KernelFacts | None) -> str:
    """`file:line:column` of what the kernel computes, or `?`."""
    return describe(location_of(kernel)) if facts is None else facts.location
