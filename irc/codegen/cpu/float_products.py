"""The function that multiplies matrices of f32 or f64: C += A B.

The sums of a few rows and of a panel of columns are in registers: vectors along columns, to which an element of A times
a vector of B is added. A panel of B, of so many rows that it stays in the first level of cache, is packed first: its
rows follow each other. It is multiplied by all rows of A, which are read where they lie. A few rows of A read B where
it lies, too, if it has rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.codegen.cpu.text import Text
from irc.codegen.cpu.transposing import transposing_functions

ROWS = 6
"""Rows of sums that are in registers."""

PANEL_BYTES = 1 << 15
"""Of a packed panel: the first level of cache has 32 to 48 KiB."""

TRANSPOSED = ord("T")
"""What says of an operand that it has columns, as BLAS has it."""


@dataclass(frozen=True)
class Vectors:
    """The vectors of a CPU: bytes of each, and how many sums of a row are side by side."""

    bytes: int
    count: int


@dataclass(frozen=True)
class Sizes:
    """A product of elements of so many bits: `lanes` of a vector, `panel` columns, `depth` rows of a packed panel."""

    bits: int
    lanes: int
    count: int

    @property
    def panel(self) -> int:
        return self.lanes * self.count

    @property
    def depth(self) -> int:
        return PANEL_BYTES // (self.panel * self.bits // 8)

    @property
    def type(self) -> str:
        return {32: "float", 64: "double"}[self.bits]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.type}>"

    @property
    def mask(self) -> str:
        return f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        return f"v{self.lanes}f{self.bits}"

    @property
    def declarations(self) -> dict[str, str]:
        """LLVM's functions on vectors that products call, by name."""
        vector, mask, suffix = self.vector, self.mask, self.suffix
        return {
            "llvm.smin.i64": "declare i64 @llvm.smin.i64(i64, i64) #1",
            f"llvm.fmuladd.{suffix}": f"declare {vector} @llvm.fmuladd.{suffix}({vector}, {vector}, {vector})",
            f"llvm.masked.load.{suffix}.p0": (
                f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})"
            ),
        }

    def load(self, text: Text, place: str) -> str:
        """A vector in memory."""
        return text.emit(f"load {self.vector}, ptr {place}, align {self.bits // 8}")

    def load_some(self, text: Text, place: str, mask: str) -> str:
        """The lanes of a mask, and 0 in others."""
        arguments = f"ptr {place}, i32 {self.bits // 8}, {self.mask} {mask}, {self.vector} zeroinitializer"
        return text.emit(f"call {self.vector} @llvm.masked.load.{self.suffix}.p0({arguments})")

    def multiply_add(self, text: Text, a: str, b: str, total: str) -> None:
        """Adds a product to the vector in memory."""
        before = text.emit(f"load {self.vector}, ptr {total}")
        arguments = ", ".join(f"{self.vector} {value}" for value in (a, b, before))
        after = text.emit(f"call {self.vector} @llvm.fmuladd.{self.suffix}({arguments})")
        text.lines.append(f"  store {self.vector} {after}, ptr {total}")


@dataclass(frozen=True)
class Product:
    """What is known of a product: its extents, None where they are not constants, and whether B has columns."""

    m: int | None
    n: int | None
    is_column: bool


def float_products(bits: int, vectors: Vectors, products: Sequence[Product]) -> dict[str, str]:
    """By name: `gemm.f{bits}` for these products, and what it calls. It takes 84, T, for an operand that is transposed,
    else 78, the extents, and `panel`, memory of `PANEL_BYTES`."""
    sizes = Sizes(bits, vectors.bytes * 8 // bits, vectors.count)
    vector, mask, suffix = sizes.vector, sizes.mask, sizes.suffix
    declared = {
        **sizes.declarations,
        f"llvm.masked.store.{suffix}.p0": f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})",
    }
    blocks = sorted({block for product in products for block in _blocks(sizes, product)})
    sums = {_name(sizes, *block): _sums(sizes, *block) for block in blocks}
    has_columns = any(product.is_column for product in products)
    transposing = transposing_functions(bits) if has_columns else {}
    own = {f"pack.f{bits}": _packing(sizes), f"gemm.f{bits}": _panels(sizes, blocks, has_columns=has_columns)}
    return {**declared, **transposing, **sums, **own}


def _blocks(sizes: Sizes, product: Product) -> set[tuple[int, int]]:
    """(rows, vectors) of the blocks of sums in registers."""
    heights, counts = set(range(1, ROWS + 1)), {1, sizes.count}
    if product.m is not None:
        heights = {ROWS} if product.m >= ROWS else set[int]()
        heights |= {product.m % ROWS} - {0}
    if product.n is not None:
        rest = product.n % sizes.panel
        counts = {sizes.count} if product.n >= sizes.panel or rest > sizes.lanes else set[int]()
        counts |= {1} if 0 < rest <= sizes.lanes else set[int]()
    return {(rows, count) for rows in heights for count in counts}


def _name(sizes: Sizes, rows: int, count: int) -> str:
    return f"multiply.{rows}.{count}.f{sizes.bits}"


def _panels(sizes: Sizes, blocks: Sequence[tuple[int, int]], *, has_columns: bool) -> str:
    text = Text()
    is_column = text.emit(f"icmp eq i64 %tb, {TRANSPOSED}")
    is_turned = text.emit(f"icmp eq i64 %ta, {TRANSPOSED}")
    row = text.emit(f"select i1 {is_turned}, i64 1, i64 %lda")
    step = text.emit(f"select i1 {is_turned}, i64 %lda, i64 1")
    with text.loop(0, "%k", sizes.depth) as first, text.loop(0, "%n", sizes.panel) as column:
        depth = text.least(text.emit(f"sub nsw i64 %k, {first}"), sizes.depth)
        width = text.least(text.emit(f"sub nsw i64 %n, {column}"), sizes.panel)
        panel, pitch = _panel(text, sizes, (first, column), (depth, width), is_column if has_columns else None)
        is_narrow = text.emit(f"icmp sle i64 {width}, {sizes.lanes}")
        left = text.place(sizes.type, "%a", text.mul(first, step))
        with text.loop(0, "%m", ROWS) as at:
            height = text.least(text.emit(f"sub nsw i64 %m, {at}"), ROWS)
            a = text.place(sizes.type, left, text.mul(at, row))
            c = text.place(sizes.type, "%c", text.add(text.mul(at, "%ldc"), column))
            arguments = (
                f"i64 {depth}, i64 {width}, ptr {a}, i64 {row}, i64 {step}, ptr {panel}, i64 {pitch}, ptr {c}, i64 %ldc"
            )
            for rows, count in blocks:
                is_high = text.emit(f"icmp eq i64 {height}, {rows}")
                is_wide = text.emit(f"icmp eq i1 {is_narrow}, {'true' if count == 1 else 'false'}")
                with text.where(text.emit(f"and i1 {is_high}, {is_wide}")):
                    text.lines.append(f"  call void @{_name(sizes, rows, count)}({arguments})")
    return text.function(
        f"@gemm.f{sizes.bits}(i64 %tb, i64 %ta, i64 %n, i64 %m, i64 %k, i64 %ldb, i64 %lda, i64 %ldc, ptr %b, ptr %a, "
        "ptr noalias %c, ptr noalias %panel)"
    )


def _panel(
    text: Text, sizes: Sizes, begin: tuple[str, str], extents: tuple[str, str], is_column: str | None
) -> tuple[str, str]:
    """(memory, elements from one row to the next) of a panel of B that begins at (row, column): packed, or where it
    lies."""
    (first, column), (depth, width) = begin, extents
    text.lines += ["  %read = alloca ptr", "  %pitch = alloca i64"]
    place = text.place(sizes.type, "%b", text.add(text.mul(first, "%ldb"), column))
    is_low = text.emit(f"icmp sle i64 %m, {ROWS}")
    is_whole = text.emit(f"icmp eq i64 {width}, {sizes.panel}")
    in_place = text.emit(f"and i1 {is_low}, {is_whole}")
    if is_column is not None:
        in_place = text.emit(f"and i1 {in_place}, {text.emit(f'xor i1 {is_column}, true')}")
    text.lines += [f"  store ptr {place}, ptr %read", "  store i64 %ldb, ptr %pitch"]
    with text.where(text.emit(f"xor i1 {in_place}, true")):
        text.lines += ["  store ptr %panel, ptr %read", f"  store i64 {sizes.panel}, ptr %pitch"]
        has_rows = "true" if is_column is None else text.emit(f"xor i1 {is_column}, true")
        with text.where(has_rows):
            arguments = f"ptr {place}, i64 %ldb, ptr %panel, i64 {depth}, i64 {width}"
            text.lines.append(f"  call void @pack.f{sizes.bits}({arguments})")
        if is_column is not None:
            with text.where(is_column):
                source = text.place(sizes.type, "%b", text.add(text.mul(column, "%ldb"), first))
                arguments = f"ptr {source}, i64 %ldb, ptr %panel, i64 {sizes.panel}, i64 {depth}, i64 {width}"
                text.lines.append(f"  call void @transpose.i{sizes.bits}({arguments})")
    return text.emit("load ptr, ptr %read"), text.emit("load i64, ptr %pitch")


def _packing(sizes: Sizes) -> str:
    """Rows of a panel, one behind the other; those that are cut have whatever there was behind them."""
    text = Text()
    masks = _masks(text, sizes, sizes.count)
    with text.loop(0, "%rows", 1) as row:
        source = text.place(sizes.type, "%b", text.mul(row, "%ldb"))
        target = text.place(sizes.type, "%panel", text.mul(row, sizes.panel))
        for at, mask in enumerate(masks):
            read = sizes.load_some(text, text.place(sizes.type, source, sizes.lanes * at), mask)
            to = text.place(sizes.type, target, sizes.lanes * at)
            text.lines.append(f"  store {sizes.vector} {read}, ptr {to}, align {sizes.bits // 8}")
    return text.function(f"@pack.f{sizes.bits}(ptr %b, i64 %ldb, ptr noalias %panel, i64 %rows, i64 %width)")


def _sums(sizes: Sizes, rows: int, count: int) -> str:
    """Sums of rows, and of so many vectors of a panel of which `width` columns are there."""
    text, vector = Text(), sizes.vector
    names = [[f"%sum{row}.{at}" for at in range(count)] for row in range(rows)]
    for name in (name for each in names for name in each):
        text.lines += [f"  {name} = alloca {vector}", f"  store {vector} zeroinitializer, ptr {name}"]
    offsets = [text.mul("%row", each) for each in range(rows)]
    with text.loop(0, "%depth", 1) as at:
        right = text.place(sizes.type, "%b", text.mul(at, "%pitch"))
        left = text.place(sizes.type, "%a", text.mul(at, "%step"))
        factors = [sizes.load(text, text.place(sizes.type, right, sizes.lanes * each)) for each in range(count)]
        for each, offset in zip(names, offsets, strict=True):
            element = text.emit(f"load {sizes.type}, ptr {text.place(sizes.type, left, offset)}")
            first = text.emit(f"insertelement {vector} poison, {sizes.type} {element}, i64 0")
            splat = text.emit(f"shufflevector {vector} {first}, {vector} poison, <{sizes.lanes} x i32> zeroinitializer")
            for name, factor in zip(each, factors, strict=True):
                sizes.multiply_add(text, splat, factor, name)
    masks = _masks(text, sizes, count)
    for number, each in enumerate(names):
        begin = text.place(sizes.type, "%c", text.mul("%ldc", number))
        for at, (name, mask) in enumerate(zip(each, masks, strict=True)):
            place = text.place(sizes.type, begin, sizes.lanes * at)
            before = sizes.load_some(text, place, mask)
            total = text.emit(f"fadd {vector} {before}, {text.emit(f'load {vector}, ptr {name}')}")
            arguments = f"{vector} {total}, ptr {place}, i32 {sizes.bits // 8}, {sizes.mask} {mask}"
            text.lines.append(f"  call void @llvm.masked.store.{sizes.suffix}.p0({arguments})")
    return text.function(
        f"@{_name(sizes, rows, count)}(i64 %depth, i64 %width, ptr %a, i64 %row, i64 %step, ptr noalias %b, "
        "i64 %pitch, ptr noalias %c, i64 %ldc)"
    )


def _masks(text: Text, sizes: Sizes, count: int) -> list[str]:
    """Of the vectors of a panel: their columns that are there."""
    return [text.lanes_below(sizes.lanes, text.add("%width", -sizes.lanes * at)) for at in range(count)]
