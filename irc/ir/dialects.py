"""The dialect of what some modules define."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from xdsl.ir import Attribute, Dialect, Operation


def dialect_of(name: str, modules: Sequence[ModuleType]) -> Dialect:
    """The ops, attributes and types that modules define under the dialect's name, in their order there. Classes that
    others share have no name, and are none of them."""
    defined = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and "name" in vars(value)
    ]
    operations = [each for each in defined if issubclass(each, Operation)]
    attributes = [each for each in defined if issubclass(each, Attribute)]
    return Dialect(name, operations, attributes)
