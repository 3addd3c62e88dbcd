// RUN: irc-opt %s -p split-dots | filecheck %s

// The small products first; the stage is in use until the last of them is there.
// CHECK-LABEL: @f32
// CHECK:         %a = tile.load
// CHECK:         %b = tile.load
// CHECK:         [[ZERO:%[a-z0-9_]+]] = tile.splat
// CHECK:         %a_high = tile.map %a
// CHECK:           math.absf
// CHECK:         %a_low = tile.map %a, %a_high
// CHECK:           arith.subf
// CHECK:         %b_high = tile.map %b
// CHECK:         %b_low = tile.map %b, %b_high
// CHECK:         [[FIRST:%[a-z0-9_]+]] = tile.dot %a_low, %b_high, [[ZERO]] {precision = "tf32"
// CHECK-NEXT:    [[SECOND:%[a-z0-9_]+]] = tile.dot %a_high, %b_low, [[FIRST]] {precision = "tf32"
// CHECK-NEXT:    [[THIRD:%[a-z0-9_]+]] = tile.dot %a_high, %b_high, [[SECOND]] {precision = "tf32"}
// CHECK-NEXT:    tile.map %acc, [[THIRD]]

// One product of rounded operands.
// CHECK-LABEL: @tf32
// CHECK:         [[A:%[a-z0-9_]+]] = tile.map %a
// CHECK:         [[B:%[a-z0-9_]+]] = tile.map %b
// CHECK:         tile.dot [[A]], [[B]], %acc {precision = "tf32"}
// CHECK-NOT:     tile.dot
// CHECK:         scf.yield

// Left alone.
// CHECK-LABEL: @f8
// CHECK:         tile.dot %a, %b,
// CHECK-LABEL: @i8
// CHECK:         tile.dot %a, %b, %acc

tile.program @f32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %zero_1 = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero_1 : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %init : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %d_1 = tile.map %acc, %d : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %addf = arith.addf %a_1, %b_1 : f32
      tile.yield %addf : f32
    }
    scf.yield %d_1 : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @tf32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %d = tile.dot %a, %b, %acc {precision = "tf32"} : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @f8(%x: !tile.view<64x256xf8E4M3FN>, %w: !tile.view<64x256xf8E4M3FN>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
    %b = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x256xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %zero_1 = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero_1 : f32 -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %init : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<64x64xf32> -> tensor<64x64xf32>
    %d_1 = tile.map %acc, %d : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> {
    ^bb0(%a_1: f32, %b_1: f32):
      %addf = arith.addf %a_1, %b_1 : f32
      tile.yield %addf : f32
    }
    scf.yield %d_1 : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @i8(%x: !tile.view<64x256xi8>, %w: !tile.view<256x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %s = tile.splat %zero : i32 -> tensor<64x64xi32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xi32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xi8> -> tensor<64x128xi8>
    %b = tile.load %w[%k, %c0] : !tile.view<256x64xi8> -> tensor<128x64xi8>
    %d = tile.dot %a, %b, %acc : tensor<64x128xi8>, tensor<128x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    scf.yield %d : tensor<64x64xi32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xi32>, !tile.view<64x64xi32>
}
