"""Programs as they come in: `.irc` text, a file, or a module; and the one function of them that is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError
from irc.support.files import read_text

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from irc.runtime.artifact import ArraySpec

TEXT_NAME = "<string>"
"""What diagnostics call the source of a program that is in no file."""

SUFFIXES = (".irc", ".mlir")
"""Of the files of programs."""


def new_context() -> Context:
    """A context with irc's dialects and those of xDSL that irc's IR uses, each loaded when it is first needed."""
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects

    from irc.driver.universe import IRC_UNIVERSE

    context = Context()
    for name, factory in {**get_all_dialects(), **IRC_UNIVERSE.all_dialects}.items():
        context.register_dialect(name, factory)
    return context


def source_of(program: str | Path) -> tuple[str, str]:
    """The text of a program, and its name in diagnostics."""
    if isinstance(program, str):
        if program.endswith(SUFFIXES) and "\n" not in program:
            raise IrcError(f"{program!r} is no text of a program", hint=f"a file is a Path: Path({program!r})")
        return program, TEXT_NAME
    return read_text(program), str(program)


def load(program: str | Path, *, dims: Mapping[str, int] | None = None) -> ModuleOp:
    """Parses a program. A `str` is `.irc` text; a `Path` is an `.irc` file, or an `.mlir` file of nd functions."""
    text, name = source_of(program)
    return parse(text, name, dims=dims)


def parse(text: str, name: str, *, dims: Mapping[str, int] | None = None) -> ModuleOp:
    """Parses `.irc` text, or MLIR text if the name ends in `.mlir`, which has no dims."""
    if not name.endswith(".mlir"):
        from irc.language import parse as parse_irc

        return parse_irc(text, name, dims)
    if dims:
        raise IrcError(f"{name}: a module has no dims to replace", hint="dims belong to .irc files")
    from irc.ir.parser import parse_ir

    return parse_ir(new_context(), text, name)


def isolate(module: ModuleOp, func: str | None = None) -> ModuleOp:
    """A copy of the module that has the entry function alone, and the kernels and programs that it launches."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from irc.dialects.cuda import KernelOp
    from irc.dialects.kernel import LaunchOp
    from irc.dialects.tile import ProgramOp
    from irc.ir.functions import entry_of

    entry = entry_of(module, func)
    launched = {op.program_name for op in entry.walk() if isinstance(op, LaunchOp)}

    def is_kept(op: Operation) -> bool:
        if isinstance(op, ProgramOp | KernelOp):
            return op.sym_name.data in launched
        return op is entry or not isinstance(op, FuncOp)

    copy = ModuleOp([op.clone() for op in module.ops if is_kept(op)], dict(module.attributes))
    copy.location = module.location
    return copy


def signature(function: FuncOp) -> tuple[tuple[ArraySpec, ...], tuple[ArraySpec, ...]]:
    """The arguments and the results of a function; results are named by their number."""
    from irc.ir.alignment import alignments

    arguments = [(_argument_name(function, index), arg.type) for index, arg in enumerate(function.body.block.args)]
    results = [(str(index), type) for index, type in enumerate(function.function_type.outputs)]
    given = alignments(function)
    specs = [
        replace(spec, align=given.get(index, spec.align)) for index, spec in enumerate(_specs(function, arguments))
    ]
    return tuple(specs), tuple(_specs(function, results))


def _argument_name(function: FuncOp, index: int) -> str:
    """The name that the program gives an argument: an attribute where a name hint cannot hold it (`w_1`)."""
    from xdsl.dialects.builtin import StringAttr

    from irc.ir.discardable import ARGUMENT_NAME

    if function.arg_attrs is not None:
        name = function.arg_attrs.data[index].data.get(ARGUMENT_NAME)
        if isinstance(name, StringAttr):
            return name.data
    return function.body.block.args[index].name_hint or f"arg{index}"


def _specs(function: FuncOp, named: Sequence[tuple[str, object]]) -> list[ArraySpec]:
    from xdsl.dialects.builtin import TensorType

    from irc.ir.dtypes import element_of
    from irc.ir.extents import dims_of
    from irc.runtime.artifact import ArraySpec
    from irc.support.extents import extent_text, varying

    specs: list[ArraySpec] = []
    dims = dims_of(function)
    for name, type in named:
        if not isinstance(type, TensorType) or not type.has_static_shape():
            raise IrcError(f"{name}: expected a tensor of static shape, found {type}", function.location)
        try:
            element = element_of(type)  # pyright: ignore[reportUnknownArgumentType]
        except KeyError as error:
            raise IrcError(f"{name}: irc has no element type {type.element_type}", function.location) from error  # pyright: ignore[reportUnknownMemberType]
        shape = tuple(type.get_shape())
        varies = any(varying(extent, dims) for extent in shape)
        specs.append(ArraySpec(name, shape, element.name, tuple(extent_text(n, dims) for n in shape) if varies else ()))
    return specs
