// RUN: irc-opt %s --arch sm_100a -p split-dots --split-input-file | filecheck %s

// A product with the precision tf32 stays one, on rounded operands.
// CHECK-LABEL: tile.program @rounded(
// CHECK:       %[[LEFT:.*]] = tile.map %a
// CHECK:         arith.andi
// CHECK:       %[[RIGHT:.*]] = tile.map %b
// CHECK:         arith.andi
// CHECK:       %[[SUM:.*]] = tile.dot %[[LEFT]], %[[RIGHT]], %before {precision = "tf32"}
// CHECK-NEXT:  scf.yield %[[SUM]]

tile.program @rounded(%x: !tile.view<128x64xf32>, %w: !tile.view<64x32xf32>, %y: !tile.view<128x32xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 32}, stages = 8, warps = 4, instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [128, 32] steps [128, 32] schedule "persistent" group 8 {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %cK = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<128x64xf32> -> tensor<128x32xf32>
      %b = tile.load %w[%k, %n] : !tile.view<64x32xf32> -> tensor<32x32xf32>
      %sum = tile.dot %a, %b, %before {precision = "tf32"} : tensor<128x32xf32>, tensor<32x32xf32>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    tile.store %acc, %y[%m, %n] : tensor<128x32xf32>, !tile.view<128x32xf32>
  }
}

// -----

// tcgen05 has no other products of f32.
// CHECK-LABEL: tile.program @single(
// CHECK-NOT:   tile.map
// CHECK:       tile.dot %a, %b, %before
// CHECK-NOT:   tile.dot

tile.program @single(%x: !tile.view<128x64xf32>, %w: !tile.view<64x32xf32>, %y: !tile.view<128x32xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 32}, stages = 8, warps = 4, instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [128, 32] steps [128, 32] schedule "persistent" group 8 {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %cK = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 32 : index
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<128x64xf32> -> tensor<128x32xf32>
      %b = tile.load %w[%k, %n] : !tile.view<64x32xf32> -> tensor<32x32xf32>
      %sum = tile.dot %a, %b, %before : tensor<128x32xf32>, tensor<32x32xf32>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    tile.store %acc, %y[%m, %n] : tensor<128x32xf32>, !tile.view<128x32xf32>
  }
}
