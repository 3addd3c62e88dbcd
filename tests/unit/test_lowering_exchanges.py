"""From tile programs to the code of a thread: exchanges, reductions and scans, and where barriers are."""

from __future__ import annotations

import pytest
from lowered import ADD, LINE, LOWER, Code, copy, lower, number, one_tile
from xdsl.dialects import arith, scf

from irc.dialects import cuda

# Exchanges


def test_a_transpose_goes_through_shared_memory_once() -> None:
    code = copy("64x64xf32", "64x64", store="{map = affine_map<(d0, d1) -> (d1, d0)>}")
    assert code.vectors(cuda.LoadOp) == code.vectors(cuda.StoreOp) == [4]
    assert code.shared == 64 * 64 * 4
    assert code.shared_accesses == "w|r"


def test_a_second_exchange_waits_for_the_readers_of_the_first() -> None:
    views = "%x: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>"
    store = "{map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<64x64xf32>, !tile.view<64x64xf32>"
    code = lower(
        one_tile(
            views,
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    %b = tile.load %z[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.store %a, %y[%c0, %c0] {store}
    tile.store %b, %y[%c0, %c0] {store}""",
        )
    )
    assert code.shared_accesses == "w|r|w|r"
    assert code.shared == 64 * 64 * 4


def test_warps_that_exchange_among_their_own_lanes_do_not_wait_for_others() -> None:
    code = lower(IN_WARPS.format("tensor<64x16xf32, #other>", "#other"), LOWER[1:])
    assert code.shared_accesses == "w-r-w-r"


def test_warps_wait_for_others_where_these_have_used_the_same_memory() -> None:
    code = lower(IN_WARPS.format("tensor<64x16xf32, #across>", "#across"), LOWER[1:])
    assert code.shared_accesses == "w-r|w|r"


IN_WARPS = """
#acc = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
#other = #tile.fragment<((4,8,4),(4,2)):((256,1,16),(64,8))>
#across = #tile.fragment<((4,32),(4,2)):((256,1),(64,32))>
tile.program @program(%x: !tile.view<64x16xf32>, %y: !tile.view<64x16xf32>, %z: !tile.view<64x16xf32>)
    {{results = 2 : i64, threads = 128 : i64}} {{
  tile.for_tiles (%t) extents [1] steps [1] {{
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] : !tile.view<64x16xf32> -> tensor<64x16xf32, #acc>
    %b = tile.convert %a : tensor<64x16xf32, #acc> -> tensor<64x16xf32, #other>
    tile.store %b, %y[%c0, %c0] : tensor<64x16xf32, #other>, !tile.view<64x16xf32>
    %c = tile.convert %a : tensor<64x16xf32, #acc> -> {0}
    tile.store %c, %z[%c0, %c0] : tensor<64x16xf32, {1}>, !tile.view<64x16xf32>
  }}
}}"""


def test_readers_of_one_write_meet_once() -> None:
    buffer = "!tile.buffer<64x64xf32, #tile.shared<(64,64):(64,1)>>"
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>",
            f"""%s = tile.alloc : {buffer}
    %a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.write %a, %s : tensor<64x64xf32>, {buffer}
    %b = tile.read %s : {buffer} -> tensor<64x64xf32>
    %c = tile.read %s : {buffer} -> tensor<64x64xf32>
    %d = tile.map %b, %c : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> {ADD}
    tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.shared_accesses == "w|r"
    assert code.vectors(cuda.SharedStoreOp) == [4]
    assert code.shared == 64 * 64 * 4


def test_each_side_of_a_branch_waits_for_what_was_written_before_it() -> None:
    buffer = "!tile.buffer<64x64xf32, #tile.shared<(64,64):(64,1)>>"
    read = f"""%b = tile.read %s : {buffer} -> tensor<64x64xf32>
      tile.store %b, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>"""
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>",
            f"""%s = tile.alloc : {buffer}
    %a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    tile.write %a, %s : tensor<64x64xf32>, {buffer}
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {{
      {read}
    }} else {{
      {read}
    }}
    tile.write %a, %s : tensor<64x64xf32>, {buffer}""",
        )
    )
    assert code.shared_accesses == "w|r|r|w"


def test_a_permutation_moves_nothing() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<64x32xf32>, %y: !tile.view<32x64xf32, strides [1, 32]>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<64x32xf32> -> tensor<64x32xf32>
    %b = tile.permute %a {dims = array<i64: 1, 0>} : tensor<64x32xf32> -> tensor<32x64xf32>
    tile.store %b, %y[%c0, %c0] : tensor<32x64xf32>, !tile.view<32x64xf32, strides [1, 32]>""",
        )
    )
    assert code.shared == 0
    assert code.vectors(cuda.LoadOp) == [4]


def test_slices_of_a_tile_stay_in_their_threads() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<64x64xf32>, %y: !tile.view<32x64xf32>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
    %b = tile.slice %a {{at = array<i64: 0, 0>}} : tensor<64x64xf32> -> tensor<32x64xf32>
    %c = tile.slice %a {{at = array<i64: 32, 0>}} : tensor<64x64xf32> -> tensor<32x64xf32>
    %d = tile.map %b, %c : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<32x64xf32> {ADD}
    tile.store %d, %y[%c0, %c0] : tensor<32x64xf32>, !tile.view<32x64xf32>""",
        )
    )
    assert code.shared == 0
    assert code.count(arith.AddfOp) * code.threads == 32 * 64


def test_a_concatenation_stays_in_its_threads() -> None:
    code = lower(
        one_tile(
            "%x: !tile.view<32x64xf32>, %y: !tile.view<64x64xf32>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<32x64xf32> -> tensor<32x64xf32>
    %b = tile.concat %a, %a {axis = 0 : i64} : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
    tile.store %b, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>""",
        )
    )
    assert code.shared == 0
    assert code.elements(cuda.StoreOp) == [64 * 64]


# Reductions and scans


def reduction(rows: int, columns: int, axis: int, warps: int) -> Code:
    shape = f"{rows}x{columns}xf32"
    kept = f"1x{columns}xf32" if axis == 0 else f"{rows}x1xf32"
    return lower(
        one_tile(
            f"%x: !tile.view<{shape}>, %y: !tile.view<{kept}>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<{shape}> -> tensor<{shape}>
    %b = tile.reduce %a {{axes = array<i64: {axis}>}} : tensor<{shape}> -> tensor<{kept}> {ADD}
    tile.store %b, %y[%c0, %c0] : tensor<{kept}>, !tile.view<{kept}>""",
            f"warps = {warps}",
        )
    )


def test_a_reduction_in_a_thread_exchanges_nothing() -> None:
    code = reduction(4, 128, 0, 1)
    assert code.threads == 32
    assert code.ops(cuda.ShuffleOp) == []
    assert code.shared == 0
    assert code.count(arith.AddfOp) * code.threads == 3 * 128


def test_a_reduction_in_a_warp_is_five_butterflies() -> None:
    code = reduction(1, 128, 1, 1)
    masks = [number(op.lane) for op in code.ops(cuda.ShuffleOp)]
    assert masks == [1, 2, 4, 8, 16]
    assert code.shared == 0
    assert code.shared_accesses == ""


@pytest.mark.parametrize("warps", [2, 8])
def test_a_reduction_between_warps_meets_in_shared_memory_once(warps: int) -> None:
    code = reduction(1, 1024, 1, warps)
    assert len(code.ops(cuda.ShuffleOp)) == 5
    assert code.shared == LINE
    assert code.shared_accesses == "w|r"
    (store,) = code.ops(cuda.SharedStoreOp)
    assert isinstance(store.parent_op(), scf.IfOp), "one lane of a warp writes"
    assert code.count(cuda.SharedLoadOp) == warps
    assert code.count(arith.AddfOp) == 1024 // code.threads - 1 + 5 + warps - 1


def test_a_warp_reduces_rows_of_its_own_where_there_are_enough() -> None:
    code = reduction(16, 1024, 1, 8)
    assert code.shared == 0
    assert code.vectors(cuda.LoadOp) == [4]


def test_every_warp_has_a_partial_of_every_column() -> None:
    """Rows are contiguous and lie across the reduction: the warps share it."""
    code = reduction(1024, 32, 0, 8)
    assert code.shared == 32 * 8 * 4
    assert code.count(cuda.SharedLoadOp) * code.threads >= 32 * 8
    assert code.shared_accesses == "w|r"


def test_copies_of_a_result_are_stored_once() -> None:
    code = reduction(1, 1024, 1, 8)
    (store,) = code.ops(cuda.StoreOp)
    assert isinstance(store.parent_op(), scf.IfOp)


def scan(columns: int, warps: int) -> Code:
    shape = f"1x{columns}xf32"
    return lower(
        one_tile(
            f"%x: !tile.view<{shape}>, %y: !tile.view<{shape}>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<{shape}> -> tensor<{shape}>
    %b = tile.scan %a {{axis = 1 : i64}} : tensor<{shape}> -> tensor<{shape}> {ADD}
    tile.store %b, %y[%c0, %c0] : tensor<{shape}>, !tile.view<{shape}>""",
            f"warps = {warps}",
        )
    )


def test_a_scan_in_a_warp_shuffles_up_and_shifts_by_one() -> None:
    code = scan(128, 1)
    shuffles = code.ops(cuda.ShuffleOp)
    assert {op.mode.data for op in shuffles} == {"up"}
    assert [number(op.lane) for op in shuffles] == [1, 2, 4, 8, 16, 1]
    assert code.shared == 0


def test_a_scan_between_warps_adds_the_totals_of_the_warps_before() -> None:
    code = scan(1024, 8)
    assert len(code.ops(cuda.ShuffleOp)) == 6
    assert code.shared_accesses == "w|r"
    assert code.shared == LINE
    # The last warp has seven before it.
    assert code.count(cuda.SharedLoadOp) == 7
