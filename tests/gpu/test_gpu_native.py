"""Saved executables from C on a GPU: `examples/run_saved.c` gives the bits that Python gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irc
from irc.runtime.artifact import ArraySpec
from irc.runtime.driver import is_present

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not is_present(), reason="no GPU is present"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
]

PROGRAMS = {name: (ROOT / "examples" / f"{name}.irc").read_text() for name in ("mlp", "softmax", "heads", "layer_norm")}
PROGRAMS["windows"] = """\
func f(x: bf16[4, 64, 28, 28], k: bf16[64, 64, 3, 3]) -> bf16[4, 64, 28, 28] {
    return relu(conv(x, k, strides=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], input_dilation=[1, 1]))
}"""
PROGRAMS["side by side"] = """\
func f(x: f32[64, 96], y: f32[96, 64], z: f32[32, 32]) -> (f32[64, 64], f32[32], f32[64]) {
    p = x @ y
    return relu(p), sum(exp(z), axis=1), max(p, axis=0)
}"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "run_saved"
    native = Path(irc.include_dir())
    sources = [ROOT / "examples" / "run_saved.c", *sorted(native.glob("*.c"))]
    command = [COMPILER, "-std=c11", "-O2", f"-I{native}", *sources, "-o", path, "-lpthread", "-ldl"]
    subprocess.run([str(word) for word in command], check=True)
    return path


def drawn(spec: ArraySpec, random: np.random.Generator) -> np.ndarray:
    return (random.standard_normal(spec.shape) / 4).astype(spec.dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_computes_what_python_does(name: str, runner: Path, tmp_path: Path) -> None:
    exe = irc.compile(PROGRAMS[name], "cuda")
    random = np.random.default_rng(0)
    arrays = {spec.name: drawn(spec, random) for spec in exe.arguments}
    weight = exe.arguments[-1].name
    exe.save(tmp_path / "f.irx", {weight: arrays[weight]} if len(arrays) > 1 else None)
    for argument, array in arrays.items():
        if argument != weight or len(arrays) == 1:
            array.tofile(tmp_path / f"{argument}.bin")
    found = subprocess.run([str(runner), str(tmp_path / "f.irx"), str(tmp_path), "3"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    results = exe(*arrays.values())
    for number, expected in enumerate(results if isinstance(results, tuple) else (results,)):
        content = (tmp_path / f"result{number}.bin").read_bytes()
        assert content == np.ascontiguousarray(expected).tobytes(), number
