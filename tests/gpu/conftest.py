"""Makes the programs of this folder importable as `gpu.programs`, and `gpu` a mark without the project's configuration,
which `tests/gpu/run` leaves out."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.pop("IRC_TARGET", None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU (run by `make gpu-test`)")
