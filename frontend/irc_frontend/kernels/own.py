"""What the user says of a kernel beside its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from irc_frontend.place import Known

Config: TypeAlias = Mapping[str, Any]
"""Fields of `#kernel.config`, `tile` by the names of loops."""

Gradient: TypeAlias = Callable[..., Any]


@dataclass
class Own:
    """What a kernel has with any config. gradient: what the user says that it is, a function of the gradients of the
    results, the results, and the arguments of the call; None where it is that of what the kernel computes."""

    gradient: Gradient | None = None


@dataclass(frozen=True)
class Configs:
    """The configs that a kernel may have, of which the fastest is taken, and where they are said. autotune: whether
    what a config leaves open is searched for, or for how many seconds."""

    given: tuple[Config, ...]
    place: Known | None
    autotune: bool | float = False


NO_CONFIG = Configs(({},), None)
"""All is chosen."""
