// A product of 512 x 512 x 512 in tiles of 128 x 128, two consumer groups of a block in turn, clusters of 2 x 2 blocks.
#cfg = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 4, schedule = "pingpong", instruction = "wgmma">
tile.program @product(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>, %z: !tile.view<512x512xf32, strides [1, 512]>) {results = 2 : i64, config = #cfg} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.0 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %b = tile.load %w[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %e = tile.dot %a, %b, %d : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %e : tensor<128x128xf32>
    }
    %o = tile.map %acc : tensor<128x128xf32> -> tensor<128x128xbf16> {
    ^bb0(%0: f32):
      %1 = arith.truncf %0 : f32 to bf16
      tile.yield %1 : bf16
    }
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
    tile.store %acc, %z[%m, %n] : tensor<128x128xf32>, !tile.view<512x512xf32, strides [1, 512]>
  }
}
