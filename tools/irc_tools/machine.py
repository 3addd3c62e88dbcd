"""What a measurement was made on: the part of a recorded result that makes it comparable."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

PACKAGES = ("xdsl", "numpy", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cutlass", "torch", "triton")


def describe() -> dict[str, object]:
    """The date (UTC), irc's commit where it is known, the GPU and its driver (absent without `nvidia-smi`), cores,
    Python and the versions of packages."""
    found: dict[str, object] = {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    commit = _commit()
    if commit is not None:
        found["commit"] = commit
    gpu = _gpu()
    if gpu is not None:
        found["gpu"], found["driver"] = gpu
    found["cores"] = os.cpu_count()
    found["python"] = platform.python_version()
    found["packages"] = {name: version for name in PACKAGES if (version := _version(name)) is not None}
    return found


def _commit() -> str | None:
    """The commit of the checkout, marked where files differ from it; the variable `IRC_COMMIT` says it for a copy
    without git."""
    describe = ["git", "describe", "--always", "--abbrev=12", "--dirty"]
    try:
        return _output(describe, cwd=Path(__file__).parent).strip()
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("IRC_COMMIT")


def _output(command: list[str], cwd: Path | None = None) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20, cwd=cwd).stdout


def _gpu() -> tuple[str, str] | None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = _output(query).splitlines()
        name, driver = lines[0].split(",")
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return None
    return name.strip(), driver.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
