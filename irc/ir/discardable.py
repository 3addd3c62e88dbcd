"""The discardable attributes of irc: all that its passes tell each other of an op beside its properties.

As in MLIR, such an attribute stands in the dictionary of an op, and is printed and read back with it. Here they are
declared, each with what may carry it and what it may be, and the verifier looks for that. An op of irc, or one of
`arith`, `math` and `scf` in a kernel, carries no other attribute; those of other tools have a prefix (`tool.name`).
"""

# Ops are known by their names, so that no level's dialect is imported for another's.

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from irc.ir.alignment import ALIGN, ALIGNMENTS
from irc.ir.blocks import ops_in
from irc.ir.dominance import DIALECTS
from irc.ir.donation import DONATED
from irc.ir.extents import DIMS, fits
from irc.ir.mesh import MESH, SHARDING, SHARDINGS, fits_mesh, fits_sharding, fits_shardings
from irc.ir.targets import SHARED_GPU, TARGET
from irc.support.diagnostics import IrcError, unknown_name


@dataclass(frozen=True)
class Discardable:
    """An attribute that is declared: its name; what it says, a clause about the op that carries it; `on`, what may
    carry it, and `value`, what it may be, each in words and as a test; the passes, or other parts of irc, by which it
    is written and read."""

    name: str
    says: str
    on: str
    carries: Callable[[Operation], bool]
    value: str
    fits: Callable[[Attribute], bool]
    written: str
    read: str


def _named(*names: str) -> Callable[[Operation], bool]:
    return lambda op: op.name in names


def _computes_f32(op: Operation) -> bool:
    types = [result.type for result in op.results]
    return op.name.startswith("nd.") and any(isinstance(t, TensorType) and t.element_type == f32 for t in types)


def _in_loop(op: Operation) -> bool:
    return (parent := op.parent_op()) is not None and parent.name == "scf.for"


def _is_unit(value: Attribute) -> bool:
    return isinstance(value, UnitAttr)


def _is_string(value: Attribute) -> bool:
    return isinstance(value, StringAttr)


def _is_number(value: Attribute) -> bool:
    return isinstance(value, IntegerAttr) and value.type == i64 and value.value.data >= 0


_NARROW = frozenset({Float16Type(), BFloat16Type(), Float8E4M3FNType(), Float8E5M2Type()})
"""Without irc/ir/dtypes.py, whose numpy a verifier need not wait for."""


def is_relaxable(op: Operation) -> bool:
    """Whether the op has an approximation of about 2 ** -20 for all arguments which is cheaper than f32's accuracy, or
    is composed of such."""
    return getattr(op, "RELAXABLE", False)


DECLARED = "nd.declared"
DEFERRED = "nd.deferred"
RELAXED = "nd.relaxed"
REPEATED = "nd.repeated"
UNREAD = "nd.unread"
IN_PLACE = "nd.in_place"
ANY_ORDER = "nd.any_order"
SCHEDULED = "scheduled"
CLAMPED = "clamped"
UNROLL = "unroll"
NEAR = "near"
AFTER = "irc.after"
STRICT = "irc.strict_rounding"
INTERPRETED = "irc.interpreted"
ARGUMENT_NAME = "irc.name"

_OF_OPS = (
    Discardable(
        DECLARED,
        "what it computes in f32 was declared with this type; who stores it between kernels rounds it to that",
        "ops of nd that compute f32",
        _computes_f32,
        "the type of a narrow float",
        lambda value: value in _NARROW,
        "widen-arithmetic",
        "canonicalize-nd, cancel-permutes, factor-reductions, recompute-nd, fuse-kernels",
    ),
    Discardable(
        DEFERRED,
        "the user did not write the cast: it rounds nothing that goes into further arithmetic, but by strict-rounding",
        "`nd.cast`",
        _named("nd.cast"),
        "unit",
        _is_unit,
        "the frontends, decompose-nd, differentiate-nd",
        "canonicalize-nd, widen-arithmetic, the interpreter of nd",
    ),
    Discardable(
        RELAXED,
        "its value, in f32, was declared narrow or becomes such a one: it may be computed to about 2 ** -20",
        "ops of nd with a cheaper approximation",
        is_relaxable,
        "unit",
        _is_unit,
        "decompose-nd, fuse-kernels, tile-arrays, and `irc_frontend.kernels`",
        "decompose-nd, canonicalize-nd, scale-exponents, tile-arrays, tile-kernels",
    ),
    Discardable(
        REPEATED,
        "it is computed again in each kernel that uses it, and not joined with its equals",
        "ops of nd",
        lambda op: op.name.startswith("nd."),
        "unit",
        _is_unit,
        "recompute-nd",
        "fuse-kernels",
    ),
    Discardable(
        UNREAD,
        "what it puts around its operand is not read: the memory of it need not be written",
        "`nd.pad` of a result of a kernel",
        _named("nd.pad"),
        "unit",
        _is_unit,
        "align-operands",
        "tile-kernels",
    ),
    Discardable(
        IN_PLACE,
        "its operands lie side by side in its result: they are written there, and no kernel copies them",
        "`nd.concat` between kernels",
        _named("nd.concat"),
        "unit",
        _is_unit,
        "concat-in-place",
        "tile-kernels, build-host-plan, the interpreter of tile",
    ),
    Discardable(
        ANY_ORDER,
        "its sums may be added up in any order, so that they differ in their last bits from run to run",
        "`nd.matmul`",
        _named("nd.matmul"),
        "unit",
        _is_unit,
        "separate-cascades",
        "fuse-kernels, choose-config, tile-kernels",
    ),
    Discardable(
        SCHEDULED,
        "when it runs: how many iterations after its own, and as which op of an iteration",
        "ops in an `scf.for`",
        _in_loop,
        "`#tile.at`",
        lambda value: value.name == "tile.at",
        "schedule-loops",
        "expand-schedule",
    ),
    Discardable(
        CLAMPED,
        "its trips are those of its last stage: in the last iterations ops of earlier stages run once more inside of "
        "its bounds",
        "`scf.for`",
        _named("scf.for"),
        "unit",
        _is_unit,
        "schedule-loops",
        "expand-schedule",
    ),
    Discardable(
        UNROLL,
        "its iterations are unrolled by its compiler: all, which are elements of vectors on a CPU, or so "
        "many at a time (one: it stays a loop)",
        "`scf.for`",
        _named("scf.for"),
        "unit, or a number of i64",
        lambda value: _is_unit(value) or _is_number(value),
        "tile-kernels, overlap-epilogue, stage-loads, stage-stores, lower-to-cuda, lower-dots, lower-to-cpu",
        "lower-to-cuda, the printers of CUDA C++ and of LLVM IR",
    ),
    Discardable(
        NEAR,
        "its angle is below 2 ** 24, which the short range reduction is for",
        "`math.sin`, `math.cos`, `math.tan`",
        _named("math.sin", "math.cos", "math.tan"),
        "unit",
        _is_unit,
        "lower-to-cuda",
        "expand-device-math",
    ),
    Discardable(
        TARGET,
        "the architecture that it is for",
        "the module",
        _named("builtin.module"),
        "a string, a name of `irc/ir/targets.py`",
        _is_string,
        "the commands, the pass manager",
        "all that ask the target",
    ),
    Discardable(
        SHARED_GPU,
        "others hold SMs beside its kernels, as those of NCCL: products take their tiles while they run",
        "the module",
        _named("builtin.module"),
        "unit",
        _is_unit,
        "`irc.compile`",
        "choose-config",
    ),
    Discardable(
        AFTER,
        "the last pass of the pipelines that it had, from split-reductions on: lowering goes on from there",
        "the module",
        _named("builtin.module"),
        "a string, the name of a pass",
        _is_string,
        "the pass manager",
        "the pass manager",
    ),
    Discardable(
        STRICT,
        "every op rounds its result to its declared type, and machine code does not join a product and a sum to one "
        "operation with one rounding",
        "the module",
        _named("builtin.module"),
        "unit",
        _is_unit,
        "widen-arithmetic",
        "factor-reductions, scale-exponents, the compilation of kernels",
    ),
    Discardable(
        DIMS,
        "the extents that are known when it is called: of each the least and the most, what it is a multiple of, the "
        "prime of the number that stands for it, and a size that calls are expected to have, the most where none is "
        "given (`irc/ir/extents.py`)",
        "the module",
        _named("builtin.module"),
        "a dictionary with four or five numbers of i64 for each dim",
        fits,
        "the parser of `.irc` text, `irc_frontend`",
        "check-extents, choose-config, lower-schedule, lower-to-cuda, build-host-plan",
    ),
    Discardable(
        MESH,
        "the mesh of ranks that it is for: the names of its axes and their sizes, ranks in row-major order "
        "(`irc/ir/mesh.py`)",
        "the module",
        _named("builtin.module"),
        "a dictionary with a number of i64 for each axis",
        fits_mesh,
        "`irc_frontend`",
        "propagate-shardings, partition-nd",
    ),
    Discardable(
        SHARDINGS,
        "for each result, or operand of a return, the axes of the mesh that divide each of its axes",
        "ops of nd, `func.return`",
        lambda op: op.name.startswith("nd.") or op.name == "func.return",
        "an array of arrays of strings, with unit where one is open",
        fits_shardings,
        "propagate-shardings, `irc_frontend`",
        "propagate-shardings, partition-nd",
    ),
    Discardable(
        INTERPRETED,
        "it has no tiles or no loop nest, and why: the interpreter runs it",
        "`kernel.fused`, `tile.program`",
        _named("kernel.fused", "tile.program"),
        "a string",
        _is_string,
        "tile-kernels, lower-to-cpu",
        "the target cpu, its profiles",
    ),
)

_OF_ARGUMENTS = (
    Discardable(
        ARGUMENT_NAME,
        "the name that the program gives the argument, where a name hint cannot hold it (xDSL drops `_1` from `w_1`)",
        "arguments of functions",
        _named("func.func"),
        "a string",
        _is_string,
        "the parser of `.irc` text",
        "the printer of `.irc` text, the signature of executables",
    ),
    Discardable(
        SHARDING,
        "the axes of the mesh that divide each of its axes",
        "arguments of functions",
        _named("func.func"),
        "an array of strings",
        fits_sharding,
        "`irc_frontend`, propagate-shardings",
        "propagate-shardings, partition-nd",
    ),
    Discardable(
        DONATED,
        "its memory takes the result of this number",
        "arguments of functions",
        _named("func.func"),
        "a number of i64",
        _is_number,
        "the parser of `.irc` text, `irc.compile`",
        "mark-in-place, build-host-plan",
    ),
    Discardable(
        ALIGN,
        "it begins at a multiple of so many bytes, where that is less than 16",
        "arguments of functions",
        _named("func.func"),
        "1, 2, 4, 8 or 16 of i64",
        lambda value: _is_number(value) and isinstance(value, IntegerAttr) and value.value.data in ALIGNMENTS,
        "`irc.compile`",
        "fuse-kernels, choose-config, tile-kernels, fuse-epilogues, lower-to-cuda, the signature of executables",
    ),
)

DISCARDABLE: Mapping[str, Discardable] = {each.name: each for each in _OF_OPS}
"""Those of ops, by name."""

OF_ARGUMENTS: Mapping[str, Discardable] = {each.name: each for each in _OF_ARGUMENTS}
"""Those of arguments of functions, by name."""

PREFIXES = DIALECTS | {"irc"}
"""Of names that only irc gives."""

IN_KERNELS = frozenset({"arith", "math", "scf"})
"""Dialects of xDSL whose ops are irc's in a kernel."""

KERNELS = frozenset({"tile.program", "cuda.kernel", "cpu.kernel"})


def first_fault(root: Operation) -> tuple[Operation, IrcError] | None:
    """The first op, of `root` and what is nested in it, with an attribute that it cannot carry, and what is said of
    it."""
    for op in ops_in(root):
        if not op.attributes and not isinstance(op, FuncOp):
            continue
        faults = [_fault(op, name, value, DISCARDABLE) for name, value in op.attributes.items()]
        if isinstance(op, FuncOp) and op.arg_attrs is not None:
            faults += [_fault(op, *each, OF_ARGUMENTS) for entry in op.arg_attrs.data for each in entry.data.items()]
        for fault in faults:
            if fault is not None:
                return op, fault
    return None


def _fault(op: Operation, name: str, value: Attribute, among: Mapping[str, Discardable]) -> IrcError | None:
    known = among.get(name)
    if known is None:
        return _unknown(op, name, among) if _is_ours(op, name) else None
    if not known.carries(op):
        return IrcError(f"'{op.name}': {name} is for {known.on}")
    if not known.fits(value):
        return IrcError(f"'{op.name}': {name}: expected {known.value}, found {value}")
    return None


def _is_ours(op: Operation, name: str) -> bool:
    """Whether an attribute of this name would be irc's."""
    if "." in name:
        return name.split(".")[0] in PREFIXES
    dialect = op.name.split(".")[0]
    return dialect in DIALECTS or (dialect in IN_KERNELS and _is_in_kernel(op))


def _is_in_kernel(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and (parent.name in KERNELS or _is_in_kernel(parent))


def _unknown(op: Operation, name: str, among: Mapping[str, Discardable]) -> IrcError:
    known = [*op.properties, *(each for each, entry in among.items() if entry.carries(op))]
    return unknown_name("attribute", name, known, "those of other tools have a prefix, `tool.name`", f" of '{op.name}'")
