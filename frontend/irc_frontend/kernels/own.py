"""What a kernel has with any config."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Gradient: TypeAlias = Callable[..., Any]


@dataclass
class Own:
    """gradient: what the user says that it is, a function of the gradients of the results, the results, and the
    arguments of the call; None where it is that of what the kernel computes."""

    gradient: Gradient | None = None
