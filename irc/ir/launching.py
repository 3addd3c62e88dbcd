"""What a host plan knows of the kernels that it launches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue


class LaunchableInterface(Operation, ABC):
    """An op with a symbol that a step of a plan launches: which operands it takes, and what it does to them."""

    @property
    @abstractmethod
    def symbol(self) -> str:
        """Its name in the module."""

    @property
    @abstractmethod
    def arguments(self) -> Sequence[SSAValue]:
        """The arguments of its body."""

    @abstractmethod
    def takes_memory(self, argument: SSAValue) -> bool:
        """Whether the argument describes memory; otherwise it is a scalar of its type."""

    @property
    @abstractmethod
    def operand_of_argument(self) -> tuple[int, ...]:
        """For each argument the operand of the launch that it describes."""

    @property
    @abstractmethod
    def written(self) -> tuple[bool, ...]:
        """For each argument whether the kernel may write through it."""

    @property
    @abstractmethod
    def overlapping(self) -> frozenset[int]:
        """The operands whose memory may be that of another one."""

    @property
    @abstractmethod
    def max_sets(self) -> int:
        """How many sets of operands a launch has at most."""
