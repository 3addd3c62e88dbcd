"""`cuda_kernel`: a kernel whose CUDA C++ the user wrote, as an op with declared operands, results and effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irc.support.diagnostics import Span, source_text
from irc_frontend.graph import fail
from irc_frontend.kernels.declared import MAX_THREADS, Array, Count, DeclaredKernel, Grid
from irc_frontend.kernels.signatures import NUMBERS, Bound, Declared
from irc_frontend.place import here

if TYPE_CHECKING:
    from irc.dialects.cuda import KernelOp

__all__ = ["CudaKernel", "cuda_kernel"]

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
    (docs/cuda-kernels.md#cuda-c).

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


class CudaKernel(DeclaredKernel):
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
        super().__init__(name, operands, results, grid, updates, zeroed, reference)
        self._source = source
        self._block, self._shared = block, shared
        self._cluster = None if cluster is None else tuple(cluster)
        self.check_names("block", block)
        self.check_names("shared", shared)
        self._begin = _place_of(source, name)

    @property
    def written_in(self) -> str:
        return "CUDA C++"

    @property
    def functions(self) -> Sequence[Callable[..., Any]]:
        found = (self._grid, self._block, self._shared, self._reference)
        return [each for each in found if callable(each)]

    @property
    def constants(self) -> Any:
        plain = [each for each in (self._block, self._shared) if not callable(each)]
        return self._source, self.declarations, plain, self._cluster

    def compiled(self, bound: Bound) -> tuple[KernelOp, list[Array]]:
        from irc.dialects.cuda import KernelOp, PtrType, ReturnOp
        from irc.ir.dtypes import element_named

        pointers, known = self.pointers(), bound.known
        kernel = KernelOp(
            self.__name__,
            [PtrType(element_named(bound.element(each)).type) for each in pointers.declared],
            grid=self.grid_of(known),
            block=self.one_of("block", self._block, known, range(1, MAX_THREADS + 1)),
            cluster=None if self._cluster is None else (*self._cluster, *[1] * (3 - len(self._cluster))),
            shared=self.one_of("shared", self._shared, known, range(2**20)),
            operands=pointers.numbers,
            writes=pointers.writes,
            updates=pointers.updates,
            sums=pointers.sums,
            entry=self.__name__,
            given=list(_given_lines(bound, self._operands, [*self._arrays, *self._results])),
            code=self._source.split("\n"),
        )
        for argument, each in zip(kernel.arguments, pointers.declared, strict=True):
            argument.name_hint = each.name
        kernel.body.block.add_op(ReturnOp())
        kernel.location = self._begin.location()
        return kernel, []


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
