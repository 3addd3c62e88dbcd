"""What may go wrong while a program is compiled: damaged and full caches, Ctrl-C, several threads and processes."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from drawing import long, slow
from xdsl.context import Context
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from irc.driver import build as building
from irc.driver import compilations
from irc.driver.compiler import compile_artifact
from irc.passes.host.build_host_plan import BuildHostPlanPass
from irc.support import cache
from irc.support.diagnostics import InternalError
from irc.support.processors import processor_count

TEXT = """
func f(x: f32[64, 32], w: f32[32, 32]) -> (f32[64, 32], f32[64]) {
    y = relu(x @ w)
    return softmax(y), sum(x, axis=1)
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """SIGINT raises, here and in commands that are started, also where a shell that runs the tests in the background
    had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def entries(folder: Path) -> list[Path]:
    """Files in folders of it."""
    return sorted(path for path in folder.rglob("*/*") if path.is_file())


@long(2)
@pytest.mark.parametrize("damage", ["cut", "empty", "one bit", "another entry"])
def test_damaged_entries_are_absent(folder: Path, damage: str) -> None:
    """Whichever they are: of texts, artifacts, kernels."""
    built = compile_artifact(TEXT, arch="sm_90a")
    stored = {path: path.read_bytes() for path in entries(folder)}
    assert {path.parent.name for path in stored} == {"texts", "artifacts", "cubin"}
    for path, content in stored.items():
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:-3], "empty": b"", "one bit": changed}.get(damage, b"x" * len(content)))
    again = compile_artifact(TEXT, arch="sm_90a")
    assert not again.cached
    assert again == built
    assert {path: path.read_bytes() for path in entries(folder)}.keys() == stored.keys()
    assert compile_artifact(TEXT, arch="sm_90a").cached


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is of POSIX")
def test_a_full_disk_costs_time_alone(folder: Path) -> None:
    """No file may be larger than 100 bytes: writes fail half-way, as they do on a full disk."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from irc.driver.compiler import compile_artifact\n"
        f"print(len(compile_artifact({TEXT!r}, arch='sm_90a').kernels))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(compile_artifact(TEXT, arch="sm_90a").kernels)
    assert not [path for path in entries(folder) if path.name.startswith(".")], "what was begun is removed"


def test_an_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache, "_checksum", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.write("kind", "key", b"content")
    assert entries(folder) == []


@pytest.mark.usefixtures("hears_ctrl_c")
def test_an_interruption_waits_for_no_kernel_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[ModuleOp] = []
    kernels = [ModuleOp([]) for _ in range(50)]

    def slow(kernel: ModuleOp, *_: Any) -> ModuleOp:
        begun.append(kernel)
        if len(begun) == 2:
            _thread.interrupt_main()
        time.sleep(0.2)
        return kernel

    monkeypatch.setattr(compilations, "compile_kernel", slow)
    compiling = list[compilations.Compiling]()
    with pytest.raises(KeyboardInterrupt), compilations.Compilations() as threads:
        compiling += threads.begin(kernels, "sm_90a")  # pyright: ignore[reportArgumentType]
        for each in compiling:
            each()
    assert len(begun) <= 2 + 2 * processor_count()
    assert compiling[-1]() is begun[-1] is kernels[-1]  # who asks again has it compiled


def test_what_is_invalid_behind_the_last_pass_is_said_while_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []
    apply, begin = BuildHostPlanPass.apply, building.Compilations.begin

    def spoiled(self: BuildHostPlanPass, ctx: Context, op: ModuleOp) -> None:
        apply(self, ctx, op)
        next(each for each in op.walk() if isinstance(each, AddfOp)).attributes["tile.of"] = UnitAttr()

    monkeypatch.setattr(BuildHostPlanPass, "apply", spoiled)
    monkeypatch.setattr(
        building.Compilations, "begin", lambda self, ops, *rest: begun.append(len(ops)) or begin(self, ops, *rest)
    )
    with pytest.raises(InternalError, match="after pass 'build-host-plan': .*tile.of"):
        compile_artifact(TEXT + "# spoiled", arch="sm_90a")
    assert begun


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_ends_a_command_in_one_line_and_the_next_one_works(folder: Path, tmp_path: Path) -> None:
    steps = "".join(f"    v{i + 1} = tanh(v{i}) * w{i % 3}\n" for i in range(2000))
    source = tmp_path / "long.irc"
    parameters = ", ".join(f"{name}: f32[8]" for name in ("v0", "w0", "w1", "w2"))
    source.write_text(f"func f({parameters}) -> f32[8] {{\n{steps}    return v2000\n}}\n")
    command = [sys.executable, "-m", "irc_tools.compile", str(source), "-o", str(tmp_path / "out")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert err == "irc-compile: interrupted\n"
    # Python ends by the signal where it came inside an exec of a string, as dataclasses have: a shell says 130 to both.
    assert running.returncode in (130, -signal.SIGINT)
    assert not [path for path in entries(tmp_path) if path.name.startswith(".")]
    source.write_text(TEXT)
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_threads_compile_the_same_at_once(folder: Path) -> None:
    barrier = threading.Barrier(4)

    def work(_: int) -> Any:
        barrier.wait()
        return compile_artifact(TEXT, arch="sm_90a")

    with ThreadPoolExecutor(4) as pool:
        first, *others = list(pool.map(work, range(4)))
    assert all(other == first for other in others)


@slow
def test_processes_compile_the_same_at_once(folder: Path) -> None:
    script = (
        "from irc.driver.compiler import compile_artifact; import hashlib\n"
        f"found = compile_artifact({TEXT!r}, arch='sm_90a')\n"
        "print(hashlib.sha256(b''.join(k.cubin for k in found.kernels)).hexdigest(), found.plan)"
    )
    command = [sys.executable, "-c", script]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {each.communicate()[0] for each in running}
    assert len(outputs) == 1 and "".join(outputs)
    assert compile_artifact(TEXT, arch="sm_90a").cached
