"""Dataclasses as JSON has it, and back: an object is a dictionary whose `is` names its class."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any


class Plain:
    """Writes and reads frozen dataclasses of these classes, whose fields are such objects, tuples of them, bytes and
    what JSON has."""

    def __init__(self, classes: Iterable[Callable[..., Any]]):
        self._classes = {cls.__name__: cls for cls in classes}

    def to_json(self, value: Any) -> Any:
        """As dictionaries, lists, strings and numbers."""
        if type(value).__name__ in self._classes:
            held = {each.name: self.to_json(getattr(value, each.name)) for each in fields(value)}
            return {"is": type(value).__name__, **held}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        return [self.to_json(each) for each in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]

    def from_json(self, data: Any) -> Any:
        """What `to_json` made. KeyError or TypeError where it is something else."""
        if isinstance(data, list):
            return tuple(self.from_json(each) for each in data)  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(data, dict):
            return data
        held: dict[str, Any] = dict(data)  # pyright: ignore[reportUnknownArgumentType]
        if "bytes" in held:
            return base64.b64decode(held["bytes"])
        return self._classes[held.pop("is")](**{name: self.from_json(value) for name, value in held.items()})
