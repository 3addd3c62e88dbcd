"""Maps on 16-bit floats, and from 8 bits to them, two elements at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation, SSAValue

from irc.analysis.bit_fields import BitField, bit_field
from irc.dialects import cuda, tile
from irc.layout.fragment import Fragment
from irc.lowering.emitter import Index
from irc.lowering.values import Code, Registers, Splat, Tile, matching, tile_element

Pair = tuple[SSAValue, SSAValue]
"""A register array and an index: two elements from there on."""

_KINDS = tuple(f"arith.{kind}" for kind in cuda.PACKED)


def is_packed(op: tile.MapOp, inputs: Sequence[Tile], fragment: Fragment) -> bool:
    """Whether the body is arithmetic of one 16-bit type that a register holds two elements of, and every operand has
    them side by side or one for both."""
    element, block = tile_element(op.result.type), op.body.block
    if not isinstance(element, BFloat16Type | Float16Type) or fragment.vector[1] % cuda.PAIR:
        return False
    *body, last = block.ops
    values = [*block.args, *(v for inner in body for v in (*inner.operands, *inner.results))]
    is_inside = all(v.owner is block or (isinstance(v.owner, Operation) and v.owner.parent is block) for v in values)
    is_narrow = all(v.type == element for v in values)
    is_arithmetic = all(inner.name in _KINDS or isinstance(inner, arith.ConstantOp) for inner in body)
    made = last.operands[0].owner
    is_made = isinstance(made, Operation) and made.name in _KINDS and last.operands[0].has_one_use()
    return (
        is_inside and is_narrow and is_arithmetic and is_made and all(_lies_in_pairs(each, fragment) for each in inputs)
    )


_WIDENING = (arith.ExtFOp, arith.SIToFPOp, arith.UIToFPOp)


def is_widened(op: tile.MapOp, inputs: Sequence[Tile], fragment: Fragment) -> bool:
    """Whether the body makes a 16-bit float of an element of 8 bits or of some of its bits, and no more, where both
    have registers."""
    element = tile_element(op.result.type)
    if not isinstance(element, BFloat16Type | Float16Type) or fragment.vector[1] % cuda.PAIR or len(inputs) != 1:
        return False
    source = inputs[0]
    is_alike = isinstance(source, Registers) and source.fragment == fragment and fragment.value_count % cuda.WORD == 0
    return is_alike and _widened_field(op) is not None


def _widened_field(op: tile.MapOp) -> BitField | None:
    """The bits of the only input that the body widens to a number, if it does no more."""
    block = op.body.block
    (yielded,) = cast(Operation, block.last_op).operands
    made = yielded.owner
    if not isinstance(made, _WIDENING) or made.parent is not block or cuda.size_of(made.input.type) != 1:
        return None
    field = bit_field(made.input, unsigned=isinstance(made, arith.UIToFPOp))
    return field if field.source in block.args else None


def lower_widened(code: Code, op: tile.MapOp, source: Tile, result: Registers) -> None:
    """Each pair of elements by one function."""
    assert isinstance(source, Registers)
    first = result.fragment.values[0]
    field = _widened_field(op)
    assert field is not None
    bits = None if field.is_whole else (field.first, field.count)
    with code.each(result.fragment, cuda.PAIR) as components, code.e.at(op.location):
        at = code.register(source, components)
        following = code.e.add(at, source.strides[source.fragment.values.index(first)])
        target = (result.array, code.e.index(code.register(result, components)))
        indices = (code.e.index(at), code.e.index(following))
        code.e.insert(cuda.PackedWidenOp(source.array, *indices, target, unsigned=field.unsigned, bits=bits))


def _lies_in_pairs(source: Tile, fragment: Fragment) -> bool:
    """Whether the elements that meet a pair of the fragment are a pair of registers, or one register."""
    if isinstance(source, Splat):
        return True
    if not isinstance(source, Registers):
        return False
    strides = dict(zip(source.fragment.values, source.strides, strict=True))
    step = strides.pop(fragment.values[0], None)
    return step is None or (step == 1 and source.base == 0 and all(s % cuda.PAIR == 0 for s in strides.values()))


def lower_packed(code: Code, op: tile.MapOp, inputs: Sequence[Tile], result: Registers) -> None:
    """The body on each pair; what it makes on the way lies in arrays of two."""
    fragment = result.fragment
    pairs: dict[SSAValue, Pair] = {}
    for inner in op.body.block.ops:
        if isinstance(inner, arith.ConstantOp):
            pairs[inner.result] = _twice(code, code.e.value(inner.clone()))
    with code.each(fragment, cuda.PAIR) as components:
        for argument, source in zip(op.body.block.args, inputs, strict=True):
            pairs[argument] = _pair(code, source, fragment, components)
        for inner in op.body.block.ops:
            if inner.name not in _KINDS:
                continue
            (made,) = inner.results
            is_last = any(isinstance(use.operation, tile.YieldOp) for use in made.uses)
            target = (result.array, code.e.index(code.register(result, components))) if is_last else _fresh(code, made)
            left, right = (pairs[v] for v in inner.operands)
            with code.e.at(inner.location):
                code.e.insert(cuda.PackedOp(inner.name.removeprefix("arith."), left, right, target))
            pairs[made] = target


def _pair(code: Code, source: Tile, fragment: Fragment, components: Sequence[Index]) -> Pair:
    """The elements of an operand that meet a pair."""
    if isinstance(source, Registers) and fragment.values[0] in source.fragment.values:
        own = matching(source.fragment, fragment, components)
        return source.array, code.e.index(code.register(source, own))
    return _twice(code, code.element(source, fragment, components))


def _twice(code: Code, scalar: SSAValue) -> Pair:
    """One element for both."""
    array, zero = _fresh(code, scalar)
    for at in range(cuda.PAIR):
        code.e.insert(cuda.SetOp(array, code.e.index(at), scalar))
    return array, zero


def _fresh(code: Code, like: SSAValue) -> Pair:
    return code.e.value(cuda.RegistersOp(cuda.PAIR, like.type)), code.e.index(0)
