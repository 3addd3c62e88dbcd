"""Pass lists as text (`-p 'fuse-kernels,choose-config{explain=true}'`), turned into passes, with diagnostics."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeVar, cast, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, ParameterListType, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.target import Target

from irc.driver.manager import Step
from irc.driver.pipelines import PIPELINES
from irc.support.diagnostics import IrcError, Span, register_source, unknown_name

LoadedT = TypeVar("LoadedT")
ConvertibleT = TypeVar("ConvertibleT", bound=ArgSpecConvertible)

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]
TargetFactories = Mapping[str, Callable[..., object]]


def parse_passes(text: str, available: PassFactories) -> list[Step]:
    """The passes of a list, named pipelines expanded; any mistake in it is an `IrcError`."""
    passes: list[Step] = []
    for spec in _specs(text):
        if spec.name in PIPELINES:
            passes += map(Step, _expand(spec, available), count())
            continue
        if spec.name not in available:
            raise unknown_name("pass", spec.name, [*available, *PIPELINES], "`irc-opt --list-passes` lists all")
        passes.append(Step(_build(load("pass", spec.name, available[spec.name]), spec, "pass")))
    return passes


def parse_target(text: str, available: TargetFactories) -> Target:
    """The target of `-t`; any mistake in it is an `IrcError`."""
    try:
        spec = parse_spec(text)
    except (ArgSpecParseError, ValueError, RuntimeError, StopIteration) as error:
        raise _syntax("target", text, error) from error
    if spec.name not in available:
        raise unknown_name("target", spec.name, available)
    factory = cast(Callable[[], type[Target]], available[spec.name])
    return _build(load("target", spec.name, factory), spec, "target")


def load(kind: str, name: str, factory: Callable[[], LoadedT]) -> LoadedT:
    """What a lazy factory makes; an `IrcError` where its package is not installed."""
    try:
        return factory()
    except ImportError as error:
        raise IrcError(f"cannot load {kind} '{name}': {error}") from error


def _specs(text: str) -> list[ArgSpec]:
    flat = _of_module(re.sub(r",\s+", ",", text.replace("\n", " ")).strip())
    try:
        return list(parse_pipeline(flat))
    except (ArgSpecParseError, ValueError, RuntimeError, StopIteration) as error:
        raise _syntax("pass list", flat, error) from error


def _of_module(text: str) -> str:
    """The list in MLIR's `builtin.module(...)` or `any(...)`. IrcError for passes of another op."""
    anchored = re.fullmatch(r"\s*(builtin\.module|any)\s*\((.*)\)\s*", text)
    inner = text if anchored is None else anchored[2]
    if (nested := re.search(r"([\w.]+)\(", re.sub(r'"[^"]*"', '""', inner))) is not None:
        raise IrcError(
            f"cannot run passes on each {nested[1]}",
            None,
            "all passes run on the module: 'builtin.module(first,second)'",
        )
    return inner.strip()


def _syntax(what: str, text: str, error: BaseException) -> IrcError:
    """xDSL's error of a list, as a diagnostic that quotes the list."""
    found = re.search(r"pass-pipeline:(\d+):(\d+)\n", str(error))
    hint = "it reads like 'first,second{option=1 flag=true}'"
    if found is None:
        return IrcError(f"cannot parse the {what} {text[:200]!r}", None, hint)
    name = f"<{what}>"
    register_source(name, text)
    reason = str(error).rstrip().rsplit("\n", 1)[-1].strip()
    return IrcError(reason, Span(name, int(found[1]), int(found[2])), hint)


def _expand(spec: ArgSpec, available: PassFactories) -> list[ModulePass]:
    """The passes of a named pipeline; each option goes to every pass that has it."""
    classes = [load("pass", name, available[name]) for name in PIPELINES[spec.name]]
    given = spec.normalize_parameter_names().parameters
    known = {field.name for cls in classes for field in dataclasses.fields(cls)}
    for name in given:
        if name not in known:
            raise unknown_name("option", name, sorted(known), of=f" of pipeline '{spec.name}'")
    passes: list[ModulePass] = []
    for cls in classes:
        fields = {field.name for field in dataclasses.fields(cls)}
        passes.append(_build(cls, ArgSpec(cls.name, {k: v for k, v in given.items() if k in fields}), "pass"))
    return passes


def _build(cls: type[ConvertibleT], spec: ArgSpec, kind: str) -> ConvertibleT:
    """The pass or target with the options of the spec."""
    given = spec.normalize_parameter_names().parameters
    hints = get_type_hints(cls)
    known = [field.name for field in dataclasses.fields(cls) if field.init and field.name != "name"]
    for name in given:
        if name not in known:
            names = [n.replace("_", "-") for n in known]
            otherwise = f"it takes {', '.join(names)}" if names else "it takes no options"
            raise unknown_name("option", name.replace("_", "-"), names, otherwise, of=f" of {kind} '{spec.name}'")
    values = {name: _flag(value, hints.get(name)) for name, value in given.items()}
    try:
        return cls.from_spec(ArgSpec(spec.name, values))
    except ValueError as error:
        raise IrcError(f"{kind} '{spec.name}': {_option_error(values, hints, error)}") from error


def _flag(value: ParameterListType, hint: object) -> ParameterListType:
    """`{flag}` alone is `{flag=true}` where the option is a bool."""
    return (True,) if not value and hint in (bool, bool | None) else value


def _option_error(values: dict[str, ParameterListType], hints: dict[str, object], error: ValueError) -> str:
    for name, value in values.items():
        if str(error).startswith(f"Incompatible types: given {value},"):
            shown = ", ".join(str(v) for v in value)
            return f"option {name.replace('_', '-')}={shown} is not of type {_type_name(hints.get(name))}"
    return str(error)


def _type_name(hint: object) -> str:
    if hint is bool:
        return "bool, true or false"
    return hint.__name__ if isinstance(hint, type) else str(hint)
