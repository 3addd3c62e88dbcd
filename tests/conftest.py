"""Settings of all tests: property tests draw the same examples at every run, unless tests/drawing.py is told otherwise,
and have no time limits, since other work shares the machine; configs that somebody tuned are not taken, and reproducers
not written; what torch's compiler keeps is of this run. It also makes drawing.py importable."""

import atexit
import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

sys.path.insert(0, str(Path(__file__).parent))
os.environ["IRC_TUNED"] = "off"
os.environ["IRC_REPRODUCERS"] = "off"

from drawing import FUZZ, MORE, SEED, some

from irc.driver import compiler

settings.register_profile(
    "irc",
    deadline=None,
    max_examples=60 * MORE,
    derandomize=not FUZZ,
    database=None,
    print_blob=bool(FUZZ),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("irc")

# What tests compute on a CPU takes less time than its compilation; `IRC_TARGET=cpu make unit` compiles it.
os.environ.setdefault("IRC_TARGET", "interpret")

folder = tempfile.TemporaryDirectory(prefix="torch-", ignore_cleanup_errors=True)
atexit.register(folder.cleanup)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder.name

if not FUZZ:
    # Hypothesis also draws constants of the project's modules that are loaded: those that the process happens to have
    # needed for the tests before this one.
    setattr(providers, "is_local_module_file", lambda _: False)  # noqa: B010


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: tests that draw by themselves, which `make fuzz` runs")
    config.addinivalue_line(
        "markers", "long(one_in): a test of many cases, of which some are taken, see tests/drawing.py"
    )
    if FUZZ and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of long tests some cases, unless a test is named."""
    if any("::" in argument for argument in config.args):
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    left: set[pytest.Item] = set()
    for each in cases.values():
        (mark,) = each[0].iter_markers("long")
        left |= set(each) - set(some(each, *mark.args))
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def pytest_collection_finish() -> None:
    """Modules and tests stay: Python's collector, which took an eighth of the time, looks at what tests make alone, and
    seldom, as in a compilation (irc/support/garbage.py). Few programs of earlier tests stay with what is compiled."""
    compiler.MAX_IN_MEMORY = 8
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000)


def pytest_report_header() -> str | None:
    return f"drawn anew: IRC_FUZZ={FUZZ} IRC_FUZZ_SEED={SEED}" if FUZZ else None
