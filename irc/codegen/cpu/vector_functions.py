"""Functions of the C library on vectors, as glibc brings them in libmvec: within 4 units in the last place.

LLVM makes vectors of calls that name such a function in the attribute `vector-function-abi-variant`, by the names of
the vector function ABI of x86-64: `_ZGV`, the instructions, `N` for no mask, elements, `v` for each argument.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from irc.ir.math_library import FUNCTIONS
from irc.support.llvm import VECTOR_LIBRARY

_ARGUMENTS = {name: len(op.get_irdl_definition().operands) for op, name in FUNCTIONS.items()}
"""How many each function has."""


@dataclass(frozen=True)
class VectorFunction:
    """One that a function of the C library is on vectors of so many elements."""

    scalar: str
    name: str
    elements: int
    arguments: int

    @property
    def attribute(self) -> str:
        """What a call of the scalar function says."""
        variant = f"_ZGV_LLVM_N{self.elements}{'v' * self.arguments}_{self.scalar}({self.name})"
        return f'"vector-function-abi-variant"="{variant}"'

    def declaration(self, type: str) -> str:
        vector = f"<{self.elements} x {type}>"
        return f"declare {vector} @{self.name}({', '.join([vector] * self.arguments)}) #1"


def vector_functions(features: Mapping[str, bool]) -> dict[str, VectorFunction]:
    """Those of the widest vectors of a CPU with these features, by the scalar function; none where there is no such
    library."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return {}
    try:
        library = ctypes.CDLL(VECTOR_LIBRARY)
    except OSError:
        return {}
    instructions, size = ("e", 64) if features.get("avx512f") else ("d", 32) if features.get("avx2") else ("b", 16)
    found: dict[str, VectorFunction] = {}
    for function, arguments in _ARGUMENTS.items():
        for scalar, elements in ((f"{function}f", size // 4), (function, size // 8)):
            name = f"_ZGV{instructions}N{elements}{'v' * arguments}_{scalar}"
            if hasattr(library, name):
                found[scalar] = VectorFunction(scalar, name, elements, arguments)
    return found
