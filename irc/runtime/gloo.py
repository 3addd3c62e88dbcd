"""Ranks on CPUs exchange arrays through gloo, by torch.distributed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.trace import COLLECTIVE, active
from irc.support.diagnostics import IrcError
from irc.support.mesh import Mesh

if TYPE_CHECKING:
    from irc.runtime.rendezvous import Place, Rendezvous

Array = np.ndarray[Any, Any]

TIMEOUT = timedelta(minutes=30)
"""Of an exchange. A rank that is gone is noticed before that."""

_WIDE = {
    "int16": np.int32,
    "float16": np.float32,
    "bfloat16": np.float32,
    "float8_e4m3fn": np.float32,
    "float8_e5m2": np.float32,
}
"""What elements that gloo has not are added up in."""


class Gloo:
    """The groups of a mesh, as process groups of torch, each made when it is first used; all ranks make all groups of
    some axes."""

    def __init__(self, mesh: Mesh, place: Place, rendezvous: Rendezvous):
        try:
            import torch
            import torch.distributed as distributed
        except ImportError as error:
            raise IrcError(
                "ranks on CPUs exchange arrays by torch.distributed, and torch is not installed",
                hint="pip install 'irc-compiler[torch]'",
            ) from error
        self._torch, self._distributed = torch, distributed
        self._mesh, self._rank = mesh, place.rank
        self._groups: dict[tuple[str, ...], Any] = {}
        if not distributed.is_initialized():
            self._start(place, rendezvous)

    def _start(self, place: Place, rendezvous: Rendezvous) -> None:
        store: Any = None
        port = 0
        if place.rank == 0:
            store = self._distributed.TCPStore(place.address, 0, place.size, is_master=True, wait_for_workers=False)
            port = store.port
        port = int(rendezvous.exchange("gloo", str(port).encode())[0])
        if place.rank:
            store = self._distributed.TCPStore(place.address, port, place.size, is_master=False)
        self._distributed.init_process_group(
            "gloo", store=store, rank=place.rank, world_size=place.size, timeout=TIMEOUT
        )

    def _group(self, axes: tuple[str, ...]) -> Any:
        if axes not in self._groups:
            groups = {tuple(self._mesh.group(rank, axes)) for rank in range(self._mesh.size)}
            for ranks in sorted(groups):
                made = self._distributed.new_group(list(ranks), timeout=TIMEOUT, backend="gloo")
                if self._rank in ranks:
                    self._groups[axes] = made
        return self._groups[axes]

    def all_reduce(self, arrays: Sequence[Array], monoid: str, axes: Sequence[str]) -> list[Array]:
        return self._watched("all_reduce", lambda group: [self._reduced(x, monoid, group) for x in arrays], axes)

    def all_gather(self, x: Array, axes: Sequence[str]) -> Array:
        """Ranks of a process group are in the order of their numbers, those of a group in that of the axes."""
        order = self._mesh.group(self._rank, axes)
        places = [sorted(order).index(rank) for rank in order]

        def gathered(group: Any) -> Array:
            mine = self._torch.from_numpy(_bytes(x))
            parts = [self._torch.empty_like(mine) for _ in order]
            self._distributed.all_gather(parts, mine, group=group)
            arrays = [parts[place].numpy().view(x.dtype).reshape(x.shape) for place in places]
            return np.concatenate(arrays)

        return self._watched("all_gather", gathered, axes)

    def reduce_scatter(self, x: Array, monoid: str, axes: Sequence[str]) -> Array:
        order = self._mesh.group(self._rank, axes)
        whole = self.all_reduce([x], monoid, axes)[0]
        return np.split(whole, len(order))[order.index(self._rank)]

    def _reduced(self, x: Array, monoid: str, group: Any) -> Array:
        wide = np.array(x, np.uint8 if x.dtype == np.bool_ else _WIDE.get(x.dtype.name, x.dtype), order="C")
        tensor = self._torch.from_numpy(wide.reshape(-1))
        operation = {"sum": "SUM", "prod": "PRODUCT", "max": "MAX", "min": "MIN"}[monoid]
        self._distributed.all_reduce(tensor, getattr(self._distributed.ReduceOp, operation), group=group)
        return wide.astype(x.dtype)

    def _watched(self, name: str, exchange: Callable[[Any], Any], axes: Sequence[str]) -> Any:
        begin = time.perf_counter()
        try:
            return exchange(self._group(tuple(axes)))
        except RuntimeError as error:
            time.sleep(10)  # the rendezvous ends the process with the name of the rank that is gone
            raise IrcError(f"an exchange among ranks failed: {error}") from error
        finally:
            if (trace := active()) is not None:
                trace.add(f"{name} {','.join(axes)}", COLLECTIVE, begin, time.perf_counter())


def _bytes(x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)
