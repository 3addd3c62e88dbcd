"""What a CUDA graph gives: results in its memory that it lends, copies of those in its memory, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from irc.runtime.libraries import emptier


class Lender:
    """Of one capture, what keeps the addresses of its results among those that are lent."""


lent: WeakValueDictionary[int, Lender] = WeakValueDictionary()
"""Addresses of results that graphs in training lend, and of arguments in place that these keep for their backward
graphs, as long as there is a graph that makes them."""


class Lent:
    """A result in the memory of a graph, which whoever gets it has until the next replay. is_kept: it is for the
    backward graph alone."""

    def __init__(self, array: Tensor, is_kept: bool):
        self._array, self.is_kept = array, is_kept
        self._storage = array.untyped_storage()
        self._address = array.data_ptr()
        self._unused = 0

    def holders(self) -> int:
        return torch._C._storage_Use_Count(self._storage._cdata)  # pyright: ignore[reportPrivateUsage]

    def begin(self, lender: Lender) -> None:
        """From now on it is lent; nobody has it yet."""
        self._unused = self.holders()
        lent[self._address] = lender

    def is_in_use(self) -> bool:
        return self.holders() > self._unused

    def is_gone(self) -> bool:
        """Whether who had it freed its memory, or gave its storage another."""
        return self._array.data_ptr() != self._address

    def given(self, _: Sequence[Any], __: Sequence[Tensor]) -> Tensor:
        return self._array.detach()


@dataclass(frozen=True)
class Copy:
    """A result in memory that is copied out: all of the copy with that number, or a view of it."""

    number: int
    shape: torch.Size | None = None
    stride: tuple[int, ...] = ()
    offset: int = 0

    def given(self, _: Sequence[Any], copies: Sequence[Tensor]) -> Tensor:
        copy = copies[self.number]
        return copy if self.shape is None else copy.as_strided(self.shape, self.stride, self.offset)


@dataclass(frozen=True)
class View:
    """A result that is an argument, or a view of one. offset: from where the argument begins."""

    number: int
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int

    def given(self, arguments: Sequence[Any], _: Sequence[Tensor]) -> Tensor:
        x: Tensor = arguments[self.number]
        if not self.offset and x.shape == self.shape and x.stride() == self.stride:
            return x
        return x.as_strided(self.shape, self.stride, self.offset + int(x.storage_offset()))


@dataclass(frozen=True)
class Same:
    """A result that is an earlier one."""

    number: int


Result: TypeAlias = Lent | Copy | View | Same | None
"""None of what is no array."""


ALONE = 1 << 14
"""Elements of an array that is copied by itself. Where one launch copies several, a block has 65,536 elements: two
blocks took 14 us for 128,256 scores of words on an H200."""


def copied_together(arrays: Sequence[Tensor]) -> list[list[int]]:
    """The numbers of arrays by the launches that copy them: small ones of one element type have one."""
    launches: dict[Any, list[int]] = {}
    for number, x in enumerate(arrays):
        launches.setdefault(number if x.numel() >= ALONE else x.dtype, []).append(number)
    return list(launches.values())


def copy_each(launches: Sequence[Sequence[int]], destinations: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Copies arrays by the launches of `copied_together`."""
    for numbers in launches:
        if len(numbers) > 1:
            given = ([each[number] for number in numbers] for each in (destinations, sources))
            torch.ops.aten._foreach_copy_.default(*given)
        else:
            torch.ops.aten.copy_.default(destinations[numbers[0]], sources[numbers[0]])


class Copies:
    """Memory that is copied out after each replay. Results that share memory of the graph share that of a copy."""

    def __init__(self) -> None:
        self._sources: list[Tensor] = []
        self._makers: list[Callable[[], Tensor]] = []

    @cached_property
    def _launches(self) -> list[list[int]]:
        """When all are known: the first replay asks."""
        return copied_together(self._sources)

    def add(self, arrays: Sequence[Tensor]) -> list[Copy]:
        """Copies out arrays of one storage. RuntimeError where they are of several element types."""
        first = arrays[0]
        if any(x.dtype != first.dtype or x.is_conj() or x.is_neg() for x in arrays):
            raise RuntimeError("results share memory, and are of different types")
        begin = min(int(x.storage_offset()) for x in arrays)
        end = max(int(x.storage_offset()) + span_of(x) for x in arrays)
        whole = next((x for x in arrays if is_dense(x) and x.numel() == end - begin), None)
        number = self._add(first.as_strided((end - begin,), (1,), begin) if whole is None else whole)
        return [
            Copy(number) if x is whole else Copy(number, x.shape, x.stride(), int(x.storage_offset()) - begin)
            for x in arrays
        ]

    def _add(self, source: Tensor) -> int:
        number = len(self._sources)
        self._sources.append(source)
        self._makers.append(_maker(source))
        return number

    def made(self) -> list[Tensor]:
        """New copies of the memory as it is now."""
        copies = [make() for make in self._makers]
        copy_each(self._launches, copies, self._sources)
        return copies


def _maker(x: Tensor) -> Callable[[], Tensor]:
    """What makes arrays that lie as x does."""
    if x.is_cuda:
        return emptier(torch, x.shape, x.stride(), x.dtype)
    return partial(torch.empty_strided, x.shape, x.stride(), dtype=x.dtype, device=x.device)


def span_of(x: Tensor) -> int:
    """Elements of memory from the first one of an array to the last."""
    if not x.numel():
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(x.shape, x.stride(), strict=True))


def is_dense(x: Tensor) -> bool:
    """Whether an array fills its memory, in some order of its axes, each element once."""
    expected = 1
    for stride, extent in sorted(zip(x.stride(), x.shape, strict=True)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def storage_of(x: Tensor) -> int:
    """Where the memory of a tensor begins; 0 where it has none."""
    return x.untyped_storage().data_ptr()


def planned(
    made: Sequence[Any],
    arguments: Mapping[int, tuple[int, Tensor]],
    lends: Callable[[int, Tensor, bool], bool],
    visible: int | None,
) -> tuple[list[Result], Copies]:
    """How what a graph made is given, and the copies that takes. arguments: by where their memory begins, the numbers
    of arguments with the arrays that the graph reads. lends: whether it lends a result, with its number, that shares
    memory with one that is visible, or does not. RuntimeError where it cannot be given."""
    is_visible = [visible is None or number < visible for number in range(len(made))]
    tensors = {number: x for number, x in enumerate(made) if isinstance(x, Tensor)}
    places = {number: storage_of(x) or -1 - number for number, x in tensors.items()}  # no two without memory share it
    seen = {place for number, place in places.items() if is_visible[number]}
    results: list[Result] = [None] * len(made)
    copied: dict[int, list[int]] = {}
    first: dict[tuple[int, bool], int] = {}
    for number, x in tensors.items():
        memory = places[number]
        if memory in arguments:
            results[number] = _view(x, *arguments[memory])
            continue
        is_lent = lends(number, x, memory in seen)
        before = first.setdefault((id(x), is_lent), number)
        if before != number:
            results[number] = Same(before)
        elif is_lent:
            results[number] = Lent(x, not is_visible[number])
        else:
            copied.setdefault(memory, []).append(number)
    copies = Copies()
    for numbers in copied.values():
        for number, copy in zip(numbers, copies.add([tensors[number] for number in numbers]), strict=True):
            results[number] = copy
    return results, copies


def _view(x: Tensor, number: int, argument: Tensor) -> View:
    if x.dtype != argument.dtype or x.is_conj() or x.is_neg():
        raise RuntimeError("a result is an argument, of another type")
    return View(number, x.shape, x.stride(), int(x.storage_offset()) - int(argument.storage_offset()))


def given(results: Sequence[Result], arguments: Sequence[Any], copies: Sequence[Tensor]) -> list[Any]:
    """The results of a replay."""
    found: list[Any] = []
    for result in results:
        if isinstance(result, Same):
            found.append(found[result.number])
        else:
            found.append(None if result is None else result.given(arguments, copies))
    return found
