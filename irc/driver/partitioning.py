"""A program on arrays that are divided among the ranks of a mesh becomes the program of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import PARTITION
from irc.ir.functions import entry_of
from irc.ir.mesh import argument_shardings, declare_mesh, put_shardings, shard_arguments, shardings_of
from irc.support.mesh import Mesh, Sharding


@dataclass(frozen=True)
class Partitioned:
    """module: of each rank's function, whose last argument has the rank's coordinates in the mesh. arguments, results:
    how those of the whole program are divided."""

    module: ModuleOp
    arguments: tuple[Sharding, ...]
    results: tuple[Sharding, ...]


def partitioned(
    module: ModuleOp, mesh: Mesh, arguments: Sequence[Sharding | None], results: Sequence[Sharding | None]
) -> Partitioned:
    """Partitions a module with one nd function, in place. arguments, results: how they are divided, None where the
    program decides. IrcError where an array cannot be divided so."""
    declare_mesh(module, mesh)
    shard_arguments(entry_of(module), arguments)
    put_shardings(_return_of(module), results)
    passes, before = passes_of(PARTITION), PARTITION.index("partition-nd")
    run_passes(module, passes[:before], verified=False)
    end = _return_of(module)
    given = shardings_of(end, len(end.operands))
    decided = argument_shardings(entry_of(module))
    run_passes(module, passes[before:])
    return Partitioned(module, tuple(each or () for each in decided), tuple(each or () for each in given))


def _return_of(module: ModuleOp) -> Operation:
    terminator = entry_of(module).body.block.last_op
    assert terminator is not None
    return terminator
