"""Several ranks: a mesh of them, and arrays that are divided among them (docs/distributed.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irc.support.diagnostics import IrcError
from irc.support.mesh import Mesh as Axes
from irc.support.mesh import Sharding, text
from irc_frontend.graph import LEAF, Node, fail
from irc_frontend.leaves import to_numpy
from irc_frontend.pytrees import rebuilt, with_paths
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from irc.runtime.ranks import Ranks
    from irc.runtime.trace import Trace

__all__ = ["Mesh", "Sharded", "mesh", "shard"]

Spec: TypeAlias = "Sequence[str | Sequence[str] | None]"
"""For each axis of an array the axis of the mesh that divides it, several of them, or None; what is left out is
None."""


@dataclass(frozen=True)
class Mesh:
    """The ranks of a run in a grid with named axes, in row-major order; this process is one of them."""

    axes: Axes
    ranks: Ranks

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self.ranks.place.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.axes.size

    @property
    def coordinates(self) -> dict[str, int]:
        """Where this process is along each axis."""
        return dict(zip(self.axes.names, self.axes.coordinates(self.rank), strict=True))

    def save_trace(self, trace: Trace, path: str | Path) -> None:
        """Writes what `irc.runtime.trace.tracing` recorded on each rank to one file of the trace event format: a
        process for each rank, with collectives on a row of their own. All ranks call it; rank 0 writes."""
        self.ranks.save_trace(trace, Path(path))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in zip(self.axes.names, self.axes.sizes, strict=True))
        return f"mesh({sizes})"


def mesh(**sizes: int) -> Mesh:
    """A mesh with these axes: `mesh(data=2, model=2)` is of four ranks, 0 and 1 of them along `model`.

    Each rank is a process that runs the same script: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of its environment
    say which one it is, as torchrun and `python -m irc_tools.launch` set them. IrcError where the mesh has not as many
    ranks as are running.
    """
    from irc.runtime.ranks import ranks

    for name, size in sizes.items():
        if size < 1:
            raise fail(f"expected a size of 1 or more for the axis {name} of a mesh, found {size}")
    if not sizes:
        raise fail("a mesh has one axis or more", "ir.mesh(data=2)")
    found = Axes(tuple(sizes), tuple(sizes.values()))
    try:
        ranks().check(found)
    except IrcError as error:
        raise fail(error.message, error.hint) from None
    return Mesh(found, ranks())


class Sharded:
    """An array that is divided among the ranks of a mesh, of which this one has a part: an argument or a result of
    `jit(mesh=...)`, and a leaf of trees."""

    def __init__(self, local: Tensor, shape: Sequence[int], sharding: Sharding, mesh: Mesh):
        self._local, self._shape, self._sharding, self._mesh = local, tuple(shape), sharding, mesh

    @property
    def local(self) -> Tensor:
        """This rank's part."""
        return self._local

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._local.dtype

    @property
    def element(self) -> str:
        return self._local.element

    @property
    def sharding(self) -> Sharding:
        """For each axis the axes of the mesh that divide it."""
        return self._sharding

    @property
    def mesh(self) -> Mesh:
        return self._mesh

    def numpy(self) -> np.ndarray[Any, Any]:
        """The whole array. All ranks call it, since each gives its part."""
        axes, ranks = self._mesh.axes, self._mesh.ranks
        part = to_numpy(self._local.value())
        whole = np.empty(self._shape, part.dtype)
        for rank, content in enumerate(ranks.gathered(f"numpy() of {self!r}", np.ascontiguousarray(part).tobytes())):
            whole[axes.part(rank, self._shape, self._sharding)] = np.frombuffer(content, part.dtype).reshape(part.shape)
        return whole

    def __repr__(self) -> str:
        return f"Sharded({self.element}{list(self._shape)} by {text(self._sharding)})"


def shard(tree: Any, mesh: Mesh, *axes: str | Sequence[str] | None, by: Mapping[str, Spec] | None = None) -> Any:
    """The tree with its arrays divided among the ranks of a mesh; each rank gives whole arrays and keeps its part.

    `shard(x, mesh, "data", None)` divides the first axis of x along the axis `data` of the mesh. With `by` each array
    is divided as the first pattern says that its path matches: `by={"*.up.weights": (None, "model")}`, the keys of a
    tree joined by dots; arrays that none matches stay whole. IrcError where an array does not divide.
    """
    leaves = [
        _part(leaf, mesh, axes if by is None else _matching(path, by), ".".join(map(str, path)) or "the array")
        for path, leaf in with_paths(tree)
    ]
    return rebuilt(tree, iter(leaves))


def _matching(path: Sequence[Any], by: Mapping[str, Spec]) -> Spec:
    name = ".".join(map(str, path))
    return next((spec for pattern, spec in by.items() if fnmatchcase(name, pattern)), ())


def _part(leaf: Any, mesh: Mesh, spec: Spec, name: str) -> Any:
    if isinstance(leaf, Sharded):
        raise fail(f"{name} is divided already: {leaf!r}")
    node = node_of(leaf)
    if node.is_recorded:
        raise fail("an array is divided where a function is called, not within it", "shard the arguments")
    given = tuple(() if each is None else (each,) if isinstance(each, str) else tuple(each) for each in spec)
    sharding: Sharding = given + ((),) * (node.rank - len(given))
    try:
        mesh.axes.check(sharding, node.shape, name)
    except IrcError as error:
        raise fail(error.message, error.hint) from None
    if not any(sharding):
        return leaf if isinstance(leaf, Tensor) else Tensor.of(node)
    value = Tensor.of(node).value()
    part = np.ascontiguousarray(to_numpy(value)[mesh.axes.part(mesh.rank, node.shape, sharding)])
    local = Tensor.of(Node(LEAF, (), part.shape, node.element, value=part))
    if not isinstance(value, np.ndarray):
        local = local.to(f"cuda:{int(value.__dlpack_device__()[1])}")
    return Sharded(local, node.shape, sharding, mesh)
