"""irc as a backend of torch's compiler: `torch.compile(model, backend="irc")` (docs/torch.md).

Nothing else in irc imports torch; this module is loaded by torch, through the entry point, or by who imports it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from irc.support.garbage import seldom_collecting

with seldom_collecting():  # torch has so many objects that a look for garbage takes as long as a tenth of the modules
    from irc_frontend.torch.backend import backend

if TYPE_CHECKING:
    from irc_frontend.torch.explanation import Explanation, explain
    from irc_frontend.torch.exported import from_exported

__all__ = ["Explanation", "backend", "explain", "from_exported"]

_LATE = {"Explanation": "explanation", "explain": "explanation", "from_exported": "exported"}
"""The modules of what a call of a compiled model does not need: they load the compiler."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
