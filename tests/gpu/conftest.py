"""Makes the programs of this folder importable as `gpu.programs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
