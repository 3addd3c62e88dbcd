"""Object files of the target `cpu` in memory."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from ctypes.util import find_library
from functools import cache
from itertools import count
from typing import Any

from irc.support.llvm import VECTOR_LIBRARY, llvm, start


class Loaded:
    """Functions in memory, by name, as long as this lives."""

    def __init__(self, content: bytes, names: Sequence[str]):
        library = llvm().JITLibraryBuilder().add_object_img(content).add_current_process()
        for name in names:
            library.export_symbol(name)
        self._addresses = library.link(_linker(), f"kernels{next(_NUMBERS)}")

    def address(self, name: str) -> int:
        return self._addresses[name]


_NUMBERS = count()
"""Of libraries of kernels: their names in the linker."""


@cache
def _linker() -> Any:
    """LLVM's linker in memory. JITLink places all sections of an object in one block: they reach each other by 32 bits,
    and a process whose addresses a GPU's driver has cut into pieces has no room for them side by side otherwise."""
    start()
    _give_functions()
    return llvm().create_lljit_compiler(use_jit_link=True)


def _give_functions() -> None:
    """The C library's functions, which kernels call. On Linux their library is named: `find_library` starts a
    process."""
    is_linux = platform.system() == "Linux"
    llvm().load_library_permanently("libm.so.6" if is_linux else find_library("m"))
    if is_linux:
        with suppress(RuntimeError):  # kernels call it where it was there when they were compiled
            llvm().load_library_permanently(VECTOR_LIBRARY)
