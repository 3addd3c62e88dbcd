"""Running a suite: compile everything, then row by row check, and time the variants side by side."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from irc.driver.compiler import compile_artifact
from irc.runtime.driver import DriverError, device, present_arch
from irc.runtime.workbench import Enqueue, OwnArrays, Variant, Workbench
from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import LIMITS, PEERS, RIVAL, TRITON
from irc_tools.bench.case import Case, tolerated
from irc_tools.bench.limits import Buffers, copying, reading
from irc_tools.bench.models import measure_model
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row
from irc_tools.bench.statistics import IRC
from irc_tools.bench.timing import Settings, time_variants

if TYPE_CHECKING:
    from irc_tools.bench.torch_peers import Torch

MAX_WORKERS = 16


def measure_rows(rows: Sequence[Row], settings: Settings, done: Callable[[RowRecord], None]) -> None:
    """Measures each row and hands its record to `done`. What fails in one row is in its record."""
    bench = Workbench(device(), block_seconds=settings.block_seconds)
    torch = _torch(bench) if settings.peers else None
    _compile_all([row for row in rows if row.is_compiled])
    for number, row in enumerate(rows, start=1):
        _say(f"[{number}/{len(rows)}] {row.name} ...")
        begin = time.perf_counter()
        record = _attempt(bench, row, settings, torch)
        done(replace(record, took=round(time.perf_counter() - begin, 2)))
        _tidy(bench, torch, row.name)
    bench.close()


def _tidy(bench: Workbench, torch: Torch | None, name: str) -> None:
    """Gives memory back. IrcError where the device is lost: a fault in one kernel leaves nothing that could run."""
    try:
        bench.device.synchronize(bench.stream)
        if torch is not None:
            torch.release()
    except (DriverError, RuntimeError) as error:
        raise IrcError(f"the device is lost after {name}, no row after it ran: {error}") from error


def _torch(bench: Workbench) -> Torch:
    from irc_tools.bench.torch_peers import Torch

    return Torch(bench)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _compile_all(rows: Sequence[Row]) -> None:
    """Compiles the programs in several processes: they put them into the cache, where `Case` finds them. An error in a
    program shows when its row runs."""
    workers = min(os.cpu_count() or 1, MAX_WORKERS, len(rows))
    if workers < 2:
        return
    begin, arch = time.perf_counter(), present_arch()
    works = [(row, arch) for row in rows]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for number, _ in enumerate(pool.map(_compile_one, works), 1):
            if number % 10 == 0 or number == len(rows):
                _say(f"compiled {number} of {len(rows)} programs, {time.perf_counter() - begin:.1f} s")


def _compile_one(work: tuple[Row, str]) -> None:
    row, arch = work
    try:
        if row.kernel is not None:
            compile_artifact(row.kernel.module(row.dims), arch=arch, any_order=row.any_order)
        else:
            compile_artifact(row.program, arch=arch, dims=row.dims, any_order=row.any_order)
    except IrcError:
        return


def _attempt(bench: Workbench, row: Row, settings: Settings, torch: Torch | None) -> RowRecord:
    record = RowRecord.of(row)
    try:
        if row.model:
            return _measure_model(bench, row, record, settings, torch)
        return _measure(bench, row, record, settings, torch)
    except IrcError as error:
        return replace(record, error=error.message)
    except Exception as error:  # of the driver or of torch: the rows after it may still run
        return replace(record, error=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _measure(bench: Workbench, row: Row, record: RowRecord, settings: Settings, torch: Torch | None) -> RowRecord:
    arrays = OwnArrays(bench) if torch is None else torch.arrays
    case = Case(bench, row, arrays, settings.seed)
    cases = [case]
    buffers: list[Buffers] = []
    try:
        kernels = tuple(map(_kernel, case.executable.kernels))
        lines = row.kernel.lines() if row.kernel is not None else 0
        record = replace(record, bytes=case.bytes, flops=case.flops, kernels=kernels, lines=lines)
        if settings.check:
            record = _checked(case, record, torch)
            if record.error:
                return record
        variants = [Variant(IRC, _enqueue(case))]
        if row.rival:
            cases.append(Case(bench, row, arrays, settings.seed, program=row.rival))
            variants.append(Variant(RIVAL, _enqueue(cases[-1])))
        if row.clock == "host":
            variants += [Variant("launches", case.launches()), Variant("bound", case.bound())]
        else:
            variants += _limits(bench, case, buffers)
        if torch is not None:
            peers, notes = _peers(case, settings, torch)
            variants += peers
            record = replace(record, notes=notes)
        return record.timed(time_variants(bench, row.clock, variants, settings.repetitions))
    finally:
        for each in (*cases, *buffers):
            each.free()


def _measure_model(bench: Workbench, row: Row, record: RowRecord, settings: Settings, torch: Torch | None) -> RowRecord:
    if torch is None:
        raise IrcError("a model is run by torch", hint="ask for peers: --peers all")
    return measure_model(bench, row, record, settings)


def _enqueue(case: Case) -> Enqueue:
    """What is timed: the plan alone, or calls or replays as a user makes them."""
    if case.row.clock == "device":
        return case.irc()
    return case.calls(as_graph=case.row.clock == "graph")


def _kernel(kernel: dict[str, Any]) -> dict[str, Any]:
    """Of a kernel, what explains its speed."""
    kept = ("name", "anchor", "config", "grid", "block", "shared_memory", "registers", "spills")
    return {key: kernel[key] for key in kept}


def _checked(case: Case, record: RowRecord, torch: Torch | None) -> RowRecord:
    """Runs once and compares; an error in the record where a result is wrong."""
    case.run_once()
    found, peers = (case.check_on_host(), []) if torch is None or not case.row.torch else torch.check(case)
    elements = [spec.element for spec in case.executable.results]
    found = [tolerated(each, case.row.tolerance.get(e)) for each, e in zip(found, elements, strict=True)]
    wrong = [f"result {n}: {each.reason}" for n, each in enumerate(found) if not each.passed]
    checks = tuple({"error": each.error, "tolerance": each.tolerance, "reason": each.reason} for each in found)
    errors = tuple(each.error for each in peers)
    return replace(record, checks=checks, eager_errors=errors, error="wrong: " + "; ".join(wrong) if wrong else "")


def _limits(bench: Workbench, case: Case, buffers: list[Buffers]) -> list[Variant]:
    """The copy always, reading where a bar asks for it."""
    asked = {bar.against for bar in case.row.bars}
    variants: list[Variant] = []
    for name in LIMITS:
        if name == "read" and name not in asked:
            continue
        buffers.append(Buffers(bench, case.bytes if name == "copy" else case.bytes_read))
        make = copying if name == "copy" else reading
        variants.append(Variant(name, make(bench, buffers[-1])))
    return variants


def _peers(case: Case, settings: Settings, torch: Torch) -> tuple[list[Variant], tuple[str, ...]]:
    """The peers that the row names and the settings ask for; notes on those that failed."""
    variants: list[Variant] = []
    notes: list[str] = []
    for name in PEERS:
        if name not in case.row.peers or name not in settings.peers:
            continue
        try:
            variants.append(Variant(name, torch.triton(case) if name == TRITON else torch.peer(case, name)))
        except IrcError as error:
            notes.append(error.message)
    return variants, tuple(notes)
