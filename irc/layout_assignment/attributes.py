"""Layout attributes of the tile dialect <-> the layouts of irc.layout."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from irc.dialects.tile import FragmentAttr, element_type_of, fragment_of, shape_of
from irc.layout.fragment import Fragment
from irc.support.diagnostics import IrcError


def fragment_layout(type: Attribute) -> Fragment:
    """The fragment of a tile type that has been assigned one."""
    encoding = fragment_of(type)
    if encoding is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts first")
    return Fragment.from_layout(shape_of(type), encoding.data)


def with_fragment(type: Attribute, fragment: Fragment) -> TensorType[Attribute]:
    """The tile type with this fragment."""
    return TensorType(element_type_of(type), shape_of(type), FragmentAttr(fragment.layout))
