"""The package index's `irc` is another project's with the same import name: who finds it in irc's place is told."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PACKAGES = [Path(__file__).parents[2] / folder for folder in ("irc", "tools/irc_tools", "frontend/irc_frontend")]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Where there are the packages of a folder and Python's own alone."""
    command = [sys.executable, "-S", "-E", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for package in PACKAGES:
        (tmp_path / package.name).mkdir()
        shutil.copy(package / "__init__.py", tmp_path / package.name)
    (tmp_path / "irc" / "support").mkdir()
    for name in ("__init__.py", "version.py"):
        shutil.copy(PACKAGES[0] / "support" / name, tmp_path / "irc" / "support")
    return tmp_path


def install_other(site: Path) -> None:
    for name in ("__init__.py", "client.py"):
        (site / "irc" / name).write_text("def _get_version():\n    return 'unknown'\n")


def uninstall_other(site: Path) -> None:
    (site / "irc" / "__init__.py").unlink()


@pytest.mark.parametrize("change", [install_other, uninstall_other])
def test_commands_and_frontend_name_the_other_package(site: Path, change: Callable[[Path], None]) -> None:
    change(site)
    done = run("import irc_tools", site)
    expected = "the package `irc` here is not irc-compiler's: `pip uninstall irc` (Internet Relay Chat's), then `pip in"
    assert done.returncode == 1 and done.stderr.startswith(f"irc: error: {expected}")
    assert len(done.stderr.splitlines()) == 1
    assert run("import irc_frontend", site).stderr.splitlines()[-1].startswith(f"ImportError: {expected}")


def test_import_irc_warns_of_files_of_the_other_package(site: Path) -> None:
    assert run("import irc; irc.__version__", site).stderr == ""
    (site / "irc" / "client.py").touch()
    assert "the Internet Relay Chat library of that name" in run("import irc; irc.__version__", site).stderr
