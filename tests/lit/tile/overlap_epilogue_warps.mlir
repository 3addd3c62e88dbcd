// RUN: irc-opt %s -p overlap-epilogue --split-input-file | filecheck %s

// Warps of mma that lie side by side have whole instructions of each subtile: four of 8 columns beside 80 rows, which one
// warp has; else a subtile is a row of 128 bytes of the result.

// CHECK-LABEL: tile.program @beside
// CHECK:         scf.for %column = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           tile.slice {{.*}} : tensor<80x96xf64> -> tensor<80x32xf64>
tile.program @beside(%a: !tile.view<160x64xf64>, %b: !tile.view<64x192xf64>, %r: !tile.view<160x192xf64>) {results = 1 : i64, config = #kernel.config<tile = {m = 80, n = 96, k = 16}, stages = 3, cluster = [1, 1], warps = 4, schedule = "grid", group = 8, indexing = "pointers", instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1) extents [160, 192] steps [80, 96] group 8 {
    %zero = arith.constant 0.000000e+00 : f64
    %init = tile.splat %zero : f64 -> tensor<80x96xf64>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c16 = arith.constant 16 : index
    %alloc = tile.alloc : !tile.buffer<80x16xf64>
    %alloc_1 = tile.alloc : !tile.buffer<16x96xf64>
    %acc = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc_1 = %init) -> (tensor<80x96xf64>) {
      tile.copy %a[%arg, %k] -> %alloc {via = "cp_async"} : !tile.view<160x64xf64> -> !tile.buffer<80x16xf64>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {via = "cp_async"} : !tile.view<64x192xf64> -> !tile.buffer<16x96xf64>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<80x16xf64>, !tile.buffer<16x96xf64>, tensor<80x96xf64> -> tensor<80x96xf64>
      scf.yield %sum : tensor<80x96xf64>
    }
    tile.store %acc, %r[%arg, %arg_1] : tensor<80x96xf64>, !tile.view<160x192xf64>
  }
}

// -----

// CHECK-LABEL: tile.program @stacked
// CHECK:         scf.for %column = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           tile.slice {{.*}} : tensor<64x96xf64> -> tensor<64x16xf64>
tile.program @stacked(%a: !tile.view<160x64xf64>, %b: !tile.view<64x192xf64>, %r: !tile.view<160x192xf64>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 96, k = 16}, stages = 4, cluster = [1, 1], warps = 4, schedule = "grid", group = 8, indexing = "pointers", instruction = "mma">} {
  tile.for_tiles (%arg, %arg_1) extents [160, 192] steps [64, 96] group 8 {
    %zero = arith.constant 0.000000e+00 : f64
    %init = tile.splat %zero : f64 -> tensor<64x96xf64>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c16 = arith.constant 16 : index
    %alloc = tile.alloc : !tile.buffer<64x16xf64>
    %alloc_1 = tile.alloc : !tile.buffer<16x96xf64>
    %acc = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc_1 = %init) -> (tensor<64x96xf64>) {
      tile.copy %a[%arg, %k] -> %alloc {checked = array<i64: 0>, via = "cp_async"} : !tile.view<160x64xf64> -> !tile.buffer<64x16xf64>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {via = "cp_async"} : !tile.view<64x192xf64> -> !tile.buffer<16x96xf64>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x16xf64>, !tile.buffer<16x96xf64>, tensor<64x96xf64> -> tensor<64x96xf64>
      scf.yield %sum : tensor<64x96xf64>
    }
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0>} : tensor<64x96xf64>, !tile.view<160x192xf64>
  }
}
