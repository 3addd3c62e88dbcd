"""The state of an mbarrier (PTX ISA, 9.7.13.15 "mbarrier").

A barrier counts, in each phase, arrivals down to 0 and bytes of asynchronous copies up and down: `expect` adds bytes
that are to come, a copy takes those it brought. The phase completes when no arrival and no byte is pending; the next
one starts with the full count of arrivals. A wait names the parity of the phase that it waits for: that of the current
phase blocks, the other passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BYTES = 2**20 - 1
"""The range of the transaction count."""


class MbarrierError(ValueError):
    """A use of a barrier that leaves it in no defined state."""


@dataclass
class Mbarrier:
    """`count` arrivals complete a phase; `phase` of them have."""

    count: int
    phase: int = 0
    arrivals: int = field(init=False)
    """Pending in this phase."""
    bytes: int = 0
    """Pending in this phase; negative while copies have brought more than was announced."""

    def __post_init__(self) -> None:
        self.arrivals = self.count

    def passes(self, parity: int) -> bool:
        """Whether a wait for the phase of this parity returns."""
        return self.phase % 2 != parity

    def expect(self, bytes: int) -> None:
        """Announces bytes of copies (mbarrier.expect_tx). MbarrierError beyond the counter's range."""
        self._count_bytes(bytes)

    def complete(self, bytes: int) -> bool:
        """A copy has brought bytes (mbarrier.complete_tx); whether the phase is complete."""
        self._count_bytes(-bytes)
        return self._advance()

    def arrive(self) -> bool:
        """One arrival; whether the phase is complete. MbarrierError where none is pending: the phase waits for bytes
        alone."""
        if self.arrivals == 0:
            raise MbarrierError(
                f"an arrival beyond the {self.count} of a phase, which still waits for {self.bytes} bytes"
            )
        self.arrivals -= 1
        return self._advance()

    def _count_bytes(self, change: int) -> None:
        self.bytes += change
        if abs(self.bytes) > MAX_BYTES:
            raise MbarrierError(f"{self.bytes} bytes pending on a barrier that counts up to {MAX_BYTES}")

    def _advance(self) -> bool:
        if self.arrivals:
            return False
        if self.bytes < 0:
            raise MbarrierError(f"copies brought {-self.bytes} bytes more than the phase was told to expect")
        if self.bytes:
            return False
        self.phase += 1
        self.arrivals = self.count
        return True

    def describe(self) -> str:
        """Its pending counts, for a report."""
        return f"phase {self.phase} waits for {self.arrivals} of {self.count} arrivals and {self.bytes} bytes"
