"""Ranks with a GPU each exchange arrays of the device through NCCL, by nccl4py's bindings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from irc.runtime.plan import Collective
from irc.support.diagnostics import IrcError
from irc.support.mesh import Mesh

if TYPE_CHECKING:
    from irc.runtime.rendezvous import Place, Rendezvous

TYPES = {
    "f64": "Float64",
    "f32": "Float32",
    "f16": "Float16",
    "bf16": "Bfloat16",
    "f8e4m3": "Float8e4m3",
    "f8e5m2": "Float8e5m2",
    "i64": "Int64",
    "i32": "Int32",
    "i8": "Int8",
    "u8": "Uint8",
    "bool": "Uint8",
}
"""NCCL's name of each element type that it joins."""

SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}
"""Bytes of an element, where it is not 1."""

OPERATIONS = {"sum": "Sum", "prod": "Prod", "max": "Max", "min": "Min"}


class Nccl:
    """The groups of a mesh, each with a communicator of NCCL that is made when it is first used; all ranks make those
    of some axes together."""

    def __init__(self, mesh: Mesh, place: Place, rendezvous: Rendezvous):
        try:
            nccl: Any = import_module("nccl.bindings.nccl")
            nccl.get_version()
        except (ImportError, RuntimeError) as error:
            raise IrcError(
                f"ranks with GPUs exchange arrays by NCCL, and nccl4py or its library does not load: {error}",
                hint="pip install 'irc-compiler[distributed]'",
            ) from error
        self._nccl = nccl
        self._mesh, self._rank, self._rendezvous = mesh, place.rank, rendezvous
        self._groups: dict[tuple[str, ...], Any] = {}

    def enqueue(self, step: Collective, sources: Sequence[int], destinations: Sequence[int], stream: int) -> None:
        """Enqueues the exchange. IrcError where NCCL has no such element type, or fails."""
        nccl, group = self._nccl, self._group(step.over)
        sizes = [buffer.size for buffer in step.sources]
        try:
            nccl.group_start()
            for source, destination, size in zip(sources, destinations, sizes, strict=True):
                if step.does == "all_gather":
                    nccl.all_gather(source, destination, size, int(nccl.DataType.Uint8), group, stream)
                    continue
                count, type = size // SIZES.get(step.element, 1), self._type(step.element)
                operation = int(getattr(nccl.RedOp, OPERATIONS[step.monoid]))
                if step.does == "all_reduce":
                    nccl.all_reduce(source, destination, count, type, operation, group, stream)
                else:
                    part = count // self._mesh.count(step.over)
                    nccl.reduce_scatter(source, destination, part, type, operation, group, stream)
            nccl.group_end()
        except nccl.NCCLError as error:
            raise IrcError(f"NCCL failed at {step.does} over {', '.join(step.over)}: {error}") from error

    def _type(self, element: str) -> int:
        if element not in TYPES:
            raise IrcError(f"NCCL joins no elements of {element}", hint=f"it has {', '.join(TYPES)}")
        return int(getattr(self._nccl.DataType, TYPES[element]))

    def _group(self, axes: tuple[str, ...]) -> Any:
        """The communicator of this rank's group: the first rank of each group makes its id, which all get."""
        if axes not in self._groups:
            ranks = self._mesh.group(self._rank, axes)
            own = bytes(self._nccl.get_unique_id()) if ranks[0] == self._rank else b""
            ids = self._rendezvous.exchange(f"NCCL over {','.join(axes)} of {self._mesh}", own)
            number = ranks.index(self._rank)
            self._groups[axes] = self._nccl.comm_init_rank_scalable(len(ranks), number, 1, bytearray(ids[ranks[0]]), 0)
        return self._groups[axes]
