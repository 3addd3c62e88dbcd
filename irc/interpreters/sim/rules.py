"""All families of rules: importing this registers them."""

from __future__ import annotations

from irc.interpreters.sim import access, control, places, sync  # noqa: F401  # pyright: ignore[reportUnusedImport]
