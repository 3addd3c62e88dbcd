"""Dots: the product, which `lower-dots` makes of instructions of tensor cores, or scalar multiply-adds; and waits for
it."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerType, TensorType, f32
from xdsl.ir import Attribute, Block, SSAValue

from irc.analysis.matrix_instructions import reads_shared
from irc.analysis.pending_dots import COMPLETE, is_awaited, issued_since, leaves_in_flight
from irc.dialects import cuda, tile
from irc.ir.blocks import block_of
from irc.layout.instructions import LANES, warp_grid
from irc.layout_assignment.operand_layouts import mma_atom
from irc.lowering import tensor_memory
from irc.lowering.memory import in_channel, read_operand
from irc.lowering.values import Buffer, Code, Registers, Splat, Sums, Tile, tile_element
from irc.support.diagnostics import IrcError

MAX_PENDING = 7
"""Groups of wgmma that a wait can leave in flight (PTX ISA, wgmma.wait_group)."""


def lower_dot(code: Code, op: tile.DotOp) -> None:
    if isinstance(sums := code.values[op.acc], Sums):
        _in_tensor_memory(code, op, sums)
        return
    element = tile_element(op.acc.type)
    source = code.tile(op.acc)
    instruction = op.instruction.data if op.instruction is not None else ""
    starts = instruction == "wgmma" and _is_zero(source)
    if starts:
        acc = _carried_ahead(code, op) or code.array(source.fragment, element, op.result.name_hint)
    elif isinstance(source, Registers) and (isinstance(op.acc.type, tile.PendingType) or _is_last_use(op)):
        acc = source
    else:
        acc = code.array(source.fragment, element, op.result.name_hint)
        code.copy(source, acc)
    match instruction:
        case "wgmma" | "mma":
            _tensor_cores(code, op, acc, overwrites=starts)
        case "fma":
            _fma(code, op, code.buffer(op.lhs), code.buffer(op.rhs), acc)
        case _:
            raise IrcError(f'a dot without an instruction: "{instruction}"', op.location, "run assign-layouts first")
    code.values[op.result] = acc


def _carried_ahead(code: Code, op: tile.DotOp) -> Registers | None:
    """The registers in which a loop carries to its next iteration, in flight, what the dot gives. None of others."""
    block, end = block_of(op), block_of(op).last_op
    if not isinstance(op.result.type, tile.PendingType) or not isinstance(end, scf.YieldOp):
        return None
    at = next((at for at, value in enumerate(end.operands) if value is op.result), None)
    if at is None:
        return None
    place, argument = code.tile(block.args[1 + at]), block.args[1 + at]
    waits = [use.operation for use in argument.uses]
    readers = [use.operation for wait in waits for result in wait.results for use in result.uses]
    users = [block.find_ancestor_op_in_block(each) for each in (*waits, *readers)]
    if not isinstance(place, Registers) or not all(each is not None and each.is_before_in_block(op) for each in users):
        raise IrcError(
            "a dot that a loop carries in flight is issued where its result of the iteration before is still used",
            op.location,
            "the dot behind what is computed of its result",
        )
    return place


def _is_zero(tile: Tile) -> bool:
    """Whether a tile is zero everywhere, which the first wgmma on it need not be told in registers."""
    if not isinstance(tile, Splat) or not isinstance(tile.scalar.owner, arith.ConstantOp):
        return False
    value = tile.scalar.owner.value
    return isinstance(value, FloatAttr) and value.value.data == 0


def _is_last_use(op: tile.DotOp) -> bool:
    """Whether nothing else reads what is added to. A value from outside a loop is used once an iteration."""
    owner = op.acc.owner
    return op.acc.has_one_use() and (owner if isinstance(owner, Block) else owner.parent_block()) is op.parent_block()


def lower_dot_wait(code: Code, op: tile.DotWaitOp) -> None:
    """A wait, unless one before it was enough: ptxas 13.0 serializes products where a later wait leaves more of them in
    flight (C7514)."""
    if isinstance(sums := code.values[op.acc], Sums):
        code.values[op.result] = tensor_memory.load(code, sums, op.result.name_hint)
        return
    acc = code.tile(op.acc)
    if (since := issued_since(op.acc, op)) < COMPLETE:
        assert isinstance(acc, Registers)
        if not is_awaited(op.acc, op):
            code.e.insert(_waiting(since))
        code.e.insert(cuda.RegistersFenceOp(acc.array))
        if isinstance(op.acc.owner, tile.DotOp) and isinstance(op.acc.owner.lhs.type, TensorType):
            operand = code.tile(op.acc.owner.lhs)
            assert isinstance(operand, Registers)
            code.e.insert(cuda.RegistersFenceOp(operand.array))
    code.values[op.result] = acc


def _waiting(since: int) -> cuda.WgmmaWaitOp:
    """A wait that leaves in flight what was issued since, or as many groups of it as an instruction can leave."""
    return cuda.WgmmaWaitOp(min(since, MAX_PENDING))


def lower_await(code: Code, op: tile.AwaitOp) -> None:
    """Waits until only dots that were issued later are in flight. The last wait of an iteration is also for these
    where no iteration follows, see `_wait_in_last`."""
    since = issued_since(op.dot, op)
    if since == COMPLETE:
        return
    e, block = code.e, op.parent_block()
    assert block is not None
    if op is _last_wait(block) and leaves_in_flight(block):
        e.branch(
            _more(code, block),
            lambda: e.insert(_waiting(since)),
            lambda: e.insert(cuda.WgmmaWaitOp(0)),
        )
    else:
        e.insert(_waiting(since))
    e.insert(cuda.RegistersFenceOp(_accumulator(code, op.dot)))


def _wait_in_last(code: Code, block: Block) -> None:
    """In the last iteration of a loop that keeps dots in flight, waits for them, unless its last wait will.

    The wait after the loop would do, but ptxas 13.0 moves conversions of the accumulator up over it. It does not move
    them into a branch.
    """
    if isinstance(block.parent_op(), scf.ForOp) and leaves_in_flight(block) and _last_wait(block) is None:
        with code.e.when(_more(code, block, "uge")):
            code.e.insert(cuda.WgmmaWaitOp(0))


def _last_wait(block: Block) -> tile.AwaitOp | None:
    """The last wait behind the last dot of a block."""
    ops = [op for op in block.ops if isinstance(op, tile.AwaitOp | tile.DotOp)]
    return ops[-1] if ops and isinstance(ops[-1], tile.AwaitOp) else None


def _more(code: Code, block: Block, predicate: str = "ult") -> SSAValue:
    """Whether an iteration follows; with `uge`, whether none does."""
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    following = code.e.add(code.scalar(block.args[0]), code.scalar(loop.step))
    return code.e.compare(predicate, following, code.scalar(loop.ub))


def _accumulator(code: Code, dot: SSAValue) -> SSAValue:
    """The registers that a dot in flight adds to: those of the dots that it goes on with."""
    known = code.values.get(dot)
    if isinstance(known, Registers):
        return known.array
    source = dot.owner.acc if isinstance(dot.owner, tile.DotOp) else tile.carried_from(dot)[1]
    return _accumulator(code, source)


# Tensor cores


def _in_tensor_memory(code: Code, op: tile.DotOp, sums: Sums) -> None:
    """Products whose operands others fill by TMA: the thread that has waited for them issues them."""
    if not all(isinstance(value.type, tile.BufferType) and in_channel(value) for value in (op.lhs, op.rhs)):
        raise IrcError("tcgen05 reads stages that a producer fills", op.location, 'instruction = "mma"')
    e, (overwrites, adds) = code.e, tensor_memory.adding(code, op.acc)
    e.insert(
        cuda.DotOp(
            sums.tensor,
            e.index(0),
            _matrix(code, code.buffer(op.lhs)),
            None,
            _matrix(code, code.buffer(op.rhs)),
            e.index(code.group.thread),
            adds=adds,
            shape=op.mnk,
            instruction=cuda.TCGEN05,
            warps=(code.group.count // LANES, 1),
            overwrites=overwrites,
            unsigned=op.unsigned is not None,
        )
    )
    code.values[op.result] = sums


def _tensor_cores(code: Code, op: tile.DotOp, acc: Registers, *, overwrites: bool) -> None:
    """The threads meet before they read what they have written themselves."""
    e, atom = code.e, None if reads_shared(op) else mma_atom(op)
    buffers = [value for value in (op.lhs, op.rhs) if isinstance(value.type, tile.BufferType)]
    if not all(map(in_channel, buffers)):
        code.access("read")
    elif atom is not None:
        code.access("end_read")
    lhs, first = _lhs(code, op)
    e.insert(
        cuda.DotOp(
            acc.array,
            e.index(acc.base),
            lhs,
            first,
            _matrix(code, code.buffer(op.rhs)),
            e.index(code.group.thread),
            shape=op.mnk,
            instruction=cuda.WGMMA if atom is None else atom.name,
            warps=(code.group.count // LANES, 1) if atom is None else warp_grid(acc.fragment),
            parts=1 if op.parts is None else op.parts.value.data,
            overwrites=overwrites,
            unsigned=op.unsigned is not None,
            tf32x3=atom is not None and op.precision is None and tile.element_type_of(op.lhs.type) == f32,
        )
    )
    if atom is None:
        _finish(code, op, acc)


def _lhs(code: Code, op: tile.DotOp) -> tuple[SSAValue, SSAValue | None]:
    """The left operand as a matrix in shared memory, or in registers from an index on."""
    if isinstance(op.lhs.type, tile.BufferType):
        return _matrix(code, code.buffer(op.lhs)), None
    registers = code.materialize(code.tile(op.lhs), tile_element(op.lhs.type))
    return registers.array, code.e.index(registers.base)


def _matrix(code: Code, buffer: Buffer) -> SSAValue:
    type = cuda.MatrixType(buffer.element, tile.SharedAttr(buffer.layout))
    return code.e.value(cuda.MatrixOp(code.e.index(buffer.address), [code.e.index(at) for at in buffer.origin], type))


def _finish(code: Code, op: tile.DotOp, acc: Registers) -> None:
    """What follows the products of a dot; the compiler sees their registers change where they are waited for."""
    block = block_of(op)
    if not isinstance(op.result.type, tile.PendingType):
        code.e.insert(cuda.WgmmaWaitOp(0))
        code.e.insert(cuda.RegistersFenceOp(acc.array))
    elif op is [each for each in block.ops if isinstance(each, tile.DotOp)][-1]:
        _wait_in_last(code, block)


# Scalar multiply-adds


def _fma(code: Code, op: tile.DotOp, lhs: Buffer, rhs: Buffer, acc: Registers) -> None:
    code.access("read")
    e, element, unsigned = code.e, tile_element(op.acc.type), op.unsigned is not None
    rows, columns = acc.fragment.project([1]), acc.fragment.project([0])
    with e.loop(0, lhs.shape[1], unroll=True, hint="k") as k:
        a = read_operand(code, lhs, rows, 1, k)
        b = read_operand(code, rhs, columns, 0, k)
        with code.each(acc.fragment) as at:
            x = _convert(code, code.element(a, acc.fragment, at), element, unsigned)
            y = _convert(code, code.element(b, acc.fragment, at), element, unsigned)
            before = code.element(acc, acc.fragment, at)
            if isinstance(element, IntegerType):
                after = e.value(arith.AddiOp(before, e.value(arith.MuliOp(x, y))))
            else:
                after = e.value(arith.AddfOp(before, e.value(arith.MulfOp(x, y))))
            code.set(acc, at, after)


def _convert(code: Code, value: SSAValue, element: Attribute, unsigned: bool) -> SSAValue:
    if value.type == element:
        return value
    if isinstance(element, IntegerType):
        return code.e.value(arith.ExtUIOp(value, element) if unsigned else arith.ExtSIOp(value, element))
    assert isinstance(element, AnyFloat)
    return code.e.value(arith.ExtFOp(value, element))
