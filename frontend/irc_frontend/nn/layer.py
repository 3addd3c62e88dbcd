"""`Layer`: what is computed, apart from the parameters that it is computed with."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from irc_frontend.nn.seeds import fold
from irc_frontend.tensor import Tensor

Params: TypeAlias = dict[str, Any]
"""Parameters: Tensors, or the parameters of other layers (or lists of them), by name."""


@dataclass(frozen=True)
class Layer:
    """A function `layer(params, x)`, and `layer.init(seed)`, which makes parameters for it.

    Subclasses are frozen dataclasses. One that is made of others has them, or tuples of them, as its fields; `init`
    makes the parameters of each under the field's name, and `__call__` passes them on. A layer without others has its
    own `init`. Since parameters are plain trees, `grad`, `jit`, optimizers and checkpoints need no knowledge of layers.
    """

    def init(self, seed: int) -> Params:
        """Parameters: the same for the same seed on every target."""
        parts = ((field.name, getattr(self, field.name)) for field in fields(self))
        made = ((name, part, fold(seed, number)) for number, (name, part) in enumerate(parts))
        return {name: _init(part, own) for name, part, own in made if _is_made_of_layers(part)}

    @abstractmethod
    def __call__(self, params: Params, *args: Any, **options: Any) -> Tensor:
        """What the layer computes."""


def _is_made_of_layers(part: Any) -> bool:
    if isinstance(part, tuple):
        return bool(part) and all(map(_is_made_of_layers, part))  # pyright: ignore[reportUnknownVariableType]
    return isinstance(part, Layer)


def _init(part: Any, seed: int) -> Any:
    if isinstance(part, Layer):
        return part.init(seed)
    return [_init(each, fold(seed, number)) for number, each in enumerate(part)]
