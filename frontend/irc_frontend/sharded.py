"""`jit(mesh=...)`: a function of whole arrays that runs on several ranks, each with its parts of them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irc_frontend.evaluation import compile_program, evaluate
from irc_frontend.graph import ARGUMENT, LEAF, Donated, Node, fail
from irc_frontend.jit import Recorder, call_key, donated_nodes, is_array, with_tensors
from irc_frontend.leaves import placed
from irc_frontend.mesh import Mesh, Sharded
from irc_frontend.pytrees import rebuilt, tree_leaves
from irc_frontend.states import parts_of
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from irc.runtime.executable import Executable
    from irc.support.mesh import Sharding


def sharded_jit(function: Callable[..., Any], mesh: Mesh, donate: Sequence[int]) -> Callable[..., Any]:
    """As `irc_frontend.jit` says of `mesh`."""
    programs: dict[Hashable, _Program] = {}

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        _, leaves, _ = parts_of((args, options))
        if any(isinstance(leaf, Tensor) and leaf.node.is_recorded for leaf in leaves):
            return function(*args, **options)
        shardings = [_sharding(leaf, mesh) for leaf in leaves if is_array(leaf) or isinstance(leaf, Sharded)]
        args, options = (_whole(each) for each in (args, options))
        tree, whole, kind = parts_of((args, options))
        nodes = [node_of(leaf) for leaf in whole if is_array(leaf)]
        given = donated_nodes(tree[0], donate, nodes)
        key = kind, call_key(tree, whole, nodes, [node.shape for node in nodes]), tuple(shardings)
        if key not in programs:
            recorder = Recorder(function, args, options, nodes, given)
            programs[key] = _compiled(recorder, mesh, shardings, function.__name__)
        arrays = [leaf.local.node if isinstance(leaf, Sharded) else node_of(leaf) for leaf in leaves if _is_value(leaf)]
        results = programs[key](evaluate(arrays), mesh)
        for number in given:
            arrays[number].value = Donated(function.__name__)
        return results

    return compiled


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, Sharded) or is_array(leaf)


def _sharding(leaf: Any, mesh: Mesh) -> Sharding:
    """How an array of the arguments is divided."""
    if not isinstance(leaf, Sharded):
        return ((),) * len(node_of(leaf).shape)
    if leaf.mesh.axes != mesh.axes:
        raise fail(f"{leaf!r} is divided among the ranks of {leaf.mesh!r}, and the function is for {mesh!r}")
    return leaf.sharding


def _whole(tree: Any) -> Any:
    """The tree with stand-ins of whole arrays in the place of divided ones."""
    leaves = (
        Tensor.of(Node(LEAF, (), leaf.shape, leaf.element)) if isinstance(leaf, Sharded) else leaf
        for leaf in tree_leaves(tree)
    )
    return rebuilt(tree, leaves)


def _compiled(recorder: Recorder, mesh: Mesh, shardings: Sequence[Sharding], name: str) -> _Program:
    """Records the function, and compiles what this rank runs of it."""
    from irc.driver.partitioning import partitioned
    from irc.ir.printer import print_ir

    found = recorder.recorded([node.shape for node in recorder.nodes], {})
    if not found.roots:
        return _Program(None, (), found.tree, (), (), (), name)
    fixed: list[Sharding] = [((),) * node.rank for node in found.fixed]
    results = _kept(found.roots, [(recorder.nodes[number], shardings[number]) for number in recorder.donate])
    made = partitioned(found.module(), mesh.axes, [*fixed, *shardings], results)
    donated = [len(found.fixed) + number for number in recorder.donate]
    digest = hashlib.sha256(print_ir(made.module).encode()).hexdigest()[:12]
    types = ", ".join(node.type for node in found.inputs if node.op == ARGUMENT)
    shown = types if len(types) < 200 else f"{types[:200]} ..."
    text = f"{name}({shown}), program {digest}"
    executable = mesh.ranks.in_turn(mesh.axes, text, lambda: compile_program(made.module, found.roots, donated))
    return _Program(
        executable,
        found.fixed,
        found.tree,
        [root.element for root in found.roots],
        [root.shape for root in found.roots],
        made.results,
        text,
    )


def _kept(roots: Sequence[Node], donated: Sequence[tuple[Node, Sharding]]) -> list[Sharding | None]:
    """How results are divided: the first of the type of a donated argument as that one, others as it follows."""
    found: list[Sharding | None] = [None] * len(roots)
    for node, sharding in donated:
        same = (number for number, root in enumerate(roots) if found[number] is None and root.type == node.type)
        if (number := next(same, None)) is not None:
            found[number] = sharding
    return found


@dataclass(frozen=True)
class _Program:
    """A recorded function. fixed: what it used beside its arguments. tree: what it gave; elements, shapes, shardings:
    of the Tensors in it, whole. text: what tells it from others, for ranks that run different ones."""

    executable: Executable | None
    fixed: Sequence[Node]
    tree: Any
    elements: Sequence[str]
    shapes: Sequence[tuple[int, ...]]
    shardings: Sequence[Sharding]
    text: str
    coordinates: list[Any] = field(default_factory=list[Any])
    """This rank's, where the last call had them."""

    def _coordinates(self, mesh: Mesh) -> Any:
        return self.coordinates[0] if self.coordinates else np.array(mesh.axes.coordinates(mesh.rank), np.int64)

    def __call__(self, values: Sequence[Any], mesh: Mesh) -> Any:
        if self.executable is None:
            return self.tree
        target = self.executable.target
        inputs = placed([*(node.known for node in self.fixed), *values, self._coordinates(mesh)], target)
        self.coordinates[:] = inputs[-1:]
        with mesh.ranks.calling(mesh.axes, target, self.text):
            found: Any = self.executable(*inputs)
        arrays: Sequence[Any] = found if isinstance(found, tuple) else (found,)  # pyright: ignore[reportUnknownVariableType]
        rows = zip(arrays, self.elements, self.shapes, self.shardings, strict=True)
        return with_tensors(self.tree, (_result(*row, mesh) for row in rows))


def _result(x: Any, element: str, shape: tuple[int, ...], sharding: Sharding, mesh: Mesh) -> Tensor | Sharded:
    local = Tensor.of(Node(LEAF, (), x.shape, element, value=x))
    return Sharded(local, shape, sharding, mesh) if any(sharding) else local
