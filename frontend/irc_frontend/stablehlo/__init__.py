"""StableHLO's text as programs of irc (docs/stablehlo.md): `load` of what `jax.jit(f).lower(x).as_text()` gives."""

from irc_frontend.stablehlo.recorder import load

__all__ = ["load"]
