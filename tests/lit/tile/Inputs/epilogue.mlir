// A product whose epilogue reads an array and a vector.
tile.program @epilogue(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %r: !tile.view<512x512xbf16>, %b: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.0 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32>
    %p = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %v = tile.load %w[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %d = tile.dot %a, %v, %acc : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %r1 = tile.load %r[%m, %n] : !tile.view<512x512xbf16> -> tensor<128x128xbf16>
    %b1 = tile.load %b[%m, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %o = tile.map %p, %r1, %b1 : tensor<128x128xf32>, tensor<128x128xbf16>, tensor<1x128xbf16> -> tensor<128x128xbf16> {
    ^bb0(%0: f32, %1: bf16, %2: bf16):
      %3 = arith.extf %1 : bf16 to f32
      %4 = arith.extf %2 : bf16 to f32
      %5 = arith.addf %0, %3 : f32
      %6 = arith.mulf %5, %4 : f32
      %7 = arith.truncf %6 : f32 to bf16
      tile.yield %7 : bf16
    }
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
  }
}
