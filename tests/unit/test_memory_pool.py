"""The memory pool of a device, on a driver that keeps the books of pools and has no memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import irc
from irc.runtime import driver
from irc.runtime.memory_pool import MemoryPool, memory_pool
from irc.runtime.spare_streams import SpareStreams
from irc.support.diagnostics import IrcError

MIB = 1 << 20
TOTAL = 1 << 31
"""Bytes of the device."""

PIECE = 2 * MIB
"""What the driver takes from the device at a time."""

OUT_OF_MEMORY = 2


class Pool:
    """What the driver knows of a pool."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.sizes = {"USED_MEM_CURRENT": 0, "RESERVED_MEM_CURRENT": 0, "USED_MEM_HIGH": 0, "RESERVED_MEM_HIGH": 0}
        self.sizes["RELEASE_THRESHOLD"] = 0

    def grow(self, name: str, to: int) -> None:
        self.sizes[f"{name}_CURRENT"] = to
        self.sizes[f"{name}_HIGH"] = max(to, self.sizes[f"{name}_HIGH"])

    def trim(self, kept: int) -> None:
        least = -(-max(kept, self.sizes["USED_MEM_CURRENT"]) // PIECE) * PIECE
        self.sizes["RESERVED_MEM_CURRENT"] = min(self.sizes["RESERVED_MEM_CURRENT"], least)


class Driver:
    """Pools by their handles. Where it `makes_limited` none, one with a maximum is refused."""

    def __init__(self, *, makes_limited: bool = True) -> None:
        self.makes_limited = makes_limited
        self.pools: dict[int, Pool] = {}
        self.taken: dict[int, tuple[Pool, int]] = {}
        self.last = 4096

    def made(self, ordinal: int, options: Any) -> Any:
        if options.max_size and not self.makes_limited:
            raise ValueError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        handle = len(self.pools) + 1
        self.pools[handle] = Pool(options.max_size)
        return SimpleNamespace(handle=handle)

    def call(self, function: str, *arguments: Any) -> Any:
        if function == "cuMemGetInfo":
            return 1 << 30, TOTAL
        pool = self.pools[arguments[0]]
        match function, arguments[1:]:
            case "cuMemPoolGetAttribute", (attribute,):
                return pool.sizes[attribute.name.removeprefix("CU_MEMPOOL_ATTR_")]
            case "cuMemPoolSetAttribute", (attribute, size):
                pool.sizes[attribute.name.removeprefix("CU_MEMPOOL_ATTR_")] = int(size)
            case "cuMemPoolTrimTo", (kept,):
                pool.trim(kept)
            case _:
                raise AssertionError(function)

    def cuMemAllocFromPoolAsync(self, address: Any, size: int, handle: int, stream: int) -> int:
        pool = self.pools[handle]
        used = pool.sizes["USED_MEM_CURRENT"] + size
        reserved = max(pool.sizes["RESERVED_MEM_CURRENT"], -(-used // PIECE) * PIECE)
        if reserved > (pool.maximum or 1 << 30):
            return OUT_OF_MEMORY
        pool.grow("USED_MEM", used)
        pool.grow("RESERVED_MEM", reserved)
        self.last += 4096
        self.taken[self.last] = pool, size
        address.value = self.last
        return 0

    def cuMemFreeAsync(self, address: int, stream: int) -> int:
        pool, size = self.taken.pop(address)
        pool.sizes["USED_MEM_CURRENT"] -= size
        return 0

    def cuStreamSynchronize(self, stream: int) -> int:
        for pool in self.pools.values():
            pool.trim(pool.sizes["RELEASE_THRESHOLD"])
        return 0


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Driver:
    return on_driver(monkeypatch, Driver())


def on_driver(monkeypatch: pytest.MonkeyPatch, books: Driver) -> Driver:
    """Device 0 is one whose driver is that."""
    wrapper = pytest.importorskip("irc.runtime.device")
    monkeypatch.setattr(wrapper, "_call", books.call)
    monkeypatch.setattr(wrapper, "library", lambda: books)
    monkeypatch.setattr(wrapper.core, "DeviceMemoryResource", books.made)
    made = wrapper.Device.__new__(wrapper.Device)
    made.ordinal, made._spare_streams, made.use = 0, SpareStreams(lambda: 7), lambda: None
    monkeypatch.setattr(driver, "device", [made].__getitem__)
    return books


def test_what_a_pool_begins_with_is_reserved_and_stays(books: Driver) -> None:
    pool = irc.memory_pool(64 * MIB)
    assert (pool.used, pool.reserved, pool.most_used) == (0, 64 * MIB, 64 * MIB)
    assert (pool.kept, pool.maximum) == (TOTAL // 4, None)
    memory = driver.device(0).allocate(3 * MIB, 7)
    assert (pool.used, pool.reserved) == (3 * MIB, 64 * MIB)
    assert irc.memory_pool(64 * MIB).reserved == 64 * MIB, "nothing more is asked for"
    memory.free(7)
    assert pool.used == 0
    assert repr(pool) == "<irc.MemoryPool of device 0: 0.0 MiB used of 64.0 MiB reserved>"


def test_what_is_kept_and_the_largest_sizes_are_set(books: Driver) -> None:
    pool = irc.memory_pool(kept=4 * MIB)
    memory = driver.device(0).allocate(16 * MIB, 7)
    memory.free(7)
    assert (pool.reserved, pool.most_used, pool.most_reserved) == (16 * MIB, 16 * MIB, 16 * MIB)
    driver.device(0).synchronize(7)
    assert pool.reserved == 4 * MIB
    pool.forget_most()
    assert (pool.most_used, pool.most_reserved) == (0, 0)
    pool.trim()
    assert pool.reserved == 0
    assert irc.memory_pool(8 * MIB).kept == 8 * MIB, "what a pool begins with is kept"


def test_a_pool_has_no_more_than_its_maximum(books: Driver) -> None:
    pool = irc.memory_pool(4 * MIB, 16 * MIB)
    assert (pool.reserved, pool.maximum, pool.kept) == (4 * MIB, 16 * MIB, TOTAL // 4)
    assert repr(pool).endswith("reserved, at most 16.0 MiB>")
    kept = driver.device(0).allocate(12 * MIB, 7)
    with pytest.raises(IrcError, match=r"not enough memory in the pool: 0\.01 GiB are needed, 0\.00 GiB of at most"):
        driver.device(0).allocate(8 * MIB, 7)
    assert irc.memory_pool(maximum=16 * MIB).used == 12 * MIB, "the same maximum is no change"
    with pytest.raises(IrcError, match="device 0 has 12582912 bytes in use, and its maximum is fixed"):
        irc.memory_pool(maximum=32 * MIB)
    kept.free(7)
    assert irc.memory_pool(maximum=32 * MIB).used == 0
    driver.device(0).allocate(20 * MIB, 7)
    assert len(books.pools) == 3


def test_a_driver_without_limited_pools_leaves_the_pool_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    on_driver(monkeypatch, Driver(makes_limited=False))
    with pytest.raises(IrcError, match="the driver makes no memory pool of at most 16777216 bytes"):
        irc.memory_pool(maximum=16 * MIB)
    assert irc.memory_pool(16 * MIB).reserved == 16 * MIB


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"initial": -1}, "initial of a memory pool: expected a number of bytes, found -1"),
        ({"kept": 0.5}, "kept of a memory pool: expected a number of bytes, found 0.5"),
        ({"maximum": 0}, "the maximum of a memory pool is 0 bytes"),
        ({"initial": 2, "maximum": 1}, "begins with 2 bytes and has at most 1"),
        ({"initial": 2, "kept": 1}, "begins with 2 bytes and keeps 1"),
    ],
)
def test_sizes_that_are_none_are_refused(books: Driver, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(IrcError, match=message):
        memory_pool(**sizes)
    with pytest.raises(IrcError, match="kept of a memory pool"):
        MemoryPool(driver.device(0)).trim(-1)
    assert not books.pools


def test_there_is_no_pool_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    driver.device_of.cache_clear()
    monkeypatch.setattr(driver, "is_present", lambda: False)
    with pytest.raises(IrcError, match="no CUDA GPU is present"):
        irc.memory_pool()


def test_the_first_device_is_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by its number or without: there is one pool."""
    wrapper = pytest.importorskip("irc.runtime.device")
    monkeypatch.setattr(driver, "require_device", lambda: None)
    monkeypatch.setattr(wrapper, "Device", lambda ordinal: SimpleNamespace(ordinal=ordinal))
    driver.device_of.cache_clear()
    try:
        assert driver.device() is driver.device(0)
        assert driver.device(1) is not driver.device()
    finally:
        driver.device_of.cache_clear()
