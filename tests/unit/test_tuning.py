"""The tuner's search, its processes and what they survive, with a bench whose candidates take seconds by a formula."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawing import slow
from tuning_benches import (
    BEST,
    DIES,
    DIES_LATE,
    EATS,
    EATS_LATE,
    HANGS,
    HANGS_LATE,
    IS_KILLED,
    LIES,
    FakeSpace,
    seconds,
)

from irc.configs.alone import config_text
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.bench import CRASHED, HUNG, MEMORY, STOPPED, TIMED, WRONG, Fault
from irc.tuning.search import GENERATION, search_named
from irc.tuning.session import Log, Outcome, Settings, Subject, Tuner
from irc.tuning.workers import Setup, Worker

KEY = KernelKey.of("a kernel of tensor<64x32xf32>")
SETUP = Setup("tuning_benches:FakeBench", memory=4 << 30)


@pytest.fixture(autouse=True)
def own_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("IRC_TUNED", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def tune(
    *,
    space: FakeSpace | None = None,
    key: KernelKey = KEY,
    log: Log = print,
    setup: Setup = SETUP,
    **settings: Any,
) -> Outcome:
    tuner = Tuner(setup, setup, replace(Settings(budget=30.0, workers=2), **settings), log, overlaps=True)
    try:
        return tuner.tune(Subject("fake", key, "sm_90a", space or FakeSpace(), config_text))
    finally:
        tuner.close()


@pytest.mark.parametrize("search", ["auto", "pattern"])
def test_searches_that_walk_find_the_best(search: str) -> None:
    found = tune(search=search)
    assert found.config == BEST
    assert found.seconds == seconds(BEST)
    assert found.gain == found.heuristic / found.seconds > 2
    assert len(found.trials) < 8 * 8 * 4 * 5 / 4, "a fraction of all configs"


@pytest.mark.parametrize("search", ["evolution", "random"])
def test_searches_that_draw_come_near(search: str) -> None:
    found = tune(search=search, budget=2.0, seed=1)
    assert found.seconds < 1.5 * seconds(BEST)


def test_the_ranked_search_ends_with_its_list() -> None:
    found = tune(search="ranked")
    assert {each.config for each in found.trials} == {*FakeSpace().seeds, *FakeSpace().neighbors(FakeSpace().seeds[0])}


def test_the_same_seed_draws_the_same_configs() -> None:
    space = FakeSpace()
    generations = [search_named("random", space, seed).following({}) for seed in (3, 3, 4)]
    assert generations[0] == generations[1] != generations[2]
    assert len(set(generations[0])) == GENERATION


FAULTS = {
    HANGS: (HUNG, "no answer in 1 s"),
    HANGS_LATE: (HUNG, "no answer in 0.5 s"),
    DIES: (CRASHED, "the process ended with status 3"),
    DIES_LATE: (CRASHED, "the process ended by SIGABRT"),
    EATS: (MEMORY, "out of memory"),
    EATS_LATE: (MEMORY, "out of memory: 3 GiB were asked for"),
    IS_KILLED: (MEMORY, "the process was killed, as a system without memory does"),
    LIES: (WRONG, "result 0 is not the heuristic's: 3 of 4 elements differ"),
}
"""What is recorded of candidates that hang, end their process, need more memory than there is, and have other
results."""


def test_every_fault_is_recorded_and_the_next_candidate_tried() -> None:
    lines: list[str] = []
    others = [BEST.replace(stages=stages) for stages in (*FAULTS, 64, 4)]
    space = FakeSpace((), others)
    found = tune(space=space, search="ranked", compile_timeout=1.0, run_timeout=0.5, log=lines.append)
    assert found.config == BEST
    outcomes = {each.config: (each.outcome, each.reason) for each in found.trials}
    assert [outcomes[each] for each in others] == [*FAULTS.values(), (STOPPED, ""), (TIMED, "")]
    rows = {row.measurement.config: (row.measurement.outcome, row.measurement.reason) for row in tuned.dataset()}
    assert rows == {config_text(config): outcome for config, outcome in outcomes.items()}
    assert tuned.lookup(KEY, "sm_90a") == config_text(BEST)
    assert "crashed=2 hung=2 memory=3 stopped=1 timed=1 wrong=1" in lines[1]
    assert sum("fake: skipped " in line for line in lines) == 4, "three, and how many more there are"


@pytest.mark.parametrize("overlaps", [True, False], ids=["of a GPU", "of a CPU"])
def test_one_that_hangs_leaves_time_for_others(overlaps: bool) -> None:
    """Also where the budget is less than the longest time that a candidate may take."""
    tuner = Tuner(SETUP, SETUP, Settings(budget=3.0, search="ranked", workers=2), print, overlaps=overlaps)
    try:
        tuner.tune(Subject("warm", KernelKey.of("warm"), "sm_90a", FakeSpace(()), config_text))  # starts processes
        space = FakeSpace((), [BEST.replace(stages=HANGS), BEST])
        found = tuner.tune(Subject("fake", KEY, "sm_90a", space, config_text))
    finally:
        tuner.close()
    assert sorted(each.outcome for each in found.trials) == [HUNG, TIMED, TIMED]
    assert found.config == BEST


def test_what_is_found_is_kept_with_all_that_was_measured() -> None:
    found = tune()
    (kept,) = tuned.tuned_configs("sm_90a")
    assert (kept.name, kept.config, kept.seconds) == ("fake", config_text(BEST), seconds(BEST))
    assert tuned.lookup(KEY, "sm_90a") == config_text(BEST)
    rows = tuned.dataset()
    assert len(rows) == len(found.trials)
    assert {row.text for row in rows} == {KEY.text}
    assert all(row.measurement.estimate for row in rows)


@slow
def test_two_tuners_at_once_lose_nothing() -> None:
    keys = [KEY, KernelKey.of("another of tensor<8x8xf32>")]
    found: list[Outcome] = []
    threads = [
        threading.Thread(target=lambda key=key: found.append(tune(key=key, search="pattern"))) for key in keys * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(threads)
    assert len(tuned.tuned_configs()) == 2
    assert len(tuned.dataset()) == sum(len(each.trials) for each in found)


def test_an_interrupted_search_has_the_best_so_far() -> None:
    def log(line: str) -> None:
        if "generation 2" in line:
            raise KeyboardInterrupt

    found = tune(log=log, search="pattern")
    assert found.is_interrupted
    assert found.seconds == min(each.seconds for each in found.trials if each.seconds is not None)
    assert found.gain > 1
    assert tuned.lookup(KEY, "sm_90a") == config_text(found.config)


def test_the_budget_ends_what_is_being_compiled() -> None:
    begin = time.monotonic()
    found = tune(setup=Setup("tuning_benches:FakeBench", {"slow": 2.0}), budget=3.0, workers=1)
    assert time.monotonic() - begin < 3 * 3.0
    assert 1 <= len(found.trials) <= 3


def test_every_generation_is_a_line_and_the_config_can_be_pasted() -> None:
    lines: list[str] = []
    tune(log=lines.append)
    assert "generation 1: " in lines[1] and "timed=" in lines[1] and "best=" in lines[1]
    assert lines[-2].strip() == f"config<{config_text(BEST)}>"
    assert lines[-1].strip() == "config={'tile': {'m': 256, 'n': 32}, 'stages': 4, 'warps': 8}"


def test_the_heuristic_stays_where_nothing_is_better() -> None:
    space = FakeSpace()
    space.seeds = [BEST]
    found = tune(space=space, search="pattern")
    assert (found.config, found.gain) == (BEST, 1.0)


def test_a_heuristic_that_cannot_be_timed_is_an_error() -> None:
    space = FakeSpace()
    space.seeds = [BEST.replace(stages=DIES)]
    with pytest.raises(IrcError, match="fake cannot be tuned, its own config crashed: the process ended with status 3"):
        tune(space=space)
    (row,) = tuned.dataset()
    assert (row.measurement.outcome, row.measurement.reason) == FAULTS[DIES]
    assert tuned.tuned_configs() == []


def test_an_unknown_search_is_an_error() -> None:
    with pytest.raises(IrcError, match="unknown search 'pattren'"):
        tune(search="pattren")


def test_a_bench_that_cannot_be_made_is_a_fault() -> None:
    worker = Worker(Setup("tuning_benches:NoBench"))
    with pytest.raises(Fault, match="module 'tuning_benches' has no attribute 'NoBench'"):
        worker.ask("compile", "", timeout=30.0)
    assert not worker.is_running


def test_a_worker_starts_again_after_it_was_lost() -> None:
    worker = Worker(SETUP)
    try:
        with pytest.raises(Fault, match="ended with status 3"):
            worker.ask("compile", config_text(BEST.replace(stages=DIES)), timeout=30.0)
        assert worker.ask("compile", config_text(BEST), timeout=30.0) == config_text(BEST)
        with pytest.raises(Fault, match="failed.*AttributeError"):
            worker.ask("no_method", timeout=30.0)
        with pytest.raises(Fault, match="no answer in 0.5 s"):
            worker.ask("compile", config_text(BEST.replace(stages=HANGS)), timeout=0.5)
        assert worker.generation == 2
    finally:
        worker.close()
