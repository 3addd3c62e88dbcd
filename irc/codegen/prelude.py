"""What generated kernels call: small device functions and types, of which a source gets those that it uses.

A snippet has a name, the names of the snippets it needs, and its text. Families are in the modules `prelude_*`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from irc.codegen.atoms import atom_snippet
from irc.codegen.prelude_core import CORE
from irc.codegen.prelude_numbers import NUMBERS
from irc.codegen.prelude_tensor_core import TENSOR_CORE
from irc.codegen.snippet import Snippet

_DEFINED = re.compile(r"(?:DEVICE [\w ]+?|struct (?:alignas\(\d+\) )?)(\w+)(?= ?[({])")

_FUNCTION = "#define DEVICE __device__ __forceinline__\n"


@cache
def snippets() -> dict[str, Snippet]:
    """All snippets with a fixed name, in the order of definition: a snippet comes after those it needs."""
    return {snippet.name: snippet for snippet in (*CORE, *NUMBERS, *TENSOR_CORE)}


@cache
def defined_names() -> frozenset[str]:
    """Every name that a snippet defines, or takes for its own."""
    return frozenset(_DEFINED.findall("".join(snippet.text for snippet in snippets().values())))


def prelude(names: Mapping[str, Snippet | None]) -> str:
    """The text of the named snippets and all that they need, and of snippets that are given with their names; a name of
    a wgmma atom stands for its function."""
    table = snippets()
    needed: set[str] = set()
    given = [snippet.text for snippet in names.values() if snippet is not None]
    atoms = sorted(name for name, snippet in names.items() if snippet is None and name not in table)
    pending = [name for name in names if name in table]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += table[name].needs
    texts = [snippet.text for name, snippet in table.items() if name in needed]
    texts += given
    texts += [atom_snippet(atom) for atom in atoms]
    return (_FUNCTION if texts else "") + "".join(texts)
