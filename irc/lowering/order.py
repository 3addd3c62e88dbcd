"""What of shared memory was touched since threads last met: whether the next access of it has to wait for them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

Bytes = tuple[int, int]
"""A range of bytes of shared memory, [start, end)."""

EVERYTHING: Bytes = (0, 1 << 32)


@dataclass(frozen=True)
class Touch:
    """Some threads have read or written `region`. `owners` says which warp touches which part of it: touches with the
    same owners meet in one warp at most. None: any thread may have touched any part. is_settled: the threads of each
    warp have met since."""

    region: Bytes
    owners: Hashable = None
    is_settled: bool = False

    def settled(self) -> Touch:
        return Touch(self.region, self.owners, True)

    def meets(self, others: Iterable[Touch]) -> list[Touch]:
        """Those in whose regions it lies."""
        start, end = self.region
        return [other for other in others if start < other.region[1] and other.region[0] < end]

    def is_apart(self, other: Touch) -> bool:
        """Whether other warps have touched other parts."""
        return self.owners is not None and self.owners == other.owners


ANY = Touch(EVERYTHING)
