"""The function that transposes a matrix in memory: blocks in vector registers, so that each line of memory is read and
written once."""

from __future__ import annotations

BLOCK = {8: 16, 16: 16, 32: 16, 64: 8}
"""Rows and columns of a block, by the bits of an element."""

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
  %i.last = call i64 @llvm.smin.i64(i64 %i.end, i64 %rows)
  %j.last = call i64 @llvm.smin.i64(i64 %j.end, i64 %columns)
  br i1 %whole, label %vectors, label %row
vectors:
{vectors}
  br label %block_done
row:
  %a = phi i64 [ %i, %choose ], [ %a.next, %row_done ]
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
  br label %row
block_done:
  %j.next = add i64 %j, {block}
  br label %over_columns
rows_done:
  %i.next = add i64 %i, {block}
  br label %over_rows
done:
  ret void
}}"""


def transposing_function(bits: int) -> str:
    """target[i * width + j] = source[j * pitch + i] for all i below rows and j below columns."""
    return _TEXT.format(bits=bits, block=BLOCK[bits], vectors="\n".join(_vectors(bits)))


def _vectors(bits: int) -> list[str]:
    """A whole block: loads, exchanges between vectors 1, 2, 4, ... apart, and stores."""
    block = BLOCK[bits]
    vector, lines = f"<{block} x i{bits}>", list[str]()
    for j in range(block):
        lines += [
            f"  %l{j}.row = add i64 %j, {j}",
            f"  %l{j}.begin = mul i64 %l{j}.row, %pitch",
            f"  %l{j}.at = add i64 %l{j}.begin, %i",
            f"  %l{j}.from = getelementptr i{bits}, ptr %source, i64 %l{j}.at",
            f"  %s0.{j} = load {vector}, ptr %l{j}.from, align {bits // 8}",
        ]
    stage, apart = 0, 1
    while apart < block:
        for k in range(block):
            low = k & ~apart
            lanes = [e ^ apart if (e & apart) != (k & apart) else e for e in range(block)]
            chosen = [lane + (block if (e & apart) else 0) for e, lane in enumerate(lanes)]
            mask = ", ".join(f"i32 {lane}" for lane in chosen)
            pair = f"{vector} %s{stage}.{low}, {vector} %s{stage}.{low | apart}"
            lines.append(f"  %s{stage + 1}.{k} = shufflevector {pair}, <{block} x i32> <{mask}>")
        stage, apart = stage + 1, 2 * apart
    for i in range(block):
        lines += [
            f"  %r{i}.row = add i64 %i, {i}",
            f"  %r{i}.begin = mul i64 %r{i}.row, %width",
            f"  %r{i}.at = add i64 %r{i}.begin, %j",
            f"  %r{i}.to = getelementptr i{bits}, ptr %target, i64 %r{i}.at",
            f"  store {vector} %s{stage}.{i}, ptr %r{i}.to, align {bits // 8}",
        ]
    return lines
