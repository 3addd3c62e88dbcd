"""What is begun, and waited for when it is needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

ResultT = TypeVar("ResultT")
OtherT = TypeVar("OtherT")


class Begun(Generic[ResultT]):
    """Called, it waits for a result and gives it. Threads may share it: `finish` is called once, unless it raises."""

    def __init__(self, finish: Callable[[], ResultT]):
        self._lock = threading.Lock()
        self._finish: Callable[[], ResultT] | None = finish
        self._result: Any = None

    @staticmethod
    def done(result: OtherT) -> Begun[OtherT]:
        """What needs no waiting."""
        begun = Begun(lambda: result)
        begun()
        return begun

    @property
    def is_done(self) -> bool:
        """Whether the result is known."""
        return self._finish is None

    def __call__(self) -> ResultT:
        with self._lock:
            if self._finish is not None:
                self._result = self._finish()
                self._finish = None
            return cast("ResultT", self._result)

    def then(self, finish: Callable[[], OtherT]) -> Begun[OtherT]:
        """A result that is made of this one; at once where this one is known."""
        begun = Begun(finish)
        if self.is_done:
            begun()
        return begun
