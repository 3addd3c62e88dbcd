"""C++ names for SSA values: their name hints, made legal and unique in the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from irc.codegen.prelude import defined_names
from irc.ir.math_library import FUNCTIONS

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern
    false float for friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr operator
    or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq DEVICE NULL INFINITY NAN
    threadIdx blockIdx blockDim gridDim warpSize min max abs cute cutlass cuda std shared_memory shared_base
    """.split()
)
"""What a local variable cannot be called: keywords, and names that generated code uses itself."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]")


@cache
def _reserved() -> frozenset[str]:
    functions = {*FUNCTIONS.values(), "fmin", "fmax"}
    return _KEYWORDS | defined_names() | functions | {f"{name}f" for name in functions}


class Names:
    """Gives each value of one kernel a name of its own, beside those that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = dict.fromkeys(taken, 0)

    def fresh(self, hint: str | None) -> str:
        """A name like the hint; the second of a kind is `x_1`. Names end in no underscore, unlike those of the
        prelude."""
        base = _NOT_IN_A_NAME.sub("_", hint or "v").strip("_") or "v"
        if base[0].isdigit():
            base = f"v{base}"
        if base in _reserved():
            base = f"{base}_value"
        name = base
        while name in self._used:
            self._used[base] += 1
            name = f"{base}_{self._used[base]}"
        self._used[name] = 0
        return name
