"""Programs whose kernels get a config from their caller, before what it leaves open is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.dialects.kernel.config import checks
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import PIPELINES
from irc.ir.targets import set_target
from irc.support.diagnostics import IrcError

CHOOSES = "choose-config"
"""The pass that fills what a config leaves open."""


def config_of_fields(fields: Mapping[str, Any]) -> ConfigAttr:
    """The config with these fields: sizes of tiles as a mapping, lists as sequences. IrcError for a field that there is
    not, and for a value that it cannot have."""
    if unknown := [name for name in fields if name not in checks()]:
        raise IrcError(f"a config has no field {unknown[0]}", hint=f"its fields are {', '.join(checks())}")
    try:
        return ConfigAttr.of(**{name: _value(value) for name, value in fields.items()})
    except (TypeError, ValueError) as error:
        raise IrcError(f"config: {error}") from error


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return TileSizes(value)  # pyright: ignore[reportUnknownArgumentType]
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def configured(module: ModuleOp, config: ConfigAttr, arch: str) -> ModuleOp:
    """The module, of one nd function, with its kernels, in place: those of matrix products have the config. IrcError
    where there are none."""
    set_target(module, arch)
    names = PIPELINES["kernel"]
    run_passes(module, passes_of(names[: names.index(CHOOSES)]))
    kernels = [op for op in module.walk() if isinstance(op, FusedOp) and op.kind is Anchor.MATMUL]
    if not kernels:
        raise IrcError("no kernel of the program is a matrix product, which a config is for", hint="leave it out")
    for kernel in kernels:
        kernel.config = config
    return module
