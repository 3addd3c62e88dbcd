"""The typed wrapper of NVRTC (`cuda.bindings.nvrtc`): CUDA C++ source to PTX, cubin and resource usage.

Sources include no headers: CUTLASS's of wgmma would take 75 ms of each kernel that multiplies.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.ir import Attribute

from irc.support.cuda_wheels import WITHOUT_CUDA, cuda_module
from irc.support.diagnostics import InternalError, IrcError

MAX_ERROR_LINES = 8
"""Lines of a compiler's log that an error quotes."""


@dataclass(frozen=True)
class Resources:
    """What one kernel uses: registers of a thread; bytes of spill stores and loads, stack frame, static shared
    memory."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int

    @property
    def spills(self) -> int:
        """Bytes that are spilled to local memory and read back."""
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class Compilation:
    """The result of NVRTC: `resources` by kernel name; `warnings` are the lines that say that wgmma was serialized
    (C75xx)."""

    ptx: str
    cubin: bytes
    log: str
    resources: dict[str, Resources]
    warnings: tuple[str, ...]


class Refusal(InternalError):
    """What NVRTC does not compile; `log` is all that it says."""

    def __init__(self, message: str, location: Attribute | None, log: str):
        super().__init__(message, location)
        self.log = log


def compile_source(
    source: str, arch: str, options: Sequence[str] = (), *, name: str = "kernel", location: Attribute | None = None
) -> Compilation:
    """Compile for an architecture such as `sm_90a`; Refusal with the first lines of the log where NVRTC does not.

    `name` is what the source is called in errors; `options` are added to those that every kernel is compiled with.
    """
    nvrtc = _nvrtc()
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, [], []))
    try:
        arguments = [option.encode() for option in (*compiler_options(arch), *options)]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode(errors="replace")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _refusal(name, arch, status, log, location)
        ptx = _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode()
        cubin = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program, strip=False)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    warnings = tuple(line for line in log.splitlines() if re.search(r"\bC75\d\d\b", line))
    return Compilation(ptx, cubin, log, parse_resources(log), warnings)


def compiler_options(arch: str) -> tuple[str, ...]:
    """The options of every kernel."""
    return (
        f"--gpu-architecture={arch}",
        "--std=c++17",
        "-default-device",
        "-DNDEBUG",
        "--no-cache",  # irc has its own; what NVRTC takes from its cache comes without a resource report
        "-diag-suppress=177,549",
        "--ptxas-options=-v",
    )


@cache
def compiler_version() -> str:
    """The version of NVRTC: a part of the key of a cached cubin."""
    nvrtc = _nvrtc()
    major, minor = _checked_all(nvrtc.nvrtcVersion())
    package = "nvidia-cuda-nvrtc"
    try:
        return f"nvrtc {major}.{minor}, {package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"nvrtc {major}.{minor}"


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def parse_resources(log: str) -> dict[str, Resources]:
    """What `--ptxas-options=-v` prints, by kernel."""
    resources: dict[str, Resources] = {}
    name, frame = "", (0, 0, 0)
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name = entry[1]
        elif found := _FRAME.search(line):
            frame = (int(found[1]), int(found[2]), int(found[3]))
        elif (used := _USED.search(line)) and name:
            shared = _SHARED.search(line)
            stack, stores, loads = frame
            resources[name] = Resources(int(used[1]), stores, loads, stack, int(shared[1]) if shared else 0)
            name, frame = "", (0, 0, 0)
    return resources


def _refusal(name: str, arch: str, status: Any, log: str, location: Attribute | None) -> Refusal:
    lines = [line for line in log.splitlines() if line.strip() and "info" not in line]
    errors = [line for line in lines if "error" in line] or lines
    quoted = "\n".join(errors[:MAX_ERROR_LINES])
    if not quoted:
        quoted = str(status)
    return Refusal(f"NVRTC cannot compile {name} for {arch}:\n{quoted}", location, log)


@cache
def _nvrtc() -> Any:
    nvrtc = cuda_module("cuda.bindings.nvrtc", "machine code")
    try:
        nvrtc.nvrtcVersion()  # finds the library
    except (OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise IrcError(f"machine code needs the wheel nvidia-cuda-nvrtc: {reason}", hint=WITHOUT_CUDA) from error
    return nvrtc


def _checked(result: tuple[Any, ...]) -> Any:
    """The one value of a call."""
    return _checked_all(result)[0]


def _checked_all(result: tuple[Any, ...]) -> tuple[Any, ...]:
    status, *values = result
    if status != _nvrtc().nvrtcResult.NVRTC_SUCCESS:
        raise IrcError(f"NVRTC failed: {status}")
    return tuple(values)


def _read(size_function: Any, function: Any, program: Any, *, strip: bool = True) -> bytes:
    """What a pair of calls, for size and content, gives; text loses its zero at the end."""
    buffer = bytearray(_checked(size_function(program)))
    (status,) = function(program, buffer)
    if status != _nvrtc().nvrtcResult.NVRTC_SUCCESS:
        raise IrcError(f"NVRTC failed: {status}")
    content = bytes(buffer)
    return content.rstrip(b"\0") if strip else content
