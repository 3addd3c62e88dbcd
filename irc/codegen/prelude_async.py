"""Snippets: cp.async, TMA and mbarrier (PTX ISA, 9.7.9.25 and 9.7.13.15). Shared addresses are byte addresses in the
shared window."""

from __future__ import annotations

from irc.codegen.snippet import Snippet, placeholders

_TMA = "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"


def _coordinates(rank: int) -> tuple[str, str]:
    """Parameters in the order of the IR, outermost first, and inputs in PTX's, innermost first."""
    parameters = ", ".join(f"int c{i}" for i in range(rank))
    inputs = ", ".join(f'"r"(c{i})' for i in reversed(range(rank)))
    return parameters, inputs


def _tma_load(rank: int) -> Snippet:
    parameters, inputs = _coordinates(rank)
    text = (
        f"DEVICE void tma_load_{rank}d(const TensorMap& map, unsigned address, unsigned barrier, {parameters}) {{\n"
        f'  asm volatile("{_TMA.format(rank=rank)} [%0], [%1, {placeholders(3, rank)}], [%2];"\n'
        f'    :: "r"(address), "l"(&map), "r"(barrier), {inputs} : "memory");\n}}\n'
    )
    return Snippet(f"tma_load_{rank}d", text, ("TensorMap",))


def _tma_load_multicast(rank: int) -> Snippet:
    parameters, inputs = _coordinates(rank)
    text = (
        f"DEVICE void tma_load_multicast_{rank}d("
        f"const TensorMap& map, unsigned address, unsigned barrier, int mask, {parameters}) {{\n"
        f'  asm volatile("{_TMA.format(rank=rank)}.multicast::cluster [%0], [%1, {placeholders(4, rank)}], [%2], %3;"\n'
        f'    :: "r"(address), "l"(&map), "r"(barrier), "h"((unsigned short)mask), {inputs} : "memory");\n}}\n'
    )
    return Snippet(f"tma_load_multicast_{rank}d", text, ("TensorMap",))


def _tma_load_im2col(rank: int, *, multicast: bool) -> Snippet:
    """Offsets of the pixels are 16-bit numbers, innermost first as coordinates are."""
    parameters, inputs = _coordinates(rank)
    moved = range(rank - 2)
    offsets = ", ".join(f'"h"((unsigned short)o{i})' for i in reversed(moved))
    first = 4 if multicast else 3
    parameters += "".join(f", int o{i}" for i in moved)
    kind, name, mask, to, given = _TMA.format(rank=rank).replace(".global", ".global.im2col"), "", "", "", ""
    if multicast:
        kind, name, mask, to = f"{kind}.multicast::cluster", "multicast_", "int mask, ", ", %3"
        given = '"h"((unsigned short)mask), '
    name = f"tma_load_im2col_{name}{rank}d"
    coordinates, offset = placeholders(first, rank), placeholders(first + rank, rank - 2)
    text = (
        f"DEVICE void {name}(const TensorMap& map, unsigned address, unsigned barrier, {mask}{parameters}) {{\n"
        f'  asm volatile("{kind} [%0], [%1, {coordinates}], [%2], {offset}{to};"\n'
        f'    :: "r"(address), "l"(&map), "r"(barrier), {given}{inputs}, {offsets} : "memory");\n}}\n'
    )
    return Snippet(name, text, ("TensorMap",))


def _tma_store(rank: int, *, add: bool) -> Snippet:
    name, kind, reduction = ("tma_add", "cp.reduce", ".add.tile") if add else ("tma_store", "cp", "")
    parameters, inputs = _coordinates(rank)
    instruction = f"{kind}.async.bulk.tensor.{rank}d.global.shared::cta{reduction}.bulk_group"
    at = placeholders(2, rank)
    text = (
        f"DEVICE void {name}_{rank}d(const TensorMap& map, unsigned address, {parameters}) {{\n"
        f'  asm volatile("{instruction} [%0, {at}], [%1];"\n'
        f'    :: "l"(&map), "r"(address), {inputs} : "memory");\n}}\n'
    )
    return Snippet(f"{name}_{rank}d", text, ("TensorMap",))


def _cp_async(size: int) -> Snippet:
    """Through L2 alone (cg) where the instruction has it, which is for 16 bytes."""
    cache = "cg" if size == 16 else "ca"
    text = (
        f"DEVICE void cp_async_{size}(unsigned address, const void* memory, bool predicate = true) {{\n"
        f'  asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size}, %2;"\n'
        f'    :: "r"(address), "l"(__cvta_generic_to_global(memory)), "r"(predicate ? {size} : 0) : "memory");\n}}\n'
    )
    return Snippet(f"cp_async_{size}", text)


_WAIT = """\
DEVICE void barrier_wait(unsigned barrier, unsigned phase) {
  asm volatile("{\\n.reg .pred done;\\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n"
               "@!done bra again;\\n}" :: "r"(barrier), "r"(phase) : "memory");
}
"""

_ARRIVE_CLUSTER = """\
DEVICE void barrier_arrive_cluster(unsigned barrier, unsigned rank) {
  asm volatile("{\\n.reg .b32 remote;\\nmapa.shared::cluster.u32 remote, %0, %1;\\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote];\\n}" :: "r"(barrier), "r"(rank) : "memory");
}
"""

ASYNC: tuple[Snippet, ...] = (
    *(_cp_async(size) for size in (4, 8, 16)),
    *(_tma_load(rank) for rank in range(1, 6)),
    *(_tma_load_multicast(rank) for rank in range(1, 6)),
    *(_tma_load_im2col(rank, multicast=multicast) for rank in range(3, 6) for multicast in (False, True)),
    *(_tma_store(rank, add=add) for add in (False, True) for rank in range(1, 6)),
    Snippet(
        "prefetch_tensor_map",
        "DEVICE void prefetch_tensor_map(const TensorMap& map) {\n"
        '  asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");\n}\n',
        ("TensorMap",),
    ),
    Snippet(
        "barrier_init",
        "DEVICE void barrier_init(unsigned barrier, unsigned count) {\n"
        '  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");\n}\n',
    ),
    Snippet(
        "barrier_expect",
        "DEVICE void barrier_expect(unsigned barrier, unsigned bytes) {\n"
        '  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"\n'
        '    :: "r"(barrier), "r"(bytes) : "memory");\n}\n',
    ),
    Snippet("barrier_wait", _WAIT),
    Snippet(
        "barrier_arrive",
        "DEVICE void barrier_arrive(unsigned barrier) {\n"
        '  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");\n}\n',
    ),
    Snippet("barrier_arrive_cluster", _ARRIVE_CLUSTER),
)
