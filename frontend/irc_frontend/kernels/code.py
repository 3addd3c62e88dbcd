"""`cuda_kernel`: a kernel whose CUDA C++ the user wrote, as an op with declared operands, results and effects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from irc.support.diagnostics import Span, source_text
from irc_frontend.elementwise import astype
from irc_frontend.evaluation import on_gpu
from irc_frontend.graph import ARGUMENT, LAUNCH, Node, fail
from irc_frontend.jit import is_array
from irc_frontend.kernels.called import CalledKernel
from irc_frontend.kernels.signatures import NUMBERS, Bound, Declared, bind, declared
from irc_frontend.place import here
from irc_frontend.pytrees import tree_leaves
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import TensorType

    from irc.dialects.cuda import KernelOp
    from irc_frontend.kernels.gradients import Recorded

__all__ = ["CudaKernel", "cuda_kernel"]

Count: TypeAlias = int | Callable[..., int]
Grid: TypeAlias = int | Sequence[int] | Callable[..., int | Sequence[int]]

C_TYPES: Mapping[str, str] = {
    "f64": "double",
    "f32": "float",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f8e4m3": "__nv_fp8_e4m3",
    "f8e5m2": "__nv_fp8_e5m2",
    "i64": "long long",
    "i32": "int",
    "i16": "short",
    "i8": "signed char",
    "u8": "unsigned char",
    "bool": "bool",
}
"""What C++ calls the elements of arrays."""

_HEADERS: Mapping[str, str] = {
    "f16": "cuda_fp16.h",
    "bf16": "cuda_bf16.h",
    "f8e4m3": "cuda_fp8.h",
    "f8e5m2": "cuda_fp8.h",
}

MAX_THREADS = 1024
"""Of a block."""


def cuda_kernel(
    source: str,
    *,
    name: str,
    operands: str,
    results: str,
    grid: Grid,
    block: Count,
    shared: Count = 0,
    cluster: Sequence[int] | None = None,
    updates: Mapping[str, str] | None = None,
    zeroed: Sequence[str] = (),
    reference: Callable[..., Any] | None = None,
) -> CudaKernel:
    """A kernel of CUDA C++, `extern "C" __global__ void name(...)` in the text, as a function of arrays
    (docs/kernels.md#kernels-in-cuda-c).

    `operands` and `results` declare arrays and numbers, `"x: T[M, K], w: f32[K], eps: f32"`: the kernel has a pointer
    for each array, of operands first. Names of extents, of numbers and of element types are constants in the text.
    `grid` is blocks along x, y, z, `block` threads along x, `shared` bytes of dynamic shared memory: numbers, or
    functions of those names, `lambda M: (M + 255) // 256`.
    The kernel writes all of its results, and nothing else. `updates` names results that hold an operand before the
    launch, `{"out": "x"}`, for which there is one pointer, and `zeroed` those that are zero before it.
    `reference` computes the results from the operands by functions of numpy or irc: for targets other than a GPU, and
    for gradients, unless `gradient` says those.
    """
    return CudaKernel(source, name, operands, results, grid, block, shared, cluster, updates or {}, zeroed, reference)


class CudaKernel(CalledKernel):
    """What `cuda_kernel` gives."""

    def __init__(
        self,
        source: str,
        name: str,
        operands: str,
        results: str,
        grid: Grid,
        block: Count,
        shared: Count,
        cluster: Sequence[int] | None,
        updates: Mapping[str, str],
        zeroed: Sequence[str],
        reference: Callable[..., Any] | None,
    ):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise fail(f"name: expected the name of the kernel in the text, found {name!r}")
        if not re.search(rf"\b{name}\s*\(", source):
            raise fail(f"the text has no kernel {name}", f'expected extern "C" __global__ void {name}(...) in it')
        self.__name__ = name
        self._source = source
        self._operands, self._results = declared("operands", operands), declared("results", results)
        self._grid, self._block, self._shared = grid, block, shared
        self._cluster = None if cluster is None else tuple(cluster)
        self._reference = reference
        self._updates, self._zeroed = dict(updates), tuple(zeroed)
        self._check_declarations()
        for what, value in (("grid", grid), ("block", block), ("shared", shared)):
            self._check_names(what, value)
        self._begin = _place_of(source, name)
        super().__init__()

    @property
    def called_as(self) -> str:
        return self.__name__

    @property
    def functions(self) -> Sequence[Callable[..., Any]]:
        found = (self._grid, self._block, self._shared, self._reference)
        return [each for each in found if callable(each)]

    @property
    def constants(self) -> Any:
        plain = [each for each in (self._grid, self._block, self._shared) if not callable(each)]
        texts = [str(each) for each in (*self._operands, *self._results)]
        return self._source, texts, plain, self._cluster, sorted(self._updates.items()), self._zeroed

    @property
    def _arrays(self) -> list[Declared]:
        return [each for each in self._operands if each.extents is not None]

    @property
    def _known(self) -> set[str]:
        """Names that an extent of a result and functions of a call may use."""
        bare = {extent.name for each in self._arrays for extent in each.extents or () if extent.name is not None}
        return bare | {each.name for each in self._operands if each.extents is None}

    def _check_declarations(self) -> None:
        name, listed = self.__name__, ", ".join(sorted(self._known)) or "none"
        if not self._results:
            raise fail(f"results: {name} has none", "a kernel is an op that gives the arrays it writes")
        types = {each.element for each in self._arrays}
        for each in (*self._arrays, *self._results):
            unknown = {n for extent in each.extents or () for n in extent.names} - self._known
            if unknown:
                raise fail(f"{each} has the unknown extent {min(unknown)}", f"operands have the extents: {listed}")
        for each in self._results:
            if each.extents is None:
                raise fail(f"results: {each} is a number", f"{each.name}: {each.element}[1] is an array of one")
            if each.is_open and each.element not in types:
                raise fail(f"results: {each} has an element type that no operand has")
        taken = [each.name for each in (*self._operands, *self._results)] + sorted(types - set(C_TYPES))
        extents = self._known - {each.name for each in self._operands}
        if twice := sorted({each for each in taken if taken.count(each) > 1} | (extents & set(taken))):
            raise fail(f"{name} has {twice[0]} twice", "operands, results, extents and element types are told by names")
        self._check_effects()

    def _check_effects(self) -> None:
        arrays = {each.name: each for each in self._arrays}
        results = {each.name: each for each in self._results}
        for result, operand in self._updates.items():
            if result not in results or operand not in arrays:
                raise fail(
                    f"updates: expected a result and an operand that it holds, found {result!r}: {operand!r}",
                    f"results: {', '.join(results)}; operands: {', '.join(arrays)}",
                )
            if str(results[result]).partition(":")[2] != str(arrays[operand]).partition(":")[2]:
                raise fail(f"updates: {results[result]} is not of the type of {arrays[operand]}")
        for each in self._zeroed:
            if each not in results or each in self._updates:
                hint = f"results: {', '.join(results)}; one that updates an operand is not zero"
                raise fail(f"zeroed: expected results, found {each!r}", hint)

    def _check_names(self, what: str, value: Any) -> None:
        if not callable(value):
            return
        unknown = [each for each in inspect.signature(value).parameters if each not in self._known]
        if unknown:
            known = ", ".join(sorted(self._known)) or "none"
            raise fail(f"{what} is a function of {unknown[0]}, which no operand declares", f"names are {known}")

    def record(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Recorded:
        from irc_frontend.kernels.gradients import Recorded

        given = self._given(args, options)
        arrays = iter(nodes)
        values = [next(arrays) if is_array(each) else each for each in given]
        inputs = [Node(ARGUMENT, (), x.shape, x.element) for x in nodes]
        types = [(x.shape, x.element) if isinstance(x, Node) else x for x in values]
        bound = bind(self.__name__, self._operands, types)
        reference = None if self._reference is None else self._referred(self._reference, values, inputs, bound)
        if on_gpu():
            roots = self._launched(inputs, bound)
        elif reference is None:
            raise fail(
                f"{self.__name__} is CUDA C++, which a GPU alone runs",
                "give it reference=, a function of the operands by numpy's functions or irc's, for other targets",
            )
        else:
            roots = reference
        remaining = iter(inputs)
        arguments = [Tensor.of(next(remaining)) if isinstance(each, Node) else each for each in values]
        results = tuple(map(Tensor.of, roots))
        tree = results[0] if len(results) == 1 else results
        views = [None] * len(inputs)
        return Recorded(self.__name__, tree, inputs, roots, (arguments, {}), self._own, views, False, reference)

    def _given(self, args: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
        """The operands in order."""
        names = [each.name for each in self._operands]
        for each in options:
            if each not in names[len(args) :]:
                raise fail(f"{self.__name__} takes no operand {each} here", f"they are {', '.join(names)}")
        return [*args, *(options[each] for each in names[len(args) :] if each in options)]

    def _shapes(self, bound: Bound) -> list[tuple[tuple[int, ...], str]]:
        return [(bound.shape(each), bound.element(each)) for each in self._results]

    def _referred(
        self, function: Callable[..., Any], values: Sequence[Any], inputs: Sequence[Node], bound: Bound
    ) -> list[Node]:
        """The results by the reference, of the types that are declared."""
        remaining = iter(inputs)
        given = [Tensor.of(next(remaining)) if isinstance(each, Node) else each for each in values]
        found = [node_of(each) for each in tree_leaves(function(*given))]
        shapes = self._shapes(bound)
        if [each.shape for each in found] != [shape for shape, _ in shapes]:
            texts = ", ".join(each.type for each in found)
            raise fail(
                f"the reference of {self.__name__} gives {texts or 'nothing'}",
                f"results are {', '.join(map(str, self._results))}, here of the shapes "
                + ", ".join(str(list(shape)) for shape, _ in shapes),
            )
        return [astype(node, element) for node, (_, element) in zip(found, shapes, strict=True)]

    def _launched(self, inputs: Sequence[Node], bound: Bound) -> list[Node]:
        """The results by a launch of the kernel."""
        from irc_frontend.launch import Launch

        shapes = self._shapes(bound)
        launch = Launch(self.__name__, self._kernel(bound), [_tensor(*each) for each in shapes])
        attributes = (("program", launch),)
        return [Node(LAUNCH, inputs, shape, each, attributes, result=i) for i, (shape, each) in enumerate(shapes)]

    def _kernel(self, bound: Bound) -> KernelOp:
        from irc.dialects.cuda import KernelOp, PtrType, ReturnOp
        from irc.ir.dtypes import element_named

        arrays, results = self._arrays, list(self._results)
        names = [each.name for each in arrays]
        updated = {names.index(operand) for operand in self._updates.values()}
        first = len(arrays)
        numbers = [*(i for i in range(first) if i not in updated), *range(first, first + len(results))]
        declarations = [(arrays + results)[number] for number in numbers]
        places = {each.name: first + i for i, each in enumerate(results)}
        pairs = [n for result, operand in self._updates.items() for n in (names.index(operand), places[result])]
        grid = self._count("grid", self._grid, bound)
        kernel = KernelOp(
            self.__name__,
            [PtrType(element_named(bound.element(each)).type) for each in declarations],
            grid=(*grid, *[1] * (3 - len(grid))),
            block=self._one("block", self._block, bound, range(1, MAX_THREADS + 1)),
            cluster=None if self._cluster is None else (*self._cluster, *[1] * (3 - len(self._cluster))),
            shared=self._one("shared", self._shared, bound, range(2**20)),
            operands=numbers,
            writes=[int(number >= first) for number in numbers],
            updates=pairs or None,
            sums=[places[each] for each in self._zeroed] or None,
            entry=self.__name__,
            given=list(_given_lines(bound, self._operands, [*arrays, *results])),
            code=self._source.split("\n"),
        )
        for argument, each in zip(kernel.arguments, declarations, strict=True):
            argument.name_hint = each.name
        kernel.body.block.add_op(ReturnOp())
        kernel.location = self._begin.location()
        return kernel

    def _count(self, what: str, value: Any, bound: Bound) -> tuple[int, ...]:
        """One to three numbers, each 1 or more."""
        found = _called(value, bound)
        numbers = (found,) if isinstance(found, int) else tuple(found) if isinstance(found, tuple | list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not 1 <= len(numbers) <= 3 or any(type(each) is not int or each < 1 for each in numbers):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            raise fail(f"{what} of {self.__name__} is {found!r}", "expected one to three integers of 1 or more")
        return numbers  # pyright: ignore[reportUnknownVariableType]

    def _one(self, what: str, value: Any, bound: Bound, allowed: range) -> int:
        found = _called(value, bound)
        if type(found) is not int or found not in allowed:
            raise fail(
                f"{what} of {self.__name__} is {found!r}",
                f"expected an integer in {allowed[0]}..{allowed[-1]}"
                + (": threads along x" if what == "block" else ""),
            )
        return found


def _called(value: Any, bound: Bound) -> Any:
    if not callable(value):
        return value
    return value(**{name: bound.known[name] for name in inspect.signature(value).parameters})


def _tensor(shape: tuple[int, ...], element: str) -> TensorType[Any]:
    from xdsl.dialects.builtin import TensorType

    from irc.dialects.nd.base import tensor
    from irc.ir.dtypes import element_named

    type = tensor(shape, element_named(element))
    assert isinstance(type, TensorType)
    return type


def _given_lines(bound: Bound, operands: Sequence[Declared], arrays: Sequence[Declared]) -> Iterable[str]:
    """What the text finds before it: element types and numbers of the call by their names."""
    opened = {each.element: bound.element(each) for each in arrays if each.is_open}
    for header in dict.fromkeys(_HEADERS[element] for element in opened.values() if element in _HEADERS):
        yield f"#include <{header}>"
    for name, element in opened.items():
        yield f"using {name} = {C_TYPES[element]};"
    for name, value in bound.extents.items():
        yield f"constexpr {'int' if value < 2**31 else 'long long'} {name} = {value};"
    for each in operands:
        if each.extents is None:
            yield f"constexpr {NUMBERS[each.element]} {each.name} = {_literal(each.element, bound.numbers[each.name])};"


def _literal(element: str, value: int | float) -> str:
    if element == "bool":
        return "true" if value else "false"
    if element[0] == "f":
        return float(value).hex() + ("f" if element == "f32" else "")
    return f"(-{2**63 - 1}ll - 1)" if value == -(2**63) else f"{value}ll"


def _place_of(source: str, name: str) -> Span:
    """Where the text begins in the file of the caller, where it is there as it is."""
    caller = here()
    if caller is not None:
        span = caller.span()
        text = source_text(span.file) or ""
        places = [match.start() for match in re.finditer(re.escape(source), text)]
        lines = [text.count("\n", 0, place) + 1 for place in places]
        if lines:
            return Span(span.file, min(lines, key=lambda line: abs(line - span.line)), 1)
    return Span(f"<{name}.cu>", 1, 1)
