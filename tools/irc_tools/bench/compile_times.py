"""Compile times of models: the first call of each compiler with empty caches, and again, in a new process, with those
that the first has filled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from irc.runtime.driver import is_present
from irc.support.diagnostics import IrcError
from irc_tools.bench.first_call import FirstCall, FirstResult
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row
from irc_tools.bench.statistics import IRC
from irc_tools.bench.timing import Settings

COLD, WARM = "cold", "warm"
STATES = (COLD, WARM)
"""Of the caches, in the order in which they are measured. They are groups of the record's rows."""

CACHES = ("IRC_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
"""Variables that name the folders of caches: irc's, those of torch's compiler, the driver's."""

TRIAL = FirstCall(
    "trial", "return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()), [torch.ones(64, 64)]", "", ""
)
"""What each compiler compiles first, untimed: its files are read from the disk then, and Python writes bytecode."""

Runner = Callable[[FirstCall, Path, float], FirstResult]


@dataclass
class _Found:
    """What the processes of a row gave with caches in one state: results by compiler, or why there are none."""

    results: dict[str, list[FirstResult]] = field(default_factory=dict[str, list[FirstResult]])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    took: float = 0.0


def measure_compile_times(
    rows: Sequence[Row], settings: Settings, done: Callable[[RowRecord], None], run: Runner | None = None
) -> None:
    """Measures each row, one process after another, and hands two records to `done`, cold and warm. What fails in one
    row is in its records. Without a GPU models have their small dims. `run` is `run_first_call`."""
    run = run_first_call if run is None else run
    device = "cuda" if is_present() else "cpu"
    for compiler in dict.fromkeys(name for row in rows for name in _compilers(row, settings)):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, suppress(IrcError):
            run(replace(TRIAL, compiler=compiler, device=device), Path(folder), settings.limit_seconds)
    for number, row in enumerate(rows, start=1):
        print(f"[{number}/{len(rows)}] {row.name} ...", file=sys.stderr, flush=True)
        if device == "cpu":
            row = replace(row, dims={**row.dims, **row.small})
        for record in _records(row, settings, device, run):
            done(record)


def _compilers(row: Row, settings: Settings) -> list[str]:
    return [IRC, *(name for name in settings.peers if name in row.peers)]


def _records(row: Row, settings: Settings, device: str, run: Runner) -> Iterator[RowRecord]:
    found = {state: _Found() for state in STATES}
    compilers = _compilers(row, settings)
    for repetition in range(settings.repetitions):
        shift = repetition % len(compilers)
        for compiler in (*compilers[shift:], *compilers[:shift]):
            if IRC in found[COLD].failures:
                continue
            call = FirstCall(
                row.name, row.model, compiler, device, row.loss, row.dims, settings.seed, check=settings.check
            )
            _measure(call, found, settings, run)
    return (_record(row, state, found[state], check=settings.check) for state in STATES)


def _measure(call: FirstCall, found: dict[str, _Found], settings: Settings, run: Runner) -> None:
    """Cold, then warm, in one folder of caches."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for state, each in found.items():
            if call.compiler in each.failures:
                return
            begin = time.perf_counter()
            try:
                result = run(call, Path(folder), settings.limit_seconds)
            except IrcError as error:
                each.failures[call.compiler] = f"{call.compiler}, {state}: {error.message}"
                if state == COLD:
                    found[WARM].failures[call.compiler] = each.failures[call.compiler]
                return
            finally:
                each.took += time.perf_counter() - begin
            each.results.setdefault(call.compiler, []).append(result)


def _record(row: Row, state: str, found: _Found, *, check: bool) -> RowRecord:
    record = RowRecord.of(replace(row, name=f"{row.name}, {state}", group=state))
    record = replace(record, took=round(found.took, 2), notes=_notes(found))
    if IRC in found.failures:
        return replace(record, error=found.failures[IRC])
    if check:
        worst = max(found.results[IRC], key=lambda result: (bool(result.wrong), result.error))
        checks = ({"error": worst.error, "tolerance": worst.tolerance, "reason": worst.wrong},)
        record = replace(record, checks=checks, eager_errors=(worst.eager_error,))
        if worst.wrong:
            return replace(record, error=f"wrong: {worst.wrong}")
    times = {
        compiler: tuple(round(each.seconds, 4) for each in results)
        for compiler, results in found.results.items()
        if compiler not in found.failures
    }
    return record.timed(times)


def _notes(found: _Found) -> tuple[str, ...]:
    """Peers that failed or are wrong, and what irc left to torch."""
    notes = [why for compiler, why in found.failures.items() if compiler != IRC]
    for compiler, (first, *_) in found.results.items():
        if compiler == IRC:
            notes += [f"left to torch: {each}" for each in first.left]
        elif first.wrong:
            notes.append(f"{compiler}: {first.wrong}")
    return tuple(notes)


def run_first_call(call: FirstCall, folder: Path, limit: float) -> FirstResult:
    """The call in a new process, whose caches are in the folder. IrcError where it fails or takes longer than the
    limit, in seconds."""
    given, result, errors = (folder / name for name in ("call.json", "result.json", "errors.txt"))
    given.write_text(json.dumps(asdict(call)), encoding="utf-8")
    result.unlink(missing_ok=True)
    caches = {name: str(folder / name.lower()) for name in CACHES}
    with errors.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "irc_tools.bench.first_call", str(given), str(result)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            env={**os.environ, **caches, "IRC_TARGET": call.device},
            start_new_session=True,  # torch's compiler starts processes, which end with it
        )
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise IrcError(f"not done after {limit:g} s", hint="--limit gives it longer") from error
        finally:
            _end(process)
    if not result.is_file():
        raise IrcError(f"the process ended with status {status}{_last_line(errors)}")
    content: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    if "failed" in content:
        raise IrcError(content["failed"])
    left: Iterable[str] = content.pop("left")
    return FirstResult(**content, left=tuple(left))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and what it started."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _last_line(errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:300]}" if said else ""
