"""Emission of nodes as tile ops: a stage is a block of code in which some dimensions are tile axes and others are
scalars.

A tile has one dimension for each axis of its stage, of extent 1 where it does not depend on the axis. What an
enclosing stage of the same rank can compute is computed there, so row values leave the loop over columns by
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.dialects import tile
from irc.ir.discardable import UNROLL
from irc.support.diagnostics import IrcError
from irc.support.integers import round_up
from irc.tiling.index_maps import Div, DomainDim, Lin, Sym, affine, bounds, constant, lin_of, new_dim
from irc.tiling.map_body import Formula, MapBuilder, broadcast, extents, finish
from irc.tiling.nodes import Apply, Bounded, Cast, Choose, Constant, Dot, Load, Node, Reduced, walk_nodes
from irc.tiling.program import INDEX, Axis, ProgramTiling, Shape
from irc.tiling.scalar_body import Body, Scalar, cast
from irc.tiling.tile_numbers import TileNumbers
from irc.tiling.view_bounds import bounded_load


def iteration_with(carried: Sequence[SSAValue]) -> Block:
    """The block of an iteration of a loop that carries values: its arguments are the place, and these."""
    return Block(arg_types=[INDEX, *(value.type for value in carried)])


class Stage:
    """Builds tile ops at the end of `block`."""

    def __init__(
        self,
        program: ProgramTiling,
        block: Block,
        axes: Sequence[Axis],
        scalars: dict[DomainDim, SSAValue],
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
        self._loads: dict[tuple[int, tuple[Lin, ...], float | int], SSAValue] = {}
        self._indices: dict[DomainDim | Sym, SSAValue] = {}
        self._constants: dict[int, SSAValue] = {}
        self._extents: dict[int, SSAValue] = {}
        self.of_tile: dict[Div | Sym, DomainDim] | None = None
        """What is one number for all of the tile, for loads to take as scalars: an axis divided by a multiple of what
        the tile has of it, and indices that arrays have at such places. None where loads compute all for each element.
        """
        self._own: dict[int, SSAValue] = {}
        """For each axis with an end, a tile of index with its positions, beyond the dimension where they are behind
        that."""

    # Structure

    @property
    def shape(self) -> Shape:
        return tuple(a.extent for a in self.axes)

    def has(self, dims: Iterable[DomainDim]) -> bool:
        """Whether all the dimensions are bound here."""
        return all(d in self.axis_of or d in self.scalars for d in dims)

    def home(self, dims: Iterable[DomainDim]) -> Stage:
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
        """An index constant, or what an extent that a number stands for is in a call."""
        if value not in self._constants:
            varies = self.program.domains.varies(value)
            op = tile.ExtentOp(value) if varies else arith.ConstantOp(IntegerAttr(value, INDEX))
            self._constants[value] = self.insert(op, self.program.op.location)
        return self._constants[value]

    def splat(self, value: float | int, type: Attribute, shape: Shape, location: LocationAttr) -> SSAValue:
        scalar = Body(self.block, location).constant(value, type)
        return self.insert(tile.SplatOp(scalar, TensorType(type, shape)), location)

    def map(
        self, inputs: Sequence[SSAValue], type: Attribute, shape: Shape, formula: Formula, location: LocationAttr
    ) -> SSAValue:
        """A tile of elements of a type, each computed by a formula from those of other tiles at its place."""
        op = tile.MapOp(inputs, TensorType(type, shape))
        body = Body(op.body.block, location)
        finish(body, formula(body, op.body.block.args))
        return self.insert(op, location)

    def loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        carried: Sequence[SSAValue],
        block: Block,
        results: Sequence[SSAValue],
        location: LocationAttr,
        unroll: int | None = None,
    ) -> list[SSAValue]:
        """What a loop carries in the end. block: of an iteration, by `iteration_with`, which leaves `results` to the
        next."""
        end = scf.YieldOp(*results)
        end.location = self.program.op.location
        block.add_op(end)
        loop = scf.ForOp(*bounds, carried, Region(block))
        if unroll is not None:
            loop.attributes[UNROLL] = IntegerAttr(unroll, i64)
        self.insert(loop, location)
        return list(loop.results)

    # Coordinates

    def padded(self) -> dict[DomainDim, int]:
        """The extents that the axes' coordinates really run to."""
        return {
            a.dim: round_up(a.dim.extent, a.extent) if a.end is None else a.dim.extent + 2 * a.extent
            for a in self.axes
            if a.dim is not None
        }

    def index_tile(self, atom: DomainDim | Sym) -> SSAValue:
        """A tile of index with the values of a dimension or a gather."""
        dims = {atom} if isinstance(atom, DomainDim) else self.program.dims(self.program.trace.gathers[atom])
        home = self.home(dims)
        if atom not in home._indices:
            home._indices[atom] = home._dim_tile(atom) if isinstance(atom, DomainDim) else home._gather_tile(atom)
        return home._indices[atom]

    def _dim_tile(self, dim: DomainDim) -> SSAValue:
        axis = self.axis_of.get(dim)
        at = 0 if axis is None else axis
        shape = tuple(a.extent if i == axis else 1 for i, a in enumerate(self.axes))
        offset = self.scalars[dim] if axis is None else self.axes[axis].offset
        return self.insert(tile.IotaOp(offset, at, TensorType(INDEX, shape)), self.program.op.location)

    def extent_tile(self, number: int) -> SSAValue:
        """A tile of index with what an extent is in a call."""
        home = self.home(())
        if number not in home._extents:
            splat = tile.SplatOp(home.index(number), TensorType(INDEX, (1,) * len(home.axes)))
            home._extents[number] = home.insert(splat, self.program.op.location)
        return home._extents[number]

    def _gather_tile(self, sym: Sym) -> SSAValue:
        node = self.program.trace.gathers[sym]
        value = self.tile(node)

        def index(body: Body, args: Sequence[SSAValue]) -> SSAValue:
            wide = cast(body, Scalar(args[0], node.source), i64)
            wide = body(arith.MaxSIOp(wide, body.constant(0, i64)))
            wide = body(arith.MinSIOp(wide, body.constant(max(sym.extent - 1, 0), i64)))
            return body(arith.IndexCastOp(wide, INDEX))

        return self.map([value], INDEX, tile.shape_of(value.type), index, node.location)

    def own_positions(self, axis: int) -> SSAValue:
        """See `_own`."""
        if axis not in self._own:
            at = self.axes[axis]
            assert at.dim is not None and at.end is not None
            positions, location = self.index_tile(at.dim), self.program.op.location
            end = self.insert(tile.SplatOp(at.end, TensorType(INDEX, (1,) * len(self.axes))), location)
            extent = at.dim.extent

            def own(body: Body, args: Sequence[SSAValue]) -> SSAValue:
                beyond = body.constant(extent, INDEX)
                return body.select(body.compare("slt", *args), args[0], beyond)

            self._own[axis] = self.map([positions, end], INDEX, extents(positions), own, location)
        return self._own[axis]

    def access(
        self, argument: int, coords: Sequence[Lin], *, is_store: bool = False
    ) -> tuple[AffineMap, list[SSAValue], list[int], frozenset[int], Shape]:
        """(map, symbols, checked view dimensions, axes that it depends on, the tile's
        shape) of an access to the operand."""
        operand = self.program.domains.operands[argument]
        places = operand.view_coords(self.program.domains.bindings, tuple(coords))
        lins = places if is_store else tuple(self.of_tile_lin(lin) for lin in places)
        symbols: dict[DomainDim | Sym, SSAValue] = {}
        used: set[int] = set()

        def leaf(atom: DomainDim | Sym) -> AffineExpr:
            if isinstance(atom, DomainDim) and atom in self.axis_of:
                axis = self.axis_of[atom]
                if self.axes[axis].end is None or self.axes[axis].is_loaded:
                    used.add(axis)
                    return AffineExpr.dimension(axis)
                symbols[atom] = self.own_positions(axis)
            if atom not in symbols:
                symbols[atom] = self.scalars[atom] if isinstance(atom, DomainDim) else self.index_tile(atom)
            return AffineExpr.symbol(list(symbols).index(atom))

        results = tuple(affine(lin, leaf) for lin in lins)
        for value in symbols.values():
            used |= {i for i, n in enumerate(extents(value)) if n > 1}
        padded, checked = self.padded(), list[int]()
        for i, (lin, extent) in enumerate(zip(places, operand.view_extents, strict=True)):
            low, high = bounds(lin, padded)
            if low < 0 or high >= extent:
                checked.append(i)
        shape = tuple(a.extent if i in used else 1 for i, a in enumerate(self.axes))
        map = AffineMap(len(self.axes), len(symbols), results)
        return map, list(symbols.values()), checked, frozenset(used), shape

    def of_tile_lin(self, lin: Lin) -> Lin:
        """The expression with dimensions of their own for what is one number for all of the tile."""
        if self.of_tile is None:
            return lin
        total = constant(lin.const)
        for atom, factor in lin.terms:
            one = None if isinstance(atom, DomainDim) else self._one_of_tile(atom, self.of_tile)
            total = total + (Lin(((atom, 1),), 0) if one is None else lin_of(one)) * factor
        return total

    def _one_of_tile(self, atom: Div | Sym, known: dict[Div | Sym, DomainDim]) -> DomainDim | None:
        """See `of_tile`; None of what may differ in a tile."""
        if atom not in known:
            value = self._quotient(atom) if isinstance(atom, Div) else TileNumbers(self).index_of(atom)
            if value is None:
                return None
            known[atom] = new_dim(bounds(Lin(((atom, 1),), 0), self.padded())[1] + 1)
            self.scalars[known[atom]] = value
        return known[atom]

    def _quotient(self, div: Div) -> SSAValue | None:
        """Tiles of the loop over tiles begin at multiples of their extents."""
        axis = next((a for a in self.axes if a.dim is not None and div.value == lin_of(a.dim)), None)
        if axis is None or axis.end is not None or div.by % axis.extent or axis.extent == 1:
            return None
        loop = axis.offset.owner.parent_op() if isinstance(axis.offset.owner, Block) else None
        if not axis.is_aligned and not isinstance(loop, tile.ForTilesOp):
            return None
        return self.insert(arith.DivUIOp(axis.offset, self.index(div.by)), self.program.op.location)

    def load(self, node: Load, outside: float | int = 0) -> SSAValue:
        home = self.home(self.program.dims(node))
        return home._load(node, outside)

    def _load(self, node: Load, outside: float | int) -> SSAValue:
        operand = self.program.domains.operands[node.argument]
        key = (node.argument, operand.view_coords(self.program.domains.bindings, node.at), outside)
        if key not in self._loads:
            map, symbols, checked, _, shape = self.access(node.argument, node.at)
            other = self._scalar(outside, node) if checked and outside else None
            op = tile.LoadOp.of(
                self.program.argument(node.argument),
                [a.offset for a in self.axes],
                TensorType(node.type, shape),
                symbols=symbols,
                other=other,
                map=map,
                checked=checked,
            )
            self._loads[key] = self.insert(op, node.location)
        return self._loads[key]

    def _scalar(self, value: float | int, node: Node) -> SSAValue:
        return Body(self.block, node.location).constant(value, node.type)

    def store(
        self, argument: int, coords: Sequence[Lin], node: Node, *, add: bool = False, part: tile.Part | None = None
    ) -> None:
        """Stores the node's value at the coordinates of a result, or adds it there, for every element of the tile.
        part: where stores that add come in order.

        A reduction of the tile itself has one element on the axes that it reduces; only that is stored.
        """
        value = self.tile(node, self.stored_shape(node, coords))
        map, symbols, checked, _, _ = self.access(argument, coords, is_store=True)
        offsets = [a.offset for a in self.axes]
        end = next(((i, a.end) for i, a in enumerate(self.axes) if a.end is not None), None)
        view = self.program.argument(argument)
        op = tile.StoreOp.of(
            value, view, offsets, symbols=symbols, map=map, checked=checked, end=end, add=add, part=part
        )
        self.insert(op, node.location)

    def stored_shape(self, node: Node, coords: Sequence[Lin]) -> Shape:
        """The shape of the tile that a store of the node at these coordinates takes."""
        return self.shape

    # Values

    def tile(self, node: Node, shape: Shape | None = None) -> SSAValue:
        """The node's value; broadcast to `shape` where one is given."""
        home = self.home(self.program.dims(node)) if shape is None else self
        known = home._tiles.get((node, None))
        if known is not None and shape in (None, tile.shape_of(known.type)):
            return known
        if shape is not None and node in self.program.shared and extents(value := self.tile(node)) == shape:
            return value
        key = (node, shape)
        if key not in home._tiles:
            home._tiles[key] = home._build(node, shape)
        return home._tiles[key]

    def _build(self, node: Node, shape: Shape | None) -> SSAValue:
        if isinstance(node, Constant):
            return self.splat(node.value, node.type, shape or (1,) * len(self.axes), node.location)
        if self.is_leaf(node):
            value = self.leaf(node)
            if shape is None or tile.shape_of(value.type) == shape:
                return value
        return self._map(node, shape)

    def is_leaf(self, node: Node) -> bool:
        return isinstance(node, Load | Reduced | Dot) or self._bounded(node) is not None

    def _bounded(self, node: Node) -> Load | None:
        """The load that gives an element of a window, a constant where there is none."""
        return bounded_load(self.program.domains, node) if isinstance(node, Bounded) else None

    def leaf(self, node: Node) -> SSAValue:
        if (load := self._bounded(node)) is not None:
            assert isinstance(node, Bounded) and isinstance(node.outside, Constant)
            return self.load(load, node.outside.value)
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

    def is_apart(self, node: Node) -> bool:
        """Whether the map of a node takes this one as an operand instead of computing it."""
        if self.is_leaf(node):
            return True
        if node in self.program.shared:
            return True
        if not isinstance(node, Apply | Choose | Cast) or not self.program.is_heavy(node):
            return False
        return self.home(self.program.dims(node)) is not self

    def _map(self, root: Node, shape: Shape | None) -> SSAValue:
        order = list(walk_nodes([root], inside=lambda n: (n is root and not self.is_leaf(n)) or not self.is_apart(n)))
        builder = MapBuilder(self, root)
        for node in order:
            builder.add(node)
        result_shape = shape or broadcast([extents(v) for v in builder.operands] or [(1,) * len(self.axes)])
        return self.insert(builder.finish(result_shape), root.location)
