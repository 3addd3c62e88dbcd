"""Triton as a compiler: a function under `triton.jit`, specialized for parameters, to PTX and machine code.

All that irc takes of Triton is named here, and was tried with Triton 3.6 and 3.8:

- of a function: `fn`, `cache_key`, and `params`, of each `name`, `is_constexpr`, `is_const`, `annotation_type`,
  `do_not_specialize`, `do_not_specialize_on_alignment`, `has_default` and `default`;
- `triton.compiler.ASTSource(fn, signature, constexprs, attrs)`, `triton.backends.compiler.GPUTarget`,
  `triton.compile(source, target=, options=)`, and the attribute `tt.divisibility` of parameters;
- of what that gives: `asm["ptx"]`, `asm["cubin"]`, and `metadata` with `name`, `shared`, `num_warps`, and, where they
  are there, `global_scratch_size`, `profile_scratch_size` and `launch_cooperative_grid`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from irc.codegen.images import parameter_count, target_of_ptx
from irc.support.diagnostics import IrcError, Span

OLDEST = "3.3"
"""The first version whose `ASTSource` has `constexprs` and `attrs`."""

TYPES: Mapping[str, str] = {
    "f64": "fp64",
    "f32": "fp32",
    "f16": "fp16",
    "bf16": "bf16",
    "f8e4m3": "fp8e4nv",
    "f8e5m2": "fp8e5",
    "i64": "i64",
    "i32": "i32",
    "i16": "i16",
    "i8": "i8",
    "u8": "u8",
    "bool": "i1",
}
"""What Triton calls the elements of arrays."""

ALIGN = 16
"""Of what multiples Triton asks: of bytes where a pointer begins, of an integer."""


@dataclass(frozen=True)
class Parameter:
    """type: what the annotation says, "" where it says none."""

    name: str
    is_constexpr: bool
    is_const: bool
    type: str
    is_specialized: bool
    is_specialized_on_alignment: bool
    has_default: bool
    default: Any


@dataclass(frozen=True)
class TritonCode:
    """What Triton makes of a function. entry: the kernel's name. shared: bytes of dynamic shared memory. scratch: bytes
    of the device memory that each block has for itself. hidden: how many pointers the kernel takes behind the
    parameters of the function, the first of them to scratch. version: of Triton."""

    entry: str
    ptx: str
    cubin: bytes
    shared: int
    threads: int
    scratch: int
    hidden: int
    version: str


def is_function(value: Any) -> bool:
    """Whether a value is what `triton.jit` gives."""
    return callable(getattr(value, "fn", None)) and hasattr(value, "params") and hasattr(value, "cache_key")


def parameters_of(function: Any) -> list[Parameter]:
    """The parameters of a function in order."""
    try:
        return [
            Parameter(
                each.name,
                each.is_constexpr,
                each.is_const,
                each.annotation_type or "",
                not each.do_not_specialize,
                not (each.do_not_specialize or each.do_not_specialize_on_alignment),
                each.has_default,
                each.default if each.has_default else None,
            )
            for each in function.params
        ]
    except AttributeError as error:
        raise _other_api(str(error)) from error


def lines_of(function: Any) -> tuple[list[str], Span]:
    """The text of a function from its `def` on, and where that is."""
    lines, first = inspect.getsourcelines(function.fn)
    skipped = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    text = [line.rstrip("\n") for line in lines[skipped:]]
    return text, Span(inspect.getsourcefile(function.fn) or "<triton>", first + skipped, 1)


def compile_function(
    function: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    divisible: Collection[str],
    arch: str,
    *,
    warps: int,
    stages: int,
) -> TritonCode:
    """Compiles a function. signature: the types of parameters by name, `*fp32` of a pointer. constants: the values of
    the other parameters. divisible: the pointers and integers that are multiples of 16. arch: as `sm_90a`. IrcError
    where Triton is not installed, is another than this knows, or does not compile the function."""
    triton, make_source, target = _api()
    names = [each.name for each in parameters_of(function)]
    types = {name: signature.get(name, "constexpr") for name in names}
    values = {(names.index(name),): value for name, value in constants.items()}
    attributes = {(names.index(name),): [["tt.divisibility", ALIGN]] for name in divisible}
    capability = int("".join(filter(str.isdigit, arch)))
    try:
        source = make_source(function, types, values, attributes)
        made = triton.compile(source, target=target("cuda", capability, 32), options=_options(warps, stages))
    except Exception as error:
        raise _refusal(function, error) from error
    return _code(made, function.fn.__name__, len(signature), arch, str(triton.__version__))


def _options(warps: int, stages: int) -> dict[str, int]:
    return {"num_warps": warps, "num_stages": stages}


def _api() -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """Triton, its sources of functions, and its targets."""
    try:
        triton = import_module("triton")
    except ImportError as error:
        raise IrcError(f"a function of Triton needs Triton: {error}", hint="`pip install triton` brings it") from error
    try:
        source: Any = import_module("triton.compiler").ASTSource
        target: Any = import_module("triton.backends.compiler").GPUTarget
        names = list(inspect.signature(source).parameters)
    except (ImportError, AttributeError) as error:
        raise _other_api(str(error)) from error
    if names[:4] != ["fn", "signature", "constexprs", "attrs"] or not hasattr(triton, "compile"):
        raise _other_api(f"ASTSource takes {', '.join(names)}")
    return triton, source, target


def _other_api(found: str) -> IrcError:
    version = getattr(import_module("triton"), "__version__", "unknown")
    return IrcError(
        f"Triton {version} is not as irc knows it: {found}",
        hint=f"irc takes functions of Triton {OLDEST} and later; it was tried with 3.6 and 3.8",
    )


def _refusal(function: Any, error: Exception) -> IrcError:
    """What Triton says of a function, at the line of it that it says it of."""
    _, begin = lines_of(function)
    node = getattr(error, "node", None)
    inner: BaseException = error
    while inner.__cause__ is not None and hasattr(inner.__cause__, "error_message"):
        inner = inner.__cause__
    text = getattr(inner, "error_message", None) or str(inner.__cause__ or inner) or type(inner).__name__
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    place = Span(begin.file, begin.line + line - 1, column + 1)
    return IrcError(f"Triton cannot compile {function.fn.__name__}: {text}", place)


def _code(made: Any, name: str, parameters: int, arch: str, version: str) -> TritonCode:
    try:
        ptx, cubin, about = made.asm["ptx"], made.asm["cubin"], made.metadata
        entry, shared, warps = about.name, about.shared, about.num_warps
    except (AttributeError, KeyError) as error:
        raise _other_api(f"a compiled function has no {error}") from error
    if (made_for := target_of_ptx(ptx)) != arch:
        raise IrcError(f"Triton {version} compiles {name} for {made_for}, where {arch} is asked for")
    if getattr(about, "launch_cooperative_grid", False):
        raise IrcError(f"{name} is launched as one cooperative grid, which irc's plans have none of")
    if profiled := getattr(about, "profile_scratch_size", 0):
        raise IrcError(
            f"{name} takes {profiled} bytes for a profile", hint="compile it without Triton's instrumentation"
        )
    scratch = getattr(about, "global_scratch_size", 0) or 0
    count = parameter_count(ptx, entry)
    hidden = -1 if count is None else count - parameters
    if hidden < (1 if scratch else 0):
        raise _other_api(f"{name} has {count} parameters for {parameters} of its function")
    return TritonCode(entry, ptx, cubin, shared, 32 * warps, scratch, hidden, version)
