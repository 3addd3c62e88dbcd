"""The functions that multiply matrices of bf16 into sums of f32.

A CPU with AVX512-BF16 multiplies pairs of elements along K. The right operand is packed: panels of `PANEL` columns, of
them one row of pairs after another, with zeros behind the last column and row. The left one is read where it lies, or,
where it is transposed or has an odd K, from a copy. Any other CPU multiplies copies in f32.
"""

from __future__ import annotations

from collections.abc import Sequence

from irc.codegen.cpu.float_products import PANEL_BYTES, TRANSPOSED
from irc.codegen.cpu.text import Text
from irc.codegen.cpu.transposing import transposing_functions
from irc.support.integers import ceil_div, round_up

LANES = 16
VECTORS = 4
PANEL = LANES * VECTORS
"""Columns of a panel: vectors of sums side by side."""

ROWS = 6
"""Rows of sums that are in registers."""

DEPTH = 128
"""Pairs along K before sums go to memory: those of a panel stay in the first level of cache."""

LINE = 64
"""Bytes to which the packed operand is aligned."""

_SIGNATURE = (
    "@gemm.bf16(i64 %tb, i64 %ta, i64 %n, i64 %m, i64 %k, i64 %ldb, i64 %lda, i64 %ldc, ptr %b, ptr %a, "
    "ptr noalias %c, ptr noalias %left, ptr noalias %right, ptr noalias %plain)"
)


def scratch_bytes(m: int, n: int, k: int, *, has_pairs: bool) -> tuple[int, int, int]:
    """What a product of up to these extents needs for the copies of its operands, and one that is not packed, or a
    panel of f32."""
    if not has_pairs:
        return 4 * m * k, 4 * k * n, PANEL_BYTES
    pairs = ceil_div(k, 2)
    return 4 * pairs * m, 4 * pairs * round_up(n, PANEL), 2 * k * n


def product_functions(*, has_pairs: bool) -> dict[str, str]:
    """`gemm.bf16` and what it calls, by name. has_pairs: whether the CPU multiplies pairs."""
    if not has_pairs:
        return {"gemm.bf16": _by_f32()}
    return {
        "llvm.smin.i64": "declare i64 @llvm.smin.i64(i64, i64) #1",
        **transposing_functions(16),
        "pack.bf16": _packing(),
        "multiply.bf16": _multiplying(),
        "gemm.bf16": _by_pairs(),
    }


def _packing() -> str:
    """Panels of a row-major matrix: pairs of its rows."""
    text = Text()
    shuffled = ", ".join(f"i32 {lane // 2 + PANEL * (lane % 2)}" for lane in range(2 * PANEL))
    vector, mask = f"<{PANEL} x i16>", f"<{PANEL} x i1>"
    pairs = text.emit("lshr i64 %k.even, 1")
    with text.loop(0, "%n", PANEL) as column, text.loop(0, pairs, 1) as pair:
        inside = text.lanes_below(PANEL, text.emit(f"sub nsw i64 %n, {column}"))
        row = text.mul(pair, 2)
        loaded: list[str] = []
        for each in (row, text.add(row, 1)):
            is_row = text.emit(f"icmp slt i64 {each}, %k")
            read = text.emit(f"select i1 {is_row}, {mask} {inside}, {mask} zeroinitializer")
            place = text.place("i16", "%b", text.add(text.mul(each, "%ldb"), column))
            loaded.append(
                text.emit(
                    f"call {vector} @llvm.masked.load.v{PANEL}i16.p0(ptr {place}, i32 2, {mask} {read}, "
                    f"{vector} zeroinitializer)"
                )
            )
        both = text.emit(f"shufflevector {vector} {loaded[0]}, {vector} {loaded[1]}, <{2 * PANEL} x i32> <{shuffled}>")
        to = text.add(text.mul(column, pairs), text.mul(pair, PANEL))
        text.lines.append(f"  store <{2 * PANEL} x i16> {both}, ptr {text.place('i32', '%to', to)}, align {LINE}")
    declared = f"declare {vector} @llvm.masked.load.v{PANEL}i16.p0(ptr, i32, {mask}, {vector})\n"
    signature = "@pack.bf16(i64 %n, i64 %k, i64 %k.even, i64 %ldb, ptr %b, ptr noalias %to)"
    return declared + text.function(signature)


def _multiplying() -> str:
    """Sums of panels by rows of pairs. Rows behind the last are read as it, and not written."""
    text = Text()
    pairs = text.emit("lshr i64 %k.even, 1")
    last = text.add("%m", -1)
    sums = [[f"%sum{row}.{at}" for at in range(VECTORS)] for row in range(ROWS)]
    text.lines += [f"  {name} = alloca <{LANES} x float>" for row in sums for name in row]
    with text.loop(0, pairs, DEPTH) as first, text.loop(0, "%n", PANEL) as column:
        end = text.least(text.add(first, DEPTH), pairs)
        panel = text.place("i32", "%b", text.mul(column, pairs))
        masks = [
            text.lanes_below(LANES, text.emit(f"sub nsw i64 %n, {text.add(column, LANES * at)}"))
            for at in range(VECTORS)
        ]
        with text.loop(0, "%m", ROWS) as row:
            rows = [text.least(text.add(row, each), last) for each in range(ROWS)]
            pointers = [text.place("i16", "%a", text.mul(each, "%lda")) for each in rows]
            text.lines += [f"  store <{LANES} x float> zeroinitializer, ptr {name}" for each in sums for name in each]
            with text.loop(first, end, 1) as pair:
                _add_pair(text, sums, pointers, panel, pair)
            for number, names in enumerate(sums):
                with text.where(text.emit(f"icmp slt i64 {text.add(row, number)}, %m")):
                    place = text.place("float", "%c", text.add(text.mul(rows[number], "%ldc"), column))
                    _add_sums(text, names, masks, place)
    vector, mask = f"<{LANES} x float>", f"<{LANES} x i1>"
    product = f"declare {vector} @llvm.x86.avx512bf16.dpbf16ps.512({vector}, <32 x bfloat>, <32 x bfloat>)"
    load = f"declare {vector} @llvm.masked.load.v{LANES}f32.p0(ptr, i32, {mask}, {vector})"
    store = f"declare void @llvm.masked.store.v{LANES}f32.p0({vector}, ptr, i32, {mask})"
    signature = (
        "@multiply.bf16(i64 %n, i64 %m, i64 %k.even, i64 %lda, i64 %ldc, ptr noalias %b, ptr %a, ptr noalias %c)"
    )
    return "\n".join([product, load, store, text.function(signature)])


def _add_pair(text: Text, sums: Sequence[Sequence[str]], rows: Sequence[str], panel: str, pair: str) -> None:
    vector, integers = f"<{LANES} x float>", f"<{LANES} x i32>"
    begin = text.mul(pair, PANEL)
    right: list[str] = []
    for at in range(VECTORS):
        place = text.place("i32", panel, text.add(begin, LANES * at))
        right.append(text.emit(f"load <{2 * LANES} x bfloat>, ptr {place}, align {LINE}"))
    for names, pointer in zip(sums, rows, strict=True):
        both = text.emit(f"load i32, ptr {text.place('i32', pointer, pair)}, align 2")
        first = text.emit(f"insertelement {integers} poison, i32 {both}, i64 0")
        splat = text.emit(f"shufflevector {integers} {first}, {integers} poison, {integers} zeroinitializer")
        left = text.emit(f"bitcast {integers} {splat} to <{2 * LANES} x bfloat>")
        for name, other in zip(names, right, strict=True):
            before = text.emit(f"load {vector}, ptr {name}")
            after = text.emit(
                f"call {vector} @llvm.x86.avx512bf16.dpbf16ps.512({vector} {before}, <{2 * LANES} x bfloat> {left}, "
                f"<{2 * LANES} x bfloat> {other})"
            )
            text.lines.append(f"  store {vector} {after}, ptr {name}")


def _add_sums(text: Text, names: Sequence[str], masks: Sequence[str], place: str) -> None:
    vector, mask = f"<{LANES} x float>", f"<{LANES} x i1>"
    for at, (name, inside) in enumerate(zip(names, masks, strict=True)):
        to = text.place("float", place, LANES * at)
        before = text.emit(
            f"call {vector} @llvm.masked.load.v{LANES}f32.p0(ptr {to}, i32 4, {mask} {inside}, "
            f"{vector} zeroinitializer)"
        )
        total = text.emit(f"fadd {vector} {before}, {text.emit(f'load {vector}, ptr {name}')}")
        text.lines.append(
            f"  call void @llvm.masked.store.v{LANES}f32.p0({vector} {total}, ptr {to}, i32 4, {mask} {inside})"
        )


def _by_pairs() -> str:
    """Copies what is not as it has to be, packs, multiplies."""
    text = Text()
    operands = {
        "b.memory": ("ptr", "%b"),
        "b.pitch": ("i64", "%ldb"),
        "a.memory": ("ptr", "%a"),
        "a.pitch": ("i64", "%lda"),
    }
    for name, (type, value) in operands.items():
        text.lines += [f"  %{name} = alloca {type}", f"  store {type} {value}, ptr %{name}"]
    even = text.emit(f"and i64 {text.add('%k', 1)}, -2")
    with text.where(text.emit(f"icmp eq i64 %tb, {TRANSPOSED}")):
        text.lines += [
            "  call void @transpose.i16(ptr %b, i64 %ldb, ptr %plain, i64 %n, i64 %k, i64 %n)",
            "  store ptr %plain, ptr %b.memory",
            "  store i64 %n, ptr %b.pitch",
        ]
    is_transposed = text.emit(f"icmp eq i64 %ta, {TRANSPOSED}")
    is_odd = text.emit(f"icmp ne i64 {even}, %k")
    with text.where(text.emit(f"or i1 {is_transposed}, {is_odd}")):
        text.lines += ["  store ptr %left, ptr %a.memory", f"  store i64 {even}, ptr %a.pitch"]
        with text.where(is_transposed):
            text.lines.append(f"  call void @transpose.i16(ptr %a, i64 %lda, ptr %left, i64 {even}, i64 %m, i64 %k)")
        with text.where(text.emit(f"xor i1 {is_transposed}, true")):
            _copy(text, ("%a", "%lda"), ("%left", even), ("%m", "%k"), "i16")
        with text.where(is_odd), text.loop(0, "%m", 1) as row:
            place = text.place("i16", "%left", text.add(text.mul(row, even), "%k"))
            text.lines.append(f"  store i16 0, ptr {place}, align 2")
    loaded = {name: text.emit(f"load {type}, ptr %{name}") for name, (type, _) in operands.items()}
    text.lines += [
        f"  call void @pack.bf16(i64 %n, i64 %k, i64 {even}, i64 {loaded['b.pitch']}, ptr {loaded['b.memory']}, "
        "ptr %right)",
        f"  call void @multiply.bf16(i64 %n, i64 %m, i64 {even}, i64 {loaded['a.pitch']}, i64 %ldc, ptr %right, "
        f"ptr {loaded['a.memory']}, ptr %c)",
    ]
    return text.function(_SIGNATURE)


def _copy(text: Text, source: tuple[str, str], target: tuple[str, str], extents: tuple[str, str], stored: str) -> None:
    """A matrix of bf16, row by row, by (memory, pitch); stored as i16, or as the bits of f32."""
    with text.loop(0, extents[0], 1) as row, text.loop(0, extents[1], 1) as column:
        value = text.emit(
            f"load i16, ptr {text.place('i16', source[0], text.add(text.mul(row, source[1]), column))}, align 2"
        )
        if stored == "i32":
            value = text.emit(f"shl i32 {text.emit(f'zext i16 {value} to i32')}, 16")
        place = text.place(stored, target[0], text.add(text.mul(row, target[1]), column))
        text.lines.append(f"  store {stored} {value}, ptr {place}, align {2 if stored == 'i16' else 4}")


def _by_f32() -> str:
    """Copies in f32 that lie as the operands do, and their product."""
    text = Text()
    pitches: list[str] = []
    for name, flag, copy, extents in (("a", "%ta", "%left", ("%m", "%k")), ("b", "%tb", "%right", ("%k", "%n"))):
        is_transposed = text.emit(f"icmp eq i64 {flag}, {TRANSPOSED}")
        rows, columns = (
            text.emit(f"select i1 {is_transposed}, i64 {extents[1 - at]}, i64 {extents[at]}") for at in range(2)
        )
        _copy(text, (f"%{name}", f"%ld{name}"), (copy, columns), (rows, columns), "i32")
        pitches.append(columns)
    text.lines.append(
        f"  call void @gemm.f32(i64 %tb, i64 %ta, i64 %n, i64 %m, i64 %k, i64 {pitches[1]}, i64 {pitches[0]}, "
        "i64 %ldc, ptr %right, ptr %left, ptr %c, ptr %plain)"
    )
    return text.function(_SIGNATURE)
