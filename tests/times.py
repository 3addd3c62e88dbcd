"""A plug-in of pytest, for `make test-times`: seconds of CPU time by file, processes that tests start included.

The time of a file's tests is what they take, whatever else runs on the machine; a process that imports what tests need
is charged to the first of them.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator

import pytest

LISTED = 40
"""Files and tests."""

_seconds: defaultdict[str, float] = defaultdict(float)
_cases: Counter[str] = Counter()


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.user_properties.append(("begin", _cpu()))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The last report of a test takes its time to the process that prints."""
    report = yield
    if call.when == "teardown":
        begin = next(value for name, value in item.user_properties if name == "begin")
        report.user_properties.append(("cpu", _cpu() - float(str(begin))))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, value in report.user_properties if report.when == "teardown" else ():
        if name == "cpu":
            for key in (report.nodeid.split("::")[0], report.nodeid.split("[")[0]):
                _seconds[key] += float(str(value))
                _cases[key] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    files = {key: value for key, value in _seconds.items() if "::" not in key}
    terminalreporter.write_line(f"{sum(files.values()):8.1f} s of CPU time in all")
    for chosen in (files, {key: value for key, value in _seconds.items() if "::" in key}):
        terminalreporter.write_line(f"{'s':>8} {'cases':>6}")
        for key, value in sorted(chosen.items(), key=lambda each: -each[1])[:LISTED]:
            terminalreporter.write_line(f"{value:8.1f} {_cases[key]:6} {key}")
