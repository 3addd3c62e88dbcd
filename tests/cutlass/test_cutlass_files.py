"""What `irc-opt -t cutlass` writes compiles with nvcc against the wheel's headers; where there is a GPU it runs, and finds
its results right. Each file takes nvcc half a minute."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import cutlass_library
import pytest

from irc.runtime.driver import is_present
from irc_tools import opt

PROGRAMS = Path(__file__).parents[1] / "lit" / "cutlass"
HEADERS = Path(cutlass_library.__file__).parent / "source"
NVCC = shutil.which("nvcc")

pytestmark = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")


WHOLE_REDUCTIONS = "nd,fuse-kernels,choose-config"


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("tree", "kernel"),
        ("topological", "kernel"),
        ("products", "kernel"),
        ("operands", "kernel"),
        ("reductions", WHOLE_REDUCTIONS),
    ],
)
def test_file(name: str, passes: str, tmp_path: Path) -> None:
    source, binary = tmp_path / f"{name}.cu", tmp_path / name
    assert opt.main([str(PROGRAMS / f"{name}.irc"), "-p", passes, "-t", "cutlass", "-o", str(source)]) == 0
    folders = [f"-I{HEADERS / folder}" for folder in ("include", "tools/util/include")]
    options = ["-std=c++17", "-arch=sm_90a", "-O2", "--expt-relaxed-constexpr", "-DNDEBUG", "-cudart", "static"]
    assert NVCC is not None
    subprocess.run([NVCC, *options, *folders, str(source), "-o", str(binary)], check=True)
    if is_present():
        subprocess.run([str(binary)], check=True)
