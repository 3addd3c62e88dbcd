"""Layout attributes of the tile dialect <-> the layouts of irc.layout."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from irc.diagnostics import IrcError
from irc.dialects.tile import FragmentAttr, SharedAttr, element_type_of, fragment_of, shape_of
from irc.layout.fragment import Fragment
from irc.layout.shared import IDENTITY, SharedLayout, Swizzle


def fragment_layout(type: Attribute) -> Fragment:
    """The fragment of a tile type that has been assigned one."""
    encoding = fragment_of(type)
    if encoding is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts first")
    return Fragment.from_strides(
        shape_of(type),
        zip(encoding.thread_shape, encoding.thread_stride, strict=True),
        zip(encoding.value_shape, encoding.value_stride, strict=True),
    )


def to_attr(fragment: Fragment) -> FragmentAttr:
    threads, values = fragment.strides()
    return FragmentAttr.of(
        [n for n, _ in threads], [s for _, s in threads], [n for n, _ in values], [s for _, s in values]
    )


def with_fragment(type: Attribute, fragment: Fragment) -> TensorType[Attribute]:
    """The tile type with this fragment."""
    return TensorType(element_type_of(type), shape_of(type), to_attr(fragment))


def shared_from_attr(attr: SharedAttr) -> SharedLayout:
    modes: list[tuple[tuple[int, int], ...]] = []
    for shape, stride in zip(attr.shape, attr.stride, strict=True):
        if isinstance(shape, int):
            shape, stride = (shape,), (stride,)
        assert isinstance(stride, tuple)
        pairs: list[tuple[int, int]] = []
        for n, s in zip(shape, stride, strict=True):
            assert isinstance(n, int) and isinstance(s, int)
            pairs.append((n, s))
        modes.append(tuple(pairs))
    return SharedLayout(tuple(modes), IDENTITY if attr.swizzle is None else Swizzle(*attr.swizzle))


def shared_to_attr(layout: SharedLayout) -> SharedAttr:
    shapes = [modes[0][0] if len(modes) == 1 else tuple(n for n, _ in modes) for modes in layout.modes]
    strides = [modes[0][1] if len(modes) == 1 else tuple(s for _, s in modes) for modes in layout.modes]
    swizzle = layout.swizzle
    return SharedAttr.of(shapes, strides, None if swizzle.is_identity else (swizzle.bits, swizzle.base, swizzle.shift))
