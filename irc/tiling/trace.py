"""Values of a fused region as functions of coordinates.

Tracing a value at coordinates goes back through the ops that only move elements (they change the coordinates) and ends
in nodes: loads of operands, constants, coordinates themselves, scalar computations, and the reductions and products
that a kernel is built around. Nodes are shared: the same value at the same coordinates is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    LocationAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects.nd.elements import ElementsAttr
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError
from irc.tiling.domains import Bindings
from irc.tiling.index_maps import (
    ZERO,
    Coords,
    Dim,
    Lin,
    Sym,
    atoms,
    bounds,
    constant,
    delinearize,
    lin_of,
    linearize,
    new_dim,
    new_sym,
)
from irc.tiling.nodes import (
    REDUCTIONS,
    SCANS,
    Apply,
    Cast,
    Choose,
    Constant,
    Coordinate,
    Dot,
    Load,
    Node,
    Reduced,
    Test,
    accumulator_of,
    name_of,
    number,
    numbers,
    walk_nodes,
)

MAX_CONSTANTS = 64
"""Elements of a constant that is not a splat: it becomes a chain of selects."""


@dataclass
class Trace:
    """Traces values of one region; `gathers` says which node a symbol is the (clamped) value of."""

    block: Block
    bindings: Bindings
    gathers: dict[Sym, Node] = field(default_factory=dict[Sym, Node])
    _known: dict[tuple[SSAValue, Coords], Node] = field(default_factory=dict[tuple[SSAValue, Coords], Node])
    _inner: dict[tuple[Operation, Coords], tuple[Dim, ...]] = field(
        default_factory=dict[tuple[Operation, Coords], tuple[Dim, ...]]
    )

    def at(self, value: SSAValue, coords: Coords) -> Node:
        """The node of the value at these coordinates. Chains of ops are followed without
        recursion where one operand leads on."""
        coords = tuple(self.bindings.resolve(c) for c in coords)
        key = (value, coords)
        if key not in self._known:
            self._known[key] = self._build(value, coords)
        return self._known[key]

    def dims(self, coords: Coords) -> dict[Dim, None]:
        """The dimensions that the coordinates depend on, also through gathers."""
        found: dict[Dim, None] = {}
        for atom in sorted({atom for lin in coords for atom in atoms(lin)}, key=lambda atom: atom.id):
            if isinstance(atom, Dim):
                found[atom] = None
                continue
            for node in walk_nodes([self.gathers[atom]], lambda node: not isinstance(node, Reduced | Dot)):
                found |= self.dims(node.coords())
        return found

    @contextmanager
    def trial(self) -> Generator[None]:
        """Nodes that are traced inside are forgotten afterwards; tracing again gives the same inner dimensions."""
        known = dict(self._known)
        yield
        self._known = known

    def forget(self) -> None:
        """What is traced from now on is built again, at coordinates as the bindings now have them."""
        self._known = {}

    def _inner_dims(self, op: Operation, coords: Coords, extents: Sequence[int]) -> tuple[Dim, ...]:
        """The dimensions that a reduction or product at these coordinates runs over."""
        if (op, coords) not in self._inner:
            self._inner[op, coords] = tuple(new_dim(n) for n in extents)
        return self._inner[op, coords]

    def _build(self, value: SSAValue, coords: Coords) -> Node:
        for operand, at in self._pending(value, coords):
            self.at(operand, at)
        type = element_type_of(value.type)
        if not isinstance(value.owner, Operation):
            return Load(type, location_of_argument(self.block), value.index, coords)  # pyright: ignore
        op, where = value.owner, location_of(value.owner)
        name = name_of(op)
        builder = _MOVES.get(name)
        if builder is not None:
            return builder(self, op, coords)
        if name in REDUCTIONS or name in SCANS:
            return self._reduced(op, coords)
        if name == "matmul":
            return self._dot(op, coords)
        if name in _UNSUPPORTED:
            raise IrcError(f"{op.name} has no kernel", where, "run it on the cpu target")
        return Apply(type, where, op, tuple(self.at(v, coords) for v in op.operands))

    def _pending(self, value: SSAValue, coords: Coords) -> list[tuple[SSAValue, Coords]]:
        """Elementwise values below this one that are not traced yet, deepest first: keeps the recursion shallow."""
        order: list[tuple[SSAValue, Coords]] = []
        stack, seen = [value], {value}
        while stack:
            current = stack.pop()
            op = current.owner
            if not isinstance(op, Operation) or (name_of(op) in _MOVES or name_of(op) in REDUCTIONS | SCANS):
                continue
            if name_of(op) == "matmul" or name_of(op) in _UNSUPPORTED:
                continue
            for operand in op.operands:
                if operand not in seen and (operand, coords) not in self._known:
                    seen.add(operand)
                    stack.append(operand)
                    order.append((operand, coords))
        return order[::-1] if len(order) > 50 else []

    def _reduced(self, op: Operation, coords: Coords) -> Node:
        source = op.operands[0]
        shape, name = shape_of(source.type), name_of(op)
        type = element_type_of(op.results[0].type)
        if name in SCANS:
            value = self._as(self.at(source, coords), type)
            return value if shape[number(op, "axis")] == 1 else Reduced(type, location_of(op), op, coords, (), value)
        axes = (number(op, "axis"),) if name in ("argmax", "argmin") else numbers(op, "axes")
        where = location_of(op)
        if any(shape[a] == 0 for a in axes):
            return Constant(type, where, neutral(name, element_of(type)))
        axes = sorted(axes)
        dims = dict(zip(axes, self._inner_dims(op, coords, [shape[a] for a in axes]), strict=True))
        kept = iter(coords)
        at = tuple(lin_of(dims[i]) if i in dims else next(kept) for i in range(len(shape)))
        arg = name in ("argmax", "argmin")
        if all(shape[a] == 1 for a in axes):
            return Constant(type, where, 0) if arg else self._as(self.at(source, at), type)
        value = self.at(source, at)
        return Reduced(type, where, op, coords, tuple(dims.values()), value if arg else self._as(value, type))

    def _as(self, node: Node, type: Attribute) -> Node:
        """What a reduction accumulates has the type of its result."""
        return node if node.source == type else Cast(type, node.location, node)

    def _dot(self, op: Operation, coords: Coords) -> Node:
        lhs, rhs = op.operands[0], op.operands[1]
        lshape, rshape = shape_of(lhs.type), shape_of(rhs.type)
        lb, rb = numbers(op, "lhs_batch"), numbers(op, "rhs_batch")
        lk, rk = numbers(op, "lhs_contract"), numbers(op, "rhs_contract")
        lfree = [i for i in range(len(lshape)) if i not in lb and i not in lk]
        rfree = [i for i in range(len(rshape)) if i not in rb and i not in rk]
        k = self._inner_dims(op, coords, [lshape[i] for i in lk])
        b, m = len(lb), len(lb) + len(lfree)
        shared = [(lin_of(d), *axes) for d, *axes in zip(k, lk, rk, strict=True)]
        shared += [(c, *axes) for c, *axes in zip(coords[:b], lb, rb, strict=True)]
        left = {i: c for c, i, _ in shared} | dict(zip(lfree, coords[b:m], strict=True))
        right = {i: c for c, _, i in shared} | dict(zip(rfree, coords[m:], strict=True))
        where, result = location_of(op), element_type_of(op.results[0].type)
        accumulator = accumulator_of(element_type_of(lhs.type))
        if any(d.extent == 0 for d in k):
            return Constant(result, where, 0)
        dot = Dot(
            accumulator, where, op, coords, b, len(lfree), k,
            self.at(lhs, tuple(left[i] for i in range(len(lshape)))),
            self.at(rhs, tuple(right[i] for i in range(len(rshape)))),
        )  # fmt: skip
        return self._as(dot, result)

    def gather(self, indices: SSAValue, at: Coords, extent: int) -> Lin:
        """A coordinate that is read from `indices`."""
        node = self.at(indices, at)
        for sym, known in self.gathers.items():
            if known is node and sym.extent == extent:
                return lin_of(sym)
        sym = new_sym(extent)
        self.gathers[sym] = node
        return lin_of(sym)


def location_of_argument(block: Block) -> LocationAttr:
    parent = block.parent_op()
    assert parent is not None
    return location_of(parent)


def _broadcast(trace: Trace, op: Operation, coords: Coords) -> Node:
    source, dims = op.operands[0], numbers(op, "dims")
    shape = shape_of(source.type)
    at = tuple(ZERO if n == 1 else coords[d] for n, d in zip(shape, dims, strict=True))
    return trace.at(source, at)


def _permute(trace: Trace, op: Operation, coords: Coords) -> Node:
    permutation = numbers(op, "permutation")
    at = [ZERO] * len(permutation)
    for axis, source_axis in enumerate(permutation):
        at[source_axis] = coords[axis]
    return trace.at(op.operands[0], tuple(at))


def _reshape(trace: Trace, op: Operation, coords: Coords) -> Node:
    source, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    return trace.at(op.operands[0], reshape_coords(coords, result, source))


def reshape_coords(coords: Coords, shape: Sequence[int], source: Sequence[int]) -> Coords:
    """Coordinates in `source` of the element at `coords` of `shape`, axis group by axis
    group where the shapes split alike."""
    at: list[Lin] = []
    i = j = 0
    while j < len(source):
        first_i, first_j = i, j
        a = b = 1
        while True:
            if a == b and i > first_i and j > first_j:
                break
            if a <= b and i < len(shape) and (a < b or i == first_i):
                a *= shape[i]
                i += 1
            elif j < len(source):
                b *= source[j]
                j += 1
            elif i < len(shape):
                a *= shape[i]
                i += 1
            else:
                break
        at += delinearize(linearize(coords[first_i:i], shape[first_i:i]), source[first_j:j])
    return tuple(at)


def _slice(trace: Trace, op: Operation, coords: Coords) -> Node:
    starts, steps = numbers(op, "starts"), numbers(op, "steps")
    return trace.at(op.operands[0], tuple(c * s + b for c, b, s in zip(coords, starts, steps, strict=True)))


def _flip(trace: Trace, op: Operation, coords: Coords) -> Node:
    shape, axes = shape_of(op.operands[0].type), numbers(op, "axes")
    at = tuple(constant(n - 1) - c if i in axes else c for i, (c, n) in enumerate(zip(coords, shape, strict=True)))
    return trace.at(op.operands[0], at)


def _pad(trace: Trace, op: Operation, coords: Coords) -> Node:
    source, fill = op.operands
    shape, low = shape_of(source.type), numbers(op, "low")
    at = tuple(c - b for c, b in zip(coords, low, strict=True))
    outside = trace.at(fill, ())
    if 0 in shape:
        return outside
    tests = tuple(test for lin, n in zip(at, shape, strict=True) for test in _tests(lin, n))
    if not tests:
        return trace.at(source, at)
    return Choose(outside.source, location_of(op), tests, trace.at(source, at), outside)


def _tests(lin: Lin, extent: int) -> list[Test]:
    least, most = bounds(lin)
    low, high = None if least >= 0 else 0, None if most < extent else extent
    return [] if low is None and high is None else [Test(lin, low, high)]


def _concat(trace: Trace, op: Operation, coords: Coords) -> Node:
    axis = number(op, "axis")
    type, begin = element_type_of(op.results[0].type), 0
    parts: list[tuple[int, int, SSAValue]] = []
    for value in op.operands:
        extent = shape_of(value.type)[axis]
        if extent:
            parts.append((begin, begin + extent, value))
        begin += extent
    low, high = bounds(coords[axis])
    parts = [part for part in parts if part[1] > low and part[0] <= high] or parts[:1]
    node: Node | None = None
    for start, end, value in reversed(parts):
        inner = trace.at(value, (*coords[:axis], coords[axis] - start, *coords[axis + 1 :]))
        test = Test(coords[axis], None, end)
        node = inner if node is None else Choose(type, location_of(op), (test,), inner, node)
    if node is None:
        return Constant(type, location_of(op), 0)
    return node


def _take(trace: Trace, op: Operation, coords: Coords) -> Node:
    source, indices = op.operands
    axis, extent = number(op, "axis"), shape_of(source.type)[number(op, "axis")]
    rank = len(shape_of(indices.type))
    gathered = trace.gather(indices, coords[axis : axis + rank], extent)
    return trace.at(source, (*coords[:axis], gathered, *coords[axis + rank :]))


def _take_along(trace: Trace, op: Operation, coords: Coords) -> Node:
    source, indices = op.operands
    axis = number(op, "axis")
    gathered = trace.gather(indices, coords, shape_of(source.type)[axis])
    return trace.at(source, (*coords[:axis], gathered, *coords[axis + 1 :]))


def _check_indices(trace: Trace, op: Operation, coords: Coords) -> Node:
    """Checked where the result has an element alone: beyond it a tile has anything, which is taken to be 0."""
    type, where = element_type_of(op.results[0].type), location_of(op)
    tests = [test for lin, n in zip(coords, shape_of(op.results[0].type), strict=True) for test in _tests(lin, n)]
    tests += [Test(lin_of(dim), None, dim.extent) for dim in trace.dims(coords)]
    inside = Choose(type, where, tuple(tests), trace.at(op.operands[0], coords), Constant(type, where, 0))
    return Apply(type, where, op, (inside,))


def _iota(trace: Trace, op: Operation, coords: Coords) -> Node:
    return Coordinate(element_type_of(op.results[0].type), location_of(op), coords[number(op, "axis")])


def _constant(trace: Trace, op: Operation, coords: Coords) -> Node:
    type, value = element_type_of(op.results[0].type), op.properties["value"]
    where = location_of(op)
    if not isinstance(value, ElementsAttr):
        raise IrcError(f"expected #nd.elements, found {value}", where)
    if value.is_splat:
        return Constant(type, where, value.first())
    elements = value.array().reshape(-1)
    if len(elements) > MAX_CONSTANTS:
        raise IrcError(f"a constant of {len(elements)} elements that are not all equal has no kernel", where)
    index = linearize(coords, shape_of(op.results[0].type))
    node: Node = Constant(type, where, elements[-1].item())
    for i in range(len(elements) - 2, -1, -1):
        node = Choose(type, where, (Test(index, None, i + 1),), Constant(type, where, elements[i].item()), node)
    return node


_MOVES: dict[str, Callable[[Trace, Operation, Coords], Node]] = {
    "broadcast": _broadcast,
    "permute": _permute,
    "reshape": _reshape,
    "slice": _slice,
    "flip": _flip,
    "pad": _pad,
    "concat": _concat,
    "check_indices": _check_indices,
    "take": _take,
    "take_along": _take_along,
    "iota": _iota,
    "constant": _constant,
}

_UNSUPPORTED = frozenset({"conv", "attention", "sort", "topk", "scatter_add"})
