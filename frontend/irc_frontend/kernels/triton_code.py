"""`triton_kernel`: a function of Triton as an op with declared operands, results and effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any

from irc_frontend.graph import fail
from irc_frontend.kernels.declared import MAX_THREADS, Array, Count, DeclaredKernel, Grid, value_of

if TYPE_CHECKING:
    from irc.codegen.triton_compiler import Parameter, TritonCode
    from irc.dialects.cuda import KernelOp
    from irc_frontend.kernels.signatures import Bound

__all__ = ["TritonKernel", "triton_kernel"]


def triton_kernel(
    function: Any,
    *,
    operands: str,
    results: str,
    grid: Grid,
    values: Mapping[str, Any] | None = None,
    num_warps: Count = 4,
    num_stages: Count = 3,
    updates: Mapping[str, str] | None = None,
    zeroed: Sequence[str] = (),
    reference: Callable[..., Any] | None = None,
) -> TritonKernel:
    """A function under `triton.jit` as a function of arrays (docs/cuda-kernels.md#triton).

    `operands` and `results` declare arrays and numbers, `"x: T[M, K], eps: f32"`, by the names of the function's
    parameters. A parameter is an array, a number, an extent, or one of `values`, `{"BLOCK": 1024, "stride": lambda K:
    K}`: numbers, functions of declared names, and what else Triton takes for a constant. Those that are `tl.constexpr`
    are constants, others are passed as Triton passes them.
    `grid` is blocks along x, y, z; it, `num_warps` and `num_stages` are numbers, or functions of declared names and
    those of `values`.
    The kernel writes all of its results, and nothing else. `updates`, `zeroed` and `reference` are as for
    `cuda_kernel`: a result that holds an operand is the parameter for both.
    """
    return TritonKernel(
        function, operands, results, grid, values or {}, num_warps, num_stages, updates or {}, zeroed, reference
    )


@dataclass
class _Passed:
    """What the parameters of a function are in a call: the types of those that are passed, which of them are multiples
    of 16, the numbers among these, and the values of the others."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    divisible: list[str] = field(default_factory=list[str])
    numbers: dict[str, tuple[int | float, str]] = field(default_factory=dict[str, tuple[int | float, str]])
    """By name, with their element types."""
    constants: dict[str, Any] = field(default_factory=dict[str, Any])

    def lines(self) -> list[str]:
        """As the text of the kernel has them before it."""
        multiple = dict.fromkeys(self.divisible, ", a multiple of 16")
        return [
            *(f"{name}: {type}{multiple.get(name, '')}" for name, type in self.types.items()),
            *(f"{name} = {_text_of(value)}" for name, value in self.constants.items()),
        ]


class TritonKernel(DeclaredKernel):
    """What `triton_kernel` gives."""

    def __init__(
        self,
        function: Any,
        operands: str,
        results: str,
        grid: Grid,
        values: Mapping[str, Any],
        num_warps: Count,
        num_stages: Count,
        updates: Mapping[str, str],
        zeroed: Sequence[str],
        reference: Callable[..., Any] | None,
    ):
        from irc.codegen.triton_compiler import is_function, parameters_of

        if not is_function(function):
            hint = (
                "of one under triton.autotune or triton.heuristics give the function inside, and values and num_warps"
            )
            raise fail(f"expected a function under triton.jit, found {type(function).__name__}", hint)
        self._function, self._values = function, dict(values)
        self._warps, self._stages = num_warps, num_stages
        self._parameters = parameters_of(function)
        super().__init__(function.fn.__name__, operands, results, grid, updates, zeroed, reference)
        self._check_parameters()
        for what, value in (("num_warps", num_warps), ("num_stages", num_stages)):
            self.check_names(what, value)

    @property
    def written_in(self) -> str:
        return "a function of Triton"

    @property
    def known(self) -> set[str]:
        return self.names | set(self._values)

    @property
    def functions(self) -> Sequence[Callable[..., Any]]:
        counts = (self._grid, self._warps, self._stages, self._reference)
        given = [each for each in self._values.values() if isinstance(each, FunctionType)]
        return [self._function.fn, *(each for each in counts if callable(each)), *given]

    @property
    def constants(self) -> Any:
        plain = [each for each in (self._warps, self._stages) if not callable(each)]
        values = [(name, _told(value)) for name, value in self._values.items()]
        return self._function.cache_key, self.declarations, values, plain

    def _check_parameters(self) -> None:
        name, names = self.__name__, [each.name for each in self._parameters]
        arrays = {each.name for each in self.pointers().declared}
        replaced = set(self._updates.values())
        for each in sorted((arrays | set(self._values)) - set(names)):
            raise fail(f"{name} has no parameter {each}", f"its parameters are {', '.join(names)}")
        declared = self.names
        if twice := sorted(set(self._values) & (declared | arrays | replaced)):
            raise fail(
                f"values: {twice[0]} is declared", "values are of parameters that are no array, number or extent"
            )
        for each in self._parameters:
            if each.name in replaced:
                hint = "a result that holds an operand is the parameter for both"
                raise fail(f"{name} has a parameter {each.name}, which a result updates", hint)
            if each.is_constexpr and each.name in arrays:
                raise fail(f"{name} has the array {each.name} as a constant", "tl.constexpr is no pointer")
            if each.name not in arrays | self.known and not each.has_default:
                hint = f"operands and results declare {', '.join(sorted(declared | arrays))}; values= gives others"
                raise fail(f"{name} has the parameter {each.name}, which is not declared", hint)
        for value in self._values.values():
            if isinstance(value, FunctionType):
                self.check_names("values", value)

    def compiled(self, bound: Bound) -> tuple[KernelOp, list[Array]]:
        from irc.codegen.images import image_of
        from irc.codegen.triton_compiler import lines_of
        from irc.dialects.cuda import KernelOp, PtrType, ReturnOp
        from irc.ir.dtypes import element_named

        known = self._known_in(bound)
        grid, passed = self.grid_of(known), self._passed(bound, known)
        code = self._compile(passed, known)
        pointers, order = self.pointers(), list(passed.types)
        places = sorted((order.index(each.name), i) for i, each in enumerate(pointers.declared))
        ordered = [pointers.declared[i] for _, i in places]
        own: list[Array] = [((prod(grid) * code.scratch,), "u8")] if code.scratch else []
        kernel = KernelOp(
            self.__name__,
            [PtrType(element_named(element).type) for element in [*map(bound.element, ordered), *(e for _, e in own)]],
            grid=grid,
            block=code.threads,
            shared=code.shared,
            operands=[*(pointers.numbers[i] for _, i in places), *[len(self._arrays) + len(self._results)] * len(own)],
            writes=[*(pointers.writes[i] for _, i in places), *[1] * len(own)],
            updates=pointers.updates,
            sums=pointers.sums,
            entry=code.entry,
            given=[*passed.lines(), f"Triton {code.version}"],
            code=lines_of(self._function)[0],
            image=image_of(code.ptx, code.cubin),
            values=_values(passed, code),
        )
        for argument, name in zip(kernel.arguments, [*(each.name for each in ordered), "scratch"], strict=False):
            argument.name_hint = name
        kernel.body.block.add_op(ReturnOp())
        kernel.location = lines_of(self._function)[1].location()
        return kernel, own

    def _known_in(self, bound: Bound) -> dict[str, Any]:
        known: dict[str, Any] = {**bound.known}
        functions = {name: value for name, value in self._values.items() if isinstance(value, FunctionType)}
        return known | self._values | {name: value_of(value, known) for name, value in functions.items()}

    def _compile(self, passed: _Passed, known: Mapping[str, Any]) -> TritonCode:
        from irc.codegen.triton_compiler import compile_function
        from irc.driver.compiler import resolve_arch

        code = compile_function(
            self._function,
            passed.types,
            passed.constants,
            passed.divisible,
            resolve_arch(None),
            warps=self.one_of("num_warps", self._warps, known, range(1, MAX_THREADS // 32 + 1)),
            stages=self.one_of("num_stages", self._stages, known, range(1, 2**10)),
        )
        if code.threads > MAX_THREADS:
            raise fail(f"{self.__name__} has {code.threads} threads in a block", f"there are up to {MAX_THREADS}")
        return code

    def _passed(self, bound: Bound, known: Mapping[str, Any]) -> _Passed:
        from irc.codegen.triton_compiler import TYPES

        arrays = {each.name: each for each in self.pointers().declared}
        passed = _Passed()
        for each in self._parameters:
            if (array := arrays.get(each.name)) is None:
                self._pass_value(passed, each, known.get(each.name, each.default))
                continue
            passed.types[each.name] = ("*k" if each.is_const else "*") + TYPES[bound.element(array)]
            if each.is_specialized_on_alignment:
                passed.divisible.append(each.name)
        return passed

    def _pass_value(self, passed: _Passed, parameter: Parameter, value: Any) -> None:
        """As Triton does: 1 and None are constants, and other integers may be multiples of 16."""
        from irc.codegen.triton_compiler import ALIGN, TYPES

        name, is_integer = parameter.name, type(value) is int
        if parameter.is_constexpr or value is None or (is_integer and value == 1 and parameter.is_specialized):
            passed.constants[name] = value
            return
        element = self._element(parameter, value)
        passed.types[name] = TYPES[element]
        passed.numbers[name] = value, element
        if is_integer and value % ALIGN == 0 and parameter.is_specialized_on_alignment:
            passed.divisible.append(name)

    def _element(self, parameter: Parameter, value: Any) -> str:
        """The element type of a number that is passed: of its annotation, of its declaration, or what Triton takes."""
        from irc.codegen.triton_compiler import TYPES
        from irc_frontend.kernels.signatures import NUMBERS

        declared = next((each.element for each in self._operands if each.name == parameter.name), None)
        elements = {type: element for element, type in TYPES.items() if element in NUMBERS} | {"u1": "bool"}
        if parameter.type and parameter.type not in elements:
            hint = f"numbers are {', '.join(elements)}; others are constants, tl.constexpr"
            raise fail(f"{self.__name__} has the parameter {parameter.name}: {parameter.type}", hint)
        if parameter.type:
            return elements[parameter.type]
        if declared is not None:
            return declared
        if isinstance(value, bool | float):
            return "bool" if isinstance(value, bool) else "f32"
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return "i32" if -(2**31) <= value < 2**31 else "i64"
        raise fail(f"{self.__name__} takes {value!r} for {parameter.name}", "what is no number is tl.constexpr")


def _told(value: Any) -> Any:
    """What tells one of `values` from others, but for functions of names."""
    return None if isinstance(value, FunctionType) else getattr(value, "cache_key", repr(value))


def _text_of(value: Any) -> str:
    """A constant, which may be a function under `triton.jit`."""
    return value.fn.__name__ if hasattr(value, "cache_key") else repr(value)


def _values(passed: _Passed, code: TritonCode) -> dict[int, Any]:
    """The numbers among the parameters, by their places, and null for pointers that nothing is given for."""
    from xdsl.dialects.builtin import i64

    from irc.ir.dtypes import element_named
    from irc.ir.properties import scalar

    order = list(passed.types)
    found = {
        order.index(name): scalar(value, element_named(element).type)
        for name, (value, element) in passed.numbers.items()
    }
    first = len(order) + (1 if code.scratch else 0)
    return found | {place: scalar(0, i64) for place in range(first, len(order) + code.hidden)}
