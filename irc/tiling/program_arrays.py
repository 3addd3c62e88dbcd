"""From the arrays of a tile program to its tiles: nd ops become maps, reductions and dots.

What has to be a tile is made on demand: what is stored, carried by a loop, reduced or multiplied. Elementwise ops with
one user are a part of its map. Broadcasts, permutations and axes of extent 1 are placements, and move nothing where
what they move is loaded, counted or computed elementwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.op_classes import is_cast, is_elementwise, is_move, is_product, is_reduction, monoid_of, precision_of
from irc.dialects import nd, tile
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import declared_element, relax
from irc.dialects.nd.reduce import MonoidOp, ScanOp
from irc.ir.blocks import end_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.neutral import neutral
from irc.ir.rewriting import Inserter, location_of, remove_dead_code
from irc.support.diagnostics import IrcError
from irc.tiling import scalars as tile_scalar
from irc.tiling.array_maps import counted, elementwise_map, mapped
from irc.tiling.array_shapes import Shapes
from irc.tiling.map_body import finish
from irc.tiling.nodes import signless
from irc.tiling.placements import Placement, Placements, rank_of, reshaped_axes, result_axes, shape_of
from irc.tiling.scalar_body import Body


def lower_arrays(program: tile.ProgramOp) -> None:
    """Rewrites the program so that it has no nd op. IrcError at an op that has no tiles so far."""
    inner = [op for op in program.walk() if isinstance(op, nd.NdOp)]
    if not inner:
        return
    for op in inner:
        if any(declared_element(result) is not None for result in op.results):
            relax(op)
    values = [value for op in program.walk() for value in (*op.operands, *op.results)]
    rank = max(rank_of(value) for value in values)
    _Lowering(rank, Shapes(program, rank)).run(program)
    remove_dead_code(program)


class _Lowering:
    """Of one program. Tiles are inserted where the ops of their arrays are, which are erased in the end."""

    def __init__(self, rank: int, shapes: Shapes):
        self._rank = rank
        self._shapes = shapes
        self._placed = Placements(rank)
        self._tiles: dict[tuple[SSAValue, Placement], SSAValue] = {}
        self._old: list[Operation] = []

    def run(self, program: tile.ProgramOp) -> None:
        self._place(program)
        self._block(program.body.block)
        for op in reversed(self._old):
            Rewriter.erase_op(op)

    def _place(self, program: tile.ProgramOp) -> None:
        """Finds the placements of all arrays, while all loops are whole."""
        for op in program.walk():
            arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
            for value in (*op.results, *arguments):
                if isinstance(value.type, TensorType):
                    self._placed(value)

    # Blocks and loops

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            match op:
                case nd.NdOp() | tile.LoadOp() | tile.IotaOp() | tile.MapOp() | tile.SplatOp():
                    if isinstance(op, nd.NdOp) or any(rank_of(result) for result in op.results):
                        self._old.append(op)
                case tile.StoreOp():
                    self._store(op)
                case tile.ForTilesOp():
                    self._block(op.body.block)
                case scf.ForOp():
                    self._loop(op)
                case _:
                    if any(isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):
                        raise IrcError(f"{op.name} has no arrays of a tile program", location_of(op))

    def _store(self, op: tile.StoreOp) -> None:
        axes = self._placed(op.tile)
        value = self._whole(op.tile, axes, op)
        at = Inserter.before(op)
        offsets, access = self._shapes.access(op, axes, at)
        access = self._shapes.ended(op, axes, access)
        checked = {*op.checked_dims, *self._shapes.padded_dims(op.access_map, shape_of(op.tile))}
        end = None if op.own_end is None else (axes[op.own_end[0]], op.own_end[1])
        store = tile.StoreOp.of(
            value,
            op.view,
            offsets,
            symbols=self._symbols(op, axes),
            map=access,
            checked=sorted(checked),
            end=end,
            add=op.add is not None,
            part=op.own_part,
        )
        at(store)
        self._old.append(op)

    def _loop(self, op: scf.ForOp) -> None:
        carried = [(value, self._placed(value)) for value in op.body.block.args[1:]]
        inits = [self._whole(init, axes, op) for init, (_, axes) in zip(op.iter_args, carried, strict=True)]
        old = op.body.block
        block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
        for before, after in zip(old.args, block.args, strict=True):
            after.name_hint = before.name_hint
        old.args[0].replace_all_uses_with(block.args[0])
        for (value, axes), argument in zip(carried, block.args[1:], strict=True):
            self._tiles[value, axes] = argument
        for inner in list(old.ops):
            inner.detach()
            block.add_op(inner)
        loop = Inserter.before(op)(scf.ForOp(op.lb, op.ub, op.step, inits, Region(block)))
        for value, (_, axes), result in zip(op.results, carried, loop.results, strict=True):
            self._placed.give(value, axes)
            self._tiles[value, axes] = result
        self._block_of_loop(block, [axes for _, axes in carried])
        self._old.append(op)

    def _block_of_loop(self, block: Block, axes: Sequence[Placement]) -> None:
        last = end_of(block)
        last.detach()
        self._block(block)
        block.add_op(last)
        values = [self._whole(value, at, last) for value, at in zip(last.operands, axes, strict=True)]
        Inserter.before(last)(scf.YieldOp(*values))
        self._old.append(last)

    # Tiles of arrays

    def _whole(self, value: SSAValue, axes: Placement, user: Operation) -> SSAValue:
        """The tile of an array with all its elements; in that of a broadcast, dimensions may have one alone."""
        found = self._tile(value, axes)
        type = self._shapes.type(value, axes)
        if shape_of(found) == type.get_shape():
            return found
        return mapped(Inserter.before(user), [found], type, lambda body, args: args[0])

    def _tile(self, value: SSAValue, axes: Placement) -> SSAValue:
        key = value, axes
        if key not in self._tiles:
            self._tiles[key] = self._made(value, axes)
        return self._tiles[key]

    def _made(self, value: SSAValue, axes: Placement) -> SSAValue:
        op = value.owner
        home = self._placed(value)
        if isinstance(op, Block | scf.ForOp):
            return self._moved(value, home, axes)
        at = Inserter.before(op)
        match op:
            case tile.LoadOp():
                return self._load(op, axes, at)
            case tile.SplatOp():
                return at.value(tile.SplatOp(op.value, self._shapes.type(value, axes)))
            case tile.IotaOp():
                return at.value(tile.IotaOp(op.offset, axes[op.axis_value], self._shapes.type(value, axes)))
            case tile.MapOp():
                return self._map_of_scalars(op, axes, at)
            case nd.IotaOp():
                return self._iota(op, axes, at)
            case nd.BroadcastOp():
                return self._tile(op.x, tuple(axes[dim] for dim in ints(op.dims)))
            case nd.PermuteOp():
                order = ints(op.permutation)
                return self._tile(op.x, tuple(axes[order.index(axis)] for axis in range(len(order))))
            case nd.ReshapeOp():
                return self._reshape(op, axes, home, at)
            case _ if is_product(op) or isinstance(op, MonoidOp):
                if axes != home:
                    return self._moved(value, home, axes)
                if not isinstance(op, MonoidOp):
                    return self._dot(op, axes, None, at)
                return self._scan(op, axes, at) if isinstance(op, ScanOp) else self._reduce(op, axes, at)
            case _ if self._dot_of(op, value) is not None:
                if axes != home:
                    return self._moved(value, home, axes)
                return self._sum_of_dot(op, axes, at)
            case nd.ConstantOp():
                return self._constant(op, axes, at)
            case _ if is_elementwise(op):
                return self._map(op, axes, at)
            case _:
                hint = "index the array that is loaded instead: `x[m, 0:64]`" if is_move(op) else None
                raise IrcError(f"{op.name} is not computed of tiles so far", location_of(op), hint)

    def _moved(self, value: SSAValue, home: Placement, axes: Placement) -> SSAValue:
        """A tile that exists in another order of its dimensions."""
        found = self._tile(value, home)
        if home == axes:
            return found
        dims: list[int | None] = [None] * self._rank
        for axis, dim in enumerate(axes):
            dims[dim] = home[axis]
        rest = [dim for dim in range(self._rank) if dim not in home]
        order = [rest.pop(0) if dim is None else dim for dim in dims]
        shape = shape_of(found)
        type = TensorType(tile.element_type_of(found.type), [shape[dim] for dim in order])
        return _behind(value).value(tile.PermuteOp(found, order, type))

    # Memory

    def _load(self, op: tile.LoadOp, axes: Placement, at: Inserter) -> SSAValue:
        offsets, access = self._shapes.access(op, axes, at)
        checked = {*op.checked_dims, *self._shapes.padded_dims(op.access_map, shape_of(op.result))}
        type = self._shapes.type(op.result, axes)
        symbols = self._symbols(op, axes)
        return at.value(
            tile.LoadOp.of(op.view, offsets, type, symbols=symbols, other=op.other, map=access, checked=sorted(checked))
        )

    def _symbols(self, op: tile.LoadOp | tile.StoreOp, axes: Placement) -> list[SSAValue]:
        """The positions that an access is given, and tiles of such."""
        return [self._tile(each, axes) if rank_of(each) else each for each in op.symbols]

    # Elementwise

    def _constant(self, op: nd.ConstantOp, axes: Placement, at: Inserter) -> SSAValue:
        value, type = op.splat_value, self._shapes.type(op.result, axes)
        if value is None:
            raise IrcError("the constants of tiles are numbers", location_of(op), "make an array of it an argument")
        return self._splat(value, type, at)

    @staticmethod
    def _splat(value: float, type: TensorType[Attribute], at: Inserter) -> SSAValue:
        block = Block()
        scalar = Body(block, at.location).constant(value, type.element_type)
        for made in list(block.ops):
            made.detach()
            at(made)
        return at.value(tile.SplatOp(scalar, type))

    def _map_of_scalars(self, op: tile.MapOp, axes: Placement, at: Inserter) -> SSAValue:
        inputs = [self._tile(each, axes) for each in op.inputs]
        return at.value(tile.MapOp(inputs, self._shapes.type(op.result, axes), op.body.clone()))

    def _iota(self, op: nd.IotaOp, axes: Placement, at: Inserter) -> SSAValue:
        axis, type = axes[op.axis.value.data], self._shapes.type(op.result, axes)
        start = at.value(arith.ConstantOp.from_int_and_width(0, IndexType()))
        shape = [extent if dim == axis else 1 for dim, extent in enumerate(type.get_shape())]
        counted_type = TensorType(type.element_type, shape)
        places = at.value(tile.IotaOp(start, axis, TensorType(IndexType(), shape)))
        return mapped(at, [places], counted_type, lambda body, args: counted(body, args[0], type.element_type))

    def _map(self, root: Operation, axes: Placement, at: Inserter) -> SSAValue:
        type = self._shapes.type(root.results[0], axes)
        return elementwise_map(
            root, type, at, lambda value: self._tile(value, axes), lambda value: self._is_inlined(value, root)
        )

    def _is_inlined(self, value: SSAValue, root: Operation) -> bool:
        """Whether an op is a part of the map that uses it: nobody else needs its tile, or it is a cast."""
        op = value.owner
        if not isinstance(op, Operation) or not isinstance(op, nd.NdOp) or not is_elementwise(op):
            return False
        if self._dot_of(op, value) is not None:
            return False
        if is_cast(op) and not isinstance(op.operands[0].owner, nd.NdOp):
            return True
        return value.has_one_use() and op.parent is root.parent

    # Reductions and products

    def _reduce(self, op: Operation, axes: Placement, at: Inserter) -> SSAValue:
        if not is_reduction(op) or monoid_of(op) in ("argmax", "argmin"):
            raise IrcError(f"{op.name} is not computed of tiles so far", location_of(op))
        (x,) = op.operands
        rest = [dim for dim in range(self._rank) if dim not in axes]
        kept = result_axes(op)
        placed = tuple(rest.pop(0) if to is None else axes[to] for to in kept)
        joined = [axis for axis, to in enumerate(kept) if to is None]
        source = tile.element_type_of(x.type)
        start = neutral(monoid_of(op), element_of(source))
        value = self._masked(self._whole(x, placed, op), x, placed, joined, start, at)
        shape = [1 if dim in {placed[axis] for axis in joined} else n for dim, n in enumerate(shape_of(value))]
        type = TensorType(signless(source), shape)
        reduction = tile.ReduceOp([value], sorted(placed[axis] for axis in joined), [type])
        body = Body(reduction.body.block, op.location)
        a, b = reduction.body.block.args
        finish(body, tile_scalar.combine(body, monoid_of(op), source, a, b))
        return at.value(reduction)

    def _scan(self, op: ScanOp, axes: Placement, at: Inserter) -> SSAValue:
        """What is beyond the end comes last, and changes nothing before it."""
        value, (axis,) = self._whole(op.x, axes, op), op.joined_axes
        source = tile.element_type_of(op.x.type)
        scan = tile.ScanOp([value], axes[axis], [value.type])
        body = Body(scan.body.block, op.location)
        finish(body, tile_scalar.combine(body, monoid_of(op), source, *scan.body.block.args))
        return at.value(scan)

    def _masked(
        self, value: SSAValue, x: SSAValue, placed: Placement, joined: Sequence[int], start: float, at: Inserter
    ) -> SSAValue:
        """The tile with `start` in what is beyond the ends of the array along the joined axes."""
        for axis in joined:
            extent = shape_of(x)[axis]
            if not self._shapes.is_padded(extent):
                continue
            shape = [n if dim == placed[axis] else 1 for dim, n in enumerate(shape_of(value))]
            zero = at.value(arith.ConstantOp.from_int_and_width(0, IndexType()))
            places = at.value(tile.IotaOp(zero, placed[axis], TensorType(IndexType(), shape)))

            def select(body: Body, args: Sequence[SSAValue], extent: int = extent) -> SSAValue:
                inside = body.compare("slt", args[1], body.constant(extent, IndexType()))
                return body.select(inside, args[0], body.constant(start, args[0].type))

            type = value.type
            assert isinstance(type, TensorType)
            value = mapped(at, [value, places], type, select)
        return value

    def _dot_of(self, op: Operation, value: SSAValue) -> tuple[Operation, SSAValue] | None:
        """The product that an addition is made to, and to what; None where it is anything else."""
        if not isinstance(op, nd.AddOp):
            return None
        for product, other in ((op.operands[1], op.operands[0]), (op.operands[0], op.operands[1])):
            owner = product.owner
            is_whole = product.has_one_use() and product.type == value.type
            if isinstance(owner, Operation) and is_product(owner) and is_whole and owner.parent is op.parent:
                return owner, other
        return None

    def _sum_of_dot(self, op: Operation, axes: Placement, at: Inserter) -> SSAValue:
        found = self._dot_of(op, op.results[0])
        assert found is not None
        return self._dot(found[0], axes, found[1], at)

    def _dot(self, op: Operation, axes: Placement, acc: SSAValue | None, at: Inserter) -> SSAValue:
        iteration = iteration_of(op)
        left, right = (iteration.roles(read.map) for read in iteration.inputs)
        if self._rank != 2 or set(left) != {"m", "k"} or set(right) != {"k", "n"} or len(left) + len(right) != 4:
            raise IrcError(
                "a product of tiles is one of matrices, in a kernel whose tiles have two axes",
                location_of(op),
                "walk over the batches one by one: `for b, m, n in tiles(range(B), M, N)`",
            )
        type = self._shapes.type(op.results[0], axes)
        lhs = self._operand(op.operands[0], (left.index("m"), left.index("k")), 1, op, at)
        rhs = self._operand(op.operands[1], (right.index("k"), right.index("n")), 0, op, at)
        if acc is not None:
            start = self._whole(acc, axes, op)
        else:
            start = self._splat(0, type, _before_loops(op))
        return at.value(tile.DotOp(lhs, rhs, start, precision=precision_of(op)))

    def _operand(self, value: SSAValue, axes: Placement, contracted: int, op: Operation, at: Inserter) -> SSAValue:
        """An operand; beyond the ends of the contracted axis it is 0, as what is loaded there is."""
        found = self._whole(value, axes, op)
        if isinstance(found.owner, tile.LoadOp):
            return found
        axis = axes.index(contracted)
        return self._masked(found, value, axes, [axis], 0, at)

    def _reshape(self, op: nd.ReshapeOp, axes: Placement, home: Placement, at: Inserter) -> SSAValue:
        before, after = shape_of(op.x), shape_of(op.result)
        becomes = reshaped_axes(before, after)
        if becomes is not None:
            used = {axes[to] for to in becomes if to is not None}
            rest = [dim for dim in range(self._rank) if dim not in used]
            return self._tile(op.x, tuple(rest.pop(0) if to is None else axes[to] for to in becomes))
        if any(map(self._shapes.is_padded, (*before, *after))):
            raise IrcError("a tile is not reshaped where its extents are no powers of two", location_of(op))
        if axes != home:
            return self._moved(op.result, home, axes)
        return at.value(tile.ReshapeOp(self._whole(op.x, self._placed(op.x), op), self._shapes.type(op.result, axes)))


def _before_loops(op: Operation) -> Inserter:
    """Before all loops that the op is in: what is the same in every step keeps no dot waiting there."""
    outermost = op
    while isinstance(parent := outermost.parent_op(), scf.ForOp):
        outermost = parent
    return Inserter(Builder(InsertPoint.before(outermost)), location_of(op))


def _behind(value: SSAValue) -> Inserter:
    """Where ops that use a value may be inserted first."""
    if isinstance(value, BlockArgument):
        return Inserter(Builder(InsertPoint.at_start(value.owner)), _location(value.owner.parent_op()))
    assert isinstance(value.owner, Operation)
    return Inserter.after(value.owner)


def _location(op: Operation | None) -> LocationAttr:
    assert op is not None
    return location_of(op)
