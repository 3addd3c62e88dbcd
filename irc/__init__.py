"""irc: a compiler of tensor programs, through `nd`, `kernel`, `tile` and `cuda`, to GPU machine code.

Names are imported on first use, so that `import irc` costs nothing that is not needed.
"""

from __future__ import annotations

from importlib import import_module
from os.path import exists
from typing import TYPE_CHECKING, Any

from irc.support.version import VERSION

if TYPE_CHECKING:
    from irc.driver.compiler import compile
    from irc.driver.reports import Reports
    from irc.runtime.executable import Executable
    from irc.runtime.memory_pool import memory_pool
    from irc.runtime.native import include_dir
    from irc.runtime.saved import load
    from irc.support.diagnostics import IrcError

__version__ = VERSION

_LAZY = {
    "compile": "irc.driver.compiler",
    "load": "irc.runtime.saved",
    "include_dir": "irc.runtime.native",
    "memory_pool": "irc.runtime.memory_pool",
    "Reports": "irc.driver.reports",
    "Executable": "irc.runtime.executable",
    "IrcError": "irc.support.diagnostics",
}

if exists(f"{__path__[0]}/client.py"):  # noqa: PTH110, pathlib takes longer than all else here
    import warnings

    warnings.warn(
        "irc-compiler shares the folder of its package `irc` with the Internet Relay Chat library of that name, and "
        "each replaces files of the other: `pip uninstall irc`, then "
        "`pip install --force-reinstall --no-deps irc-compiler`",
        stacklevel=2,
    )

__all__ = ["Executable", "IrcError", "Reports", "__version__", "compile", "include_dir", "load", "memory_pool"]


def __getattr__(name: str) -> Any:
    if (module := _LAZY.get(name)) is None:
        raise AttributeError(f"module 'irc' has no attribute '{name}'")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
