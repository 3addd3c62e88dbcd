"""What a measurement was made on: the part of a recorded result that makes it comparable."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata

PACKAGES = ("xdsl", "numpy", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cutlass", "torch", "triton")


def describe() -> dict[str, object]:
    """The date (UTC), the GPU and its driver (absent without `nvidia-smi`), Python and the versions of packages."""
    found: dict[str, object] = {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    gpu = _gpu()
    if gpu is not None:
        found["gpu"], found["driver"] = gpu
    found["python"] = platform.python_version()
    found["packages"] = {name: version for name in PACKAGES if (version := _version(name)) is not None}
    return found


def _gpu() -> tuple[str, str] | None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()
        name, driver = lines[0].split(",")
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return None
    return name.strip(), driver.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
