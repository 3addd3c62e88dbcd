"""`jit` of methods: they see what changed in `self`, and cannot change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError

X = np.arange(3, dtype=np.float32)


pytestmark = pytest.mark.usefixtures("on_interpreter")


class Inner:
    def __init__(self) -> None:
        self.shift = ir.Tensor(np.float32(1))


class Model:
    """runs: how often its method runs."""

    runs = 0

    def __init__(self, scale: float):
        self.scale = scale
        self.weights: dict[str, Any] = {"w": np.full(3, 2, np.float32)}
        self.inner = Inner()
        self.mode = "plain"

    @ir.jit
    def __call__(self, x: Any) -> Any:
        Model.runs += 1
        y = x * self.weights["w"] * self.scale + self.inner.shift
        return y if self.mode == "plain" else -y

    def scaled(self, x: Any) -> Any:
        return x * self.scale

    def count(self, x: Any) -> Any:
        self.scale += 1
        return x

    def keep(self, x: Any) -> Any:
        self.last = x
        return x


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.numpy(), wanted)


def test_a_method_sees_what_changed_in_self() -> None:
    model, first = Model(3.0), Model.runs
    close(model(X), X * 6 + 1)
    model.weights["w"] = np.full(3, 5, np.float32)
    close(model(X), X * 15 + 1)
    model.inner.shift = ir.Tensor(np.float32(7))
    close(model(X), X * 15 + 7)
    assert Model.runs == first + 1, "arrays are inputs"
    model.mode = "turned"
    close(model(X), -(X * 15 + 7))
    close(Model(2.0)(X), X * 4 + 1)
    close(model(X), -(X * 15 + 7))
    assert Model.runs == first + 3


def test_a_bound_method_sees_it_too() -> None:
    model = Model(1.0)
    step = ir.jit(model.scaled)
    close(step(X), X)
    model.scale = 4.0
    close(step(X), X * 4)


def test_a_method_that_changes_self_is_refused() -> None:
    for method, attribute in ((Model(1.0).count, "scale"), (Model(1.0).keep, "last")):
        with pytest.raises(IrcError, match=f"changes 0.0.{attribute} of an argument"):
            ir.jit(method)(X)


def test_objects_that_hold_themselves_are_refused() -> None:
    model = Model(1.0)
    model.weights["model"] = model
    with pytest.raises(IrcError, match="holds itself: Model"):
        model(X)


@dataclass
class Settings:
    """A dataclass that may change, which has no hash."""

    factor: float = 2.0
    rows: list[Any] = field(default_factory=list[Any])


def test_dataclasses_that_change() -> None:
    settings = Settings()
    scaled = ir.jit(lambda x, settings: x * settings.factor)
    close(scaled(X, settings), 2 * X)
    settings.factor = 3.0
    close(scaled(X, settings), 3 * X)
