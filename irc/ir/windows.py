"""Limits of TMA's im2col mode (CUDA driver API, cuTensorMapEncodeIm2col; PTX ISA, 5.5.4)."""

from __future__ import annotations

MAX_PIXELS, MAX_STEP = 1024, 8
"""Pixels of a column, and steps between these."""

CORNERS = {1: range(-32768, 32768), 2: range(-128, 128), 3: range(-16, 16)}
"""Corners of a window, by its dimensions."""

MAX_OFFSET = {1: 65535, 2: 255, 3: 31}
"""How far a load can move the pixels of a column, by the dimensions of the window."""
