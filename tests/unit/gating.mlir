#cfg = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #cfg} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> tensor<128x128xf32>
    %z2 = tile.splat %zero : f32 -> tensor<128x128xf32>
    %h, %g = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z, %d = %z2) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %p = tile.load %w1[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %q = tile.load %w2[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %e = tile.dot %a, %p, %c : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %f = tile.dot %a, %q, %d : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %e, %f : tensor<128x128xf32>, tensor<128x128xf32>
    }
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32>, tensor<128x128xf32>, tensor<1x128xbf16>, tensor<1x128xbf16> -> tensor<128x128xbf16> {
    ^bb2(%0: f32, %1: f32, %2: bf16, %3: bf16):
      %one = arith.constant 1.0 : f32
      %4 = arith.extf %2 : bf16 to f32
      %5 = arith.extf %3 : bf16 to f32
      %6 = arith.addf %0, %4 : f32
      %7 = arith.addf %1, %5 : f32
      %8 = arith.negf %6 : f32
      %9 = math.exp %8 : f32
      %10 = arith.addf %one, %9 : f32
      %11 = arith.divf %7, %10 : f32
      %12 = arith.truncf %11 : f32 to bf16
      tile.yield %12 : bf16
    }
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
  }
}
