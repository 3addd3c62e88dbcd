"""Extents that are known when a program is called: their dims, the numbers that stand for them, and their values.

A dim is a class of sizes: a range, and a number that every size is a multiple of. While a program is compiled, a number
stands for the extent: `multiple` times a prime that no other extent has as a factor. So the number shares with the
sizes of the class what passes ask of an extent, by what it can be divided, and it is no smaller than any of them: what
fits for it fits for them. A number with the prime as a factor is a product with the extent. What it is in a call
follows by putting the size's `units`, its multiples of `multiple`, in the place of the prime.

Nothing of the compiler is imported, so that the runtime does without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div

LEAST_PRIME = 521
"""Primes begin here, so that no tile covers a whole dim: a class of sizes has tiles that repeat."""

MAX_EXTENT = 1 << 31
"""The largest size that a dim may have."""


@dataclass(frozen=True)
class Dim:
    """A dim: its sizes are the multiples of `multiple` in least..most. prime: of the number that stands for it. usual:
    a size that calls are expected to have, which configs are chosen for; 0 where that is the largest."""

    name: str
    least: int
    most: int
    multiple: int
    prime: int
    usual: int = 0

    @property
    def stand_in(self) -> int:
        """The extent that types have in its place."""
        return self.multiple * self.prime

    @property
    def text(self) -> str:
        """As `.irc` declares it: `N in 1..65536 multiple 8`."""
        return f"{self.name} in {self.least}..{self.most}" + (f" multiple {self.multiple}" * (self.multiple > 1))

    @property
    def samples(self) -> tuple[int, int]:
        """A small size, but not one of few units, and a large one: like the number that stands for all, the multiple
        times a prime where there is such a size."""
        first, last = ceil_div(self.least, self.multiple), self.most // self.multiple
        small = next((n for n in range(max(first, 5), last + 1) if _is_prime(n)), last)
        large = next((n for n in range(last, max(first, 5), -1) if _is_prime(n)), last)
        return small * self.multiple, large * self.multiple

    @property
    def usual_size(self) -> int:
        return self.usual or self.most // self.multiple * self.multiple

    def check(self, size: int, where: str) -> None:
        """IrcError where the size is none of the dim's. `where` says what has it."""
        if self.least <= size <= self.most and size % self.multiple == 0:
            return
        wrong = f"not a multiple of {self.multiple}" if size % self.multiple else f"not in {self.least}..{self.most}"
        raise IrcError(f"{where}: {self.name} is {size}, {wrong}", hint=f"the program is compiled for {self.text}")


Sizes = Mapping[str, int]
"""The size of each dim in a call, by name."""


def dim_of(name: str, least: int, most: int, multiple: int, avoid: Iterable[int] = (), usual: int = 0) -> Dim:
    """A dim with the least prime that is large enough, and no factor of the numbers to avoid. ValueError where there is
    no such size."""
    if not (0 < least <= most < MAX_EXTENT and multiple > 0):
        raise ValueError(f"expected sizes from 1 to {MAX_EXTENT - 1} and a multiple of 1 or more")
    if most // multiple * multiple < least:
        raise ValueError(f"no multiple of {multiple} is in {least}..{most}")
    taken = [number for number in avoid if number]
    prime = max(LEAST_PRIME, ceil_div(most, multiple))
    while not _is_prime(prime) or multiple % prime == 0 or any(number % prime == 0 for number in taken):
        prime += 1
    return Dim(name, least, most, multiple, prime, usual)


def _is_prime(n: int) -> bool:
    if n % 2 == 0:
        return n == 2
    divisor = 3
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 2
    return n > 1


def varying(number: int, dims: Iterable[Dim]) -> list[Dim]:
    """The dims, each as often as it is a factor, that a number stands for a product with."""
    found: list[Dim] = []
    for dim in dims if number else ():
        while number % dim.prime == 0:
            number //= dim.prime
            found.append(dim)
    return found


def sized(number: int, dims: Iterable[Dim], sizes: Sizes) -> int:
    """What a number stands for, with these sizes."""
    for dim in varying(number, dims):
        number = number // dim.prime * (sizes[dim.name] // dim.multiple)
    return number


def sized_all(numbers: Iterable[int], dims: Sequence[Dim], sizes: Sizes) -> tuple[int, ...]:
    return tuple(sized(number, dims, sizes) for number in numbers)


def extent_text(number: int, dims: Sequence[Dim]) -> str:
    """An extent as `.irc` has it: `N`, `N * 12`, `512`."""
    names: list[str] = []
    for dim in varying(number, dims):
        number //= dim.prime
        if number % dim.multiple == 0:
            number //= dim.multiple
            names.append(dim.name)
        else:
            names.append(f"{dim.name} // {dim.multiple}")
    factors = [*names, *([str(number)] if number != 1 or not names else [])]
    return " * ".join(factors)
