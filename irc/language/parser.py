"""A program's text to a module: dims are computed, each function becomes a `func.func` with its calls inlined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from irc.ir.discardable import ARGUMENT_NAME
from irc.ir.donation import DONATED
from irc.ir.dtypes import Element
from irc.ir.extents import declare_dims
from irc.language import numbers
from irc.language.builder import Builder
from irc.language.donating import donated_results
from irc.language.evaluator import ELEMENT_NAMES, KEYWORDS, Evaluator
from irc.language.functions import BUILTINS
from irc.language.gradients import TRANSFORMS
from irc.language.numbers import NumberError
from irc.language.operators import Operand
from irc.language.reader import read
from irc.language.signature import Signature
from irc.language.syntax import Assignment, Binding, DimBinding, Function, Program, RangeBinding, Return
from irc.language.values import Array, Several, Value, array_of, describe, suggestion, tensor_type
from irc.support.diagnostics import IrcError, Span, register_source
from irc.support.extents import Dim, dim_of


def parse(text: str, filename: str = "<text>", dims: Mapping[str, int] | None = None) -> ModuleOp:
    """The module of a program: a function for each, the entry last. `dims` replaces the values of dims by name.

    Raises IrcError at the first error.
    """
    register_source(filename, text)
    program = read(text, filename)
    return ProgramBuilder(program, filename, text, dims or {}).build()


class ProgramBuilder:
    """The module of a syntax tree, item by item."""

    def __init__(self, program: Program, file: str, text: str, replaced: Mapping[str, int]):
        self.program = program
        self.file = file
        self.text = text
        self.replaced = replaced
        self.dims: dict[str, Value] = {}
        self.ranges: list[Dim] = []
        self.functions: dict[str, Signature] = {}
        self.scopes: dict[str, Mapping[str, Value]] = {}
        """The values of names in each function, as far as it was built."""
        self.global_names: set[str] = set()
        self.builder = Builder(file, Block(), self.ranges)

    def build(self) -> ModuleOp:
        self.check_names()
        self._check_replaced()
        functions = [function for item in self.program.items if (function := self.add(item)) is not None]
        if not functions:
            raise IrcError(
                "a program has one function or more", Span(self.file, 1, 1), "func f(x: f32[4]) -> f32[4] { ... }"
            )
        module = ModuleOp(list(functions))
        declare_dims(module, self.ranges)
        return module

    def add(self, item: DimBinding | RangeBinding | Function) -> FuncOp | None:
        """Builds an item behind those that it uses: the op of a function, nothing of a dim."""
        if isinstance(item, Function):
            return self._function(item)
        self.dims[item.name] = self._dim(item) if isinstance(item, DimBinding) else self._range(item)
        return None

    # Names

    def check_names(self) -> None:
        """Dims and functions have distinct names of their own."""
        seen = self.global_names
        for item in self.program.items:
            binding = item.name if isinstance(item, Function) else item
            self._check_name(binding)
            if binding.name in seen:
                raise self.builder.error(f"{binding.name} is defined twice", binding.place)
            seen.add(binding.name)

    def _check_name(self, binding: Binding) -> None:
        name = binding.name
        kinds = (
            ("a keyword", KEYWORDS),
            ("an element type", ELEMENT_NAMES),
            ("a builtin function", {**BUILTINS, **TRANSFORMS}),
        )
        for what, names in kinds:
            if name in names:
                raise self.builder.error(f"{name} is {what}", binding.place, f"choose another name, such as {name}_")

    def check_local(self, binding: Binding, scope: Mapping[str, Value], parameters: frozenset[str]) -> None:
        """A new name in a function."""
        self._check_name(binding)
        if binding.name in self.global_names:
            what = "a dim" if binding.name in self.dims else "a function or a dim"
            raise self.builder.error(
                f"{binding.name} is {what}", binding.place, f"choose another name, such as {binding.name}_"
            )
        if binding.name in scope:
            what = "an argument" if binding.name in parameters else "bound already"
            raise self.builder.error(f"{binding.name} is {what}", binding.place, "names are bound once")

    def _check_replaced(self) -> None:
        known = [item.name for item in self.program.items if isinstance(item, DimBinding | RangeBinding)]
        for name, value in self.replaced.items():
            if not hasattr(value, "__index__"):
                raise IrcError(f"the dim {name} must be an integer, found {value!r}", Span(self.file, 1, 1))
            if name not in known:
                hint = suggestion(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
                raise IrcError(f"the program has no dim {name}", Span(self.file, 1, 1), hint)

    def _dim(self, item: DimBinding) -> Value:
        value = Evaluator(self.builder, self.dims, {}, self.global_names).number(item.value, f"the dim {item.name}")
        if item.name not in self.replaced:
            return value
        try:
            return numbers.integer(self.replaced[item.name])
        except NumberError as error:
            raise self.builder.rejected(error, item.place) from None

    def _range(self, item: RangeBinding) -> Value:
        """A dim that is known when the program is called, or the size that replaces it."""
        evaluator = Evaluator(self.builder, self.dims, {}, self.global_names)
        least = int(evaluator.number(item.least, f"the least size of the dim {item.name}").value)
        most = int(evaluator.number(item.most, f"the largest size of the dim {item.name}").value)
        multiple = 1
        if item.multiple is not None:
            multiple = int(evaluator.number(item.multiple, f"what the dim {item.name} is a multiple of").value)
        try:
            found = dim_of(item.name, least, most, multiple, avoid=self._literals())
        except ValueError as error:
            raise self.builder.error(f"the dim {item.name} has no size: {error}", item.place) from None
        if item.name in self.replaced:
            found.check(self.replaced[item.name], f"the size given for {item.name}")
            return numbers.integer(self.replaced[item.name])
        self.ranges.append(found)
        return numbers.extent(found.stand_in, item.name)

    def _literals(self) -> Iterator[int]:
        """All numbers that extents of the program can be made of: its literals, and what dims are and stand for."""
        yield from (int(digits) for digits in re.findall(r"\d+", re.sub("#.*", "", self.text)))
        yield from self.replaced.values()
        yield from (int(dim.value) for dim in self.dims.values() if isinstance(dim, numbers.Number))

    # Functions

    def _function(self, item: Function) -> FuncOp:
        types = Evaluator(self.builder, self.dims, {}, self.global_names)
        parameters = [(p.name, *types.type(p.type)) for p in item.parameters]
        results = [types.type(node) for node in item.results]
        block = Block(arg_types=[tensor_type(shape, element) for _, shape, element in parameters])
        body = _FunctionBuilder(self, item, Builder(self.file, block, self.ranges), results)
        self.scopes[item.name.name] = body.scope
        body.build()
        self.functions[item.name.name] = Signature(item.name.name, tuple(parameters), tuple(results), block)
        function_type = FunctionType.from_lists(
            [argument.type for argument in block.args], [tensor_type(shape, element) for shape, element in results]
        )
        donated = donated_results(self.builder, item, [(shape, element) for _, shape, element in parameters], results)
        function = FuncOp(item.name.name, function_type, Region(block), arg_attrs=_arg_attrs(parameters, donated))
        function.location = self.builder.location(item.name.place)
        return function


def _arg_attrs(
    parameters: list[tuple[str, tuple[int, ...], Element]], donated: dict[int, int]
) -> ArrayAttr[DictionaryAttr] | None:
    attributes: list[dict[str, Attribute]] = [
        {} if _hint(name) == name else {ARGUMENT_NAME: StringAttr(name)} for name, _, _ in parameters
    ]
    for parameter, result in donated.items():
        attributes[parameter][DONATED] = IntegerAttr(result, i64)
    return ArrayAttr([DictionaryAttr(entry) for entry in attributes]) if any(attributes) else None


def _hint(name: str) -> str | None:
    """The name as a name hint: xDSL cuts off `_1`; nothing where that leaves nothing."""
    return SSAValue.extract_valid_name(name) or None


class _FunctionBuilder:
    """The body of one function."""

    def __init__(
        self, program: ProgramBuilder, item: Function, builder: Builder, results: list[tuple[tuple[int, ...], Element]]
    ):
        self.program = program
        self.item = item
        self.builder = builder
        self.results = results
        self.scope: dict[str, Value] = dict(program.dims)
        self.parameters = frozenset(p.name for p in item.parameters)
        self.evaluator = Evaluator(builder, self.scope, program.functions, program.global_names)

    def build(self) -> None:
        arguments = self.builder.block.args
        for parameter, argument in zip(self.item.parameters, arguments, strict=True):
            self._bind(parameter, array_of(argument))
        body = self.item.body
        for statement in body[:-1]:
            if isinstance(statement, Return):
                raise self.builder.error("statements after return", statement.place, "return is the last statement")
            self._assign(statement)
        last = body[-1]
        if not isinstance(last, Return):
            self._assign(last)
            raise self.builder.error(
                f"{self.item.name.name} does not return", self.item.end, "the last statement is `return expr`"
            )
        self._return(last)

    def _bind(self, target: Binding, value: Value) -> None:
        self.program.check_local(target, self.scope, self.parameters)
        self.scope[target.name] = value
        if isinstance(value, Array) and value.value.name_hint is None:
            value.value.name_hint = _hint(target.name)

    def _assign(self, statement: Assignment) -> None:
        value = self.evaluator.evaluate(statement.value)
        if statement.type is not None:
            shape, element = self.evaluator.type(statement.type)
            operand = (value, statement.value.place)
            value = self.evaluator.typed(operand, shape, element, f"{statement.targets[0].name} is declared {{}}")
        if len(statement.targets) == 1:
            self._assign_one(statement, value)
            return
        values = value.values if isinstance(value, Several) else (value,)
        if len(values) != len(statement.targets):
            message = f"{len(statement.targets)} names for {describe(value)}"
            raise self.builder.error(message, statement.value.place)
        for target, part in zip(statement.targets, values, strict=True):
            self._bind(target, part)

    def _assign_one(self, statement: Assignment, value: Value) -> None:
        if isinstance(value, Several):
            count = len(value.values)
            if count != 1:
                hint = ", ".join(f"{statement.targets[0].name}{i}" for i in range(min(count, 4))) + " = ..."
                raise self.builder.error(f"one name for {count} values", statement.value.place, hint)
            value = value.values[0]
        if not isinstance(value, Array | numbers.Number):
            message = f"a name stands for an array or a number, found {describe(value)}"
            raise self.builder.error(message, statement.value.place)
        self._bind(statement.targets[0], value)

    def _return(self, statement: Return) -> None:
        operands: list[Operand] = []
        for node in statement.values:
            value, place = self.evaluator.operand(node)
            operands += [(part, place) for part in (value.values if isinstance(value, Several) else (value,))]
        if len(operands) != len(self.results):
            message = f"{self.item.name.name} is declared with {len(self.results)} results, found {len(operands)}"
            raise self.builder.error(message, statement.place)
        arrays = [
            self.evaluator.typed(operand, shape, element, self._result_message(index))
            for index, (operand, (shape, element)) in enumerate(zip(operands, self.results, strict=True))
        ]
        op = ReturnOp(*(array.value for array in arrays))
        op.location = self.builder.location(statement.place)
        self.builder.append(op, statement.place)

    def _result_message(self, index: int) -> str:
        which = "the result" if len(self.results) == 1 else f"result {index}"
        return f"{which} of {self.item.name.name} is declared {{}}"
