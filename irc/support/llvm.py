"""llvmlite, which makes and links the machine code of this CPU, and what this CPU is."""

from __future__ import annotations

from functools import cache
from typing import Any

from irc.support.diagnostics import IrcError


def llvm() -> Any:
    """llvmlite's binding; IrcError where it is not installed."""
    try:
        import llvmlite.binding as binding
    except ImportError as error:
        raise IrcError("the target cpu needs llvmlite", hint="pip install llvmlite, or the target interpret") from error
    return binding


VECTOR_LIBRARY = "libmvec.so.1"
"""glibc's functions on vectors, which kernels call where it is there."""


@cache
def host() -> tuple[str, str, str]:
    """The triple of this system, LLVM's name of this CPU, and what it has and lacks (`+avx2,-sse4a,...`)."""
    binding = llvm()
    return binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def missing(features: str) -> list[str]:
    """Those of the features (`+avx2,...`) that this CPU lacks."""
    present = set(host()[2].split(","))
    return [each[1:] for each in features.split(",") if each.startswith("+") and each not in present]


@cache
def start() -> None:
    """Makes LLVM ready for machine code of this CPU."""
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
