"""What irc takes of Triton, with NVRTC in its place: a function's body is CUDA text, which has its parameters.

As of Triton, parameters that are constants are none of the kernel's, and two pointers come behind the others.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from irc.codegen.nvrtc import compile_source

C_TYPES = {"i32": "int", "i64": "long long", "fp32": "float", "fp64": "double", "i1": "bool", "u8": "unsigned char"}

ARCHES = {80: "sm_80", 90: "sm_90a", 100: "sm_100a"}


class Function:
    """What `jit` gives. hidden: pointers behind the parameters; about: what the metadata of a compilation have besides."""

    def __init__(self, fn: Callable[..., Any], cuda: str, hidden: int, about: Mapping[str, Any]):
        self.fn, self.cuda, self.hidden, self.about = fn, cuda, hidden, about
        self.__name__ = fn.__name__
        self.params = [_parameter(each) for each in inspect.signature(fn).parameters.values()]
        self.cache_key = hashlib.sha256(cuda.encode()).hexdigest()


def jit(cuda: str, hidden: int = 2, **about: Any) -> Callable[[Callable[..., Any]], Function]:
    return lambda fn: Function(fn, cuda, hidden, about)


def _parameter(parameter: inspect.Parameter) -> SimpleNamespace:
    text = "" if parameter.annotation is inspect.Parameter.empty else str(parameter.annotation)
    has_default = parameter.default is not inspect.Parameter.empty
    return SimpleNamespace(
        name=parameter.name,
        is_constexpr="constexpr" in text,
        is_const=text == "const",
        annotation_type=text if text in C_TYPES or text == "u32" else "",
        do_not_specialize="fixed" in parameter.name,
        do_not_specialize_on_alignment=False,
        has_default=has_default,
        default=parameter.default,
    )


class ASTSource:
    def __init__(self, fn: Function, signature: Mapping[str, str], constexprs: Any = None, attrs: Any = None):
        self.fn, self.signature, self.constexprs, self.attrs = fn, signature, constexprs, attrs


class GPUTarget:
    def __init__(self, backend: str, arch: int, warp_size: int):
        assert (backend, warp_size) == ("cuda", 32)
        self.arch = arch


class CompilationError(Exception):
    """Of a statement of a function."""

    def __init__(self, lineno: int, col_offset: int, error_message: str):
        super().__init__(f"at {lineno}:{col_offset}: {error_message}")
        self.node = SimpleNamespace(lineno=lineno, col_offset=col_offset)
        self.error_message = error_message


compiled: list[ASTSource] = []
"""What was compiled, in order."""


def compile(source: ASTSource, target: GPUTarget, options: Mapping[str, int]) -> SimpleNamespace:
    compiled.append(source)
    function = source.fn
    if "error" in function.about:
        raise CompilationError(*function.about["error"])
    made = compile_source(text_of(source), ARCHES[target.arch])
    about = {"name": function.fn.__name__, "shared": 64 * options["num_stages"], "num_warps": options["num_warps"]}
    return SimpleNamespace(
        asm={"ptx": made.ptx, "cubin": made.cubin}, metadata=SimpleNamespace(**{**about, **function.about})
    )


def text_of(source: ASTSource) -> str:
    """The CUDA text of a function for these parameters."""
    function, names = source.fn, [each.name for each in source.fn.params]
    passed = [f"{_c_type(type)} {name}" for name, type in source.signature.items() if type != "constexpr"]
    passed += [f"void* hidden{number}" for number in range(function.hidden)]
    constants = [
        f"constexpr auto {names[at]} = {value};" for (at,), value in source.constexprs.items() if _is_number(value)
    ]
    head = f'extern "C" __global__ void {function.fn.__name__}({", ".join(passed)})'
    return "\n".join([*constants, f"{head} {{", function.cuda, "}", ""])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _c_type(type: str) -> str:
    return f"{C_TYPES[type.lstrip('*k')]}*" if type[0] == "*" else C_TYPES[type]


def install(patch: pytest.MonkeyPatch) -> None:
    """Has it imported as Triton."""
    made = {name: ModuleType(name) for name in ("triton", "triton.compiler", "triton.backends.compiler")}
    triton: Any = made["triton"]
    triton.__version__, triton.compile = "3.6.0", compile
    source: Any = made["triton.compiler"]
    source.ASTSource = ASTSource
    backends: Any = made["triton.backends.compiler"]
    backends.GPUTarget = GPUTarget
    for name, module in (made | {"triton.backends": ModuleType("triton.backends")}).items():
        patch.setitem(sys.modules, name, module)
    compiled.clear()
