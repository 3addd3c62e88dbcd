"""What irc adds to xDSL, for its `xdsl.universe` entry point: lazy factories of dialects, passes and targets.

Importing this module imports no dialect and no pass; `irc/driver/pipelines.py` has the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

from irc.driver.pipelines import DIALECTS, PASSES, TARGETS


def resolve(path: str) -> Any:
    """What `module:attribute` names, imported now."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _factories(table: dict[str, str]) -> dict[str, Callable[[], Any]]:
    return {name: partial(resolve, path) for name, path in table.items()}


IRC_UNIVERSE = Universe(
    all_dialects=_factories(DIALECTS),
    all_passes=_factories(PASSES),
    all_targets=_factories(TARGETS),
)
