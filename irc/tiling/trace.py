"""Values of a fused region as functions of coordinates.

Tracing a value at coordinates goes back through the ops that only move elements (they change the coordinates) and ends
in nodes: loads of operands, constants, coordinates themselves, scalar computations, and the reductions and products
that a kernel is built around. Nodes are shared: the same value at the same coordinates is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product

from xdsl.dialects.builtin import (
    LocationAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from irc.analysis.op_classes import is_cast, is_elementwise, is_position, is_reduction, precision_of
from irc.analysis.window_operands import has_rows_of_taps
from irc.dialects.nd.elements import ElementsAttr
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import Access, Iteration, Kind, Pattern, iteration_of, pattern_of
from irc.ir.neutral import neutral
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError
from irc.tiling.domains import Bindings
from irc.tiling.index_maps import (
    Coords,
    DomainDim,
    Lin,
    Sym,
    applied,
    atoms,
    bounds,
    constant,
    lin_of,
    linearize,
    new_dim,
    new_sym,
    point,
    value_of,
)
from irc.tiling.nodes import (
    Apply,
    Bounded,
    Cast,
    Choose,
    Constant,
    Coordinate,
    Dot,
    Joined,
    Load,
    Node,
    Reduced,
    Test,
    accumulator_of,
    number,
    walk_nodes,
)

MAX_CONSTANTS = 64
"""Elements of a constant that is not a splat: it becomes a chain of selects."""


@dataclass
class RegionTrace:
    """Traces values of one region; `gathers` says which node a symbol is the (clamped) value of. has_short_sums:
    whether products that ask for sums of f16 have them: tensor cores have such, other code rounds f32 once."""

    block: Block
    bindings: Bindings
    has_short_sums: bool = False
    gathers: dict[Sym, Node] = field(default_factory=dict[Sym, Node])
    _known: dict[tuple[SSAValue, Coords], Node] = field(default_factory=dict[tuple[SSAValue, Coords], Node])
    _inner: dict[tuple[Operation, Coords], tuple[DomainDim, ...]] = field(
        default_factory=dict[tuple[Operation, Coords], tuple[DomainDim, ...]]
    )

    def at(self, value: SSAValue, coords: Coords) -> Node:
        """The node of the value at these coordinates. Chains of ops are followed without
        recursion where one operand leads on."""
        coords = tuple(self.bindings.resolve(c) for c in coords)
        key = (value, coords)
        if key not in self._known:
            self._known[key] = self._build(value, coords)
        return self._known[key]

    def dims(self, coords: Coords) -> dict[DomainDim, None]:
        """The dimensions that the coordinates depend on, also through gathers."""
        found: dict[DomainDim, None] = {}
        for atom in sorted({atom for lin in coords for atom in atoms(lin)}, key=lambda atom: atom.id):
            if isinstance(atom, DomainDim):
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

    def _inner_dims(self, op: Operation, coords: Coords, extents: Sequence[int]) -> tuple[DomainDim, ...]:
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
        match pattern_of(op):
            case Pattern.MOVE:
                return self._moved(op, coords)
            case Pattern.WINDOW:
                return self._window(op, coords)
            case Pattern.REDUCE | Pattern.SCAN:
                return self._reduced(op, coords)
            case Pattern.PRODUCT | Pattern.CONVOLUTION | Pattern.GROUPED:
                return self._dot(op, coords)
            case None:
                raise IrcError(f"{op.name} has no kernel", where, "run it on the target interpret")
            case Pattern.MADE | Pattern.ELEMENTWISE if op.name in _OF_PLACES:
                return _OF_PLACES[op.name](self, op, coords)
            case _:
                return Apply(type, where, op, tuple(self.at(v, coords) for v in op.operands))

    def _pending(self, value: SSAValue, coords: Coords) -> list[tuple[SSAValue, Coords]]:
        """Elementwise values below this one that are not traced yet, deepest first: keeps the recursion shallow."""
        order: list[tuple[SSAValue, Coords]] = []
        stack, seen = [value], {value}
        while stack:
            current = stack.pop()
            op = current.owner
            if not isinstance(op, Operation) or not is_elementwise(op) or op.name in _OF_PLACES:
                continue
            for operand in op.operands:
                if operand not in seen and (operand, coords) not in self._known:
                    seen.add(operand)
                    stack.append(operand)
                    order.append((operand, coords))
        return order[::-1] if len(order) > 50 else []

    def _moved(self, op: Operation, coords: Coords) -> Node:
        """The element of the first operand that has one at these coordinates."""
        parts = self._parts(op, coords)
        if not parts:
            return Constant(element_type_of(op.results[0].type), location_of(op), 0)
        *others, (last, _) = parts
        node = self._read(op, last, coords)
        for operand, tests in reversed(others):
            inside = self._read(op, operand, coords)
            node = Choose(node.source, location_of(op), tests, inside, node)
        return node

    def _parts(self, op: Operation, coords: Coords) -> list[tuple[int, tuple[Test, ...]]]:
        """The operands of a move that may have an element at these coordinates, and what tells whether they do where
        none before has one; of coordinates that are in none of them, the first with elements."""
        iteration = iteration_of(op)
        indices = {i for access in iteration.inputs for i in access.indices}
        operands = [i for i in range(len(op.operands)) if i not in indices]
        found: list[tuple[int, tuple[Test, ...]]] = []
        beyond: dict[Lin, int] = {}
        """Of expressions, what they are at least where no operand before has an element."""
        for i in operands:
            tests = _inside(iteration.inputs[i], point(iteration, coords), beyond)
            if tests is None:
                continue
            found.append((i, tests))
            if not tests:
                break
            if len(tests) == 1 and tests[0].low is None and tests[0].high is not None:
                beyond[tests[0].lin] = tests[0].high
        return found or [(i, ()) for i in operands if 0 not in shape_of(op.operands[i].type)][:1]

    def _read(self, op: Operation, operand: int, coords: Coords) -> Node:
        """The element of one operand of a move, at the place that the op's access has."""
        iteration, source = iteration_of(op), op.operands[operand]
        at, access = point(iteration, coords), iteration.inputs[operand]
        symbols: list[Lin] = []
        gathered: list[tuple[SSAValue, Coords, int]] = []
        for symbol, index in enumerate(access.indices):
            axis = access.map.results.index(AffineExpr.symbol(symbol))
            where = applied(iteration.inputs[index].map, at)
            gathered.append((op.operands[index], where, shape_of(source.type)[axis]))
            symbols.append(self._gathered(*gathered[-1]))
        node = self.at(source, applied(access.map, at, tuple(symbols)))
        found = [self._checked(node, *each) for each in gathered]
        tests = tuple(test for test in found if test is not None)
        beyond = Constant(node.source, node.location, 0)
        return Choose(node.source, location_of(op), tests, node, beyond) if tests else node

    def _checked(self, node: Node, indices: SSAValue, at: Coords, extent: int) -> Test | None:
        """What asks for an index that is checked, where the element that it is of does not: that of the only row, or of
        rows that are all the same."""
        index = self.at(indices, at)
        if not any(isinstance(each, Apply) and each.op.name == "nd.check_indices" for each in walk_nodes([index])):
            return None
        lins = (lin for each in walk_nodes([node]) for lin in each.coords())
        if any(isinstance(atom, Sym) and self.gathers[atom] is index for lin in lins for atom in atoms(lin)):
            return None
        return Test(self._gathered(indices, at, extent + 1), None, extent)

    def _reduced(self, op: Operation, coords: Coords) -> Node:
        source, iteration = op.operands[0], iteration_of(op)
        type, where = element_type_of(op.results[0].type), location_of(op)
        joined = [dim for dim in iteration.dims if dim.kind is not Kind.PARALLEL]
        monoid = joined[0].monoid if joined else None
        if monoid is not None and any(dim.extent == 0 for dim in joined) and is_reduction(op):
            return Constant(type, where, neutral(monoid, element_of(type)))
        dims = self._inner_dims(op, coords, [dim.extent for dim in joined]) if is_reduction(op) else ()
        at = applied(iteration.inputs[0].map, point(iteration, coords, dims))
        if all(dim.extent == 1 for dim in joined):
            return Constant(type, where, 0) if is_position(op) else self._as(self.at(source, at), type)
        value = self.at(source, at)
        return Reduced(type, where, op, coords, dims, value if is_position(op) else self._as(value, type))

    def _window(self, op: Operation, coords: Coords) -> Node:
        """The places of a window, those of the last axis first: what two windows beside each other have in common is
        the same expression."""
        iteration, where = iteration_of(op), location_of(op)
        type, taps = element_type_of(op.results[0].type), [d for d in iteration.dims if d.kind is Kind.WINDOW]
        monoid = next((dim.monoid for dim in taps if dim.monoid is not None), "sum")
        outside = Constant(type, where, neutral(monoid, element_of(type)))

        if len(op.operands) > 1:
            places = product(*(map(constant, range(dim.extent)) for dim in taps))
            found = (self._multiplied(op, iteration, point(iteration, coords, place), type) for place in places)
            return Joined(type, where, monoid, tuple(found))

        def joined(found: tuple[int, ...]) -> Node:
            if len(found) == len(taps):
                at = point(iteration, coords, [constant(place) for place in found])
                return self._tap(op, iteration.inputs[0], at, monoid, outside)
            parts = [joined((*found, at)) for at in range(taps[len(found)].extent)]
            parts = [part for part in parts if part is not outside] or [outside]
            return parts[0] if len(parts) == 1 else Joined(type, where, monoid, tuple(parts))

        return joined(())

    def _tap(self, op: Operation, access: Access, at: Coords, monoid: str, outside: Constant) -> Node:
        """The element at a point of a window, of the type that is joined; `outside` where no window has one there."""
        source = op.operands[0]
        tests = _inside(access, at, {})
        if tests is None or 0 in shape_of(source.type):
            return outside
        inside = self.at(source, applied(access.map, at))
        # A place that always has an element is read like the others, so that all are one load.
        load = inside.inputs[0] if isinstance(inside, Apply) and is_cast(inside.op) else None
        if isinstance(load, Load) and neutral(monoid, element_of(load.source)) == outside.value:
            # What is neutral in both types is chosen before the cast: then it takes no test but those of the load.
            assert isinstance(inside, Apply)
            read = Bounded(load.source, inside.location, tests, load, replace(outside, source=load.source))
            return self._as(Apply(inside.source, inside.location, inside.op, (read,)), outside.type)
        inside = self._as(inside, outside.type)
        if not tests and not isinstance(inside, Load):
            return inside
        kind = Bounded if isinstance(inside, Load) else Choose
        return kind(outside.source, location_of(op), tests, inside, outside)

    def _multiplied(self, op: Operation, iteration: Iteration, at: Coords, type: Attribute) -> Node:
        """The product of the operands' elements at a point of a window, in the type that is joined."""
        where = location_of(op)
        factors: list[Node] = []
        for value, access in zip(op.operands, iteration.inputs, strict=True):
            node = self._operand(value, access, at, where)
            if isinstance(node, Choose) and isinstance(node.inside, Load):
                node = Bounded(node.source, where, node.tests, node.inside, node.outside)
            factors.append(self._as(node, type))
        return Joined(type, where, "prod", tuple(factors))

    def _as(self, node: Node, type: Attribute) -> Node:
        """What a reduction accumulates has the type of its result."""
        return node if node.source == type else Cast(type, node.location, node)

    def _dot(self, op: Operation, coords: Coords) -> Node:
        iteration = iteration_of(op)
        where, result = location_of(op), element_type_of(op.results[0].type)
        own = iteration.result.used_dims()
        others = [i for i in range(len(iteration.dims)) if i not in own]
        inner = self._inner_dims(op, coords, [iteration.dims[i].extent for i in others])
        contracted = {i: dim for i, dim in zip(others, inner, strict=True) if iteration.dims[i].role == "k"}
        if any(d.extent == 0 for d in contracted.values()):
            return Constant(result, where, 0)
        at = point(iteration, coords, inner)
        lhs, rhs = self.factors(op, at)
        if has_rows_of_taps(op) and isinstance(lhs, Choose) and isinstance(lhs.inside, Load):
            lhs = _loaded_in_rows(lhs, value_of(iteration.inputs[0].inside[-1].expr, at))
        operand = element_type_of(op.operands[0].type)
        is_short = self.has_short_sums and precision_of(op) == "f16"
        accumulator = operand if is_short else accumulator_of(operand)
        in_order = tuple(contracted[i] for i in iteration.along(iteration.inputs[0].map, "k"))
        return self._as(Dot(accumulator, where, op, coords, in_order, lhs, rhs, inner, self._ends(op, at)), result)

    def _ends(self, op: Operation, at: Coords) -> Node | None:
        """Where segments end at a point, of an op that has some."""
        iteration = iteration_of(op)
        if iteration.segments is None:
            return None
        ends = iteration.segments.ends
        return self._operand(op.operands[ends], iteration.inputs[ends], at, location_of(op))

    def factors(self, op: Operation, at: Coords) -> tuple[Node, Node]:
        """The elements of the operands of a product at a point of its iteration."""
        inputs = iteration_of(op).inputs
        lhs, rhs = (self._operand(op.operands[i], inputs[i], at, location_of(op)) for i in (0, 1))
        return lhs, rhs

    def _operand(self, value: SSAValue, access: Access, at: Coords, where: LocationAttr) -> Node:
        """The element of an operand of a product at a point, or what is there outside of the operand."""
        tests = _inside(access, at, {})
        outside = Constant(element_type_of(value.type), where, access.outside or 0)
        if tests is None or 0 in shape_of(value.type):
            return outside
        inside = self.at(value, applied(access.map, at))
        return Choose(inside.source, where, tests, inside, outside) if tests else inside

    def _gathered(self, indices: SSAValue, at: Coords, extent: int) -> Lin:
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


def _loaded_in_rows(node: Choose, tap: Lin) -> Choose:
    """Has the load compare its coordinates with the ends of the array, so that what tells which taps are there is alone
    behind it."""
    of_taps = tuple(test for test in node.tests if test.lin == tap)
    of_array = tuple(test for test in node.tests if test.lin != tap)
    inside = Bounded(node.source, node.location, of_array, node.inside, node.outside)
    return Choose(node.source, node.location, of_taps, inside, node.outside)


def _inside(access: Access, at: Coords, beyond: Mapping[Lin, int]) -> tuple[Test, ...] | None:
    """What tells whether a point has an element of the operand, beside what is known: an expression is at least what
    `beyond` says. None where no point has one."""
    tests: list[Test] = []
    for bound in access.inside:
        lin = value_of(bound.expr, at)
        least, most = bounds(lin)
        least = max(least, beyond.get(lin, least))
        if least >= bound.high or most < bound.low:
            return None
        tests += _tests(lin, bound.low, bound.high, (least, most))
    return tuple(tests)


def _tests(lin: Lin, first: int, end: int, of: tuple[int, int]) -> list[Test]:
    """What tells whether first <= lin < end, of an expression with these bounds."""
    low, high = None if of[0] >= first else first, None if of[1] < end else end
    return [] if low is None and high is None else [Test(lin, low, high)]


def _check_indices(trace: RegionTrace, op: Operation, coords: Coords) -> Node:
    """Checked where the result has an element alone: beyond it a tile has anything, which is taken to be 0."""
    type, where = element_type_of(op.results[0].type), location_of(op)
    places = zip(coords, shape_of(op.results[0].type), strict=True)
    tests = [test for lin, extent in places for test in _tests(lin, 0, extent, bounds(lin))]
    tests += [Test(lin_of(dim), None, dim.extent) for dim in trace.dims(coords)]
    inside = Choose(type, where, tuple(tests), trace.at(op.operands[0], coords), Constant(type, where, 0))
    return Apply(type, where, op, (inside,))


def _ascending(trace: RegionTrace, op: Operation, coords: Coords) -> Node:
    node = trace.at(op.operands[0], coords)
    return replace(node, is_ascending=True) if isinstance(node, Load) else node


def _iota(trace: RegionTrace, op: Operation, coords: Coords) -> Node:
    return Coordinate(element_type_of(op.results[0].type), location_of(op), coords[number(op, "axis")])


def _extent(trace: RegionTrace, op: Operation, coords: Coords) -> Node:
    return Coordinate(element_type_of(op.results[0].type), location_of(op), constant(number(op, "extent")))


def _constant(trace: RegionTrace, op: Operation, coords: Coords) -> Node:
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


_OF_PLACES: dict[str, Callable[[RegionTrace, Operation, Coords], Node]] = {
    "nd.ascending": _ascending,
    "nd.check_indices": _check_indices,
    "nd.extent": _extent,
    "nd.iota": _iota,
    "nd.constant": _constant,
}
"""What is computed of the place that an element has."""
