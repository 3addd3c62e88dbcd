"""Computing values: a graph is compiled once for each structure, and run with the values of its leaves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from irc.driver.compiler import TARGETS, begin, default_target
from irc.support.diagnostics import IrcError
from irc_frontend.demand import kept_beside
from irc_frontend.given_seeds import with_given_seeds
from irc_frontend.graph import ARGUMENT, HOST, LEAF, TILE, Node, fail, sorted_nodes, structure
from irc_frontend.host import call_of
from irc_frontend.leaves import placed
from irc_frontend.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdsl.dialects.builtin import ModuleOp

    from irc.driver.begun import Begun
    from irc.driver.subjects import Recorded
    from irc.runtime.executable import Executable
    from irc.support.extents import Dim

MAX_KEPT = 512
"""Compiled structures that are kept; the one used least recently goes first."""

_target: ContextVar[str | None] = ContextVar("irc_target", default=None)
_autotune: ContextVar[bool | float] = ContextVar("irc_autotune", default=False)
_shared_gpu: ContextVar[bool] = ContextVar("irc_shared_gpu", default=False)
_lock = threading.Lock()
_compiled: OrderedDict[Hashable, Executable] = OrderedDict()


@contextmanager
def target(name: str | None) -> Generator[None]:
    """Within the block, values are computed on this target: `cpu`, `cuda`, `interpret`, or None for irc's
    default. IrcError where there is none such."""
    if name is not None and name not in TARGETS:
        raise fail(f"unknown target {name}", f"targets are {', '.join(TARGETS)}")
    token = _target.set(name)
    try:
        yield
    finally:
        _target.reset(token)


@contextmanager
def autotuned(seconds: bool | float = True) -> Generator[None]:
    """Within the block, kernels of what is compiled are tuned that were not before, each for so many seconds, 10 for
    True (docs/tuning.md)."""
    token = _autotune.set(seconds)
    try:
        yield
    finally:
        _autotune.reset(token)


@contextmanager
def sharing_gpu() -> Generator[None]:
    """Programs that are compiled inside share the GPU with kernels that hold SMs, as those of NCCL: their large
    products take tiles while they run (docs/decisions/dynamic-tiles.md)."""
    token = _shared_gpu.set(True)
    try:
        yield
    finally:
        _shared_gpu.reset(token)


def evaluate(roots: Sequence[Node]) -> list[Any]:
    """The values of the nodes, computed together; the nodes keep them."""
    wanted = [node for node in dict.fromkeys(roots) if node.op != LEAF]
    if wanted:
        _compute(wanted)
    return [node.known for node in roots]


def _compute(wanted: Sequence[Node]) -> None:
    """Computes nodes by one program, or several where functions of the host are between them."""
    while (call := _first_host_call(wanted)) is not None:
        if call[0].is_recorded:
            break
        evaluate(call[0].operands)
        call_of(call[0]).compute(call)
    if wanted := [node for node in wanted if node.op != LEAF]:
        _compute_by_program(wanted)


def _first_host_call(wanted: Sequence[Node]) -> list[Node] | None:
    """The results of the first call of the host that the nodes need."""
    hosts = [node for node in sorted_nodes(wanted) if node.op == HOST]
    return [node for node in hosts if call_of(node) is call_of(hosts[0])] if hosts else None


def _compute_by_program(wanted: Sequence[Node]) -> None:
    order = sorted_nodes(wanted)
    if any(node.op == TILE for node in order):
        raise fail(
            "a tile has no value while its kernel is traced",
            "irc's functions compute with tiles, as exp(t) does for math.exp(t); the results of the kernel have values",
        )
    if any(node.op == ARGUMENT for node in order):
        raise fail(
            "a value is asked for while a function is recorded",
            "it depends on an argument of a function given to grad or jit, which has no value yet; "
            "where(condition, a, b) and cond(condition, f, g) choose",
        )
    roots = [*wanted, *kept_beside(order, wanted, structure(order, wanted))]
    order, given = with_given_seeds(order, roots)
    executable = _executable(order, given)
    values = executable(*placed([node.known for node in order if node.op == LEAF], executable.target))
    results: Sequence[Any] = [values] if len(roots) == 1 else values
    for node, value in zip(roots, results, strict=True):
        node.keep(value)


def _executable(order: Sequence[Node], roots: Sequence[Node]) -> Executable:
    where = _target.get()
    key = (where, structure(order, roots))
    with _lock:
        if (known := _compiled.get(key)) is not None:
            _compiled.move_to_end(key)
            return known
    executable = compile_nodes(order, roots)
    with _lock:
        _compiled[key] = executable
        while len(_compiled) > MAX_KEPT:
            _compiled.popitem(last=False)
    return executable


def compile_nodes(
    order: Sequence[Node], roots: Sequence[Node], leaves: Sequence[Node] | None = None, donate: Sequence[int] = ()
) -> Executable:
    """The program of the leaves (by default the nodes that have a value) that gives the roots, on the current target.
    The leaves numbered in `donate` are donated."""
    return begin_nodes(order, roots, leaves, donate)()


def begin_nodes(
    order: Sequence[Node],
    roots: Sequence[Node],
    leaves: Sequence[Node] | None = None,
    donate: Sequence[int] = (),
    *,
    any_order: bool = False,
    dims: Sequence[Dim] = (),
) -> Begun[Executable]:
    """The same, begun (`irc.driver.compiler.begin`). any_order: whether sums may be added up in any order. dims: of
    which numbers in shapes stand for sizes."""
    if leaves is None:
        leaves = [node for node in order if node.op == LEAF]
    program = recorded(order, roots, leaves, dims) or _module(order, roots, leaves, dims)
    return _begin_program(program, roots, donate, any_order)


def _module(order: Sequence[Node], roots: Sequence[Node], leaves: Sequence[Node], dims: Sequence[Dim]) -> ModuleOp:
    from irc.ir.extents import declare_dims
    from irc_frontend.build import build_module

    module = build_module(order, roots, leaves)
    declare_dims(module, dims)
    return module


def compile_program(program: ModuleOp, roots: Sequence[Node], donate: Sequence[int] = ()) -> Executable:
    """The same of the module that was made of them."""
    return _begin_program(program, roots, donate)()


def _begin_program(
    program: ModuleOp | Recorded, roots: Sequence[Node], donate: Sequence[int], any_order: bool = False
) -> Begun[Executable]:
    with _located(roots):
        begun = begin(
            program,
            current_target(),
            donate=donate,
            any_order=any_order,
            autotune=current_autotune(),
            shared_gpu=_shared_gpu.get(),
        )

    def finished() -> Executable:
        with _located(roots):
            return begun()

    return begun.then(finished)


@contextmanager
def _located(roots: Sequence[Node]) -> Generator[None]:
    """Errors of no place are at that of the roots."""
    try:
        yield
    except IrcError as error:
        if error.location is None and roots[0].place is not None:
            error.location = roots[0].place.span()
        raise


def current_target() -> str | None:
    """Where values are computed; None for irc's default."""
    return _target.get()


def current_autotune() -> bool | float:
    """Whether kernels are tuned, or for how many seconds."""
    return _autotune.get()


def on_gpu() -> bool:
    """Whether values are computed on a GPU."""
    return (current_target() or default_target()) == "cuda"


def compiled_count() -> int:
    """How many structures are compiled and kept."""
    return len(_compiled)
