"""Emission of nodes as tile ops: a stage is a block of code in which some dimensions are tile axes and others are scalars.

A tile has one dimension for each axis of its stage, of extent 1 where it does not depend on the axis. What an enclosing stage of
the same rank can compute is computed there, so row values leave the loop over columns by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.diagnostics import IrcError
from irc.dialects import tile
from irc.passes.tile import tile_scalar
from irc.passes.tile.domains import Domains
from irc.passes.tile.index_maps import Dim, Div, Lin, Mod, Sym, affine, atoms, bounds, pieces
from irc.passes.tile.tile_scalar import Body, Scalar
from irc.passes.tile.trace import (
    Apply,
    Cast,
    Choose,
    Constant,
    Coordinate,
    Dot,
    Load,
    Node,
    Reduced,
    Trace,
    walk_nodes,
)

INDEX = IndexType()
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """A tile axis: `extent` elements of `dim` from `offset` on. Without a dim, an axis of extent 1 that stands for nothing."""

    dim: Dim | None
    offset: SSAValue
    extent: int


@dataclass
class Program:
    """What all stages of a program share."""

    op: tile.ProgramOp
    trace: Trace
    domains: Domains
    reductions: list[Reduced] = field(default_factory=list[Reduced])
    """The reductions of the results that are being computed."""
    chunks: dict[Dim, int] = field(default_factory=dict[Dim, int])
    """The tile extent of each dimension that is reduced or scanned over."""
    _dims: dict[Node, frozenset[Dim]] = field(default_factory=dict[Node, frozenset[Dim]])
    _heavy: dict[Node, bool] = field(default_factory=dict[Node, bool])

    def argument(self, index: int) -> SSAValue:
        return self.op.body.block.args[index]

    def result_argument(self, result: int) -> int:
        """The number of the argument that is this result."""
        return len(self.op.body.block.args) - self.op.result_count + result

    def resolve(self, lin: Lin) -> Lin:
        return self.domains.bindings.resolve(lin)

    def lin_dims(self, lins: Iterable[Lin]) -> frozenset[Dim]:
        """Dimensions that the expressions depend on, also through gathers."""
        found: set[Dim] = set()
        for lin in lins:
            for atom in atoms(self.resolve(lin)):
                found |= {atom} if isinstance(atom, Dim) else self.dims(self.trace.gathers[atom])
        return frozenset(found)

    def dims(self, node: Node) -> frozenset[Dim]:
        """The dimensions that the node's value depends on."""
        for n in walk_nodes([node], inside=lambda n: n not in self._dims and not isinstance(n, Reduced | Dot)):
            if n in self._dims:
                continue
            found = self.lin_dims(n.coords())
            if not isinstance(n, Reduced | Dot):
                found = found.union(*(self._dims[o] for o in n.operands()))
            self._dims[n] = found
        return self._dims[node]

    def is_heavy(self, node: Node) -> bool:
        """Whether the node is worth computing apart: it uses the result of a reduction."""
        for n in walk_nodes([node], inside=lambda n: n not in self._heavy and not isinstance(n, Reduced | Dot)):
            if n not in self._heavy:
                self._heavy[n] = isinstance(n, Reduced | Dot) or any(self._heavy[o] for o in n.operands())
        return self._heavy[node]


class Stage:
    """Builds tile ops at the end of `block`."""

    def __init__(
        self,
        program: Program,
        block: Block,
        axes: Sequence[Axis],
        scalars: dict[Dim, SSAValue],
        parent: Stage | None = None,
    ):
        self.program = program
        self.block = block
        self.axes = tuple(axes)
        self.scalars = scalars
        self.parent = parent
        self.axis_of = {a.dim: i for i, a in enumerate(self.axes) if a.dim is not None}
        self.computed: dict[Node, SSAValue] = {}
        """Tiles of nodes that are not computed by a map: reductions, products, scans."""
        self._tiles: dict[tuple[Node, Shape | None], SSAValue] = {}
        self._loads: dict[tuple[int, tuple[Lin, ...]], SSAValue] = {}
        self._indices: dict[Dim | Sym, SSAValue] = {}
        self._constants: dict[int, SSAValue] = {}

    # Structure

    @property
    def shape(self) -> Shape:
        return tuple(a.extent for a in self.axes)

    def has(self, dims: Iterable[Dim]) -> bool:
        """Whether all the dimensions are bound here."""
        return all(d in self.axis_of or d in self.scalars for d in dims)

    def home(self, dims: Iterable[Dim]) -> Stage:
        """The outermost stage of the same rank that has the dimensions."""
        stage, needed = self, frozenset(dims)
        while stage.parent is not None and len(stage.parent.axes) == len(self.axes) and stage.parent.has(needed):
            stage = stage.parent
        return stage

    def insert(self, op: Operation, location: LocationAttr) -> SSAValue:
        op.location = location
        self.block.add_op(op)
        return op.results[0] if op.results else self.axes[0].offset

    def index(self, value: int) -> SSAValue:
        """An index constant."""
        if value not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, INDEX))
            self._constants[value] = self.insert(op, self.program.op.location)
        return self._constants[value]

    def splat(self, value: float | int, type: Attribute, shape: Shape, location: LocationAttr) -> SSAValue:
        scalar = Body(self.block, location).constant(value, type)
        return self.insert(tile.SplatOp(scalar, TensorType(type, shape)), location)

    # Coordinates

    def padded(self) -> dict[Dim, int]:
        """The extents that the axes' coordinates really run to."""
        axes = [a for a in self.axes if a.dim is not None]
        return {a.dim: -(-a.dim.extent // a.extent) * a.extent for a in axes if a.dim is not None}

    def index_tile(self, atom: Dim | Sym) -> SSAValue:
        """A tile of index with the values of a dimension or a gather."""
        dims = {atom} if isinstance(atom, Dim) else self.program.dims(self.program.trace.gathers[atom])
        home = self.home(dims)
        if atom not in home._indices:
            home._indices[atom] = home._dim_tile(atom) if isinstance(atom, Dim) else home._gather_tile(atom)
        return home._indices[atom]

    def _dim_tile(self, dim: Dim) -> SSAValue:
        axis = self.axis_of.get(dim)
        at = 0 if axis is None else axis
        shape = tuple(a.extent if i == axis else 1 for i, a in enumerate(self.axes))
        offset = self.scalars[dim] if axis is None else self.axes[axis].offset
        return self.insert(tile.IotaOp(offset, at, TensorType(INDEX, shape)), self.program.op.location)

    def _gather_tile(self, sym: Sym) -> SSAValue:
        node = self.program.trace.gathers[sym]
        value = self.tile(node)
        op = tile.MapOp([value], TensorType(INDEX, tile.shape_of(value.type)))
        body = Body(op.body.block, node.location)
        wide = tile_scalar.cast(body, Scalar(op.body.block.args[0], node.source), i64)
        wide = body(arith.MaxSIOp(wide, body.constant(0, i64)))
        wide = body(arith.MinSIOp(wide, body.constant(max(sym.extent - 1, 0), i64)))
        _finish(body, body(arith.IndexCastOp(wide, INDEX)))
        return self.insert(op, node.location)

    def access(
        self, argument: int, coords: Sequence[Lin]
    ) -> tuple[AffineMap, list[SSAValue], list[int], frozenset[int], Shape]:
        """(map, symbols, checked view dimensions, axes that it depends on, the tile's shape) of an access to the operand."""
        operand = self.program.domains.operands[argument]
        lins = operand.view_coords(self.program.domains.bindings, tuple(coords))
        symbols: dict[Dim | Sym, SSAValue] = {}
        used: set[int] = set()

        def leaf(atom: Dim | Sym) -> AffineExpr:
            if isinstance(atom, Dim) and atom in self.axis_of:
                used.add(self.axis_of[atom])
                return AffineExpr.dimension(self.axis_of[atom])
            if atom not in symbols:
                symbols[atom] = self.scalars[atom] if isinstance(atom, Dim) else self.index_tile(atom)
            return AffineExpr.symbol(list(symbols).index(atom))

        results = tuple(affine(lin, leaf) for lin in lins)
        for value in symbols.values():
            used |= {i for i, n in enumerate(_extents(value)) if n > 1}
        padded, checked = self.padded(), list[int]()
        for i, (lin, extent) in enumerate(zip(lins, operand.view_extents, strict=True)):
            low, high = bounds(lin, padded)
            if low < 0 or high >= extent:
                checked.append(i)
        shape = tuple(a.extent if i in used else 1 for i, a in enumerate(self.axes))
        map = AffineMap(len(self.axes), len(symbols), results)
        return map, list(symbols.values()), checked, frozenset(used), shape

    def load(self, node: Load) -> SSAValue:
        home = self.home(self.program.dims(node))
        return home._load(node)

    def _load(self, node: Load) -> SSAValue:
        operand = self.program.domains.operands[node.argument]
        key = (node.argument, operand.view_coords(self.program.domains.bindings, node.at))
        if key not in self._loads:
            map, symbols, checked, _, shape = self.access(node.argument, node.at)
            op = tile.LoadOp.of(
                self.program.argument(node.argument),
                [a.offset for a in self.axes],
                TensorType(node.type, shape),
                symbols=symbols,
                map=map,
                checked=checked,
            )
            self._loads[key] = self.insert(op, node.location)
        return self._loads[key]

    def store(self, argument: int, coords: Sequence[Lin], node: Node) -> None:
        """Stores the node's value at the coordinates of a result, which depend on every axis of extent > 1."""
        value = self.tile(node, self.shape)
        map, symbols, checked, _, _ = self.access(argument, coords)
        offsets = [a.offset for a in self.axes]
        view = self.program.argument(argument)
        op = tile.StoreOp.of(value, view, offsets, symbols=symbols, map=map, checked=checked)
        self.insert(op, node.location)

    # Values

    def tile(self, node: Node, shape: Shape | None = None) -> SSAValue:
        """The node's value; broadcast to `shape` where one is given."""
        home = self.home(self.program.dims(node)) if shape is None else self
        known = home._tiles.get((node, None))
        if known is not None and shape in (None, tile.shape_of(known.type)):
            return known
        key = (node, shape)
        if key not in home._tiles:
            home._tiles[key] = home._build(node, shape)
        return home._tiles[key]

    def _build(self, node: Node, shape: Shape | None) -> SSAValue:
        if isinstance(node, Constant):
            return self.splat(node.value, node.type, shape or (1,) * len(self.axes), node.location)
        if self._is_leaf(node):
            value = self._leaf(node)
            if shape is None or tile.shape_of(value.type) == shape:
                return value
        return self._map(node, shape)

    def _is_leaf(self, node: Node) -> bool:
        return isinstance(node, Load | Reduced | Dot)

    def _leaf(self, node: Node) -> SSAValue:
        if isinstance(node, Load):
            return self.load(node)
        return self.core(node)

    def core(self, node: Node) -> SSAValue:
        """The tile of a reduction, scan or product that has been made here or in an enclosing stage."""
        if node in self.computed:
            return self.computed[node]
        if self.parent is not None:
            return self.parent.core(node)
        raise IrcError("this reduction or product is not available where it is used", node.location)

    def _is_apart(self, node: Node) -> bool:
        """Whether the map of a node takes this one as an operand instead of computing it."""
        if self._is_leaf(node):
            return True
        if not isinstance(node, Apply | Choose | Cast) or not self.program.is_heavy(node):
            return False
        return self.home(self.program.dims(node)) is not self

    def _map(self, root: Node, shape: Shape | None) -> SSAValue:
        order = list(walk_nodes([root], inside=lambda n: n is root and not self._is_leaf(n) or not self._is_apart(n)))
        builder = _MapBuilder(self, root)
        for node in order:
            builder.add(node)
        result_shape = shape or _broadcast([_extents(v) for v in builder.operands] or [(1,) * len(self.axes)])
        return self.insert(builder.finish(result_shape), root.location)


def _extents(value: SSAValue) -> Shape:
    return tile.shape_of(value.type) if isinstance(value.type, TensorType) else ()


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    return tuple(max(extents) for extents in zip(*shapes, strict=True))


def _finish(body: Body, value: SSAValue) -> None:
    op = tile.YieldOp(value)
    op.location = body.location
    body.block.add_op(op)


class _MapBuilder:
    """The body of one `tile.map`: scalars of nodes, operands as they are needed."""

    def __init__(self, stage: Stage, root: Node):
        self.stage = stage
        self.root = root
        self.block = Block()
        self.body = Body(self.block, root.location)
        self.operands: list[SSAValue] = []
        self.scalars: dict[Node, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._lins: dict[Lin, SSAValue] = {}

    def argument(self, operand: SSAValue) -> SSAValue:
        if operand not in self._arguments:
            type = tile.element_type_of(operand.type)
            self._arguments[operand] = self.block.insert_arg(type, len(self.operands))
            self.operands.append(operand)
        return self._arguments[operand]

    def add(self, node: Node) -> None:
        self.body.location = node.location
        self.scalars[node] = self._scalar(node)

    def _scalar(self, node: Node) -> SSAValue:
        stage, body = self.stage, self.body
        if stage._is_leaf(node):
            return self.argument(stage._leaf(node))
        if node is not self.root and stage._is_apart(node):
            return self.argument(stage.tile(node))
        match node:
            case Constant():
                return body.constant(node.value, node.type)
            case Coordinate():
                wide = body(arith.IndexCastOp(self.lin(node.lin), i64))
                return tile_scalar.cast(body, Scalar(wide, i64), node.source)
            case Cast():
                return tile_scalar.cast(body, self._input(node.input), node.source)
            case Choose():
                return body.select(self._test(node), self.scalars[node.inside], self.scalars[node.outside])
            case Apply():
                return tile_scalar.apply(body, node.op, [self._input(n) for n in node.inputs], node.source)
            case _:
                raise IrcError("a value cannot be computed in a kernel", node.location)

    def _input(self, node: Node) -> Scalar:
        return Scalar(self.scalars[node], node.source)

    def _test(self, node: Choose) -> SSAValue:
        result: SSAValue | None = None
        for test in node.tests:
            for bound, predicate in ((test.low, "sge"), (test.high, "slt")):
                if bound is None:
                    continue
                holds = self.body.compare(predicate, self.lin(test.lin), self.body.constant(bound, INDEX))
                result = holds if result is None else self.body(arith.AndIOp(result, holds))
        return self.body.constant(1, i1) if result is None else result

    def lin(self, lin: Lin) -> SSAValue:
        """An index scalar with the expression's value."""
        lin = self.stage.program.resolve(lin)
        if lin not in self._lins:
            self._lins[lin] = self._sum(lin)
        return self._lins[lin]

    def _sum(self, lin: Lin) -> SSAValue:
        body, total = self.body, None
        for atom, factor in pieces(lin):
            part = self._atom(atom)
            part = part if factor == 1 else body(arith.MuliOp(part, body.constant(factor, INDEX)))
            total = part if total is None else body(arith.AddiOp(total, part))
        if total is None:
            return body.constant(lin.const, INDEX)
        return total if lin.const == 0 else body(arith.AddiOp(total, body.constant(lin.const, INDEX)))

    def _atom(self, atom: Dim | Sym | Div | Mod) -> SSAValue:
        if isinstance(atom, Dim | Sym):
            return self.argument(self.stage.index_tile(atom))
        value, by = self._sum(atom.value), self.body.constant(atom.by, INDEX)
        if bounds(atom.value)[0] >= 0:
            return self.body(arith.DivSIOp(value, by) if isinstance(atom, Div) else arith.RemSIOp(value, by))
        quotient = self.body(arith.FloorDivSIOp(value, by))
        if isinstance(atom, Div):
            return quotient
        return self.body(arith.SubiOp(value, self.body(arith.MuliOp(quotient, by))))

    def finish(self, shape: Shape) -> tile.MapOp:
        _finish(self.body, self.scalars[self.root])
        return tile.MapOp(self.operands, TensorType(self.root.type, shape), Region(self.block))

