"""The function that multiplies a few vectors of f32 or f64 by many: products with up to `ROWS` rows, or columns, whose
operands both lie along K.

Nothing is packed: each element of the many is read once. The sums are vectors along K, of which the elements are added
at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.codegen.cpu.float_products import ROWS, Sizes, Vectors
from irc.codegen.cpu.text import Text

SIDE_BY_SIDE = 4
"""Of the many vectors: each element of the few is loaded for so many."""


@dataclass(frozen=True)
class Thin:
    """A product of `few` vectors by others. swapped: the few are columns of B, and the others rows of A, else the few
    are rows of A, and the others columns of B."""

    few: int
    swapped: bool


def thin_of(
    extents: tuple[int | None, int | None], strides: tuple[int, int], transposed: tuple[bool, bool]
) -> Thin | None:
    """How m x n elements, where these are known, are a thin product of operands with these strides that are transposed
    or not; None where they are not."""
    (m, n), (left, right) = extents, transposed
    is_along = not left or (strides[0] == 1 and m == 1), right or (strides[1] == 1 and n == 1)
    if not all(is_along):
        return None
    if m is not None and m <= ROWS:
        return Thin(m, swapped=False)
    return Thin(n, swapped=True) if n is not None and n <= ROWS else None


def thin_product(bits: int, vectors: Vectors, few: int) -> dict[str, str]:
    """By name: `dots.{few}.f{bits}`, and what it calls. It adds to element (i, j) of the result, at i * first + j *
    second."""
    sizes = Sizes(bits, vectors.bytes * 8 // bits, vectors.count)
    vector, suffix, type = sizes.vector, sizes.suffix, sizes.type
    return {
        **sizes.declarations,
        f"llvm.vector.reduce.fadd.{suffix}": f"declare {type} @llvm.vector.reduce.fadd.{suffix}({type}, {vector})",
        f"dots.{few}.f{bits}": _dots(sizes, few),
    }


def _dots(sizes: Sizes, few: int) -> str:
    text, vector, type = Text(), sizes.vector, sizes.type
    sums = [[f"%sum{row}.{at}" for at in range(SIDE_BY_SIDE)] for row in range(few)]
    text.lines += [f"  {name} = alloca {vector}" for row in sums for name in row]
    last, whole = text.add("%many", -1), text.emit(f"and i64 %k, {-sizes.lanes}")
    rows = [text.place(type, "%x", text.mul("%x.pitch", row)) for row in range(few)]
    with text.loop(0, "%many", SIDE_BY_SIDE) as first:
        numbers = [text.add(first, at) for at in range(SIDE_BY_SIDE)]
        others = [text.place(type, "%y", text.mul(text.least(number, last), "%y.pitch")) for number in numbers]
        text.lines += [f"  store {vector} zeroinitializer, ptr {name}" for row in sums for name in row]
        with text.loop(0, whole, sizes.lanes) as at:
            _add(text, sizes, sums, rows, others, at, None)
        with text.where(text.emit(f"icmp ne i64 {whole}, %k")):
            mask = text.lanes_below(sizes.lanes, text.emit(f"sub nsw i64 %k, {whole}"))
            _add(text, sizes, sums, rows, others, whole, mask)
        for at, number in enumerate(numbers):
            with text.where(text.emit(f"icmp slt i64 {number}, %many")):
                for row, names in enumerate(sums):
                    place = text.place(type, "%c", text.add(text.mul("%first", row), text.mul("%second", number)))
                    _store_sum(text, sizes, names[at], place)
    return text.function(
        f"@dots.{few}.f{sizes.bits}(i64 %many, i64 %k, ptr %x, i64 %x.pitch, ptr %y, i64 %y.pitch, ptr noalias %c, "
        "i64 %first, i64 %second)"
    )


def _add(
    text: Text,
    sizes: Sizes,
    sums: Sequence[Sequence[str]],
    rows: Sequence[str],
    others: Sequence[str],
    at: str,
    mask: str | None,
) -> None:
    """Adds the products of vectors from an element on."""

    def read(pointer: str) -> str:
        place = text.place(sizes.type, pointer, at)
        return sizes.load(text, place) if mask is None else sizes.load_some(text, place, mask)

    left, right = [read(pointer) for pointer in rows], [read(pointer) for pointer in others]
    for a, names in zip(left, sums, strict=True):
        for b, name in zip(right, names, strict=True):
            sizes.multiply_add(text, a, b, name)


def _store_sum(text: Text, sizes: Sizes, name: str, place: str) -> None:
    elements = text.emit(f"load {sizes.vector}, ptr {name}")
    arguments = f"{sizes.type} 0.0, {sizes.vector} {elements}"
    total = text.emit(f"call reassoc {sizes.type} @llvm.vector.reduce.fadd.{sizes.suffix}({arguments})")
    before = text.emit(f"load {sizes.type}, ptr {place}")
    text.lines.append(f"  store {sizes.type} {text.emit(f'fadd {sizes.type} {before}, {total}')}, ptr {place}")
