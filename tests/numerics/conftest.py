"""Makes the helpers of this folder importable as `numerics.harness` and `numerics.generators`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
