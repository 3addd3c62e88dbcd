// RUN: irc-opt %s -p divide-steps --split-input-file --verify-diagnostics

tile.program @begins(%x: !tile.view<32x64xbf16>, %w: !tile.view<64x32xbf16>, %y: !tile.view<32x32xf32>, %z: !tile.view<32x32xf32>) {results = 2 : i64, config = #kernel.config<warps = 4, warp_grid = [2, 1, 2], instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 1.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<32x32xf32>
  // expected-error @below {{warps along K begin with sums of 0, found others}}
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<32x32xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<32x64xbf16> -> tensor<32x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<64x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %a, %b, %acc : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  %r = tile.map %p : tensor<32x32xf32> -> tensor<32x32xf32> {
  ^bb0(%0: f32):
    %1 = arith.maximumf %0, %zero : f32
    tile.yield %1 : f32
  }
  tile.store %r, %y[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.store %p, %z[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
}

// -----

tile.program @outside(%x: !tile.view<32x32xbf16>, %y: !tile.view<32x32xf32>) {results = 1 : i64, config = #kernel.config<warps = 4, warp_grid = [2, 1, 2], instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<32x32xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  // expected-error @below {{warps along K add up products in a loop, found one outside}}
  %d = tile.dot %a, %a, %s : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %d, %y[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
}
