"""The shared memory that channels will take, before there are any."""

from __future__ import annotations

from irc.dialects import tile
from irc.driver.lowering import passes_of, run_passes
from irc.driver.program import parse
from irc.ir.targets import set_target
from irc.scheduling.channels import channel_bytes

TILE = "tensor<64x64xf32>"


def loop(result: str, start: str, first: str, last: str, step: int) -> str:
    return f"""{result} = scf.for %k = {first} to {last} step %c{step} iter_args(%acc = {start}) -> ({TILE}) {{
      %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x{step}xbf16>
      %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<{step}x64xbf16>
      %next = tile.dot %a, %b, %acc : tensor<64x{step}xbf16>, tensor<{step}x64xbf16>, {TILE} -> {TILE}
      scf.yield %next : {TILE}
    }}"""


def bytes_of(*loops: str) -> int:
    config = '#kernel.config<stages = 4, warps = 4, instruction = "wgmma">'
    text = f"""tile.program @f(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>)
    {{results = 1 : i64, config = {config}}} {{
      tile.for_tiles (%i) extents [256] steps [64] {{
        %c0 = arith.constant 0 : index
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        %c256 = arith.constant 256 : index
        %zero = arith.constant 0.0 : f32
        %none = tile.splat %zero : f32 -> {TILE}
        {chr(10).join(loops)}
        tile.store %sum, %y[%c0, %c0] : {TILE}, !tile.view<64x64xf32>
      }}
    }}"""
    module = parse(text, "f.mlir")
    set_target(module, "sm_90a")
    run_passes(module, passes_of(("place-operands",)))
    (tiles,) = (op for op in module.walk() if isinstance(op, tile.ForTilesOp))
    return channel_bytes(tiles, 4)


def test_loops_one_behind_the_other_share_what_they_fill() -> None:
    whole = bytes_of(loop("%sum", "%none", "%c0", "%c256", 64))
    first, narrow = loop("%part", "%none", "%c0", "%i", 64), loop("%sum", "%part", "%i", "%c256", 32)
    assert bytes_of(first, loop("%sum", "%part", "%i", "%c256", 64)) == whole
    assert bytes_of(first, narrow) == whole + 4 * 2 * 64 * 32 * 2
