"""A loop nest over tiles becomes a tile program: what its body does with tiles is recorded as Tensors are, and the
nodes become nd ops in the program's blocks.

A node's op goes to the outermost block that has its operands, so that what a loop does not change stands before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeGuard

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, LocationAttr, TensorType, UnknownLoc, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from irc.dialects import tile
from irc.dialects.kernel import STAYING, ConfigAttr
from irc.dialects.nd import tensor
from irc.dialects.nd.declared import relax
from irc.ir.dtypes import element_named
from irc.ir.properties import numbers
from irc_frontend.build import build_op
from irc_frontend.graph import ARRAYS, EMPTY, TILE, Node, fail, fail_at, sorted_nodes
from irc_frontend.kernels.access import TileAccess, access_of, turned
from irc_frontend.kernels.facts import Facts, Launched, Numbers, Product
from irc_frontend.kernels.index_code import counted, index_code
from irc_frontend.kernels.indices import Index, LoopTile
from irc_frontend.kernels.ragged import Axes, Ragged
from irc_frontend.kernels.stores import stored
from irc_frontend.place import here
from irc_frontend.slicing import keys_of
from irc_frontend.structure import as_it_lies, reshape
from irc_frontend.tensor import Tensor

GONE = (
    "a value of one iteration of a loop over tiles is used behind the loop",
    "store it, out[m, n] = t, or carry it: acc = zeros((m,)) before the loop, acc = acc + t in it",
)


def location_here() -> LocationAttr:
    place = here()
    return UnknownLoc() if place is None else place.span().location()


@dataclass
class Frame:
    """A block that is being made, and the loop that it is of, where it is one inside; `number` of those."""

    block: Block
    inits: list[SSAValue] = field(default_factory=list[SSAValue])
    bounds: tuple[SSAValue, SSAValue, SSAValue] | None = None
    number: int = 0


class LoopNestTrace:
    """One loop nest that is being traced. sizes: the step of a dimension, of its name and extent. names: of
    arrays. earlier: what an earlier trace of it found its loops to carry (`Facts.carried`). reads_through: tiles of
    permuted arrays are permuted tiles of the arrays as they lie."""

    def __init__(
        self,
        sizes: Callable[[str, int], int],
        names: Mapping[Node, str],
        earlier: Sequence[Sequence[Numbers]] | None = None,
        *,
        reads_through: bool = False,
    ):
        self._sizes = sizes
        self._names = names
        self._earlier = earlier
        self._reads_through = reads_through
        self._dims: dict[int | None, LoopTile] = {}
        self.facts = Facts()
        self._views: dict[Node, SSAValue] = {}
        self._written: dict[Node, tuple[Tensor, SSAValue]] = {}
        self._added_to: set[Node] = set()
        self._frames: list[Frame] = []
        self._symbols: list[tuple[SSAValue, int]] = []
        self._values: dict[Node, tuple[SSAValue, int]] = {}
        self._ranges: list[range] = []
        self._loads: dict[Hashable, Tensor] = {}
        self._elements: dict[Hashable, int] = {}
        self._from_loops: set[Node] = set()
        self._zero: SSAValue | None = None
        self._top = Block()
        self._tiles: tile.ForTilesOp | None = None
        self._order: Sequence[int] = ()
        self._positions: dict[int, Tensor] = {}
        self.ragged = Ragged(self.positions)

    @property
    def depth(self) -> int:
        """Loops that are open, of the nest."""
        return len(self._frames)

    def check_decided(self, value: Tensor) -> None:
        """An error where the truth of a tile is asked for."""
        if any(node.op == TILE for node in sorted_nodes([value.node])):
            raise fail(
                "a tile has no value while its kernel is traced",
                "`if` and `while` cannot depend on one: where(condition, a, b) chooses elements, `&` and `|` are `and` "
                "and `or` of conditions, maximum(a, b) is max(a, b)",
            )

    def check_iterated(self, value: Tensor) -> None:
        """An error where the first axis has a tile's elements: how many these are is chosen."""
        if value.shape and (dim := self.ragged.axes_of(value.node)[0]) is not None:
            raise fail(
                f"a tile of {dim.name} is not iterated over while its kernel is traced: how large it is, is chosen",
                "irc's functions compute with all of its elements, as t.sum(axis=0) does",
            )

    # Loops

    def open_outer(
        self, names: Sequence[str], extents: Sequence[int | range], order: Sequence[int]
    ) -> list[LoopTile | Index]:
        """Begins the loop over all tiles of the nest. order: its dimensions, the outermost first."""
        steps = [
            1 if isinstance(each, range) else self._sizes(name, each) for name, each in zip(names, extents, strict=True)
        ]
        counts = [len(each) if isinstance(each, range) else each for each in extents]
        ordered = [[each[at] for at in order] for each in (counts, steps)]
        self._tiles, self._order = tile.ForTilesOp(*ordered, location=location_here()), tuple(order)
        block = self._tiles.body.block
        self._frames.append(Frame(block))
        found: list[LoopTile | Index] = []
        offsets = [block.args[order.index(at)] for at in range(len(order))]
        for name, each, step, argument in zip(names, extents, steps, offsets, strict=True):
            argument.name_hint = None if name == "_" else name
            found.append(self._index(name, each, step, argument))
        self.facts.outer = [each for each in found if isinstance(each, LoopTile)]
        self.facts.walked = prod(len(each) for each in extents if isinstance(each, range))
        return found

    def open_inner(
        self,
        name: str,
        extent: int | range,
        begin: Index | int | None,
        end: Index | Tensor | int | None,
        carried: Sequence[Node],
    ) -> tuple[LoopTile | Index, list[Node]]:
        """Begins a loop inside, and gives its tile and what stands for the values that it carries."""
        step = 1 if isinstance(extent, range) else self._sizes(name, extent)
        count = len(extent) if isinstance(extent, range) else extent
        inits = [self.emit(node) for node in carried]
        low = self._bound(0 if begin is None else begin)
        if isinstance(end, Tensor):
            high = self._loaded(self._data(end, "a loop over tiles ends at"), count, 0, self.depth - 1)
        else:
            high = self._bound(count if end is None else end)
        bounds = (low, high, self._constant(step))
        block = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        block.args[0].name_hint = None if name == "_" else name
        number = len(self.facts.carried)
        self.facts.carried.append([])
        self._frames.append(Frame(block, inits, bounds, number))
        index = self._index(name, extent, step, block.args[0])
        if isinstance(index, LoopTile):
            self.facts.inner.append(index)
            if isinstance(begin, Index) or isinstance(end, Index):
                self.facts.bounded.append(index)
            if isinstance(end, Tensor):
                self.facts.ended.append(index)
        made = [
            self._given(node.shape, node.element, argument, self._carried_axes(node, number, at))
            for at, (node, argument) in enumerate(zip(carried, block.args[1:], strict=True))
        ]
        self._from_loops.update(made)
        return index, made

    def close_inner(self, carried: Sequence[Node]) -> list[Node]:
        """Ends the loop inside, whose next iteration gets these values; gives those behind it."""
        values = [self.emit(node) for node in carried]
        frame = self._frames.pop()
        numbers = [tuple(None if dim is None else dim.number for dim in self.ragged.axes_of(node)) for node in carried]
        self.facts.carried[frame.number] = numbers
        place = location_here()
        for value, init, node in zip(values, frame.inits, carried, strict=True):
            assert value.type == init.type, node
        last = scf.YieldOp(*values)
        last.location = place
        frame.block.add_op(last)
        assert frame.bounds is not None
        loop = scf.ForOp(*frame.bounds, frame.inits, Region(frame.block))
        loop.location = place
        self._frames[-1].block.add_op(loop)
        made = [
            self._given(node.shape, node.element, value, self.ragged.axes_of(node))
            for node, value in zip(carried, loop.results, strict=True)
        ]
        self._from_loops.update(made)
        return made

    def _carried_axes(self, node: Node, loop: int, at: int) -> Axes:
        """Those of what a loop carries in its later iterations, as an earlier trace saw them, else in its first one."""
        if self._earlier is None:
            return self.ragged.axes_of(node)
        return tuple(self._dims.get(number) for number in self._earlier[loop][at])

    def close_outer(self, config: ConfigAttr | None) -> Launched:
        """Ends the nest. Where all that it writes is rounded to 16 bits or less, its functions need not have f32's
        accuracy (docs/decisions/narrow-functions.md)."""
        assert self._tiles is not None
        self._frames.pop()
        if not self._written:
            raise fail("a loop over tiles writes no array", "make one by empty or empty_like: `out[m, n] = tile`")
        if all(element_named(array.element).is_narrow_float for array, _ in self._written.values()):
            for op in self._tiles.walk():
                relax(op)
        if config is not None and config.schedule in (*STAYING, "pingpong"):
            self._tiles.properties.update(
                tile.ForTilesOp(
                    self._tiles.extent_values,
                    self._tiles.step_values,
                    schedule="dynamic" if config.schedule == "dynamic" else "persistent",
                    group=config.group,
                    cluster=self._cluster(config),
                ).properties
            )
        views = [*self._views.values(), *(value for _, value in self._written.values())]
        types: list[Any] = [value.type for value in views]
        program = tile.ProgramOp("program", types, len(self._written), config=config, location=self._tiles.location)
        for value, argument in zip(views, program.body.block.args, strict=True):
            argument.name_hint = value.name_hint
            value.replace_all_uses_with(argument)
        program.body.block.add_op(self._tiles)
        if sums := [len(self._views) + at for at, node in enumerate(self._written) if node in self._added_to]:
            program.sums = numbers(sums)
        reads = [*self._views]
        copies = [(reads.index(node.operands[0]), at) for at, node in enumerate(self._written) if node.operands]
        if copies:
            program.updates = numbers([number for a, b in copies for number in (a, len(reads) + b)])
        return Launched(program, [*self._views], [each for each, _ in self._written.values()], self.facts)

    def _cluster(self, config: ConfigAttr) -> Sequence[int] | None:
        """Rows and columns of tiles of a cluster: the last two dimensions of the loop as it is written."""
        if config.cluster in (None, (1, 1)):
            return None
        last = len(self._order) - 2
        if sorted(self._order[-2:]) != [last, last + 1]:
            raise fail(
                f"config: loop_order = {list(self._order)} moves loops whose tiles a cluster shares, found cluster = "
                f"{list(config.cluster)}",
                "cluster = [1, 1], or the last two loops behind the others",
            )
        return [config.cluster[at - last] for at in self._order[-2:]]

    # Indices

    def _index(self, name: str, extent: int | range, step: int, offset: SSAValue) -> LoopTile | Index:
        self._symbols.append((offset, self.depth - 1))
        self._ranges.append(range(0, len(extent) if isinstance(extent, range) else extent, step))
        number = len(self._symbols) - 1
        if isinstance(extent, range):
            return Index(self, AffineExpr.symbol(number) * extent.step + extent.start)
        dim = self._dims[number] = LoopTile(self, name, number, step, extent)
        return dim

    def _constant(self, value: int) -> SSAValue:
        op = arith.ConstantOp.from_int_and_width(value, IndexType())
        op.location = location_here()
        self._frames[0].block.add_op(op)
        return op.result

    def _bound(self, bound: Index | int) -> SSAValue:
        if not isinstance(bound, Index):
            return self._constant(bound)
        value = self._scalar(bound.expr)
        if bound.limit is not None:
            value = self._added(arith.MinSIOp(value, self._constant(bound.limit)))
        return value

    def _data(self, value: Tensor, what: str) -> TileAccess:
        """The access of an element of an array of integers."""
        access = self.ragged.load_of(value.node)
        if access is None or access.shape or access.gathers or not element_named(value.element).is_integer:
            raise fail(
                f"{what} an element of an array of integers, found {value.node.type}",
                "lengths[b], where b is the index of a range or a position",
            )
        return access

    def _loaded(self, access: TileAccess, most: int, least: int, depth: int) -> SSAValue:
        """That element as an index of a block, cut to what there is."""
        given = [self._symbols[number][0] for number in access.given]

        def add(op: Operation) -> SSAValue:
            return self._added(op, depth)

        at = [index_code(each, given.__getitem__, self._constant, add) for each in access.map.results]
        return add(tile.LoadIndexOp(self._view(access.array), at, most, least))

    def _scalar(self, expr: AffineExpr) -> SSAValue:
        return index_code(expr, lambda number: self._symbols[number][0], self._constant, self._added)

    def _added(self, op: Operation, depth: int = -1) -> SSAValue:
        op.location = location_here()
        self._frames[depth].block.add_op(op)
        return op.results[0]

    def positions(self, dim: LoopTile) -> Tensor:
        """The positions of a tile's elements, i32."""
        if dim.number not in self._positions:
            offset, depth = self._symbols[dim.number]
            iota = tile.IotaOp(offset, 0, TensorType(IndexType(), [dim.step]), location=location_here())
            made = counted(iota.result, [dim.step], location_here())
            for op in (iota, made):
                self._frames[depth].block.add_op(op)
            node = self._given((dim.step,), "i32", made.results[0], (dim,), depth)
            self._positions[dim.number] = Tensor.of(node)
        return self._positions[dim.number]

    def scalar(self, index: Index) -> Tensor:
        """A position as a number of tiles, i32."""
        value = self._bound(index)
        cast = arith.IndexCastOp(value, i32)
        splat = tile.SplatOp(self._added(cast), TensorType(i32, []))
        return Tensor.of(self._given((), "i32", self._added(splat), ()))

    # Memory

    def load(self, array: Tensor, key: Any) -> Tensor:
        """The tile of an array at an index."""
        if array.node.op == TILE or not self._is_array(array.node):
            raise fail("a tile is not indexed by tiles: it is one already", "slices and None index it")
        if array.node in self._written:
            raise fail("an array is read that the same loop nest writes: another block may not have written it yet")
        if any(written.node.operands == (array.node,) for written, _ in self._written.values()):
            raise fail("an array is read of which the same loop nest writes a copy: that may be in its memory")
        if array.node.op == EMPTY:
            raise fail(
                "an array that `empty` made is read before it is written",
                "copy_of(x) makes one that holds what x does; sums begin with a tile, zeros((m, n))",
            )
        base, permutation = as_it_lies(array.node)
        if self._reads_through and permutation is not None:
            own, order, added = turned(keys_of(array.node, key), permutation)
            self.facts.turned.append(access_of(base, own, self._ranges))
            found = self.load(Tensor.of(base), own).permute(*order)
            return found if added is None else found[added]
        access = access_of(array.node, self._positioned(array.node, key), self._ranges)
        if (known := self._loads.get(access.key)) is not None:
            return known if access.added is None else known[access.added]
        self.facts.accesses.append(access)
        view = self._view(array.node)
        result = tensor(access.shape, element_named(array.element))
        gathers = [self._gathered(node, axis, len(access.shape)) for node, axis in access.gathers]
        depths = (self._values[node][1] for node in gathers)
        depth = max([0, *(self._symbols[number][1] for number in access.symbols), *depths])
        op = tile.LoadOp.of(
            view,
            [self._offset(dim) for dim in access.dims],
            result,
            symbols=[*(self._symbols[number][0] for number in access.given), *(self._values[n][0] for n in gathers)],
            map=access.map,
            checked=access.checked,
            location=location_here(),
        )
        self._frames[depth].block.add_op(op)
        node = self._given(access.shape, array.element, op.result, self._axes_of(access), depth)
        self.ragged.note_load(node, access)
        loaded = self._loads[access.key] = Tensor.of(node)
        return loaded if access.added is None else loaded[access.added]

    def _positioned(self, array: Node, key: Any) -> tuple[Any, ...]:
        """An index in which elements of arrays of integers are positions."""
        keys = keys_of(array, key)
        extents = iter(array.shape)
        pairs = [(each, 0 if each is None else next(extents)) for each in keys]
        return tuple(self._element(each, extent) if _is_number(each) else each for each, extent in pairs)

    def _element(self, position: Tensor, extent: int) -> Index:
        """A position along an axis that is data: below it -1, and behind it its extent, where loads give 0."""
        access = self._data(position, "an array is indexed by")
        if (known := self._elements.get((access.key, extent))) is None:
            depth = max([0, *(self._symbols[number][1] for number in access.given)])
            value = self._loaded(access, extent, -1, depth)
            self._symbols.append((value, depth))
            self._ranges.append(range(-1, extent + 1))
            known = self._elements[access.key, extent] = len(self._symbols) - 1
        return Index(self, AffineExpr.symbol(known))

    def _gathered(self, node: Node, axis: int, rank: int) -> Node:
        """A tile of integers along an axis of what they gather."""
        shape = [node.shape[0] if number == axis else 1 for number in range(rank)]
        placed = reshape(node, shape)
        self.emit(placed)
        return placed

    def _axes_of(self, access: TileAccess) -> Axes:
        axes = list(access.dims)
        for node, axis in access.gathers:
            axes[axis] = self.ragged.axes_of(node)[0]
        return tuple(axes)

    def store(self, array: Tensor, key: Any, value: Any, *, add: bool = False) -> None:
        """Writes a tile to an array at an index, or adds it to what other tiles have added there."""
        if array.node.op != EMPTY:
            raise fail(
                "a kernel writes arrays that `empty`, `empty_like` or `copy_of` made in it",
                "write a copy of what is to be changed: out = copy_of(x)",
            )
        if any(_is_number(each) for each in keys_of(array.node, key)):
            raise _fail_at_computed_place()
        access = access_of(array.node, key, self._ranges)
        self.facts.accesses.append(access)
        self.facts.stores.append(access)
        is_copy = bool(array.node.operands)
        if access.gathers and not (is_copy and all(node.shape == (1,) for node, _ in access.gathers)):
            raise _fail_at_computed_place()
        tile_node = stored(value, array, access)
        if add and array.node.element != "f32":
            raise fail(f"tiles are added to arrays of f32, found {array.node.element}", 'empty(shape, "f32")')
        if array.node in self._written and add != (array.node in self._added_to):
            raise fail("an array is written in one way", "all of its tiles are stored, or all are added to it")
        if add:
            self._added_to.add(array.node)
        if array.node not in self._written:
            if is_copy:
                self._copied_view(array.node.operands[0])
            self._written[array.node] = array, self._new_view(array.node)
        elif self._written[array.node][0] is not array:
            raise fail("an array is written under two names")
        gathers = [self._gathered(node, axis, len(access.shape)) for node, axis in access.gathers]
        op = tile.StoreOp.of(
            self.emit(tile_node),
            self._written[array.node][1],
            [self._offset(dim) for dim in access.dims],
            symbols=[*(self._symbols[number][0] for number in access.given), *(self._values[n][0] for n in gathers)],
            map=access.map,
            checked=access.checked,
            add=add,
            location=location_here(),
        )
        self._frames[-1].block.add_op(op)

    def _copied_view(self, source: Node) -> None:
        """The view of an array of which a copy is written."""
        if not self._is_array(source):
            raise fail("a tile is no array to be copied", "copy_of(x) stands before the loop")
        if source in self._views:
            raise fail("an array is read of which the same loop nest writes a copy: that may be in its memory")
        self._view(source)

    def _offset(self, dim: LoopTile | None) -> SSAValue:
        if dim is not None:
            return self._symbols[dim.number][0]
        if self._zero is None:
            self._zero = self._constant(0)
        return self._zero

    @staticmethod
    def _is_array(node: Node) -> bool:
        return all(each.op != TILE for each in sorted_nodes([node]))

    def _view(self, node: Node) -> SSAValue:
        if node not in self._views:
            self._views[node] = self._new_view(node)
        return self._views[node]

    def _new_view(self, node: Node) -> SSAValue:
        element = element_named(node.element)
        if element.name == "u8":
            raise fail("tiles have no elements of u8 so far", "cast the array: x.astype('i32')")
        type = tile.ViewType.of(node.shape, element.type)
        argument = self._top.insert_arg(type, len(self._top.args))
        argument.name_hint = self._names.get(node)
        return argument

    # Values

    def _given(self, shape: Sequence[int], element: str, value: SSAValue, axes: Axes, depth: int | None = None) -> Node:
        """A node of a value that exists."""
        node = Node(TILE, (), shape, element)
        self._values[node] = value, self.depth - 1 if depth is None else depth
        self.ragged.note(node, axes)
        return node

    def emit(self, root: Node) -> SSAValue:
        """The value of a node, whose ops are added where they are not yet."""
        if root.op in ARRAYS:
            raise fail("an array is stored, or carried by a loop, as a whole", "index its tiles: `x[m, k]`")
        for node in sorted_nodes([root]):
            if node not in self._values and node.op not in ARRAYS and node.op != TILE:
                self._emit_one(node)
        if self._is_gone(root):
            raise fail(*GONE)
        return self._values[root][0]

    def _is_gone(self, node: Node) -> bool:
        """Whether it is a value of an iteration of a loop that was closed, or of an earlier nest."""
        if node not in self._values:
            return node.op == TILE
        owner = self._values[node][0].owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is not self._top and all(block is not frame.block for frame in self._frames)

    def _emit_one(self, node: Node) -> None:
        if any(map(self._is_gone, node.operands)):
            raise fail_at(node, *GONE)
        if any(each.op in ARRAYS for each in node.operands):
            raise fail_at(node, "a loop over tiles computes with an array as a whole", "index its tiles: `x[m, k]`")
        operands = [self._masked(node, number, each) for number, each in enumerate(node.operands)]
        depth = max([0, *(self._values[each][1] for each in operands)])
        op = build_op(node, [self._values[each][0] for each in operands])
        self._frames[depth].block.add_op(op)
        self._values[node] = op.results[node.result], depth
        self.ragged.note_op(node, op, operands)
        if node.op == "matmul":
            self._note_product(node, operands)
        for axis in self.ragged.joined(node, op):
            dim = self.ragged.axes_of(operands[0])[axis]
            if dim is not None:
                self.facts.reduced.append(dim)

    def _masked(self, node: Node, number: int, operand: Node) -> Node:
        """The operand with what its op has to find beyond the ends of arrays."""
        masked = self.ragged.masked(node, number, operand)
        self.emit(masked)
        return masked

    def _note_product(self, node: Node, operands: Sequence[Node]) -> None:
        lhs, rhs = operands
        attributes: Mapping[str, Any] = dict(node.attributes)
        if len(node.shape) != 2 or len(lhs.shape) != 2 or len(rhs.shape) != 2:
            return
        (k,), (j,) = attributes["lhs_contract"], attributes["rhs_contract"]
        a, b = self.ragged.axes_of(lhs), self.ragged.axes_of(rhs)
        left, right = (a[1 - k], a[k]), (b[j], b[1 - j])
        shape = node.shape[0], node.shape[1], lhs.shape[k]
        loads = self.ragged.load_of(lhs), self.ragged.load_of(rhs)
        self.facts.products.append(Product(left, right, shape, lhs.element, loads, any(map(self._is_fed, operands))))

    def _is_fed(self, operand: Node) -> bool:
        """Whether a product gave something that the operand is made of, or a loop carries it."""
        made = sorted_nodes([operand])
        return any(node.op == "matmul" or node in self._from_loops for node in made)


def _is_number(key: Any) -> TypeGuard[Tensor]:
    """Whether an index is a tile of one number, without an axis."""
    return isinstance(key, Tensor) and key.node.rank == 0


def _fail_at_computed_place():
    return fail(
        "a tile is not stored at places that are computed, but at one in a copy",
        "two blocks could write one element; out = copy_of(x), out[m, at[0:1]] = tile",
    )
