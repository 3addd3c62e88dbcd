"""Sums of which each warp along K holds a part, added by way of shared memory."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.lowering.emitter import Index
from irc.lowering.values import Code, element_bytes, tile_element


def lower_sum_warps(code: Code, op: tile.SumWarpsOp) -> None:
    """Threads of different parts that have the same elements write them side by side, element by element: no two of a
    warp meet in a bank. Each of them adds all parts, in their order."""
    e, element, parts = code.e, tile_element(op.result.type), op.parts.value.data
    source = code.materialize(code.tile(op.source), element)
    size, values, threads = element_bytes(element), source.fragment.value_count, code.group.count // parts
    part, thread = e.div(code.group.thread, threads), e.rem(code.group.thread, threads)
    region = code.scratch(parts * values * threads * size)
    base = code.as_index(region.address)

    def address(part: Index, value: Index) -> SSAValue:
        place = e.add(e.mul(e.add(e.mul(part, values), value), threads), thread)
        return e.i32(e.add(base, e.mul(place, size)))

    code.access("write", region)
    with code.each(source.fragment) as at:
        value = code.register(source, at)
        to = address(part, e.sub(value, source.base))
        e.insert(cuda.SharedStoreOp(to, source.array, e.index(value), count=1))
    code.access("read", region)
    result = code.array(source.fragment, element, op.result.name_hint)
    read = e.value(cuda.RegistersOp(1, element))
    with code.each(source.fragment) as at:
        total: SSAValue | None = None
        for each in range(parts):
            e.insert(cuda.SharedLoadOp(address(each, code.register(result, at)), read, e.index(0), count=1))
            found = e.value(cuda.GetOp(read, e.index(0)))
            total = found if total is None else e.value(_sum(total, found))
        assert total is not None
        code.set(result, at, total)
    code.values[op.result] = result


def _sum(a: SSAValue, b: SSAValue) -> arith.AddfOp | arith.AddiOp:
    return arith.AddfOp(a, b) if isinstance(a.type, AnyFloat) else arith.AddiOp(a, b)
