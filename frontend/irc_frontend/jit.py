"""`jit`: a function of Tensors that is recorded once for each kind of its arguments and runs as one program."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from irc.support.diagnostics import IrcError
from irc.support.garbage import seldom_collecting
from irc.support.stack import with_room
from irc_frontend.dims import Dim, NotOne, Shape, is_fixed, known_dims, one_module
from irc_frontend.evaluation import autotuned, compile_nodes, compile_program, current_target, evaluate
from irc_frontend.graph import ARGUMENT, LEAF, Donated, Node, fail, sorted_nodes
from irc_frontend.leaves import placed
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.states import check_unchanged, closed, opened, parts_of, with_self
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.runtime.executable import Executable
    from irc.support.extents import Dim as KnownDim
    from irc_frontend.mesh import Mesh

__all__ = ["jit"]


class JitOptions(TypedDict, total=False):
    """The options of `jit`."""

    donate: int | Sequence[int]
    autotune: bool | float
    dims: Mapping[str, Sequence[Dim | None]] | None
    mesh: Mesh | None


@overload
def jit(function: Callable[..., Any], **options: Unpack[JitOptions]) -> Callable[..., Any]: ...


@overload
def jit(**options: Unpack[JitOptions]) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def jit(
    function: Callable[..., Any] | None = None,
    *,
    donate: int | Sequence[int] = (),
    autotune: bool | float = False,
    dims: Mapping[str, Sequence[Dim | None]] | None = None,
    mesh: Mesh | None = None,
) -> Callable[..., Any]:
    """The function, recorded at the first call with arguments of each kind, and one program from then on.

    Arguments are trees. Their arrays (Tensors, numpy's, those of other libraries) may have other values in each call; a
    new shape or element type, another tree, or another value of anything else (numbers, strings) is another kind, for
    which the function runs again. Tensors that it uses beside its arguments are computed when it is recorded and stay
    as they are. It gives a tree of Tensors. Called while another function is recorded, it is part of that.

    An argument that is an object, as `self` of a method is, is a tree of its attributes: the function sees what they
    are at each call. It cannot change them: that is an error. Frozen dataclasses and functions are constants.

    `@jit(donate=(0, 1))` donates positional arguments: the function returns arrays of their shapes and element types in
    the same order, which on a GPU are written over those of the arguments. Their Tensors cannot be used again.

    `@jit(autotune=True)` tunes kernels of the program that were not tuned before; a number is the seconds for each
    (docs/tuning.md).

    `@jit(dims={"x": (N,)})` with `N = ir.Dim("N", 1, 65536)` says that the first extent of the arrays in the argument
    `x` changes from call to call (None: this one does not): one program serves all its sizes. Where the function
    computes with a size, or irc cannot compile it for all sizes, a warning (`NotSized`) says why, and it is a program
    for each.

    `@jit(mesh=mesh)` runs it on the ranks of a mesh (`ir.mesh`). It is a function of whole arrays; those of its
    arguments that `ir.shard` divided are divided, others are the same on each rank. How everything else is divided
    follows, and so do the exchanges among ranks. Results that are divided are `Sharded` (docs/distributed.md).
    """
    if function is None:
        return functools.partial(jit, donate=donate, autotune=autotune, dims=dims, mesh=mesh)
    given = (donate,) if isinstance(donate, int) else tuple(donate)
    plain, own = with_self(function)
    if not own:
        return _jit(function, given, autotune, dims, mesh)
    # The object that a method is bound to is its first argument.
    compiled = _jit(plain, [number + 1 for number in given], autotune, dims, mesh)

    @functools.wraps(function)
    def bound(*args: Any, **options: Any) -> Any:
        return compiled(*own, *args, **options)

    return bound


class NotSized(UserWarning):
    """A function of arrays whose extents change is compiled for each size."""


def _jit(
    function: Callable[..., Any],
    donate: Sequence[int],
    autotune: bool | float,
    dims: Mapping[str, Sequence[Dim | None]] | None,
    mesh: Mesh | None,
) -> Callable[..., Any]:
    if mesh is not None:
        return _on_mesh(function, mesh, donate, autotune, dims)
    programs: dict[Hashable, _Program] = {}
    lock = threading.Lock()
    axes = _Axes(function, dims) if dims else None
    refused = False

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        tree, leaves, kind = parts_of((args, options))
        if any(isinstance(leaf, Tensor) and leaf.node.is_recorded for leaf in leaves):
            return function(*args, **options)
        nodes = [node_of(leaf) for leaf in leaves if is_array(leaf)]
        nonlocal refused
        given = donated_nodes(tree[0], donate, nodes)
        shapes: Sequence[Shape] = [node.shape for node in nodes]
        if axes is not None:
            named = axes.shapes(tree[0], tree[1], nodes)
            shapes = shapes if refused else named
        key = kind, call_key(tree, leaves, nodes, shapes)
        with lock:
            program = programs.get(key)
        if program is None:
            recorder = Recorder(function, args, options, nodes, given)
            with autotuned(autotune) if autotune else nullcontext():
                try:
                    program = recorder.program(shapes)
                except NotOne as error:
                    refused = True
                    why = f"{function.__name__} is compiled for each size of its arguments: {error}"
                    warnings.warn(why, NotSized, stacklevel=2)
                    shapes = [node.shape for node in nodes]
                    key = kind, call_key(tree, leaves, nodes, shapes)
                    program = recorder.program(shapes)
            with lock:
                program = programs.setdefault(key, program)
        values = evaluate(nodes)
        results = program(values)
        for number in given:
            nodes[number].value = Donated(getattr(function, "__name__", "a function"))
        return results

    return compiled


def _on_mesh(
    function: Callable[..., Any],
    mesh: Mesh,
    donate: Sequence[int],
    autotune: bool | float,
    dims: Mapping[str, Sequence[Dim | None]] | None,
) -> Callable[..., Any]:
    from irc_frontend.sharded import sharded_jit

    if dims:
        raise fail("jit takes dims or a mesh: a program for all sizes runs on one rank")
    if autotune:
        raise fail("jit takes autotune or a mesh: ranks that tune by themselves would run different programs")
    return sharded_jit(function, mesh, donate)


def donated_nodes(args: Sequence[Any], donate: Sequence[int], nodes: Sequence[Node]) -> list[int]:
    """The numbers of the nodes of donated arguments."""
    if not donate:
        return []
    ends = list(accumulate((sum(map(is_array, tree_leaves(each))) for each in args), initial=0))
    if beyond := [number for number in donate if not 0 <= number < len(args)]:
        raise fail(f"jit donates positional argument {beyond[0]}, and {len(args)} are given")
    given = [node for number in sorted(donate) for node in range(ends[number], ends[number + 1])]
    counts = Counter(nodes)
    if any(counts[nodes[number]] > 1 for number in given):
        raise fail("a donated Tensor is given twice in one call")
    return given


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, Tensor | np.ndarray | np.generic) or hasattr(leaf, "__dlpack__")


def call_key(tree: Any, leaves: Sequence[Any], nodes: Sequence[Node], shapes: Sequence[Shape]) -> Hashable:
    """The kind of the arguments."""
    others = tuple((type(leaf), leaf) for leaf in leaves if not is_array(leaf))
    places = tuple(map(is_array, leaves))
    key = (current_target(), shape_of_tree(tree), places, others, tuple(map(tuple, shapes)))
    key = (*key, tuple(node.element for node in nodes))
    try:
        hash(key)
    except TypeError as error:
        raise fail(f"an argument of a jit function is neither an array nor constant: {error}") from error
    return key


@dataclass(frozen=True)
class _Program:
    """A recorded function. fixed: what it used beside its arguments, the program's first inputs. tree: what it
    gave; elements: those of the Tensors in it."""

    executable: Executable | None
    fixed: Sequence[Node]
    tree: Any
    elements: Sequence[str]

    def __call__(self, values: Sequence[Any]) -> Any:
        if self.executable is None:
            return self.tree
        inputs = [*(node.known for node in self.fixed), *values]
        results: Any = self.executable(*placed(inputs, self.executable.target))
        arrays = results if isinstance(results, tuple) else (results,)  # pyright: ignore[reportUnknownVariableType]
        found = [
            Tensor.of(Node(LEAF, (), x.shape, element, value=x))
            for x, element in zip(arrays, self.elements, strict=True)  # pyright: ignore[reportUnknownArgumentType]
        ]
        return with_tensors(self.tree, found)


def with_tensors(tree: Any, given: Iterable[Any]) -> Any:
    """The tree with what is given in the places of its Tensors."""
    left = iter(given)
    return rebuilt(tree, (next(left) if isinstance(leaf, Tensor) else leaf for leaf in tree_leaves(tree)))


@dataclass(frozen=True)
class _Recorded:
    """A function that was recorded: its nodes in order, its results, and the inputs of its program."""

    order: Sequence[Node]
    roots: Sequence[Node]
    inputs: Sequence[Node]
    fixed: Sequence[Node]
    tree: Any

    def module(self) -> ModuleOp:
        from irc_frontend.build import build_module

        return build_module(self.order, self.roots, self.inputs)


@dataclass(frozen=True)
class Recorder:
    """Records a function. donate: numbers of the nodes whose memory the program may write results to."""

    function: Callable[..., Any]
    args: Any
    options: Any
    nodes: Sequence[Node]
    donate: Sequence[int]

    @with_room
    def program(self, shapes: Sequence[Shape]) -> _Program:
        """The program for arguments of these shapes. NotOne where that is not one program for all sizes of Dims."""
        with seldom_collecting():
            return self._program(shapes)

    def _program(self, shapes: Sequence[Shape]) -> _Program:
        dims = known_dims(shapes)
        first = self.recorded(shapes, {dim: known.stand_in for dim, known in dims.items()})
        if not first.roots:
            return _Program(None, (), first.tree, ())
        donated = [len(first.fixed) + number for number in self.donate]
        if dims:
            executable = self._sized(shapes, dims, first, donated)
        else:
            executable = compile_nodes(first.order, first.roots, first.inputs, donated)
        return _Program(executable, first.fixed, first.tree, [root.element for root in first.roots])

    def _sized(
        self, shapes: Sequence[Shape], dims: Mapping[Dim, KnownDim], first: _Recorded, donated: Sequence[int]
    ) -> Executable:
        def build(sizes: Mapping[Dim, int]) -> ModuleOp:
            found = self.recorded(shapes, sizes)
            if not _same_values(found.fixed, first.fixed):
                raise NotOne("an array that it makes depends on a size")
            return found.module()

        if not all(is_fixed(node.shape, dims.values()) for node in first.fixed):
            raise NotOne("an array that it makes depends on a size")
        try:
            return compile_program(one_module(build, dims), first.roots, donated)
        except IrcError as error:
            raise NotOne(error.message) from error

    def recorded(self, shapes: Sequence[Shape], sizes: Mapping[Dim, int]) -> _Recorded:
        extents = [[sizes[each] if isinstance(each, Dim) else each for each in shape] for shape in shapes]
        inputs = [Node(ARGUMENT, (), shape, node.element) for shape, node in zip(extents, self.nodes, strict=True)]
        remaining = iter(inputs)
        tree = (self.args, self.options)
        leaves = [Tensor.of(next(remaining)) if is_array(leaf) else leaf for leaf in tree_leaves(opened(tree))]
        args, options = closed(tree, iter(leaves))
        before = closed((args, options), iter(leaves))
        results = self.function(*args, **options)
        check_unchanged(self.function.__name__, before, (args, options))
        roots = [leaf.node for leaf in tree_leaves(results) if isinstance(leaf, Tensor)]
        fixed = _fixed(roots)
        evaluate(fixed)
        return _Recorded(sorted_nodes([*fixed, *inputs, *roots]), roots, [*fixed, *inputs], fixed, results)


def _same_values(one: Sequence[Node], other: Sequence[Node]) -> bool:
    """Whether two recordings used the same arrays beside the arguments."""
    return len(one) == len(other) and all(
        a is b or (a.shape == b.shape and np.array_equal(Tensor.of(a).numpy(), Tensor.of(b).numpy()))
        for a, b in zip(one, other, strict=True)
    )


class _Axes:
    """Which extents of a function's arguments are Dims."""

    def __init__(self, function: Callable[..., Any], dims: Mapping[str, Sequence[Dim | None]]):
        self._dims = {name: tuple(axes) for name, axes in dims.items()}
        self._signature = inspect.signature(function)
        self._name = function.__name__
        if unknown := [name for name in dims if name not in self._signature.parameters]:
            raise fail(f"{self._name} has no argument {unknown[0]}, which jit is given dims for")

    def shapes(self, args: Sequence[Any], options: Mapping[str, Any], nodes: Sequence[Node]) -> list[Shape]:
        """The shapes of the arrays of a call, with Dims. IrcError where an extent is no size of its Dim."""
        positional = list(self._signature.parameters)
        named = [(positional[min(number, len(positional) - 1)], arg) for number, arg in enumerate(args)]
        arrays = [name for name, arg in (*named, *options.items()) for leaf in tree_leaves(arg) if is_array(leaf)]
        sizes: dict[Dim, int] = {}
        return [self._shape(name, node, sizes) for name, node in zip(arrays, nodes, strict=True)]

    def _shape(self, name: str, node: Node, sizes: dict[Dim, int]) -> Shape:
        axes = self._dims.get(name, ())
        if len(axes) > node.rank:
            raise fail(f"{self._name}: argument {name} is {node.type}, and has dims for {len(axes)} axes")
        for axis, (dim, extent) in enumerate(zip(axes, node.shape, strict=False)):
            if dim is None:
                continue
            where = f"{self._name}: axis {axis} of argument {name}"
            dim.known(()).check(extent, where)
            if sizes.setdefault(dim, extent) != extent:
                raise fail(f"{where}: {dim.name} is {extent}, and {sizes[dim]} in arguments before it")
        return [*(dim or extent for dim, extent in zip(axes, node.shape, strict=False)), *node.shape[len(axes) :]]


def _fixed(roots: Sequence[Node]) -> list[Node]:
    """The nodes that have a value, or get one: they depend on no argument, but on something that has a value."""
    order = sorted_nodes(roots)
    open_nodes: set[Node] = set()
    valued: set[Node] = set()
    for node in order:
        if node.op == ARGUMENT or any(operand in open_nodes for operand in node.operands):
            open_nodes.add(node)
        elif node.op == LEAF or any(operand in valued for operand in node.operands):
            valued.add(node)
    used = {operand for node in open_nodes for operand in node.operands} | set(roots)
    return [node for node in order if node in valued and node in used]
