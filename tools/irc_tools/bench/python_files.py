"""Functions of Python files that rows name, `FILE:FUNCTION`, and calls of kernels among them."""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.artifact import DTYPES, ArraySpec
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc_frontend import Kernel

_ARRAY = re.compile(r"(\w+)\[(.*)\]")


@dataclass(frozen=True)
class PythonFunction:
    """A function of a file, which is imported when it is asked for."""

    file: Path
    name: str

    def get(self) -> Any:
        """IrcError where the file or the function is not there; what the file raises is passed on."""
        if not self.file.is_file():
            raise IrcError(f"cannot read {self.file}")
        if (found := getattr(_imported(self.file.resolve()), self.name, None)) is None:
            raise IrcError(f"{self.file} has no function {self.name}")
        return found


def python_function(text: str, folder: Path, where: str) -> PythonFunction:
    """Of `FILE:FUNCTION`, a file beside others of `folder`."""
    file, _, name = text.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise IrcError(f"{where}: {text!r} is no function of a file", hint="folder/file.py:function")
    return PythonFunction(folder / file, name)


@cache
def _imported(file: Path) -> ModuleType:
    spec = spec_from_file_location(f"irc_bench_{file.parent.name}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton finds a function's globals by the name of its module
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class KernelCall:
    """A kernel in Python with its arguments, by name in the order of its parameters: arrays as `bf16[M, N]`, and
    numbers. Extents and numbers may be names of the row's dims."""

    function: PythonFunction
    arguments: Mapping[str, str | int]

    def kernel(self) -> Kernel:
        """IrcError where the function is no kernel, or has other parameters."""
        from irc_frontend import Kernel

        found = self.function.get()
        if not isinstance(found, Kernel):
            raise IrcError(f"{self.function.file}: {self.function.name} is no kernel", hint="@irc_frontend.kernel")
        names = list(inspect.signature(found.function).parameters)[: len(self.arguments)]
        if names != list(self.arguments):
            raise IrcError(
                f"{self.function.name} is given {', '.join(self.arguments)}", hint=f"it takes {', '.join(names)}"
            )
        return found

    def arrays(self, dims: Mapping[str, int]) -> list[ArraySpec]:
        """Those among the arguments."""
        values = self.values(dims).values()
        return [value for value in values if isinstance(value, ArraySpec)]

    def values(self, dims: Mapping[str, int]) -> dict[str, ArraySpec | int]:
        """The arguments by name."""
        return {name: _value(name, given, dims) for name, given in self.arguments.items()}

    def module(self, dims: Mapping[str, int], target: str = "cuda") -> ModuleOp:
        """The IR of the call, with the config that the kernel has on the target."""
        import irc_frontend

        values = self.values(dims).values()
        given = [np.zeros(each.shape, each.dtype) if isinstance(each, ArraySpec) else each for each in values]
        with irc_frontend.target(target):
            return self.kernel().module(*given)

    def text(self, dims: Mapping[str, int]) -> str:
        """`softmax(x=bf16[8192, 8192])`."""
        values = self.values(dims).items()
        shown = (f"{name}={each.type if isinstance(each, ArraySpec) else each}" for name, each in values)
        return f"{self.function.name}({', '.join(shown)})"

    def lines(self) -> int:
        """Lines of the kernel's source."""
        return count_lines(self.kernel().function)


def _value(name: str, given: str | int, dims: Mapping[str, int]) -> ArraySpec | int:
    if isinstance(given, int):
        return given
    if (match := _ARRAY.fullmatch(given)) is None:
        return _number(given, name, dims)
    if match[1] not in DTYPES:
        raise IrcError(f"argument {name}: no element type is {match[1]}", hint=f"they are {', '.join(DTYPES)}")
    shape = tuple(_number(each.strip(), name, dims) for each in match[2].split(","))
    return ArraySpec(name, shape, match[1])


def _number(text: str, name: str, dims: Mapping[str, int]) -> int:
    if text.isdecimal():
        return int(text)
    if text not in dims:
        raise IrcError(f"argument {name}: {text!r} is neither a number nor a dim of the row")
    return dims[text]


def count_lines(function: Callable[..., Any]) -> int:
    """Lines of a function with code on them, decorators included: without its docstring, comments and empty lines."""
    source = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    docstring = range(0)
    if ast.get_docstring(definition) is not None:
        docstring = range(first.lineno, (first.end_lineno or first.lineno) + 1)
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code = (each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type not in skipped)
    lines = {line for each in code for line in range(each.start[0], each.end[0] + 1)}
    return len(lines - set(docstring))
