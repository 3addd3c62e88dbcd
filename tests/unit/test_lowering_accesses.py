"""From tile programs to the code of a thread: offsets, and the vectors and masks of loads and stores."""

from __future__ import annotations

import pytest
from lowered import copy, lower, one_tile
from xdsl.dialects import scf
from xdsl.ir import Operation

from irc.dialects import cuda

# Indices


@pytest.mark.parametrize(("elements", "bits"), [(2**31 - 2**24 - 1, 32), (2**31 - 1, 64), (2**31, 64)])
def test_offsets_have_64_bits_where_a_tile_over_the_end_passes_31(elements: int, bits: int) -> None:
    view = f"!tile.view<{elements}xi8>"
    text = f"""tile.program @program(%x: {view}, %y: {view}) {{results = 1 : i64}} {{
  tile.for_tiles (%t) extents [{elements}] steps [1024] {{
    %a = tile.load %x[%t] {{checked = array<i64: 0>}} : {view} -> tensor<1024xi8>
    tile.store %a, %y[%t] {{checked = array<i64: 0>}} : tensor<1024xi8>, {view}
  }}
}}"""
    assert lower(text).kernel.index.value.data == bits


# Loads and stores


def test_a_row_major_tile_moves_in_16_byte_vectors_each_element_once() -> None:
    code = copy("64x64xf32", "64x64")
    assert code.threads == 256
    assert code.vectors(cuda.LoadOp) == [4]
    assert code.elements(cuda.LoadOp) == code.elements(cuda.StoreOp) == [64 * 64]
    assert code.shared == 0
    assert code.shared_accesses == ""


def test_half_the_size_is_twice_the_vector() -> None:
    code = copy("64x64xbf16", "64x64", element="bf16")
    assert code.vectors(cuda.LoadOp) == [8]
    assert code.vectors(cuda.StoreOp) == [8]


@pytest.mark.parametrize(("extent", "vector"), [(64, 4), (62, 2), (61, 1)])
def test_a_mask_along_rows_limits_the_vector_to_what_divides_the_extent(extent: int, vector: int) -> None:
    mask = "{checked = array<i64: 1>}"
    code = copy(f"64x{extent}xf32", "64x64", mask, mask)
    assert code.vectors(cuda.LoadOp) == [vector]
    (load,) = code.ops(cuda.LoadOp)
    branch = load.parent_op()
    assert isinstance(branch, scf.IfOp)
    fills = [op for op in branch.false_region.block.ops if isinstance(op, cuda.SetOp)]
    assert len(fills) == vector
    (store,) = code.ops(cuda.StoreOp)
    assert isinstance(store.parent_op(), scf.IfOp)


def test_a_mask_across_rows_does_not_limit_the_vector() -> None:
    mask = "{checked = array<i64: 0>}"
    assert copy("61x64xf32", "64x64", mask, mask).vectors(cuda.LoadOp) == [4]


def test_a_tile_inside_the_view_has_accesses_without_checks() -> None:
    view = "!tile.view<100x64xf32>"
    code = lower(f"""tile.program @program(%x: {view}, %y: {view}) {{results = 1 : i64}} {{
  tile.for_tiles (%i, %j) extents [100, 64] steps [64, 64] {{
    %a = tile.load %x[%i, %j] {{checked = array<i64: 0>}} : {view} -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {{checked = array<i64: 0>}} : tensor<64x64xf32>, {view}
  }}
}}""")
    for kind in (cuda.LoadOp, cuda.StoreOp):
        inside, checked = (_branches_around(op) for op in code.ops(kind))
        assert checked == inside + 1


@pytest.mark.parametrize(("first", "branches"), [(0, {1, 2}), (64, {1})])
def test_a_known_offset_leaves_the_other_to_tell_whether_a_tile_is_inside(first: int, branches: set[int]) -> None:
    """Before a loop its first step is loaded so: columns 0 to 63 of 100 exist, 64 to 127 do not."""
    view, result = "!tile.view<100x100xf32>", "!tile.view<100x64xf32>"
    code = lower(f"""tile.program @program(%x: {view}, %y: {result}) {{results = 1 : i64}} {{
  tile.for_tiles (%i, %j) extents [100, 64] steps [64, 64] {{
    %first = arith.constant {first} : index
    %a = tile.load %x[%i, %first] {{checked = array<i64: 0, 1>}} : {view} -> tensor<64x64xf32>
    tile.store %a, %y[%i, %j] {{checked = array<i64: 0>}} : tensor<64x64xf32>, {result}
  }}
}}""")
    assert {_branches_around(op) for op in code.ops(cuda.LoadOp)} == branches


@pytest.mark.parametrize(("loads", "branches"), [(1, {1}), (4, {1, 2})])
def test_the_checks_of_loads_that_come_together_are_counted_together(loads: int, branches: set[int]) -> None:
    """A thread has one access to each array: four of them are worth code without checks."""
    view, names = "!tile.view<1000xf32>", [f"x{n}" for n in range(loads)]
    arguments = ", ".join(f"%{name}: {view}" for name in (*names, "y"))
    loaded = "\n".join(
        f"    %a{n} = tile.load %x{n}[%i] {{checked = array<i64: 0>}} : {view} -> tensor<256xf32>" for n in range(loads)
    )
    code = lower(f"""tile.program @program({arguments}) {{results = 1 : i64}} {{
  tile.for_tiles (%i) extents [1000] steps [256] {{
{loaded}
    %b = tile.map {", ".join(f"%a{n}" for n in range(loads))} : {", ".join(["tensor<256xf32>"] * loads)} -> tensor<256xf32> {{
    ^bb0({", ".join(f"%p{n}: f32" for n in range(loads))}):
      tile.yield %p0 : f32
    }}
    tile.store %b, %y[%i] {{checked = array<i64: 0>}} : tensor<256xf32>, {view}
  }}
}}""")
    assert {_branches_around(op) for op in code.ops(cuda.LoadOp)} == branches


def _branches_around(op: Operation | None) -> int:
    """How many branches decide whether an op runs."""
    count = 0
    while (op := op.parent_op() if op is not None else None) is not None:
        count += isinstance(op, scf.IfOp)
    return count


def test_without_a_mask_there_is_no_branch_around_an_access() -> None:
    code = copy("64x64xf32", "64x64")
    (load,) = code.ops(cuda.LoadOp)
    assert not isinstance(load.parent_op(), scf.IfOp)


@pytest.mark.parametrize(("pitch", "vector"), [(64, 4), (66, 2), (65, 1)])
def test_the_alignment_of_rows_limits_the_vector(pitch: int, vector: int) -> None:
    code = copy("64x64xf32", "64x64", out=f"64x64xf32, strides [{pitch}, 1]")
    assert code.vectors(cuda.StoreOp)[0] == vector


def test_rows_that_begin_anywhere_are_loaded_in_words() -> None:
    """All words are whole but the last one of the view, whose elements are loaded one by one."""
    code = copy("64x64xf32, strides [65, 1]", "64x64", out="64x64xf32")
    assert code.vectors(cuda.LoadOp) == [4, 1]
    assert code.vectors(cuda.SharedLoadOp) == [1]


def test_a_map_that_splits_a_dimension_keeps_the_vector_inside_its_parts() -> None:
    load = "{map = affine_map<(d0, d1) -> (d1 floordiv 2, d0, d1 mod 2)>}"
    assert copy("32x64x2xf32", "64x64", load, out="64x64xf32").vectors(cuda.LoadOp) == [2]
    load = "{map = affine_map<(d0, d1) -> (d1 floordiv 16, d0, d1 mod 16)>}"
    assert copy("4x64x16xf32", "64x64", load, out="64x64xf32").vectors(cuda.LoadOp) == [4]


def test_a_gather_along_rows_reads_whole_vectors_of_each() -> None:
    views = "%x: !tile.view<100x64xf32>, %i: !tile.view<64xi32>, %y: !tile.view<64x64xf32>"
    code = lower(
        one_tile(
            views,
            """%r = tile.load %i[%c0, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xi32> -> tensor<64x1xi32>
    %a = tile.load %x[%c0, %c0] symbols(%r : tensor<64x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>} : !tile.view<100x64xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.vectors(cuda.LoadOp)[-1] == 4
