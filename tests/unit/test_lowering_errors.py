"""From tile programs to the code of a thread: what is refused."""

from __future__ import annotations

import pytest
from lowered import ADD, LOWER, lower, one_tile, run

from irc.support.diagnostics import IrcError


def fails(text: str, passes: tuple[str, ...] = LOWER, arch: str = "sm_90a") -> IrcError:
    with pytest.raises(IrcError) as caught:
        run(text, passes, arch)
    return caught.value


def test_a_scan_over_threads_without_runs_is_refused() -> None:
    fragment = "#tile.fragment<((32),(4)):((1),(32))>"
    tensor = f"tensor<1x128xf32, {fragment}>"
    error = fails(
        one_tile(
            "%x: !tile.view<1x128xf32>, %y: !tile.view<1x128xf32>",
            f"""%a = tile.load %x[%c0, %c0] : !tile.view<1x128xf32> -> {tensor}
    %b = tile.scan %a {{axis = 1 : i64}} : {tensor} -> {tensor} {ADD}
    tile.store %b, %y[%c0, %c0] : {tensor}, !tile.view<1x128xf32>""",
        ).replace("results = 1", "threads = 32 : i64, results = 1"),
        ("lower-schedule", "lower-to-cuda"),
    )
    assert "do not hold runs of neighbors" in error.message
    assert "program.mlir:5" in str(error)


def test_a_store_from_a_buffer_that_tma_cannot_make_is_refused() -> None:
    buffer = "!tile.buffer<16x16xf32, #tile.shared<(16,16):(16,1)>>"
    error = fails(
        one_tile(
            "%y: !tile.view<16x15xf32>",
            f"""%b = tile.alloc : {buffer}
    tile.store %b, %y[%c0, %c0] {{checked = array<i64: 1>}} : {buffer}, !tile.view<16x15xf32>""",
        ),
        LOWER[1:],
    )
    assert error.message == "TMA cannot store this buffer: it goes to no box of aligned rows"
    assert "program.mlir:5" in str(error)


def test_an_exchange_that_does_not_fit_names_the_limit() -> None:
    views = "%x: !tile.view<256x256xf32>, %y: !tile.view<256x256xf32>"
    rows = "tensor<256x256xf32, #tile.fragment<((256),(256)):((256),(1))>>"
    columns = "tensor<256x256xf32, #tile.fragment<((256),(256)):((1),(256))>>"
    text = one_tile(
        views,
        f"""%a = tile.load %x[%c0, %c0] : !tile.view<256x256xf32> -> {rows}
    %b = tile.convert %a : {rows} -> {columns}
    tile.store %b, %y[%c0, %c0] : {columns}, !tile.view<256x256xf32>""",
    )
    error = fails(text, LOWER[1:])
    assert error.message == "program needs 262144 bytes of shared memory, sm_90a has 232448 a block"
    assert error.hint is not None
    assert "smaller tiles" in error.hint


def test_no_layout_asks_for_an_exchange_that_does_not_fit() -> None:
    view = "!tile.view<256x256xf32>"
    code = lower(
        one_tile(
            f"%x: {view}, %y: {view}",
            f"""%a = tile.load %x[%c0, %c0] : {view} -> tensor<256x256xf32>
    tile.store %a, %y[%c0, %c0] {{map = affine_map<(d0, d1) -> (d1, d0)>}} : tensor<256x256xf32>, {view}""",
        )
    )
    assert code.shared == 0


def test_tiles_without_layouts_are_refused() -> None:
    error = fails(
        one_tile(
            "%x: !tile.view<16x16xf32>, %y: !tile.view<16x16xf32>",
            """%a = tile.load %x[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32>
    tile.store %a, %y[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>""",
        ),
        ("lower-schedule", "lower-to-cuda"),
    )
    assert "requires that every tile and every shared buffer has a layout" in error.message
