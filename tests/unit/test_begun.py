"""Programs that are begun: threads make their machine code while the next one is lowered."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from irc.driver import build as building
from irc.driver import compilations, compiler
from irc.driver.begun import Begun
from irc.driver.compiler import artifact_options, compile_artifact
from irc.driver.subjects import subject_of
from irc.runtime.artifact import Artifact
from irc.support.diagnostics import IrcError

TEXT = "func f(x: f32[64, 48]) -> f32[64] {{\n    return sum(exp(x) * {}, axis=1)\n}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))


def begun(text: str) -> Begun[Artifact]:
    return compiler._artifact(subject_of(text), artifact_options(arch="sm_90a"))  # pyright: ignore[reportPrivateUsage]


def test_the_next_program_is_lowered_while_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler of CUDA C++ compiles none before both are."""
    both, compile_kernel = threading.Event(), compilations.compile_kernel

    def waiting(*arguments: Any) -> Any:
        assert both.wait(60)
        return compile_kernel(*arguments)

    monkeypatch.setattr(compilations, "compile_kernel", waiting)
    programs = [begun(TEXT.format(number)) for number in (0.5, 0.25)]
    assert not any(each.is_done for each in programs)
    both.set()
    found = [each() for each in programs]
    assert found[0].kernels[0].source != found[1].kernels[0].source
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    assert found == [compile_artifact(TEXT.format(number), arch="sm_90a") for number in (0.5, 0.25)]


def test_equal_programs_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begins: list[object] = []
    begin = building.begin
    monkeypatch.setattr(building, "begin", lambda module, **options: begins.append(module) or begin(module, **options))
    first, second = (begun(f"{place}{TEXT.format(0.75)}") for place in ("", "# of another place\n"))
    assert [each.cubin for each in first().kernels] == [each.cubin for each in second().kernels]
    assert len(begins) == 1
    assert begun(TEXT.format(0.75)).is_done  # it is on the disk
    del first, second
    gc.collect()
    assert not compiler._in_work  # pyright: ignore[reportPrivateUsage]


def test_a_kernel_that_is_refused_is_refused_when_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise IrcError("no such instruction")

    with monkeypatch.context() as patch:
        patch.setattr(compilations, "compile_kernel", refuse)
        found = begun(TEXT.format(0.625))
        for _ in range(2):
            with pytest.raises(IrcError, match="no such instruction"):
                found()
    assert begun(TEXT.format(0.625))().kernels
