"""CUDA's wheels, which not every machine has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from irc.support.diagnostics import IrcError

WITHOUT_CUDA = "`pip install irc-compiler` brings it on Linux; the targets cpu and sim, and CUDA source, need none"
"""The hint where a wheel of CUDA is missing."""

NEEDS_REFERENCE = "`reference=` of cuda_kernel and triton_kernel is a function that other targets run in its place"
"""The hint where a kernel of the user's code has to run without a GPU."""


def cuda_module(name: str, user: str) -> Any:
    """A module of cuda-bindings or cuda-core; IrcError, which says who needs it, where the wheel is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        wheel = "-".join(name.split(".")[:2])
        raise IrcError(f"{user} needs the wheel {wheel}: {error}", hint=WITHOUT_CUDA) from error
