// RUN: irc-opt %s -p slice-dots | filecheck %s

// A dot for each 16 of K, on parts of the buffers. What a part is computed from is read before the part before it.
// CHECK-LABEL: @streamed
// CHECK:         scf.for {{.*}} iter_args([[ACC:%[a-z0-9_]+]] =
// CHECK:           [[X0:%[a-z0-9_]+]] = tile.subview %x1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16> -> !tile.buffer<64x16xbf16>
// CHECK:           tile.read [[X0]] : !tile.buffer<64x16xbf16> -> tensor<64x16xbf16>
// CHECK:           [[X1:%[a-z0-9_]+]] = tile.subview %x1 {at = array<i64: 0, 16>}
// CHECK-NEXT:      tile.read [[X1]] : !tile.buffer<64x16xbf16> -> tensor<64x16xbf16>
// CHECK:           [[A0:%[a-z0-9_]+]] = tile.map
// CHECK:           [[W0:%[a-z0-9_]+]] = tile.subview {{.*}} {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
// CHECK:           [[D0:%[a-z0-9_]+]] = tile.dot [[A0]], [[W0]], [[ACC]]
// CHECK-NEXT:      [[A1:%[a-z0-9_]+]] = tile.map
// CHECK:           [[W1:%[a-z0-9_]+]] = tile.subview {{.*}} {at = array<i64: 16, 0>}
// CHECK:           [[D1:%[a-z0-9_]+]] = tile.dot [[A1]], [[W1]], [[D0]]
// CHECK-NEXT:      scf.yield [[D1]]

// A vector is read from where the part begins.
// CHECK-LABEL: @vector
// CHECK:           tile.subview %v1 {at = array<i64: 0, 16>} : !tile.buffer<1x32xbf16> -> !tile.buffer<1x16xbf16>
// CHECK-NEXT:      tile.read {{.*}} -> tensor<1x16xbf16>

// Left alone.
// CHECK-LABEL: @shared
// CHECK-NOT:     tile.subview

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
tile.program @shared(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %a = tile.alloc : !tile.buffer<64x32xbf16>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %x1 = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %a_1 = tile.map %x1 : tensor<64x32xbf16> -> tensor<64x32xbf16> {
    ^bb0(%a_2: bf16):
      %negf = arith.negf %a_2 : bf16
      tile.yield %negf : bf16
    }
    tile.write %a_1, %a : tensor<64x32xbf16>, !tile.buffer<64x32xbf16>
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %d = tile.dot %a, %b, %acc : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %a, %b, %d : !tile.buffer<64x32xbf16>, !tile.buffer<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
