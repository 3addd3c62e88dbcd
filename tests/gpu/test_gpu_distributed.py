"""Models of torch on two GPUs, by NCCL: numbers, which `benchmarks/distributed.py` compares with one process in f32."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are no two GPUs")]


def test_data_and_tensor_parallel_models(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "distributed.py"), str(record), "--small", "--seconds", "300"]
    path = os.pathsep.join([*sys.path, str(ROOT), str(ROOT / "frontend"), str(ROOT / "tools")])
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path}, timeout=330)
    rows = json.loads(record.read_text())["rows"]
    assert len(rows) == 6
    assert not [row for row in rows if "wrong" in row]
