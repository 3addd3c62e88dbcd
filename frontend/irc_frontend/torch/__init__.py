"""irc as a backend of torch's compiler: `torch.compile(model, backend="irc")` (docs/torch.md).

Nothing else in irc imports torch; this module is loaded by torch, through the entry point, or by who imports it.
"""

from irc.support.garbage import seldom_collecting

with seldom_collecting():  # torch has so many objects that a look for garbage takes as long as a tenth of the modules
    from irc_frontend.torch.backend import backend
    from irc_frontend.torch.explanation import Explanation, explain
    from irc_frontend.torch.exported import from_exported

__all__ = ["Explanation", "backend", "explain", "from_exported"]
