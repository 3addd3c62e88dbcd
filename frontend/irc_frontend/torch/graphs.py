"""A graph of ATen ops as a callable: programs of irc, and torch for the rest."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode
from torch.fx.graph import CodeGen
from torch.fx.node import map_aggregate

from irc.support.diagnostics import IrcError, reproducer_of
from irc.support.extents import Dim, Sizes, sized
from irc_frontend.dims import NotOne
from irc_frontend.torch.complexes import with_real_parts
from irc_frontend.torch.division import Division, Subgraph, divide
from irc_frontend.torch.flex import with_flex_attention
from irc_frontend.torch.linear_integers import fold_linear_integers
from irc_frontend.torch.preparation import drop_new_strides, results_of, strides_of, with_channels_last
from irc_frontend.torch.program import CompiledSubgraph, module_of
from irc_frontend.torch.repeats import without_repeats
from irc_frontend.torch.rules import value_of
from irc_frontend.torch.separation import separate_gradients
from irc_frontend.torch.sizes import compare

Watcher = Callable[[str, "Compiled"], None]
"""Told of each graph that is compiled: forward, backward or inference, and what became of it."""

_watchers: list[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Within the block, whatever thread compiles a graph tells the watcher."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


aten = torch.ops.aten

QUICKER: dict[Any, Callable[..., Any]] = {aten.convolution.default: torch.convolution}
"""Of ops that stay with torch, the function that calls them in half of the host's time: 4 us less a convolution."""


class NotCompiled(UserWarning):
    """A part of a graph that irc could not compile, and left to torch."""


Run = Callable[[list[Any]], Any]
"""A call of a graph: it takes a list of the inputs, which it empties, and gives a list."""


def boxed(run: Run) -> Run:
    """The same as a function of which AOTAutograd knows that it takes a list."""

    def call(arguments: list[Any]) -> Any:
        return run(arguments)

    call._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return call


@dataclass
class Compiled:
    """A graph with its programs."""

    run: Run
    division: Division
    programs: Sequence[CompiledSubgraph]
    strides: Sequence[tuple[int, ...] | None]
    """Of the results, None of what is no array; nothing where all are as they were traced."""


class BegunGraph:
    """A functional ATen graph whose shapes are static, forward, backward or inference, compiled as far as the machine
    code of its programs, which threads make. A program that cannot be compiled is a warning, and its ops stay with
    torch.
    """

    def __init__(
        self,
        module: GraphModule,
        kind: str,
        inputs: Sequence[Any] = (),
        visible: int | None = None,
        is_turned: bool = True,
        why_left: str | None = None,
    ):
        """`inputs` and `visible` are those of `with_channels_last`, which is called where the graph is to be turned.
        `why_left` leaves all of a graph to torch, whose shapes may be symbolic then."""
        if why_left is None:
            module = with_real_parts(module)
        module = _simplified(module)
        self.strides: list[tuple[int, ...] | None] = []
        """As those of `Compiled`."""
        if is_turned:
            traced = _strides(module)
            module = with_channels_last(module, inputs, visible)
            strides = _strides(module)
            self.strides = [] if strides == traced else strides
        if why_left is None:
            separate_gradients(module.graph)
        self._module, self._kind = module, kind
        self._refused = {} if why_left is None else dict.fromkeys(module.graph.nodes, why_left)
        self._programs: dict[int, CompiledSubgraph] = {}
        self._begin()

    @property
    def is_finished(self) -> bool:
        """Whether `finish` waits for nothing."""
        return all(program.is_finished for program in self._programs.values())

    def finish(self) -> Compiled:
        """Waits for the machine code. A program of which it cannot be made is a warning."""
        while not all(self._attempt(program.subgraph, program.finish) for program in self._programs.values()):
            self._begin()
        run = _joined(self._module, self._division, self._programs)
        compiled = Compiled(run, self._division, list(self._programs.values()), self.strides)
        for watcher in _watchers:
            watcher(self._kind, compiled)
        return compiled

    def _begin(self) -> None:
        """Divides the graph, again where a program cannot be lowered, and begins the programs, by the identities of
        their subgraphs. Those of a division before are kept until then: programs that are equal go on."""
        kept = dict[int, CompiledSubgraph]()
        while True:
            kept |= self._programs
            self._division, self._programs = divide(self._module.graph, self._refused), {}
            subgraphs = chain.from_iterable(self._division.subgraphs)
            if all(self._attempt(each, partial(self._begin_program, each)) for each in subgraphs):
                return

    def _begin_program(self, subgraph: Subgraph) -> None:
        self._programs[id(subgraph)] = CompiledSubgraph(subgraph)

    def _attempt(self, subgraph: Subgraph, compile: Callable[[], object]) -> bool:
        """Whether a step of the compilation of a subgraph works; else its ops are refused."""
        try:
            compile()
        except IrcError as error:
            reason = f"not compiled: {error}"
            said = "\n".join([f"irc leaves {len(subgraph.own)} ops to torch, {reason}", *reproducer_of(error)])
            warnings.warn(said, NotCompiled, stacklevel=2)
            self._refused.update(dict.fromkeys(subgraph.own, reason))
            return False
        except Exception as error:
            for note in reproducer_of(error):  # which torch leaves out where it tells of the exception
                warnings.warn(f"irc cannot compile a graph; {note}", stacklevel=2)
            raise
        return True


def compile_class(
    module: GraphModule, for_sizes: Sequence[tuple[GraphModule, Sizes]], kind: str, dims: Sequence[Dim]
) -> Callable[[Sizes], Run]:
    """Compiles a functional ATen graph whose shapes have numbers that stand for sizes: what gives a run for some.
    for_sizes: the graph with some sizes in their place. NotOne where it is not the same for all sizes, or programs
    cannot be for all."""
    module = _prepared(module)
    division = divide(module.graph, {})
    for other, sizes in [(_prepared(each), sizes) for each, sizes in for_sizes]:
        compare(module, other, dims, sizes)
        _compare_programs(module, other, division, dims, sizes)
    try:
        programs = {id(each): CompiledSubgraph(each, dims).finish() for level in division.subgraphs for each in level}
    except IrcError as error:
        raise NotOne(error.message) from error

    def at(sizes: Sizes) -> Run:
        of_sizes = {number: program.at(sizes) for number, program in programs.items()}
        return _joined(module, division, of_sizes, lambda value: sized(value, dims, sizes))

    compiled = Compiled(at({dim.name: dim.most for dim in dims}), division, list(programs.values()), [])
    for watcher in _watchers:
        watcher(kind, compiled)
    return at


def _prepared(module: GraphModule) -> GraphModule:
    module = _simplified(module)
    separate_gradients(module.graph)
    return module


def _simplified(module: GraphModule) -> GraphModule:
    graph = without_repeats(with_flex_attention(module).graph)
    fold_linear_integers(graph)
    drop_new_strides(graph)
    return GraphModule(module, graph)


def _compare_programs(
    module: GraphModule, other: GraphModule, division: Division, dims: Sequence[Dim], sizes: Sizes
) -> None:
    """NotOne unless the programs of the graph, with these sizes, are those of the other graph."""
    from irc.ir.extents import at_sizes  # imported late: it imports xDSL

    there = dict(zip(module.graph.nodes, other.graph.nodes, strict=True))
    for subgraph in chain.from_iterable(division.subgraphs):
        nodes = {each.name: [there[node] for node in getattr(subgraph, each.name)] for each in fields(subgraph)[2:]}
        found = at_sizes(module_of(subgraph, dims), sizes)
        if not found.is_structurally_equivalent(module_of(Subgraph(subgraph.level, subgraph.device, **nodes))):
            raise NotOne("it computes with a size")


def _strides(module: GraphModule) -> list[tuple[int, ...] | None]:
    return [strides_of(node) for node in results_of(module.graph)]


def _copy(graph: Graph, pairs: Sequence[tuple[FxNode, FxNode]]) -> None:
    """Adds the copies into arguments of values, those of one element type together: torch copies them in one launch.
    Not so into conjugates and negatives that are views, of which it refuses lists."""
    alike: dict[Any, list[tuple[FxNode, FxNode]]] = {}
    for argument, value in pairs:
        written = value_of(argument)
        if written.is_conj() or written.is_neg():
            graph.call_function(aten.copy_.default, (argument, value))
        else:
            alike.setdefault(written.dtype, []).append((argument, value))
    for each in alike.values():
        graph.call_function(aten._foreach_copy_.default, tuple(map(list, zip(*each, strict=True))))


class _Boxed(CodeGen):
    """Code that takes its arguments in one list and empties it, so that each is freed after its last use. torch has
    its own from 2.11 on."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = [text.partition(":")[0].partition("=")[0].strip() for text in free_vars if text != "self"]
        taken = f"[{', '.join(names)}] = boxed_arguments\n    " if names else ""
        return (
            f"def {self._func_name}(self, boxed_arguments){maybe_return_annotation}:\n"
            f"    {taken}boxed_arguments.clear()"
        )

    def additional_globals(self) -> list[tuple[str, Any]]:
        """What the text of a complex number has that is not finite."""
        return [("infj", complex(0, math.inf)), ("nanj", complex(0, math.nan))]


def _changed(arguments: Any, at: Callable[[int], int]) -> Any:
    """The arguments of a node with other numbers."""
    return map_aggregate(arguments, lambda value: at(value) if type(value) is int else value)


def _joined(
    module: GraphModule,
    division: Division,
    programs: dict[int, CompiledSubgraph],
    at: Callable[[int], int] | None = None,
) -> Run:
    """The graph in which each subgraph is one call. at: what numbers in it are."""

    def numbers(node: FxNode) -> FxNode:
        if at is not None:
            node.args, node.kwargs = _changed(node.args, at), _changed(node.kwargs, at)
        return node

    graph = Graph()
    graph.set_codegen(_Boxed())
    known: dict[FxNode, FxNode] = {}
    for node in module.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            known[node] = graph.node_copy(node)
    for node in division.first:
        known[node] = numbers(graph.node_copy(node, known.__getitem__))
    for subgraphs, left in zip(division.subgraphs, division.left, strict=True):
        for subgraph in subgraphs:
            call = graph.call_function(programs[id(subgraph)], tuple(known[node] for node in subgraph.inputs))
            for position, node in enumerate(subgraph.results):
                single = len(subgraph.results) == 1
                known[node] = call if single else graph.call_function(operator.getitem, (call, position))
        for node in left:
            known[node] = copied = numbers(graph.node_copy(node, known.__getitem__))
            copied.target = QUICKER.get(copied.target, copied.target)
    _copy(graph, [(known[node.all_input_nodes[0]], known[node.all_input_nodes[1]]) for node in division.writes])
    numbers(graph.node_copy(module.graph.output_node(), known.__getitem__))
    return boxed(GraphModule(module, graph).forward)
