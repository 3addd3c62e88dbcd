"""The processes that lower kernels: `main` runs in one that has loaded irc, and is forked for each of the sockets that
it is given. Each answers requests until its socket is closed, see `irc.tuning.worker`.

A kernel is tiled, and its program is sent back: which programs are equal all of them say. A program is lowered
by itself, as far as it does not depend on the host plan; it is finished when the plan is made. In
between the process keeps it, and the one that plans has its head.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Region

from irc.analysis.early_reads import early_reads
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import BlockIdOp, DependencyWaitOp, KernelOp, ReturnOp
from irc.dialects.kernel import FusedOp
from irc.dialects.tile import ProgramOp
from irc.driver.lowering import passes_of
from irc.driver.manager import PassManager, Step
from irc.driver.pipelines import CUDA, PROGRAMS, TILE
from irc.driver.program import new_context
from irc.ir.blocks import ops_in
from irc.ir.plain_ops import packed, unpacked
from irc.ir.printer import Piece, print_ir, print_piece
from irc.ir.properties import number
from irc.ir.targets import target_of
from irc.ir.verification import verify
from irc.passes.host.overlap_launches import wait_first
from irc.passes.tile.tile_kernels import build_program
from irc.planning.steps import allow_overwriting, fills
from irc.support.stack import with_room
from irc.tiling.elsewhere import Strides, Untiled
from irc.tuning.worker import answer, receive, send

TO_TILE, TO_CUDA = TILE[len(PROGRAMS) :], CUDA[len(TILE) :]
"""The passes that run on each program by itself."""


@dataclass(frozen=True)
class Tiling:
    """A packed `kernel.fused` that is to be tiled, the attributes of its module, the name and the location of its
    program, and how its arrays lie."""

    kernel: bytes
    attributes: Mapping[str, Attribute]
    name: str
    location: LocationAttr
    strides: Strides


@dataclass(frozen=True)
class Job:
    """A packed `tile.program`, the attributes of its module, the options of passes, and the operands of its launches
    that no launch writes, with their elements (`kept_operands`). may_overwrite: whether a launch may write over what it
    reads."""

    program: bytes
    attributes: Mapping[str, Attribute]
    options: Mapping[str, Any]
    kept: Mapping[int, int]
    may_overwrite: bool = False


@dataclass(frozen=True)
class Lowered:
    """What is known of a kernel before the plan is made.

    head: the packed kernel, of whose body the plan depends on nothing that is left out. tile: the text of the level.
    reads: what `early_reads` says of the kernel. ops: how many it has. is_queued: whether its launches have a counter
    of tiles (`queue-tiles`). source: of a kernel to which no plan does anything, else empty.
    """

    head: bytes
    tile: Piece
    reads: frozenset[int]
    ops: int
    is_queued: bool
    source: str


@dataclass(frozen=True)
class Finished:
    """The text of the level `cuda`, and the source, empty where it is as `lower` gave it."""

    cuda: Piece
    source: str


class Lowering:
    """The kernels of this process, by name."""

    def __init__(self) -> None:
        self._context = new_context()
        self._passes = {names: passes_of(names) for names in (TO_TILE, TO_CUDA)}  # loaded, before the process is forked
        self._modules: dict[str, tuple[ModuleOp, str]] = {}
        """With the sources that are known."""

    def text(self, module: bytes) -> str:
        """The text of a packed module."""
        return print_ir(unpacked(module))

    def tile(self, tiling: Tiling) -> bytes:
        """The packed program of a kernel."""
        kernel = unpacked(tiling.kernel)
        ModuleOp([kernel], dict(tiling.attributes))
        assert isinstance(kernel, FusedOp)
        return packed(build_program(Untiled(kernel, tiling.name, tiling.location, tiling.strides)))

    def lower(self, job: Job) -> Lowered:
        program = unpacked(job.program)
        assert isinstance(program, ProgramOp)
        module = ModuleOp([program], dict(job.attributes))
        results = program.result_count
        self._run(module, TO_TILE, job)
        is_queued = program.result_count > results
        tile = print_piece(program)
        self._run(module, TO_CUDA, job)
        (kernel,) = module.ops
        assert isinstance(kernel, KernelOp)
        assert not any(isinstance(op, DependencyWaitOp) for op in kernel.body.block.ops), "the kernel waits already"
        if target_of(module).has_tma:
            wait_first(kernel, job.kept)
        source = "" if job.may_overwrite or not fills(kernel, target_of(module).sms) else print_kernels([kernel])
        self._modules[kernel.symbol] = module, source
        reads = frozenset(early_reads(kernel))
        return Lowered(packed(_head(kernel)), tile, reads, len(ops_in(kernel)), is_queued, source)

    def _run(self, module: ModuleOp, names: tuple[str, ...], job: Job) -> None:
        manager = PassManager(self._context, checked=False, reproduces=False)
        manager.run(module, [Step(each) for each in passes_of(names, **job.options)])

    def finish(self, name: str, sets: int, overlapping: Collection[int]) -> Finished:
        """Does to the kernel what the plan did to its head."""
        module, source = self._modules.pop(name)
        (kernel,) = module.ops
        assert isinstance(kernel, KernelOp)
        if sets > 1:
            kernel.sets = number(sets)
        if overlapping:
            allow_overwriting(kernel, overlapping)
        verify(module, after="build-host-plan")
        assert not source or (sets == 1 and not overlapping), "the plan does something to a kernel that is compiled"
        return Finished(print_piece(kernel), "" if source else print_kernels([kernel]))


def _head(kernel: KernelOp) -> KernelOp:
    """The kernel with those of its ops alone that a plan looks for: whether it waits, and uses its place along z."""
    arguments = kernel.body.block.args
    block = Block(arg_types=[argument.type for argument in arguments])
    for argument, own in zip(arguments, block.args, strict=True):
        own.name_hint = argument.name_hint
    axes = [op.clone() for op in ops_in(kernel) if isinstance(op, BlockIdOp) and op.axis.value.data == 2]
    waits = [op.clone() for op in kernel.body.block.ops if isinstance(op, DependencyWaitOp)]
    block.add_ops([*axes, *waits, ReturnOp()])
    head = KernelOp.create(properties=kernel.properties, attributes=kernel.attributes, regions=[Region(block)])
    head.location = kernel.location
    return head


@with_room
def serve(socket: int, lowering: Lowering) -> None:
    """Answers the requests of a socket until it is closed."""
    with os.fdopen(socket, "rb", closefd=False) as requests, os.fdopen(socket, "wb") as answers:
        while True:
            try:
                method, arguments = receive(requests)
            except EOFError:
                return
            send(answers, answer(lowering, method, arguments))


def main() -> None:
    """The arguments of the command are the numbers of the sockets."""
    sockets = list(map(int, sys.argv[1:]))
    lowering = Lowering()
    gc.disable()  # the process lives as long as one compilation, or those of a graph and its gradient
    gc.freeze()
    children = list[int]()
    for socket in sockets:
        if child := os.fork():
            children.append(child)
            continue
        for other in sockets:
            if other != socket:
                os.close(other)
        serve(socket, lowering)
        os._exit(0)
    for socket in sockets:
        os.close(socket)
    for child in children:
        os.waitpid(child, 0)
