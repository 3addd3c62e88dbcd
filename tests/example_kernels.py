"""The kernels of examples/kernels.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

_spec = importlib.util.spec_from_file_location("kernels", Path(__file__).parents[1] / "examples" / "kernels.py")
assert _spec is not None
assert _spec.loader is not None
kernels: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernels)
