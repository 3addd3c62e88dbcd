// RUN: irc-opt %s -p narrow-maps | filecheck %s

// A product of values that bf16 has, rounded once.
// CHECK-LABEL: @streamed
// CHECK:         tile.map
// CHECK:         ^bb0([[X:%[a-z0-9_]+]]: bf16, [[S:%[a-z0-9_]+]]: bf16):
// CHECK-NEXT:      [[ZERO:%[a-z0-9_]+]] = arith.constant 0.000000e+00 : bf16
// CHECK-NEXT:      [[R:%[a-z0-9_]+]] = arith.maximumf [[X]], [[ZERO]] : bf16
// CHECK-NEXT:      [[P:%[a-z0-9_]+]] = arith.mulf [[R]], [[S]] : bf16
// CHECK-NEXT:      tile.yield [[P]] : bf16

// Two products before the rounding are left alone.
// CHECK-LABEL: @vector
// CHECK:         arith.mulf {{.*}} : f32
// CHECK:         arith.mulf {{.*}} : f32
// CHECK:         arith.truncf

tile.program @streamed(%x: !tile.view<64x64xbf16>, %s: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %s1 = tile.alloc : !tile.buffer<64x32xbf16>
  %x1 = tile.alloc : !tile.buffer<64x32xbf16>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %x[%c0, %k] -> %x1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16>
    %x1_1 = tile.read %x1 : !tile.buffer<64x32xbf16> -> tensor<64x32xbf16>
    tile.copy %s[%c0, %k] -> %s1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16>
    %s1_1 = tile.read %s1 : !tile.buffer<64x32xbf16> -> tensor<64x32xbf16>
    %a = tile.map %x1_1, %s1_1 : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: bf16, %b_1: bf16):
      %extf = arith.extf %a_1 : bf16 to f32
      %maximumf = arith.maximumf %extf, %zero : f32
      %extf_1 = arith.extf %b_1 : bf16 to f32
      %mulf = arith.mulf %maximumf, %extf_1 : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @vector(%x: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %v1 = tile.alloc : !tile.buffer<1x32xbf16>
  %x1 = tile.alloc : !tile.buffer<64x32xbf16>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %x[%c0, %k] -> %x1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16>
    %x1_1 = tile.read %x1 : !tile.buffer<64x32xbf16> -> tensor<64x32xbf16>
    tile.copy %v[%c0, %k] -> %v1 {map = affine_map<(d0, d1) -> (d1)>, via = "tma"} : !tile.view<64xbf16> -> !tile.buffer<1x32xbf16>
    %v1_1 = tile.read %v1 : !tile.buffer<1x32xbf16> -> tensor<1x32xbf16>
    %a = tile.map %x1_1, %v1_1 : tensor<64x32xbf16>, tensor<1x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_1: bf16, %b_1: bf16):
      %extf = arith.extf %a_1 : bf16 to f32
      %mulf = arith.mulf %extf, %extf : f32
      %extf_1 = arith.extf %b_1 : bf16 to f32
      %mulf_1 = arith.mulf %mulf, %extf_1 : f32
      %truncf = arith.truncf %mulf_1 : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
