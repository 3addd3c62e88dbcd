"""What an installation needs: ranges with bounds that were tried, and what runs without the wheels of CUDA."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LISTS = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
REQUIREMENTS = [r for texts in LISTS for r in map(Requirement, texts) if r.name != PROJECT["name"]]
CUDA = ("cuda-", "nvidia-", "nccl4py")


def versions(name: str) -> dict[str, Version]:
    lines = (ROOT / "constraints" / name).read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(package): Version(version) for package, version in pairs}


LOCK, LOWEST = versions("lock.txt"), versions("lowest.txt")
UNLOCKED = {"torchvision", "timm", "transformers", "nccl4py", "nvidia-nccl-cu13"}
"""What no test needs, or those on several GPUs alone."""


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_ranges_have_bounds_that_were_tried(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    assert {"<", ">="} == {bound.operator for bound in requirement.specifier}
    if name in UNLOCKED:
        return
    assert LOCK[name] in requirement.specifier
    (least,) = (Version(bound.version) for bound in requirement.specifier if bound.operator == ">=")
    lowest = LOWEST.get(name, LOCK[name])
    assert lowest in requirement.specifier and lowest.release[: len(least.release)] == least.release


def test_wheels_of_cuda_are_asked_for_where_they_are() -> None:
    for requirement in REQUIREMENTS:
        if not requirement.name.startswith(CUDA):
            assert requirement.marker is None
            continue
        assert requirement.marker is not None and requirement.marker.evaluate({"sys_platform": "linux"})
        assert not any(requirement.marker.evaluate({"sys_platform": name}) for name in ("darwin", "win32"))


WITHOUT_CUDA = """
import importlib.metadata, sys
sys.modules.update(dict.fromkeys(("cuda", "pycute", "cutlass_library")))
found = importlib.metadata.distribution
def distribution(name):
    if name.startswith(("cuda-", "nvidia-")):
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)
importlib.metadata.distribution = distribution
"""

PRODUCT = "func f(x: bf16[128, 128], w: bf16[128, 128]) -> f32[128] {\n    return sum(cast(x @ w, f32), axis=1)\n}\n"
SUM = "func f(x: f32[64, 128]) -> f32[64] {\n    return sum(exp(x), axis=1)\n}\n"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "product.irc").write_text(PRODUCT)
    (folder / "sum.irc").write_text(SUM)
    command = [sys.executable, "-c", WITHOUT_CUDA + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_cpu_and_simulator_run_without_the_wheels_of_cuda(tmp_path: Path) -> None:
    done = run(
        "import irc_tools.opt, irc_tools.run\n"
        "assert irc_tools.opt.main(['product.irc', '-p', 'all', '-t', 'cuda']) == 0\n"
        "for target in ('cpu', 'sim'):\n"
        "    assert irc_tools.run.main(['product.irc', '--check', '--target', target]) == 0\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", ["sum", "product"])
def test_a_missing_wheel_of_cuda_is_named(tmp_path: Path, program: str) -> None:
    code = f"import sys, irc_tools.compile; sys.exit(irc_tools.compile.main(['{program}.irc', '-o', 'out']))"
    done = run(code, tmp_path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("error: machine code ") and " needs the wheel cuda-bindings" in done.stderr
    assert "the targets cpu and sim, and CUDA source, need none" in done.stderr


def test_a_gpu_without_cuda_core_is_an_error(tmp_path: Path) -> None:
    done = run("import irc.runtime.device", tmp_path)
    assert "IrcError: target cuda needs the wheel cuda-core: " in done.stderr


def test_environment_variables_have_a_line() -> None:
    """docs/installing.md names what irc and irc_frontend read of the environment, and nothing else."""
    sources = [path.read_text() for folder in ("irc", "frontend") for path in sorted((ROOT / folder).rglob("*.py"))]
    sources += [path.read_text() for path in sorted((ROOT / "tools").rglob("errors.py"))]
    read = {name for text in sources for name in re.findall(r'environ\b[^\n]*?"((?:IRC|XDG)_\w+)"', text)}
    page = (ROOT / "docs" / "installing.md").read_text().split("## Environment variables")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE)) == read
