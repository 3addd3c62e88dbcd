// Left operands that are computed: from arrays that TMA brings, from a vector too, and shared by two dots.
tile.program @streamed(%x: !tile.view<64x64xbf16>, %s: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %s1 = tile.load %s[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %a = tile.map %x1, %s1 : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%0: bf16, %1: bf16):
      %2 = arith.extf %0 : bf16 to f32
      %3 = arith.maximumf %2, %zero : f32
      %4 = arith.extf %1 : bf16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.truncf %5 : f32 to bf16
      tile.yield %6 : bf16
    }
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @vector(%x: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %v1 = tile.load %v[%c0, %k] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<64xbf16> -> tensor<1x32xbf16>
    %a = tile.map %x1, %v1 : tensor<64x32xbf16>, tensor<1x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%0: bf16, %1: bf16):
      %2 = arith.extf %0 : bf16 to f32
      %3 = arith.mulf %2, %2 : f32
      %4 = arith.extf %1 : bf16 to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.truncf %5 : f32 to bf16
      tile.yield %6 : bf16
    }
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @shared(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %a = tile.map %x1 : tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%0: bf16):
      %1 = arith.negf %0 : bf16
      tile.yield %1 : bf16
    }
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %a, %b, %d : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
