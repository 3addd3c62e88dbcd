"""Kernels that are lowered in processes of their own are those that are lowered in one."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from drawing import slow
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.tile import ProgramOp
from irc.driver import build as building
from irc.driver import kernel_processes
from irc.driver.apart import Apart, lower_apart, tile_apart
from irc.driver.build import LoweredAlone
from irc.driver.compiler import compile_artifact, compile_module_artifact
from irc.driver.kernel_processes import Failed, KernelProcesses, Lost, process_count, sharing_processes
from irc.driver.kernel_worker import Job
from irc.driver.subjects import Options, subject_of
from irc.passes.tile.await_dots import AwaitDotsPass
from irc.runtime.artifact import Artifact
from irc.support.diagnostics import IrcError, render
from irc.support.processors import processor_count
from irc.tiling.elsewhere import Untiled
from irc_tools.gpt2_step import step_module

TEXT = """
func f(x: bf16[256, 128], w: bf16[128, 192], v: f32[192, 64], t: f32[8, 16, 24]) -> (
    bf16[256, 192], f32[256, 64], f32[256], f32[24, 8, 16], f32[128], f32[192]
) {
    y = relu(x @ w)
    z = cast(x, f32)
    return y, cast(y, f32) @ v, softmax(sum(z, axis=1)), permute(t, [2, 0, 1]), sum(z, axis=0), sum(cast(y, f32), axis=0)
}
"""


Lowered = Apart | Exception | None


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Lowered]]:
    """Two processes lower every program; what `lower_apart` gives is noted."""
    made: list[Lowered] = []

    def noting(*arguments: Any) -> Lowered:
        made.append(lower_apart(*arguments))
        return made[-1]

    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    monkeypatch.setenv("IRC_PROCESSES", "2")
    monkeypatch.setattr(kernel_processes, "WORTH", 0)
    monkeypatch.setattr(building, "lower_apart", noting)
    yield made


def together(monkeypatch: pytest.MonkeyPatch, program: Any, **options: Any) -> Artifact:
    """Compiled by this process alone."""
    monkeypatch.setenv("IRC_PROCESSES", "1")
    return compile_artifact(program, arch="sm_90a", **options)


@pytest.mark.parametrize("strict_rounding", [False, True])
def test_artifacts_are_the_same(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch, strict_rounding: bool) -> None:
    """Plan, manifest, sources, machine code, and the texts of all levels."""
    made = compile_artifact(TEXT, arch="sm_90a", strict_rounding=strict_rounding)
    assert [isinstance(each, Apart) for each in apart] == [True]
    assert made == together(monkeypatch, TEXT, strict_rounding=strict_rounding)
    assert len(apart) == 1


@slow
def test_a_training_step_is_the_same(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """It has launches of several sets, kernels that write in place, and loads before a kernel waits."""
    made = compile_artifact(step_module(batch=2, positions=128, layers=2), arch="sm_90a")
    assert [isinstance(each, Apart) for each in apart] == [True]
    assert made == together(monkeypatch, step_module(batch=2, positions=128, layers=2))


def test_processes_tile_kernels(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of parts of a larger array too, but not those of an argument that begins anywhere, which is said outside of
    them."""
    found: list[tuple[str, bool]] = []

    def noting(processes: KernelProcesses, untiled: Sequence[Untiled]) -> Sequence[ProgramOp | None]:
        programs = tile_apart(processes, untiled)
        found.extend((each.name, made is not None) for each, made in zip(untiled, programs, strict=True))
        return programs

    text = TEXT.replace("f32[192]\n)", "f32[192], bf16[256, 256]\n)")
    text = text.replace("axis=0)\n}", "axis=0), concat([exp(x), tanh(x)], axis=1)\n}")
    options = Options("sm_90a", align=((3, 8),))
    monkeypatch.setattr(building, "tile_apart", noting)
    made = compile_module_artifact(subject_of(text).module(options), options)
    names = [name for name, _ in found]
    assert len(names) == len(set(names)) > 6
    assert sum(not is_made for _, is_made in found) == 1
    monkeypatch.setenv("IRC_PROCESSES", "1")
    assert made == compile_module_artifact(subject_of(text).module(options), options)


def test_launches_of_kernels_with_counters_have_one(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes find which kernels count tiles; the launches are of the module that they do not see."""
    text = TEXT.replace("f32[192]\n)", "f32[192], bf16[4096, 2048]\n)").replace("t: f32", "a: bf16[4096, 1024], t: f32")
    text = text.replace("axis=0)\n}", "axis=0), a @ transpose(a[:2048])\n}")
    options = Options("sm_90a", shared_gpu=True)
    made = compile_module_artifact(subject_of(text).module(options), options)
    assert [isinstance(each, Apart) for each in apart] == [True]
    assert "tile.take_ticket %counter" in made.levels["tile"]
    monkeypatch.setenv("IRC_PROCESSES", "1")
    assert made == compile_module_artifact(subject_of(text).module(options), options)


def test_programs_share_processes(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are started when all programs together are worth it, and the programs have kernels of the same names."""
    started: list[KernelProcesses] = []
    start = KernelProcesses

    def noting(count: int) -> KernelProcesses:
        started.append(start(count))
        return started[-1]

    monkeypatch.setattr(kernel_processes, "KernelProcesses", noting)
    monkeypatch.setattr(kernel_processes, "WORTH", 20)
    texts = [TEXT.replace("relu", name) for name in ("relu", "tanh", "exp")]
    with sharing_processes():
        made = [compile_artifact(text, arch="sm_90a") for text in texts]
        assert started[0]._root.poll() is None  # pyright: ignore[reportPrivateUsage]
    assert len(started) == 1 and started[0]._root.poll() is not None  # pyright: ignore[reportPrivateUsage]
    assert [isinstance(each, Apart) for each in apart] == [True, True]
    assert made == [together(monkeypatch, text) for text in texts]


def test_programs_are_lowered_while_the_next_ones_are_fused(
    apart: list[Lowered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One behind the other: they have kernels of the same names. Programs of one kernel, too."""
    options = Options("sm_90a")
    texts = [TEXT, "func f(x: f32[64, 96]) -> f32[64] { return sum(x, axis=1) }", TEXT.replace("relu", "tanh")]
    modules = [subject_of(text).module(options) for text in texts]
    with sharing_processes():
        begun = [building.begin(module) for module in modules]
    made = [each() for each in begun]
    assert [isinstance(each, Apart) for each in apart] == [True, True, True]
    monkeypatch.setenv("IRC_PROCESSES", "1")
    assert made == [compile_module_artifact(subject_of(text).module(options), options) for text in texts]


def test_an_exception_ends_what_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for processes that do not answer."""
    monkeypatch.setenv("IRC_PROCESSES", "2")
    monkeypatch.setattr(kernel_processes, "WORTH", 0)
    monkeypatch.setattr(kernel_processes, "START", "import time; time.sleep(60)")
    module = subject_of("func f(x: f32[64]) -> f32[64] { return exp(x) }").module(Options("sm_90a"))
    begin = time.monotonic()
    with pytest.raises(ValueError, match="beside"), sharing_processes():
        building.begin(module)
        raise ValueError("beside")
    assert time.monotonic() - begin < 30


def test_without_processes_this_one_lowers(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they do not start, or end."""
    monkeypatch.setattr(kernel_processes, "START", "raise SystemExit(1)")
    made = compile_artifact(TEXT, arch="sm_90a")
    assert apart == [None]
    assert made == together(monkeypatch, TEXT)


def test_diagnostics_are_the_same(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a pass that processes run: it is at its line."""
    monkeypatch.setattr(AwaitDotsPass, "apply", refuse)
    monkeypatch.setattr(kernel_processes, "START", BROKEN)
    with pytest.raises(IrcError) as found:
        compile_artifact(TEXT, arch="sm_90a")
    assert [type(each) for each in apart] == [Failed]
    with pytest.raises(IrcError) as alone:
        together(monkeypatch, TEXT)
    assert render(found.value) == render(alone.value)
    assert "softmax(sum(z, axis=1))" in render(found.value)


def test_what_a_process_finds_wrong_is_looked_for_here(apart: list[Lowered], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that fails there: if it fails here too, that is the diagnostic. Else it is a warning."""
    monkeypatch.setattr(kernel_processes, "START", BROKEN)
    with pytest.warns(LoweredAlone, match="processes did not lower the kernels, which one did alone"):
        made = compile_artifact(TEXT, arch="sm_90a")
    assert [type(each) for each in apart] == [Failed]
    assert made == together(monkeypatch, TEXT)


def refuse(_: Any, ctx: Context, module: ModuleOp) -> None:
    raise IrcError("refused", list(module.ops)[-1].location)


BROKEN = """
from irc.driver import kernel_worker
from irc.support.processors import processor_count
kernel_worker.TO_TILE = tuple(name for name in kernel_worker.TO_TILE if name != "assign-layouts")
kernel_worker.main()
"""
"""Lowers without layouts, of which passes make the code of threads."""


def test_a_question_to_a_process_that_fails_is_lost() -> None:
    processes = KernelProcesses(1)
    try:
        with pytest.raises(Lost, match=r"UnpicklingError|EOFError|pickle"):
            processes.lower([Job(b"no program", {}, {}, {})], lambda number, lowered: None)
    finally:
        processes.close()


def test_processes_end_with_their_user() -> None:
    """Those that were forked too, whatever they do."""
    processes = KernelProcesses(2)
    group = processes._root.pid  # pyright: ignore[reportPrivateUsage]
    processes.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and is_alive(group):
        time.sleep(0.01)
    assert not is_alive(group)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_ctrl_c_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """For processes that do not answer."""
    monkeypatch.setattr(kernel_processes, "START", "import time; time.sleep(60)")
    processes = KernelProcesses(2)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            processes.lower([Job(b"", {}, {}, {})] * 2, lambda number, lowered: None)
    finally:
        timer.join()
        processes.close()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("given", ["0", "-1", "many", ""])
def test_a_number_of_processes_is_checked(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("IRC_PROCESSES", given)
    with pytest.raises(IrcError, match=f"IRC_PROCESSES: expected a number of processes from 1 on, found '{given}'"):
        process_count()


def test_small_programs_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    monkeypatch.setattr(kernel_processes, "KernelProcesses", None)
    compile_artifact(TEXT, arch="sm_90a")


@pytest.mark.parametrize(("ranks", "share"), [("4", 4), ("0", 1), ("many", 1)])
def test_ranks_of_a_host_share_its_processors(ranks: str, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = processor_count()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert processor_count() == max(1, alone // share)
