"""What a program does on the target `cpu` as plain data: stored with its machine code, and run without xDSL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from irc.support.plain import Plain

Does: TypeAlias = Literal["launch", "reshape", "interpret"]


@dataclass(frozen=True)
class Check:
    """What a kernel expects of indices, and where it says so (`file:line:column`, or `?`)."""

    expected: str
    location: str


@dataclass(frozen=True)
class CpuKernel:
    """A kernel of the object file. own_bytes: memory that each thread needs. checks: in the order of their
    numbers, from 1 on."""

    name: str
    tiles: int
    own_bytes: int
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Array:
    """The type of a value: extents and element name."""

    shape: tuple[int, ...]
    element: str


@dataclass(frozen=True)
class CpuStep:
    """An op of the function by numbers of values: its operands', and those that nobody reads after it. Its results have
    the next numbers. `name` and `location` are a profile's. `of` is the kernel that is launched, or the IR of the op
    that is interpreted, as the one function of a module."""

    does: Does
    name: str
    location: str
    operands: tuple[int, ...]
    dead: tuple[int, ...]
    results: tuple[Array, ...]
    of: str = ""
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class CpuPlan:
    """name: of the function, whose arguments have the first numbers. returned: the numbers of its results. host: the
    triple of the system that the machine code is for, the CPU's name, and what it has (`irc.support.llvm.host`)."""

    name: str
    host: tuple[str, str, str]
    kernels: tuple[CpuKernel, ...]
    steps: tuple[CpuStep, ...]
    returned: tuple[int, ...]

    def to_json(self) -> Any:
        """As dictionaries, lists, strings and numbers."""
        return _PLAIN.to_json(self)

    @staticmethod
    def from_json(data: Any) -> CpuPlan:
        """What `to_json` made. KeyError or TypeError where it is something else."""
        return _PLAIN.from_json(data)


_PLAIN = Plain((Check, CpuKernel, Array, CpuStep, CpuPlan))
