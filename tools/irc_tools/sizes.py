"""Files and lines of Python by folder: of the working tree and, with --since REV, of a commit beside it.

`--subjects` counts irc by what it can do instead: subjects that have files of their own, and what else each level has.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

ROOMS = ("irc", "frontend", "tools", "tests")

SUBJECTS = {
    "attention, other cascades": """irc/*cascade*.py irc/*/attention.py irc/tiling/references.py irc/tiling/rescaling.py
        irc/tiling/sums_across.py irc/*/order_groups.py irc/dialects/tile/order.py irc/dialects/tile/vote.py
        irc/lowering/orders.py irc/analysis/factors.py irc/*/scale_exponents.py irc/*/factor_reductions.py
        irc/fusion/returning.py""",
    "convolution, windows": """irc/*/convolution.py irc/*/window*.py irc/*/im2col.py irc/tiling/taps.py irc/*/columns.py
        irc/configs/gathered.py irc/*/direct*.py irc/*/arrange_convolutions.py irc/ir/windows.py""",
    "products in groups": "irc/*/grouped*.py irc/tiling/segments.py",
    "kernels in Python": """irc/*/raise_programs.py irc/*/tile_arrays.py irc/*/fuse_epilogues.py irc/tiling/rais*.py
        irc/tiling/program_arrays.py irc/tiling/array_*.py irc/tiling/epilogue_stores.py irc/tiling/launches.py
        irc/ir/launching.py""",
    "the tuner": """irc/tuning/* irc/driver/tuning.py irc/driver/measuring.py irc/configs/space.py
        irc/configs/footprint.py irc/support/tuned.py irc/runtime/workbench.py""",
    "run-time extents": "irc/*/extents.py irc/runtime/size*.py irc/*/check_extents.py",
    "the target cpu": """irc/looping/* irc/*/cpu/* irc/configs/cpu.py irc/dialects/cpu.py irc/driver/cpu.py
        irc/support/pool_state.py irc/runtime/cpu*.py irc/runtime/threads.py irc/runtime/kept_memory.py
        irc/runtime/interpreted*.py irc/runtime/linking.py irc/support/llvm.py irc/expansion/vector_functions.py""",
    "several GPUs": """irc/sharding/* irc/*/mesh.py irc/*/nd/collective.py irc/*/nd/propagate_shardings.py
        irc/*/nd/partition_nd.py irc/*/nd/bucket_collectives.py irc/driver/partitioning.py irc/runtime/ranks.py
        irc/runtime/gloo.py irc/runtime/nccl.py irc/runtime/rendezvous.py irc/support/communicator.py""",
    "pages, traces, reproducers": """irc/report/* irc/driver/reporting.py irc/driver/reproducers.py irc/runtime/trace.py
        irc/runtime/profile.py irc/runtime/compare.py irc/support/progress.py""",
    "saved executables": "irc/runtime/saved.py irc/runtime/weights.py irc/runtime/tensors.py irc/support/cbor.py",
    "schedules of loops": """irc/scheduling/schedules.py irc/scheduling/expansion.py irc/scheduling/induction.py
        irc/scheduling/dependences.py irc/scheduling/trip_counts.py irc/scheduling/prefetching.py
        irc/scheduling/registers.py irc/scheduling/channels.py irc/scheduling/buffer_groups.py irc/*/schedule_loops.py
        irc/*/expand_schedule.py irc/*/await_dots.py irc/*/make_channels.py irc/*/take_turns.py
        irc/*/speciali?e_warps.py irc/dialects/tile/channel.py irc/dialects/tile/schedule.py irc/dialects/tile/ring.py
        irc/passes/tile/pipeline*.py irc/passes/tile/prefetch_loads.py irc/passes/tile/rings.py""",
    "interfaces, verifiers, reports": """irc/ir/iteration.py irc/ir/discardable.py irc/ir/dominance.py
        irc/analysis/invariants.py irc/driver/manager.py irc/driver/reports.py irc/dialects/tile/protocol.py""",
    "tcgen05": "irc/*/tcgen05.py irc/*/tensor_memory.py",
    "kernels in CUDA C++, Triton": """irc/codegen/triton_compiler.py irc/codegen/users_code.py irc/codegen/images.py
        irc/codegen/elf.py""",
    "dynamic tiles, serial split": """irc/*/queue_tiles.py irc/dialects/tile/queue.py irc/lowering/tickets.py
        irc/lowering/serial_stores.py irc/support/semaphores.py""",
    "unaligned rows": """irc/*/staged.py irc/*/realigned.py irc/*/row_ends.py irc/lowering/swizzled_runs.py
        irc/layout/box*.py irc/layout/lane_swizzles.py irc/*/alignment*.py irc/*/align_operands.py""",
    "math of the device": "irc/expansion/* irc/*/expand_*math.py irc/ir/math_library.py irc/*/prelude_math.py",
    "concats in place": "irc/*/concat_in_place.py irc/dialects/nd/joined.py",
    "lowering in processes": """irc/driver/kernel_processes.py irc/driver/kernel_worker.py irc/driver/apart.py
        irc/ir/plain_ops.py irc/support/processors.py""",
    "the learned cost model": "irc/configs/features.py irc/configs/learned.py",
    "CUTLASS": "irc/codegen/cutlass/*",
    "what else is of text and nd": """irc/language/* irc/dialects/nd/* irc/*/nd/* irc/interpreters/nd* irc/autodiff/*
        irc/canonicalization/* irc/decomposition/*""",
    "what else is of kernel": "irc/dialects/kernel/* irc/*/kernel/* irc/fusion/* irc/configs/* irc/splitting/*",
    "what else is of tile": """irc/dialects/tile/* irc/*/tile/* irc/interpreters/tile* irc/tiling/* irc/scheduling/*
        irc/layout/* irc/layout_assignment/* irc/dialects/layouts.py""",
    "what else is of cuda": "irc/dialects/cuda/* irc/*/cuda/* irc/lowering/* irc/codegen/* irc/interpreters/sim/*",
    "what else is of the host": "irc/dialects/host/* irc/*/host/* irc/planning/* irc/runtime/*",
}
"""The files of each, as patterns; a file is of the first that it fits."""

OTHER = "what levels share"

Sizes = dict[str, tuple[int, int]]
"""Files and lines of each folder; a room has those of all its folders."""


def sizes(revision: str | None = None) -> Sizes:
    """Of a commit, or of the working tree with what git does not know yet. Empty files do not count."""
    found: Sizes = {}
    for path, lines in _lines(revision).items():
        for folder in {Path(path).parts[0], "/".join(Path(path).parts[:-1][:2])}:
            _count(found, folder, lines)
    return found


def subjects(revision: str | None = None) -> Sizes:
    """The same of irc by subject."""
    found: Sizes = {}
    for path, lines in _lines(revision).items():
        if path.startswith("irc/"):
            fit = (name for name, patterns in SUBJECTS.items() if any(fnmatch(path, each) for each in patterns.split()))
            _count(found, next(fit, OTHER), lines)
            _count(found, "irc", lines)
    return found


def _count(found: Sizes, name: str, lines: int) -> None:
    files, so_far = found.get(name, (0, 0))
    found[name] = files + 1, so_far + lines


def _lines(revision: str | None) -> dict[str, int]:
    """By the path of each file."""
    where = ["--untracked", "-e", ""] if revision is None else ["-e", "", revision]
    command = ["git", "grep", "--count", *where, "--", *(f"{room}/**.py" for room in ROOMS)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    counts = [line.removeprefix(f"{revision}:").rpartition(":") for line in printed]
    return {path: int(lines) for path, _, lines in counts}


def table(now: Sizes, before: Sizes | None = None) -> str:
    """A row for each folder, a room before those in it: files and lines, before and now, and the lines that came."""
    rows: list[str] = []
    folders: list[str] = sorted(now.keys() | before.keys() if before else now)
    for folder in folders:
        files, lines = now.get(folder, (0, 0))
        row = f"{files:5} {lines:7}"
        if before is not None:
            files_before, lines_before = before.get(folder, (0, 0))
            row = f"{files_before:5} {lines_before:7} {row} {lines - lines_before:+7}"
        rows.append(f"{folder:32}{row}")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command, to be run in the root of a checkout; `make sizes SINCE=REV` runs it."""
    parser = argparse.ArgumentParser(prog="python -m irc_tools.sizes", description=__doc__)
    parser.add_argument("--since", metavar="REV", help="the commit to compare with")
    parser.add_argument("--subjects", action="store_true", help="by subject")
    args = parser.parse_args(argv)
    count = subjects if args.subjects else sizes
    print(table(count(), count(args.since) if args.since else None))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
