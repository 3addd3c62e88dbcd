"""What tile programs mean, in numpy: with or without layouts, buffers, channels and partitions.

A view is its memory and strides; a tile an array; a buffer a mutable array, of which a subview is a slice. Layouts and
converts change nothing. Roles run one after the other in their order, each to its end: a channel keeps every stage that
was committed, and each partition reads the stages from the first. That is what concurrent partitions compute, as long
as a partition waits only for channels that earlier partitions fill. An access outside the view in a dimension that is
not `checked` is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import SymbolTable

from irc.dialects import tile
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import NdOp
from irc.dialects.nd.joined import strides_of
from irc.interpreters.nd import interpreter as nd
from irc.interpreters.nd.base import evaluate_op
from irc.interpreters.tile.scalars import dtype_of, scalar_function
from irc.ir.dtypes import element_of
from irc.ir.properties import values_of
from irc.ir.rewriting import location_of
from irc.ir.rounding import cast_array
from irc.support.cuda_wheels import NEEDS_REFERENCE
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div
from irc.support.semaphores import SEMAPHORE_ELEMENTS
from irc.support.shapes import row_major

Array = np.ndarray[Any, Any]


@dataclass
class View:
    """A strided description of an array's memory."""

    memory: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Channel:
    """All stages committed so far; `readers` has how many each partition has waited for, `held` the slots that it
    has."""

    types: tuple[tile.BufferType, ...]
    filling: list[Slot] = field(default_factory=list["Slot"])
    committed: list[list[Array]] = field(default_factory=list[list[Array]])
    readers: dict[int, int] = field(default_factory=dict[int, int])
    held: dict[int, list[Slot]] = field(default_factory=dict[int, list["Slot"]])


@dataclass(eq=False)
class Slot:
    """A stage of a channel that a partition holds."""

    channel: Channel
    buffers: list[Array]


def evaluate(module: ModuleOp, args: Sequence[Array], func: str | None = None) -> tuple[Array, ...]:
    """The results of a function of launches and `nd` ops, the last unless named."""
    return nd.evaluate(module, args, func)


@nd.meaning(LaunchOp)
def _launch(op: LaunchOp, args: Sequence[Array], precision: nd.Precision) -> tuple[Array, ...]:
    program = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(program, tile.ProgramOp):
        if isinstance(program, KernelOp) and program.code is not None:
            message = f"{program.symbol} is {program.written_in}, which a GPU runs"
            raise IrcError(message, op.location, NEEDS_REFERENCE)
        hint = "the target sim runs kernels of cuda ops" if isinstance(program, KernelOp) else None
        raise IrcError(f"no tile program {op.callee} to launch", op.location, hint)
    types = [r.type for r in op.outputs]
    values = (*op.inputs, *op.outputs)
    strides = {i: steps for i, v in enumerate(values) if (steps := strides_of(v)) != row_major(tile.shape_of(v.type))}
    arrays = [cast_array(a, dtype_of(v.type)) for a, v in zip(args, op.inputs, strict=True)]
    return run_program(program, arrays, types, strides)


def run_program(
    program: tile.ProgramOp,
    args: Sequence[Array],
    results: Sequence[Any],
    strides: Mapping[int, tuple[int, ...]] | None = None,
) -> tuple[Array, ...]:
    """The results, of the given tensor types, of one program on whole arrays. strides: in elements, of those of the
    arrays and of the results, by their numbers, that are not row-major."""
    outputs = [np.zeros(t.get_shape(), element_of(t).dtype) for t in results]
    arrays = [*(np.ascontiguousarray(a) for a in args), *outputs]
    memories = [array.reshape(-1) for array in arrays]
    for number, steps in (strides or {}).items():
        memories[number], arrays[number] = _apart(arrays[number], steps)
    outputs = arrays[len(args) :]
    for operand, result in program.updated:
        outputs[result - len(args)][...] = args[operand]
    machine = _Machine()
    for arg, memory in zip(program.body.block.args, memories, strict=True):
        assert isinstance(arg.type, tile.ViewType)
        elements = memory.view(dtype_of(arg.type.element_type))
        machine.values[arg] = View(elements, arg.type.get_shape(), arg.type.get_strides())
    with np.errstate(all="ignore"):
        machine.run(program.body.block)
    return tuple(outputs)


def _apart(array: Array, strides: tuple[int, ...]) -> tuple[Array, Array]:
    """Memory, and the array in it with its elements so far apart."""
    memory = np.zeros(1 + sum((n - 1) * stride for n, stride in zip(array.shape, strides, strict=True)), array.dtype)
    steps = [stride * array.itemsize for stride in strides]
    found = np.lib.stride_tricks.as_strided(memory, array.shape, steps)
    found[...] = array
    return memory, found


@dataclass(frozen=True)
class _Step:
    """An op as it is run: what it computes, of the machine and the op or, a scalar one, of its operands."""

    op: Operation
    rule: Callable[[_Machine, Any], list[Any]] | None
    function: Callable[..., Array] | None
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]

    @staticmethod
    def of(op: Operation) -> _Step:
        rule = _array if isinstance(op, NdOp) else _RULES.get(type(op))
        return _Step(op, rule, scalar_function(op) if rule is None else None, tuple(op.operands), tuple(op.results))


class _Machine:
    """Values of one program; `partition` is the number of the partition that is running, `round` has the offsets of the
    tiles of each turn."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, Any] = {}
        self.partition = 0
        self.round: list[list[Any]] = []
        self._steps: dict[Block, tuple[list[_Step], tuple[SSAValue, ...]]] = {}
        """By block: its ops, and the operands of its terminator, if there is one."""
        self.accesses: dict[tile.AccessOp, tuple[tuple[AffineExpr, ...], tuple[int, ...]]] = {}
        """The map's results and the checked dimensions of ops that ran."""

    def get(self, values: Sequence[SSAValue]) -> list[Any]:
        return [self.values[v] for v in values]

    def run(self, block: Block, args: Sequence[Any] = ()) -> list[Any]:
        """Runs the ops; gives the operands of the terminator, if there is one."""
        values = self.values
        values.update(zip(block.args, args, strict=False))
        if (known := self._steps.get(block)) is None:
            known = self._steps[block] = _steps_of(block)
        steps, yielded = known
        for step in steps:
            if step.function is not None:
                values[step.results[0]] = step.function(*[values[v] for v in step.operands])
            else:
                assert step.rule is not None
                values.update(zip(step.results, step.rule(self, step.op), strict=True))
        return [values[v] for v in yielded]

    def body(self, region: Region, args: Sequence[Array]) -> list[Array]:
        """A scalar body on arrays."""
        return self.run(region.block, args)


def _steps_of(block: Block) -> tuple[list[_Step], tuple[SSAValue, ...]]:
    last = block.last_op
    if isinstance(last, scf.YieldOp | tile.YieldOp):
        return [_Step.of(op) for op in block.ops if op is not last], tuple(last.operands)
    return [_Step.of(op) for op in block.ops], ()


def _array(m: _Machine, op: NdOp) -> list[Any]:
    """An op on arrays, before `tile-arrays`; f16, bf16 and f8 are carried in f32."""
    return list(evaluate_op(op, m.get(op.operands), "excess"))


# Control


def _for_tiles(m: _Machine, op: tile.ForTilesOp) -> list[Any]:
    ranges = [range(0, n, s) for n, s in zip(op.extent_values, op.step_values, strict=True)]
    for dim in op.reversed_dims:
        ranges[dim] = ranges[dim][::-1]
    own, turns = op.turns
    tiles = [[np.asarray(o, np.int64) for o in offsets] for offsets in itertools.product(*ranges)]
    for at in range(own, len(tiles), turns):
        m.round = tiles[at - own : at - own + turns]
        m.run(op.body.block, tiles[at])
    return []


def _turn_offsets(m: _Machine, op: tile.TurnOffsetsOp) -> list[Any]:
    return m.round[op.turn_number] if op.turn_number < len(m.round) else [np.asarray(0, np.int64)] * len(op.offsets)


def _take_ticket(m: _Machine, op: tile.TakeTicketOp) -> list[Any]:
    """One block has all tiles: the loop goes through them in their order, and nobody asks what its tickets are."""
    counter: View = m.values[op.counter]
    ticket = int(counter.memory[0])
    counter.memory[0] = ticket + 1
    m.values[op.buffer][0] = ticket
    return [np.asarray(ticket, np.int64)]


def _for(m: _Machine, op: scf.ForOp) -> list[Any]:
    low, high, step = (int(v) for v in m.get([op.lb, op.ub, op.step]))
    carried = m.get(op.iter_args)
    block, dtype = op.body.block, dtype_of(op.lb.type)
    for i in range(low, high, step):
        carried = m.run(block, [np.asarray(i, dtype), *carried])
    return carried


def _if(m: _Machine, op: scf.IfOp) -> list[Any]:
    region = op.true_region if bool(m.values[op.cond]) else op.false_region
    return m.run(region.block) if region.blocks else []


def _partitions(m: _Machine, op: tile.PartitionsOp) -> list[Any]:
    for number, region in enumerate(op.partitions):
        m.partition = number
        m.run(region.block)
    m.partition = 0
    return []


# Channels and buffers


def _new_buffer(type: Any) -> Array:
    return np.zeros(type.get_shape(), dtype_of(type.element_type))


def _channel(m: _Machine, op: tile.ChannelOp) -> list[Any]:
    assert isinstance(op.channel.type, tile.ChannelType)
    return [Channel(tuple(t for t in op.channel.type.buffers if isinstance(t, tile.BufferType)))]


def _acquire(m: _Machine, op: tile.AcquireOp) -> list[Any]:
    channel: Channel = m.values[op.channel]
    slot = Slot(channel, [_new_buffer(t) for t in channel.types])
    channel.filling.append(slot)
    return [slot, *slot.buffers]


def _commit(m: _Machine, op: tile.CommitOp) -> list[Any]:
    slot: Slot = m.values[op.slot]
    if not slot.channel.filling or slot.channel.filling.pop(0) is not slot:
        raise IrcError("a stage is committed that is not the first of those acquired", op.location)
    slot.channel.committed.append(slot.buffers)
    return []


def _wait(m: _Machine, op: tile.WaitOp) -> list[Any]:
    channel: Channel = m.values[op.channel]
    at = channel.readers.get(m.partition, 0)
    if at >= len(channel.committed):
        raise IrcError("a partition waits for a stage that nothing before it commits", op.location)
    channel.readers[m.partition] = at + 1
    slot = Slot(channel, channel.committed[at])
    channel.held.setdefault(m.partition, []).append(slot)
    return [slot, *slot.buffers]


def _release(m: _Machine, op: tile.ReleaseOp) -> list[Any]:
    slot: Slot | None = m.values[op.slot]
    if slot is not None and slot.channel.held[m.partition].pop(0) is not slot:
        raise IrcError("a stage is released that is not the first of those waited for", op.location)
    return []


def _skip(m: _Machine, op: tile.SkipOp) -> list[Any]:
    readers = m.values[op.channel].readers
    readers[m.partition] = readers.get(m.partition, 0) + int(m.values[op.count])
    return []


def _transpose(m: _Machine, op: tile.TransposeOp) -> list[Any]:
    return [m.values[op.buffer].transpose(op.dim_values)]


@dataclass(eq=False)
class Order:
    """Whose turn it is of warp groups, which run together here: whether they have taken a turn and not passed it on."""

    is_taken: bool = False


def _take(m: _Machine, op: tile.TakeOp) -> list[Any]:
    order: Order = m.values[op.order]
    if order.is_taken:
        raise IrcError("a turn is taken before the last one was passed on", op.location)
    order.is_taken = True
    return [order]


def _pass(m: _Machine, op: tile.PassOp) -> list[Any]:
    order: Order = m.values[op.token]
    if not order.is_taken:
        raise IrcError("a turn is passed on that was not taken", op.location)
    order.is_taken = False
    return []


def _subview(m: _Machine, op: tile.SubviewOp) -> list[Any]:
    at = values_of(op.at) or (0,) * len(tile.shape_of(op.buffer.type))
    return [_box(m.values[op.buffer], at, m.get(op.offsets), tile.shape_of(op.result.type))]


def _box(source: Array, at: Sequence[int], offsets: Sequence[Any], shape: Sequence[int]) -> Array:
    begin = [a + int(o) for a, o in zip(at, offsets or [0] * len(at), strict=True)]
    return source[tuple(slice(b, b + n) for b, n in zip(begin, shape, strict=True))]


def _write(m: _Machine, op: tile.WriteOp) -> list[Any]:
    m.values[op.buffer][...] = m.values[op.tile]
    return []


# Global memory


def _addresses(
    m: _Machine, op: tile.AccessOp, shape: Sequence[int], tap: Sequence[int] | None = None
) -> tuple[View, Array, Array]:
    """(the view, the element's place in memory, whether it is inside) for every element of the tile. tap: what is added
    to the coordinates."""
    view: View = m.values[op.view]
    if (known := m.accesses.get(op)) is None:
        known = m.accesses[op] = (op.access_map.results, op.checked_dims)
    coordinates, checked = known
    dims: list[Any] = []
    for axis, offset in enumerate(m.get(op.offsets)):
        dims.append(_along(axis, offset, shape))
    symbols: list[Any] = [np.asarray(s, np.int64) for s in m.get(op.symbols)]
    place, inside = np.zeros(tuple(shape), np.int64), np.ones(tuple(shape), np.bool_)
    for i, expr in enumerate(coordinates):
        # xDSL's evaluation only adds, multiplies and divides: on arrays as on numbers.
        coordinate = expr.eval(dims, symbols) + np.int64(0 if tap is None else tap[i])
        fits = (coordinate >= 0) & (coordinate < view.shape[i])
        if not fits.all():
            if i not in checked:
                found = f"found {coordinate.min()} to {coordinate.max()} of {view.shape[i]}"
                message = f"'{op.name}': dimension {i} of the view is accessed out of range, {found}"
                raise IrcError(message, op.location, f"`checked` of its properties names dimensions that may be: [{i}]")
            inside &= fits
        place += coordinate * view.strides[i]
    return view, np.where(inside, place, 0), inside


def _along(axis: int, offset: Any, shape: Sequence[int]) -> Array:
    """The coordinates of a tile along one axis, in an array of as many axes."""
    own = [extent if i == axis else 1 for i, extent in enumerate(shape)]
    return np.int64(offset) + np.arange(shape[axis], dtype=np.int64).reshape(own)


def _gathered(m: _Machine, op: tile.AccessOp, type: Any, other: Any, tap: Sequence[int] | None = None) -> Array:
    shape = tile.shape_of(type)
    view, place, inside = _addresses(m, op, shape, tap)
    if view.memory.size == 0:
        return np.broadcast_to(np.asarray(other, view.memory.dtype), shape).copy()
    return np.where(inside, view.memory[place], np.asarray(other, view.memory.dtype))


def _load_index(m: _Machine, op: tile.LoadIndexOp) -> list[Any]:
    view: View = m.values[op.view]
    at = [int(m.values[each]) for each in op.at]
    if not all(0 <= each < extent for each, extent in zip(at, view.shape, strict=True)):
        raise IrcError(f"'{op.name}': element {at} of a view of {list(view.shape)} is read", op.location)
    place = sum(each * stride for each, stride in zip(at, view.strides, strict=True))
    return [np.clip(view.memory[place].astype(np.int64), op.least_value, op.most_value)]


def _find_segment(m: _Machine, op: tile.FindSegmentOp) -> list[Any]:
    view: View = m.values[op.ends]
    ends = np.clip(view.memory[np.arange(op.count) * view.strides[0]].astype(np.int64), 0, op.most_value).tolist()
    left, begin = int(m.values[op.number]), 0
    for segment, end in enumerate([*ends, op.most_value]):
        tiles = ceil_div(max(0, end - begin), op.rows_value)
        if left < tiles or segment == op.count:
            return [segment, begin + left * op.rows_value, end]
        left, begin = left - tiles, end
    raise AssertionError("the last segment has all that is left")


def _load(m: _Machine, op: tile.LoadOp) -> list[Any]:
    other = np.zeros((), dtype_of(op.result.type)) if op.other is None else m.values[op.other]
    return [_gathered(m, op, op.result.type, other)]


def _load_window(m: _Machine, op: tile.LoadWindowOp) -> list[Any]:
    type = op.outputs[0].type
    other = np.zeros((), dtype_of(type)) if op.other is None else m.values[op.other]
    return [_gathered(m, op, type, other, tap) for tap in op.tap_values]


def _copy(m: _Machine, op: tile.CopyOp) -> list[Any]:
    zero = np.zeros((), dtype_of(op.view_type.element_type))
    m.values[op.buffer][...] = _gathered(m, op, op.buffer.type, zero)
    return []


def _store(m: _Machine, op: tile.StoreOp) -> list[Any]:
    value = m.values[op.tile]
    view, place, inside = _addresses(m, op, value.shape)
    if op.own_end is not None:
        dim, end = op.own_end
        inside &= _along(dim, m.values[op.offsets[dim]], value.shape) < m.values[end]
    if op.own_part is not None:
        _count_part(m, op, op.own_part)
    if op.add is not None:
        np.add.at(view.memory, place[inside], value[inside])
    else:
        view.memory[place[inside]] = value[inside]
    return []


def _count_part(m: _Machine, op: tile.StoreOp, own: tile.Part) -> None:
    """Tiles run in their order, so that the parts before are added or never will be."""
    part, semaphores, count = int(m.values[own[0]]), m.values[own[1]], own[2]
    word = tuple(int(m.values[offset]) // SEMAPHORE_ELEMENTS for offset in op.offsets)
    place = sum(at * stride for at, stride in zip(word, semaphores.strides, strict=True))
    if semaphores.memory[place] != part:
        found = f"part {part} of {count} comes when the next one is part {semaphores.memory[place]}"
        raise IrcError(found, location_of(op), "stores that come in the order of their parts")
    semaphores.memory[place] = (part + 1) % count


# Tiles


def _full(value: Any, type: Any) -> Array:
    """The array as a value of a tile type: broadcast, with its dtype."""
    array = np.broadcast_to(np.asarray(value), tile.shape_of(type))
    assert array.dtype == dtype_of(type), f"{array.dtype} in a value of type {type}"
    return array


def _map(m: _Machine, op: tile.MapOp) -> list[Any]:
    return [_full(m.body(op.body, m.get(op.inputs))[0], op.result.type)]


def _iota(m: _Machine, op: tile.IotaOp) -> list[Any]:
    shape = tile.shape_of(op.result.type)
    return [np.int64(m.values[op.offset]) + np.arange(shape[op.axis_value], dtype=np.int64).reshape(shape)]


def _slice(m: _Machine, op: tile.SliceOp) -> list[Any]:
    return [_box(m.values[op.source], op.at_values, m.get(op.offsets), tile.shape_of(op.result.type))]


def _reduce(m: _Machine, op: tile.ReduceOp) -> list[Any]:
    parts = _combined(m, op, op.axis_values, m.get(op.inputs))
    return [p.reshape(tile.shape_of(r.type)) for p, r in zip(parts, op.outputs, strict=True)]


def _fold(m: _Machine, op: tile.FoldOp) -> list[Any]:
    """The elements of a thread get an axis of their own behind that along which threads differ."""
    fragment, arrays = tile.fragment_layout(op.inputs[0].type), m.get(op.inputs)
    for axis in sorted(op.axis_values, reverse=True):
        arrays = [np.take(a, fragment.places(axis), axis) for a in arrays]
    own = [axis + 1 + sum(a < axis for a in op.axis_values) for axis in op.axis_values]
    parts = _combined(m, op, own, arrays)
    return [p.reshape(tile.shape_of(r.type)) for p, r in zip(parts, op.outputs, strict=True)]


def _unfold(m: _Machine, op: tile.UnfoldOp) -> list[Any]:
    fragment, array = tile.fragment_layout(op.result.type), m.values[op.source]
    for axis in op.axis_values:
        places = fragment.places(axis)
        threads = np.empty(fragment.shape[axis], dtype=np.int64)
        threads[places] = np.arange(len(places))[:, None]
        array = np.take(array, threads, axis)
    return [array]


def _combined(m: _Machine, op: tile.CombinerOp, axes: Sequence[int], arrays: Sequence[Array]) -> list[Array]:
    """The elements along some axes, combined in pairs; these axes are no more."""
    kept = [i for i in range(arrays[0].ndim) if i not in axes]
    parts = [a.transpose([*axes, *kept]).reshape(-1, *(a.shape[i] for i in kept)) for a in arrays]
    while len(parts[0]) > 1:
        half = len(parts[0]) // 2
        pairs = [p[: 2 * half].reshape(half, 2, *p.shape[1:]) for p in parts]
        combined = m.body(op.body, [*(p[:, 0] for p in pairs), *(p[:, 1] for p in pairs)])
        parts = [np.concatenate([c, p[2 * half :]]) for c, p in zip(combined, parts, strict=True)]
    return [p[0] for p in parts]


def _scan(m: _Machine, op: tile.ScanOp) -> list[Any]:
    parts = [np.moveaxis(a, op.axis_value, 0) for a in m.get(op.inputs)]
    step = 1
    while step < len(parts[0]):
        combined = m.body(op.body, [*(p[:-step] for p in parts), *(p[step:] for p in parts)])
        parts = [np.concatenate([p[:step], c]) for c, p in zip(combined, parts, strict=True)]
        step *= 2
    return [np.moveaxis(p, 0, op.axis_value) for p in parts]


def _dot(m: _Machine, op: tile.DotOp) -> list[Any]:
    a, b, acc = m.get([op.lhs, op.rhs, op.acc])
    if op.precision is not None:
        a, b = _rounded(a, op.precision.data), _rounded(b, op.precision.data)
    if op.unsigned is not None:
        a, b = a.view(np.uint8), b.view(np.uint8)
    wide = np.float64 if acc.dtype.kind == "f" else acc.dtype
    with np.errstate(all="ignore"):
        return [(acc.astype(wide) + a.astype(wide) @ b.astype(wide)).astype(acc.dtype)]


def _rounded(x: Array, precision: str) -> Array:
    """f32 rounded to the operands of a tf32 or bf16 product, to nearest even."""
    if x.dtype != np.float32 or precision not in ("tf32", "bf16"):
        return x
    drop = 13 if precision == "tf32" else 16
    bits = x.view(np.uint32)
    nearest = (bits + np.uint32((1 << (drop - 1)) - 1) + (bits >> drop & 1)) & np.uint32(
        ~((1 << drop) - 1) & 0xFFFFFFFF
    )
    return np.where(np.isnan(x), x, nearest.view(np.float32))


_RULES: dict[type[Operation], Callable[[_Machine, Any], list[Any]]] = {
    tile.ForTilesOp: _for_tiles,
    tile.PartitionsOp: _partitions,
    tile.TurnOffsetsOp: _turn_offsets,
    tile.TakeTicketOp: _take_ticket,
    tile.ReadTicketOp: lambda m, op: [np.asarray(m.values[op.buffer][0], np.int64)],
    tile.NextTileOp: lambda m, op: [],
    scf.ForOp: _for,
    scf.IfOp: _if,
    tile.ChannelOp: _channel,
    tile.AcquireOp: _acquire,
    tile.CommitOp: _commit,
    tile.WaitOp: _wait,
    tile.BeginTurnOp: lambda m, op: [],
    tile.EndTurnOp: lambda m, op: [],
    tile.SkipOp: _skip,
    tile.ReleaseOp: _release,
    tile.NoSlotOp: lambda m, op: [None],
    tile.OrderOp: lambda m, op: [Order()],
    tile.TakeOp: _take,
    tile.PassOp: _pass,
    tile.AllocOp: lambda m, op: [_new_buffer(op.buffer.type)],
    tile.SubviewOp: _subview,
    tile.TransposeOp: _transpose,
    tile.ReadOp: lambda m, op: [m.values[op.buffer].copy()],
    tile.WriteOp: _write,
    tile.CopyOp: _copy,
    tile.FindSegmentOp: _find_segment,
    tile.LoadIndexOp: _load_index,
    tile.LoadOp: _load,
    tile.LoadWindowOp: _load_window,
    tile.StoreOp: _store,
    tile.StoreWaitOp: lambda m, op: [],
    tile.MapOp: _map,
    tile.ExtentOp: lambda m, op: [op.extent.value.data],
    tile.IotaOp: _iota,
    tile.SplatOp: lambda m, op: [_full(m.values[op.value], op.result.type)],
    tile.SliceOp: _slice,
    tile.ConcatOp: lambda m, op: [np.concatenate(m.get(op.inputs), op.axis_value)],
    tile.PermuteOp: lambda m, op: [m.values[op.source].transpose(op.dim_values)],
    tile.ReshapeOp: lambda m, op: [m.values[op.source].reshape(tile.shape_of(op.result.type))],
    tile.ReduceOp: _reduce,
    tile.FoldOp: _fold,
    tile.UnfoldOp: _unfold,
    tile.ScanOp: _scan,
    tile.DotOp: _dot,
    tile.DotWaitOp: lambda m, op: m.get([op.acc]),
    tile.SumWarpsOp: lambda m, op: m.get([op.source]),
    tile.AccumulatorOp: lambda m, op: [None],
    tile.AsPendingOp: lambda m, op: m.get([op.tile]),
    tile.AwaitOp: lambda m, op: [],
    tile.AnyOp: lambda m, op: [np.asarray(np.any(m.values[op.tile]))],
    tile.ConvertOp: lambda m, op: m.get([op.source]),
}
