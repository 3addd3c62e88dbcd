tile.program @transpose(%x: !tile.view<100x72xbf16>, %y: !tile.view<72x100xbf16>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [72, 100] steps [64, 64] {
    %a = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>, checked = array<i64: 0, 1>} : !tile.view<100x72xbf16> -> tensor<64x64xbf16>
    %b = tile.map %a : tensor<64x64xbf16> -> tensor<64x64xbf16> {
    ^bb0(%0: bf16):
      %1 = arith.extf %0 : bf16 to f32
      %2 = math.exp %1 : f32
      %3 = arith.truncf %2 : f32 to bf16
      tile.yield %3 : bf16
    }
    tile.store %b, %y[%i, %j] {checked = array<i64: 0, 1>} : tensor<64x64xbf16>, !tile.view<72x100xbf16>
  }
}
