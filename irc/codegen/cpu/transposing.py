"""The function that transposes a matrix in memory: blocks in vector registers, so that each line of memory is read and
written once."""

from __future__ import annotations

from collections.abc import Callable

BLOCK = {8: 16, 16: 16, 32: 16, 64: 8}
"""Rows and columns of a block, by the bits of an element."""

MASKED = (32, 64)
"""Bits of elements that vectors load and store by masks, on all CPUs with AVX. Blocks at the edges of a matrix are so;
those of others go element by element."""

_TEXT = """define internal void @transpose.i{bits}(
    ptr noalias %source, i64 %pitch, ptr noalias %target, i64 %width, i64 %rows, i64 %columns) noinline {{
entry:
  br label %over_rows
over_rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %rows_done ]
  %i.more = icmp slt i64 %i, %rows
  br i1 %i.more, label %over_columns, label %done
over_columns:
  %j = phi i64 [ 0, %over_rows ], [ %j.next, %block_done ]
  %j.more = icmp slt i64 %j, %columns
  br i1 %j.more, label %choose, label %rows_done
choose:
  %i.end = add i64 %i, {block}
  %j.end = add i64 %j, {block}
  %i.whole = icmp sle i64 %i.end, %rows
  %j.whole = icmp sle i64 %j.end, %columns
  %whole = and i1 %i.whole, %j.whole
  br i1 %whole, label %vectors, label %edge
vectors:
{vectors}
  br label %block_done
edge:
{edge}
block_done:
  %j.next = add i64 %j, {block}
  br label %over_columns
rows_done:
  %i.next = add i64 %i, {block}
  br label %over_rows
done:
  ret void
}}"""

_ELEMENTS = """  %i.last = call i64 @llvm.smin.i64(i64 %i.end, i64 %rows)
  %j.last = call i64 @llvm.smin.i64(i64 %j.end, i64 %columns)
  br label %row
row:
  %a = phi i64 [ %i, %edge ], [ %a.next, %row_done ]
  %a.more = icmp slt i64 %a, %i.last
  br i1 %a.more, label %element, label %block_done
element:
  %b = phi i64 [ %j, %row ], [ %b.next, %copy ]
  %b.more = icmp slt i64 %b, %j.last
  br i1 %b.more, label %copy, label %row_done
copy:
  %from.row = mul i64 %b, %pitch
  %from.at = add i64 %from.row, %a
  %from = getelementptr i{bits}, ptr %source, i64 %from.at
  %value = load i{bits}, ptr %from
  %to.row = mul i64 %a, %width
  %to.at = add i64 %to.row, %b
  %to = getelementptr i{bits}, ptr %target, i64 %to.at
  store i{bits} %value, ptr %to
  %b.next = add i64 %b, 1
  br label %element
row_done:
  %a.next = add i64 %a, 1
  br label %row"""


def transposing_functions(bits: int) -> dict[str, str]:
    """By name: `transpose.i{bits}`, target[i * width + j] = source[j * pitch + i] for all i below rows and j below
    columns, and what it calls."""
    block, found = BLOCK[bits], dict[str, str]()
    if bits in MASKED:
        vector, mask = f"<{block} x i{bits}>", f"<{block} x i1>"
        load, store = f"llvm.masked.load.v{block}i{bits}.p0", f"llvm.masked.store.v{block}i{bits}.p0"
        found[load] = f"declare {vector} @{load}(ptr, i32, {mask}, {vector})"
        found[store] = f"declare void @{store}({vector}, ptr, i32, {mask})"
        edge = "\n".join([*_masks(bits), *_block(bits, "m", _masked_load, _masked_store), "  br label %block_done"])
    else:
        found["llvm.smin.i64"] = "declare i64 @llvm.smin.i64(i64, i64) #1"
        edge = _ELEMENTS.format(bits=bits)
    vectors = "\n".join(_block(bits, "", _load, _store))
    found[f"transpose.i{bits}"] = _TEXT.format(bits=bits, block=block, vectors=vectors, edge=edge)
    return found


Access = Callable[[int, int, str, str], str]
"""The text of an access: the bits of an element, the number of a line of the block, a value, the place in memory."""


def _load(bits: int, at: int, value: str, place: str) -> str:
    return f"{value} = load <{BLOCK[bits]} x i{bits}>, ptr {place}, align {bits // 8}"


def _store(bits: int, at: int, value: str, place: str) -> str:
    return f"store <{BLOCK[bits]} x i{bits}> {value}, ptr {place}, align {bits // 8}"


def _masked_load(bits: int, at: int, value: str, place: str) -> str:
    block, vector = BLOCK[bits], f"<{BLOCK[bits]} x i{bits}>"
    arguments = f"ptr {place}, i32 {bits // 8}, <{block} x i1> %rows.{at}, {vector} zeroinitializer"
    return f"{value} = call {vector} @llvm.masked.load.v{block}i{bits}.p0({arguments})"


def _masked_store(bits: int, at: int, value: str, place: str) -> str:
    block, vector = BLOCK[bits], f"<{BLOCK[bits]} x i{bits}>"
    arguments = f"{vector} {value}, ptr {place}, i32 {bits // 8}, <{block} x i1> %columns.{at}"
    return f"call void @llvm.masked.store.v{block}i{bits}.p0({arguments})"


def _masks(bits: int) -> list[str]:
    """%rows.j: the rows that there are where there is column j of the block, else none; %columns.i likewise."""
    block = BLOCK[bits]
    longs, mask = f"<{block} x i64>", f"<{block} x i1>"
    numbers = ", ".join(f"i64 {lane}" for lane in range(block))
    lines: list[str] = []
    for side, end, at in (("rows", "%rows", "%i"), ("columns", "%columns", "%j")):
        lines += [
            f"  %{side}.left = sub i64 {end}, {at}",
            f"  %{side}.first = insertelement {longs} poison, i64 %{side}.left, i64 0",
            f"  %{side}.all = shufflevector {longs} %{side}.first, {longs} poison, <{block} x i32> zeroinitializer",
            f"  %{side}.there = icmp slt {longs} <{numbers}>, %{side}.all",
        ]
    for side, other in (("rows", "columns"), ("columns", "rows")):
        for lane in range(block):
            chosen = f"{mask} %{side}.there, {mask} zeroinitializer"
            lines.append(f"  %{side}.is{lane} = icmp slt i64 {lane}, %{other}.left")
            lines.append(f"  %{side}.{lane} = select i1 %{side}.is{lane}, {chosen}")
    return lines


def _block(bits: int, prefix: str, load: Access, store: Access) -> list[str]:
    """A block: loads, exchanges between vectors 1, 2, 4, ... apart, and stores."""
    block = BLOCK[bits]
    vector, lines = f"<{block} x i{bits}>", list[str]()
    for j in range(block):
        name = f"%{prefix}l{j}"
        lines += [
            f"  {name}.row = add i64 %j, {j}",
            f"  {name}.begin = mul i64 {name}.row, %pitch",
            f"  {name}.at = add i64 {name}.begin, %i",
            f"  {name}.from = getelementptr i{bits}, ptr %source, i64 {name}.at",
            f"  {load(bits, j, f'%{prefix}s0.{j}', f'{name}.from')}",
        ]
    stage, apart = 0, 1
    while apart < block:
        for k in range(block):
            low = k & ~apart
            lanes = [e ^ apart if (e & apart) != (k & apart) else e for e in range(block)]
            chosen = [lane + (block if (e & apart) else 0) for e, lane in enumerate(lanes)]
            mask = ", ".join(f"i32 {lane}" for lane in chosen)
            pair = f"{vector} %{prefix}s{stage}.{low}, {vector} %{prefix}s{stage}.{low | apart}"
            lines.append(f"  %{prefix}s{stage + 1}.{k} = shufflevector {pair}, <{block} x i32> <{mask}>")
        stage, apart = stage + 1, 2 * apart
    for i in range(block):
        name = f"%{prefix}r{i}"
        lines += [
            f"  {name}.row = add i64 %i, {i}",
            f"  {name}.begin = mul i64 {name}.row, %width",
            f"  {name}.at = add i64 {name}.begin, %j",
            f"  {name}.to = getelementptr i{bits}, ptr %target, i64 {name}.at",
            f"  {store(bits, i, f'%{prefix}s{stage}.{i}', f'{name}.to')}",
        ]
    return lines
