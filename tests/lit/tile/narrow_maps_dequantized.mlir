// RUN: irc-opt %s -p narrow-maps | filecheck %s

// Bytes are widened in a map of their own where the product has the bits of the narrow type.
// CHECK-LABEL: @channels
// CHECK:         [[WIDE:%[a-z0-9_]+]] = tile.map {{.*}} : tensor<64x16xi8> -> tensor<64x16xbf16> {
// CHECK-NEXT:    ^bb0([[X:%[a-z0-9_]+]]: i8):
// CHECK-NEXT:      [[V:%[a-z0-9_]+]] = arith.sitofp [[X]] : i8 to bf16
// CHECK-NEXT:      tile.yield [[V]] : bf16
// CHECK:         tile.map [[WIDE]], %s1 : tensor<64x16xbf16>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
// CHECK:           arith.mulf {{.*}} : bf16
// CHECK-LABEL: @groups
// CHECK:           arith.mulf {{.*}} : f32

tile.program @channels(%x: !tile.view<64x64xi8>, %s: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %s1 = tile.load %s[%c0, %c0] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xbf16> -> tensor<64x1xbf16>
  %x1 = tile.alloc : !tile.buffer<64x32xi8>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %x[%c0, %k] -> %x1 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<64x64xi8> -> !tile.buffer<64x32xi8>
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16>
    %part = tile.subview %x1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xi8> -> !tile.buffer<64x16xi8>
    %x1_1 = tile.read %part : !tile.buffer<64x16xi8> -> tensor<64x16xi8>
    %part_1 = tile.subview %x1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xi8> -> !tile.buffer<64x16xi8>
    %x1_2 = tile.read %part_1 : !tile.buffer<64x16xi8> -> tensor<64x16xi8>
    %a = tile.map %x1_1, %s1 : tensor<64x16xi8>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
    ^bb0(%a_1: i8, %b_1: bf16):
      %sitofp = arith.sitofp %a_1 : i8 to f32
      %extf = arith.extf %b_1 : bf16 to f32
      %mulf = arith.mulf %sitofp, %extf : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %part_2 = tile.subview %b {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
    %sum = tile.dot %a, %part_2, %acc : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %a_2 = tile.map %x1_2, %s1 : tensor<64x16xi8>, tensor<64x1xbf16> -> tensor<64x16xbf16> {
    ^bb0(%a_3: i8, %b_2: bf16):
      %sitofp_1 = arith.sitofp %a_3 : i8 to f32
      %extf_1 = arith.extf %b_2 : bf16 to f32
      %mulf_1 = arith.mulf %sitofp_1, %extf_1 : f32
      %truncf_1 = arith.truncf %mulf_1 : f32 to bf16
      tile.yield %truncf_1 : bf16
    }
    %part_3 = tile.subview %b {at = array<i64: 16, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
    %d = tile.dot %a_2, %part_3, %sum : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
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
  %s1 = tile.alloc : !tile.buffer<64x1xf32>
  %x1 = tile.alloc : !tile.buffer<64x32xi8>
  %b = tile.alloc : !tile.buffer<32x64xbf16>
  %p = scf.for %k = %c0 to %c128 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    tile.copy %x[%c0, %k] -> %x1 {via = "tma"} : !tile.view<64x128xi8> -> !tile.buffer<64x32xi8>
    %c64 = arith.constant 64 : index
    %divui = arith.divui %k, %c64 : index
    tile.copy %s[%c0, %divui] -> %s1 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<2x64xf32> -> !tile.buffer<64x1xf32>
    %s1_1 = tile.read %s1 : !tile.buffer<64x1xf32> -> tensor<64x1xf32>
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<32x64xbf16>
    %part = tile.subview %x1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xi8> -> !tile.buffer<64x16xi8>
    %x1_1 = tile.read %part : !tile.buffer<64x16xi8> -> tensor<64x16xi8>
    %part_1 = tile.subview %x1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xi8> -> !tile.buffer<64x16xi8>
    %x1_2 = tile.read %part_1 : !tile.buffer<64x16xi8> -> tensor<64x16xi8>
    %a = tile.map %x1_1, %s1_1 : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
    ^bb0(%a_1: i8, %b_1: f32):
      %sitofp = arith.sitofp %a_1 : i8 to f32
      %mulf = arith.mulf %sitofp, %b_1 : f32
      %truncf = arith.truncf %mulf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %part_2 = tile.subview %b {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
    %sum = tile.dot %a, %part_2, %acc : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %a_2 = tile.map %x1_2, %s1_1 : tensor<64x16xi8>, tensor<64x1xf32> -> tensor<64x16xbf16> {
    ^bb0(%a_3: i8, %b_2: f32):
      %sitofp_1 = arith.sitofp %a_3 : i8 to f32
      %mulf_1 = arith.mulf %sitofp_1, %b_2 : f32
      %truncf_1 = arith.truncf %mulf_1 : f32 to bf16
      tile.yield %truncf_1 : bf16
    }
    %part_3 = tile.subview %b {at = array<i64: 16, 0>} : !tile.buffer<32x64xbf16> -> !tile.buffer<16x64xbf16>
    %d = tile.dot %a_2, %part_3, %sum : tensor<64x16xbf16>, !tile.buffer<16x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
