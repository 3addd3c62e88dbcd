// RUN: irc-opt %s -p place-operands | filecheck %s

// Scales of rows are loaded once, before the loop.
// CHECK-LABEL: @channels
// CHECK:         tile.load %s[%c0, %c0] {{.*}} -> tensor<64x1xbf16>
// CHECK:         scf.for
// CHECK-NOT:       tile.load
// CHECK:           tile.copy %x[%c0, %k] {{.*}} !tile.buffer<64x32xi8>
// CHECK-NOT:       tile.load
// CHECK:           tile.dot

// Those of a group come with each step, as a column.
// CHECK-LABEL: @groups
// CHECK:         scf.for
// CHECK:           [[GROUP:%[a-z0-9_]+]] = arith.divui %k, {{.*}} : index
// CHECK:           tile.copy %s[%c0, [[GROUP]]] -> {{.*}} {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} {{.*}} -> !tile.buffer<64x1xf32>
// CHECK:           tile.read {{.*}} -> tensor<64x1xf32>

tile.program @channels(%x: !tile.view<64x64xi8>, %s: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x64xi8> -> tensor<64x32xi8>
    %s1 = tile.load %s[%c0, %k] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xbf16> -> tensor<64x1xbf16>
    %a = tile.map %x1, %s1 : tensor<64x32xi8>, tensor<64x1xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: i8, %b: bf16):
      %sitofp = arith.sitofp %a_1 : i8 to f32
      %extf = arith.extf %b : bf16 to f32
      %mulf = arith.mulf %sitofp, %extf : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %b_1 = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b_1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @groups(%x: !tile.view<64x128xi8>, %s: !tile.view<2x64xf32>, %w: !tile.view<128x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c128 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x128xi8> -> tensor<64x32xi8>
    %s1 = tile.load %s[%c0, %k] {map = affine_map<(d0, d1) -> ((d1 floordiv 64), d0)>} : !tile.view<2x64xf32> -> tensor<64x32xf32>
    %a = tile.map %x1, %s1 : tensor<64x32xi8>, tensor<64x32xf32> -> tensor<64x32xbf16> {
    ^bb0(%a_1: i8, %b: f32):
      %sitofp = arith.sitofp %a_1 : i8 to f32
      %mulf = arith.mulf %sitofp, %b : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %b_1 = tile.load %w[%k, %c0] : !tile.view<128x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b_1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
