// RUN: irc-opt %s -p divide-steps --split-input-file | filecheck %s

// Two warps along K: the dots of a step are of two parts, and what they sum is added behind the loop, for all its users.
// CHECK-LABEL: @sums
// CHECK:         [[P:%[a-z0-9_]+]] = scf.for
// CHECK:           tile.dot {{.*}} {parts = 2 : i64}
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.sum_warps [[P]] {parts = 2 : i64} : tensor<32x32xf32> -> tensor<32x32xf32>
// CHECK-NEXT:    tile.map [[SUM]]
// CHECK:         tile.store [[SUM]]

// One along K, or none asked for: left alone.
// CHECK-LABEL: @one
// CHECK-NOT:     parts
// CHECK-NOT:     tile.sum_warps

// A loop that goes on with the sums of another one gets their parts.
// CHECK-LABEL: @rest
// CHECK:         scf.for
// CHECK-NOT:     tile.sum_warps
// CHECK:         scf.for
// CHECK:         tile.sum_warps

tile.program @sums(%x: !tile.view<32x64xbf16>, %w: !tile.view<64x32xbf16>, %y: !tile.view<32x32xf32>, %z: !tile.view<32x32xf32>) {results = 2 : i64, config = #kernel.config<warps = 4, warp_grid = [2, 1, 2], instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<32x32xf32>
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

tile.program @one(%x: !tile.view<32x64xbf16>, %w: !tile.view<64x32xbf16>, %y: !tile.view<32x32xf32>, %z: !tile.view<32x32xf32>) {results = 2 : i64, config = #kernel.config<warps = 4, warp_grid = [2, 2, 1], instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<32x32xf32>
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

tile.program @rest(%x: !tile.view<32x64xbf16>, %w: !tile.view<64x32xbf16>, %y: !tile.view<32x32xf32>, %z: !tile.view<32x32xf32>) {results = 2 : i64, config = #kernel.config<warps = 4, warp_grid = [2, 1, 2], instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<32x32xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<32x32xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<32x64xbf16> -> tensor<32x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<64x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %a, %b, %acc : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  %q = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %p) -> (tensor<32x32xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<32x64xbf16> -> tensor<32x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<64x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %a, %b, %acc : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  %r = tile.map %q : tensor<32x32xf32> -> tensor<32x32xf32> {
  ^bb0(%0: f32):
    %1 = arith.maximumf %0, %zero : f32
    tile.yield %1 : f32
  }
  tile.store %r, %y[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.store %q, %z[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
}
