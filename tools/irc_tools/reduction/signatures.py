"""Edits of what goes into functions and regions and comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from irc_tools.reduction.edits import Edit, inner_ops, is_there, replaced

ValueT = TypeVar("ValueT")


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


def cut_values(module: ModuleOp) -> list[Edit]:
    """Ops of functions, with new arguments in the place of their arrays: what they were computed from can go."""
    return [
        partial(_cut, function, op)
        for function in _functions(module)
        for op in reversed([*function.body.block.ops])
        if op.results and all(isinstance(result.type, TensorType) for result in op.results)
    ]


def _cut(function: FuncOp, op: Operation) -> bool:
    if not is_there(op):
        return False
    block = function.body.block
    arguments = [block.insert_arg(result.type, len(block.args)) for result in op.results]
    replaced(op, arguments)
    _retype(function, [*_attributes(function), *([DictionaryAttr({})] * len(arguments))])
    return True


def drop_arguments(module: ModuleOp) -> list[Edit]:
    """Arguments of functions that nobody uses."""
    found = [(function, arg) for function in _functions(module) for arg in reversed(function.body.block.args)]
    return [partial(_drop_argument, function, arg.index) for function, arg in found]


def _drop_argument(function: FuncOp, index: int) -> bool:
    arg = function.body.block.args[index]
    if arg.first_use is not None:
        return False
    attributes = _attributes(function)
    function.body.block.erase_arg(arg)
    _retype(function, attributes[:index] + attributes[index + 1 :])
    return True


def drop_returns(module: ModuleOp) -> list[Edit]:
    """Results of functions."""
    return [
        partial(_drop_return, function, index)
        for function in _functions(module)
        for index in reversed(range(len(function.function_type.outputs)))
    ]


def _drop_return(function: FuncOp, index: int) -> bool:
    last = function.body.block.last_op
    if last is None or len(last.operands) != len(function.function_type.outputs):
        return False
    last.operands = [value for number, value in enumerate(last.operands) if number != index]
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr([each for n, each in enumerate(function.res_attrs) if n != index])
    _retype(function, _attributes(function))
    return True


def _attributes(function: FuncOp) -> list[DictionaryAttr]:
    """Those of the arguments."""
    if function.arg_attrs is None:
        return [DictionaryAttr({})] * len(function.function_type.inputs)
    return list(function.arg_attrs)


def _retype(function: FuncOp, attributes: Sequence[DictionaryAttr]) -> None:
    """Gives a function the type of its block, with these attributes of the arguments."""
    block = function.body.block
    results: Sequence[Attribute] = () if block.last_op is None else [value.type for value in block.last_op.operands]
    function.function_type = FunctionType.from_lists([arg.type for arg in block.args], list(results))
    function.arg_attrs = ArrayAttr(attributes) if any(each.data for each in attributes) else None


def drop_carried(module: ModuleOp) -> list[Edit]:
    """What goes into a region, comes out of it, or is carried around a loop: a result that nobody uses with the operand
    of the terminator, and an argument of the block with the operand of the op. Where regions have other forms, the
    candidate is invalid."""
    edits: list[Edit] = []
    for op in inner_ops(module):
        if isinstance(op, FuncOp) or not op.regions:
            continue
        for index in reversed(range(len(op.results))):
            edits += [partial(_drop_result, op, index, carried) for carried in (True, False)]
        if (block := op.regions[0].first_block) is not None:
            edits += [partial(_drop_input, op, index) for index in reversed(range(len(block.args)))]
    return edits


def _drop_result(op: Operation, index: int, carried: bool) -> bool:
    if not is_there(op) or index >= len(op.results) or op.results[index].first_use is not None:
        return False
    from_end = index - len(op.results)
    if carried and len(op.operands) < -from_end:
        return False
    for block in _blocks(op):
        if (last := block.last_op) is not None and index < len(last.operands):
            last.operands = _without(last.operands, index)
        if carried:
            _take_argument(block, from_end, op.operands[from_end])
    operands = _without(op.operands, len(op.operands) + from_end) if carried else list(op.operands)
    _rebuild(op, operands, _without(op.results, index))
    return True


def _drop_input(op: Operation, index: int) -> bool:
    block = op.regions[0].first_block if is_there(op) else None
    if block is None or index >= len(block.args) or block.args[index].first_use is not None:
        return False
    from_end = index - len(block.args)
    if not op.operands:  # of a kernel or a program
        block.erase_arg(block.args[index])
        return True
    if len(op.operands) < -from_end:
        return False
    for each in _blocks(op):
        _take_argument(each, from_end, op.operands[from_end])
    _rebuild(op, _without(op.operands, len(op.operands) + from_end), list(op.results))
    return True


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _without(values: Sequence[ValueT], index: int) -> list[ValueT]:
    return [value for number, value in enumerate(values) if number != index]


def _take_argument(block: Block, from_end: int, value: SSAValue) -> None:
    """Erases an argument of a block; where it is used, it has the value that comes in."""
    if len(block.args) >= -from_end:
        arg = block.args[from_end]
        arg.replace_all_uses_with(value)
        block.erase_arg(arg)


def _rebuild(op: Operation, operands: Sequence[SSAValue], results: Sequence[OpResult]) -> None:
    """Puts an op with these operands, and these of its results, in its place."""
    new = type(op).create(
        operands=operands,
        result_types=[result.type for result in results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        successors=list(op.successors),
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for old, result in zip(results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()
