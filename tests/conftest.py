"""Settings of all tests: property tests draw the same examples at every run, unless tests/drawing.py is told otherwise,
and have no time limits, since other work shares the machine. It also makes drawing.py importable."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

sys.path.insert(0, str(Path(__file__).parent))

from drawing import FUZZ, MORE, SEED

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

if not FUZZ:
    # Hypothesis also draws constants of the project's modules that are loaded: those that the process happens to have
    # needed for the tests before this one.
    setattr(providers, "is_local_module_file", lambda _: False)  # noqa: B010


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: tests that draw by themselves, which `make fuzz` runs")
    if FUZZ and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)


def pytest_report_header() -> str | None:
    return f"drawn anew: IRC_FUZZ={FUZZ} IRC_FUZZ_SEED={SEED}" if FUZZ else None
