"""A module of `nd` functions to `.irc` text; parsing the text gives the same IR up to names and locations.

Each op is one statement. Constants and broadcasts that an operator would make itself, and nothing else uses, are left
to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.ir.discardable import ARGUMENT_NAME, DECLARED, DEFERRED, RELAXED
from irc.ir.dtypes import element_of
from irc.ir.extents import dims_of
from irc.language.builder import broadcast_shapes
from irc.language.donating import donation_texts
from irc.language.evaluator import ELEMENT_NAMES, KEYWORDS
from irc.language.functions import BUILTINS
from irc.language.gradients import TRANSFORMS
from irc.language.spelling import expression, number_text, shape_text
from irc.support.diagnostics import IrcError

_RESERVED = frozenset((*KEYWORDS, *ELEMENT_NAMES, *BUILTINS, *TRANSFORMS))
_NOT_A_NAME = re.compile(r"[^A-Za-z_0-9]")

_UNIFYING = (nd.BinaryOp, nd.WhereOp, nd.ClampOp)
"""Ops whose operands the language broadcasts, and whose literals take the type of the other operands."""


def print_module(module: ModuleOp) -> str:
    """The text of every function. Raises IrcError at an op that the language cannot say."""
    dims = dims_of(module)
    names = _Names(_RESERVED | {dim.name for dim in dims})
    functions = [_as_function(op) for op in module.ops]
    titles = [names.fresh(function.sym_name.data) for function in functions]
    parts = [_FunctionPrinter(f, title, names.copy()).print() for f, title in zip(functions, titles, strict=True)]
    declared = [f"dim {', '.join(dim.text for dim in dims)}\n"] if dims else []
    return "\n".join([*declared, *parts])


def _as_function(op: Operation) -> FuncOp:
    if not isinstance(op, FuncOp) or len(op.body.blocks) != 1:
        raise IrcError(f"{op.name} has no spelling in .irc", op.location, "only functions of nd ops do")
    return op


class _Names:
    """Names that are taken, and fresh ones like those asked for."""

    def __init__(self, taken: frozenset[str]):
        self.taken = set(taken)
        self.next: dict[str, int] = {}

    def copy(self) -> _Names:
        return _Names(frozenset(self.taken))

    def fresh(self, wanted: str | None) -> str:
        """A name that is not taken, and is now. Counters follow without `_`: xDSL cuts `_1` off name hints."""
        name = base = self._base(wanted)
        if name in self.taken and base[-1].isdigit():
            base += "x"
        while name in self.taken:
            self.next[base] = self.next.get(base, 0) + 1
            name = f"{base}{self.next[base]}"
        self.taken.add(name)
        return name

    def _base(self, wanted: str | None) -> str:
        base = _NOT_A_NAME.sub("_", wanted or "v")
        return f"v{base}" if base[0].isdigit() else base


class _FunctionPrinter:
    def __init__(self, function: FuncOp, title: str, names: _Names):
        self.function = function
        self.title = title
        self.names = names
        self.block: Block = function.body.blocks[0]
        self.text: dict[SSAValue, str] = {}
        self.donated = donation_texts(function)

    def print(self) -> str:
        arguments = [self._argument(i) for i in range(len(self.block.args))]
        lines = list(self._statements())
        results = [self._type(type) for type in self.function.function_type.outputs]
        if not results:
            raise IrcError(f"{self.title} returns nothing", self.function.location, "a function has one result or more")
        listed = results[0] if len(results) == 1 else f"({', '.join(results)})"
        body = "".join(f"    {line}\n" for line in lines)
        return f"func {self.title}({', '.join(arguments)}) -> {listed} {{\n{body}}}\n"

    def _argument(self, index: int) -> str:
        argument = self.block.args[index]
        attributes = self.function.arg_attrs
        named = attributes.data[index].data.get(ARGUMENT_NAME) if attributes is not None else None
        wanted = named.data if isinstance(named, StringAttr) else argument.name_hint
        self.text[argument] = self.names.fresh(wanted)
        return f"{self.donated.get(index, '')}{self.text[argument]}: {self._type(argument.type)}"

    def _type(self, type: Attribute) -> str:
        try:
            return f"{element_of(type).name}{shape_text(nd.shape_of(type), self.function)}"
        except KeyError:
            raise IrcError(f"{type} has no spelling in .irc") from None

    def _statements(self) -> Iterator[str]:
        ops = list(self.block.ops)
        absorbed = _absorbed(ops)
        for op in ops:
            if op in absorbed:
                self._absorb(op)
            elif isinstance(op, ReturnOp):
                yield f"return {', '.join(self.text[value] for value in op.operands)}"
            else:
                yield self._statement(op)

    def _absorb(self, op: Operation) -> None:
        """The text of an op within its user: a literal, or the operand that is broadcast."""
        if isinstance(op, nd.ConstantOp):
            value = op.splat_value
            assert value is not None
            self.text[op.result] = number_text(value, element_of(op.result.type))
        else:
            self.text[op.results[0]] = self.text[op.operands[0]]

    def _statement(self, op: Operation) -> str:
        text = expression(op, [self.text[value] for value in op.operands]) if isinstance(op, nd.NdOp) else None
        if text is None:
            raise IrcError(f"{op.name} has no spelling in .irc", op.location)
        text = self._with_attributes(op, text)
        for result in op.results:
            self.text[result] = self.names.fresh(result.name_hint)
        return f"{', '.join(self.text[result] for result in op.results)} = {text}"

    def _with_attributes(self, op: Operation, text: str) -> str:
        for name, value in op.attributes.items():
            if name == DECLARED:
                text = f"declared({text}, {element_of(value).name})"
            elif name == DEFERRED:
                text = f"deferred({text})"
            elif name == RELAXED:
                text = f"relaxed({text})"
            else:
                raise IrcError(f"the attribute {name} of {op.name} has no spelling in .irc", op.location)
        return text


def _absorbed(ops: Sequence[Operation]) -> set[Operation]:
    """Constants and broadcasts that their only user makes when parsed: those just before it, in its operands' order."""
    found: set[Operation] = set()
    for position, op in enumerate(ops):
        if isinstance(op, nd.PadOp):
            candidates = _before(ops, position, [op.value])
            found.update(c for c in candidates if isinstance(c, nd.ConstantOp))
        elif isinstance(op, _UNIFYING):
            candidates = _before(ops, position, list(op.operands))
            found.update(_longest(op, candidates))
    return found


def _before(ops: Sequence[Operation], position: int, operands: list[SSAValue]) -> list[Operation]:
    """The ops before `position`, nearest first, that can be left to their user."""
    candidates: list[Operation] = []
    for operand in reversed(operands):
        nearest = ops[position - 1 - len(candidates)] if position > len(candidates) else None
        if operand.owner is nearest and nearest is not None and _is_helper(nearest):
            candidates.append(nearest)
    return candidates


def _is_helper(op: Operation) -> bool:
    if op.attributes or not op.results[0].has_one_use():
        return False
    if isinstance(op, nd.ConstantOp):
        return op.splat_value is not None
    if not isinstance(op, nd.BroadcastOp):
        return False
    rank, dims = nd.rank_of(op.result), ints(op.dims)
    return dims == tuple(range(rank - len(dims), rank)) and nd.shape_of(op.x) != nd.shape_of(op.result)


def _longest(op: Operation, candidates: list[Operation]) -> list[Operation]:
    """As many candidates, from the nearest, as the parser makes again."""
    for count in range(len(candidates), 0, -1):
        if _is_remade(op, candidates[:count]):
            return candidates[:count]
    return []


def _is_remade(op: Operation, absorbed: list[Operation]) -> bool:
    """Whether parsing the op without these makes them: an operand gives the type, the shapes broadcast to the op's."""
    sources = [_source(value, absorbed) for value in op.operands]
    typed = sources[1:] if isinstance(op, nd.WhereOp) else sources
    if all(source is None for source in typed) or (isinstance(op, nd.WhereOp) and sources[0] is None):
        return False
    if isinstance(op, nd.ShiftOp | nd.PowOp) and sources[1] is None and not _is_amount(op.operands[1]):
        return False
    shapes = [nd.shape_of(source) for source in sources if source is not None]
    return broadcast_shapes(shapes) == nd.shape_of(op.operands[0])


def _source(value: SSAValue, absorbed: list[Operation]) -> SSAValue | None:
    """What stands in the text for an operand; None for a literal."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner not in absorbed:
        return value
    return None if isinstance(owner, nd.ConstantOp) else owner.operands[0]


def _is_amount(value: SSAValue) -> bool:
    """Whether a constant can be the right side of a shift, or of `**` on integers."""
    owner = value.owner
    assert isinstance(owner, nd.ConstantOp) and owner.splat_value is not None
    return element_of(value.type).is_float or owner.splat_value >= 0
