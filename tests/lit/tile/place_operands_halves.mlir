// RUN: irc-opt %s -p place-operands | filecheck %s

// Left operands of one load read its bytes from one buffer: the upper and the lower halves of bytes. A column that
// changes from step to step stays in the loop: TMA brings that which is contiguous, threads load the other one.
// CHECK-LABEL: @halves
// CHECK-NOT:     tile.load
// CHECK:         scf.for
// CHECK:           tile.copy %w[%c0, %c0] symbols(%g : index) -> [[W:%[a-z0-9_]+]]
// CHECK-NEXT:      [[W1:%[a-z0-9_]+]] = tile.read [[W]]
// CHECK:           tile.copy %s[%c0, %c0] symbols(%g : index) -> [[S:%[a-z0-9_]+]]
// CHECK-NEXT:      [[S1:%[a-z0-9_]+]] = tile.read [[S]]
// CHECK-NEXT:      [[A:%[a-z0-9_]+]] = tile.map [[W1]], [[S1]]
// CHECK:           tile.dot [[A]], {{.*}} : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>
// CHECK-NOT:       tile.copy %w
// CHECK:           [[V1:%[a-z0-9_]+]] = tile.read [[W]]
// CHECK:           [[T1:%[a-z0-9_]+]] = tile.load %t[%c0, %c0] symbols(%g : index)
// CHECK-NEXT:      [[B:%[a-z0-9_]+]] = tile.map [[V1]], [[T1]]
// CHECK:           tile.dot [[B]], {{.*}} : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>

// What something else needs too is computed once, and written.
// CHECK-LABEL: @stored_too
// CHECK:         [[W:%[a-z0-9_]+]] = tile.load %w
// CHECK:         [[A:%[a-z0-9_]+]] = tile.map [[W]]
// CHECK:         tile.write [[A]]
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>
// CHECK-NOT:     tile.load %w
// CHECK:         [[B:%[a-z0-9_]+]] = tile.map [[W]]
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x32xbf16>
// CHECK:         tile.store [[W]]

tile.program @halves(%w: !tile.view<64x4x32xi8>, %s: !tile.view<4x64xbf16>, %t: !tile.view<64x4xbf16>, %x: !tile.view<4x32x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %g = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %w1 = tile.load %w[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : !tile.view<64x4x32xi8> -> tensor<64x32xi8>
    %s1 = tile.load %s[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<4x64xbf16> -> tensor<64x1xbf16>
    %t1 = tile.load %t[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0)>} : !tile.view<64x4xbf16> -> tensor<64x1xbf16>
    %a = tile.map %w1, %s1 : tensor<64x32xi8>, tensor<64x1xbf16> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8, %scale: bf16):
      %four = arith.constant 4 : i8
      %left = arith.shli %byte, %four : i8
      %lower = arith.shrsi %left, %four : i8
      %float = arith.sitofp %lower : i8 to bf16
      %scaled = arith.mulf %float, %scale : bf16
      tile.yield %scaled : bf16
    }
    %b = tile.map %w1, %t1 : tensor<64x32xi8>, tensor<64x1xbf16> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8, %scale: bf16):
      %four = arith.constant 4 : i8
      %upper = arith.shrsi %byte, %four : i8
      %float = arith.sitofp %upper : i8 to bf16
      %scaled = arith.mulf %float, %scale : bf16
      tile.yield %scaled : bf16
    }
    %x1 = tile.load %x[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<4x32x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %x1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = tile.dot %b, %x1, %d : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @stored_too(%w: !tile.view<64x4x32xi8>, %x: !tile.view<4x32x64xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x4x32xi8>) {results = 2 : i64, config = #kernel.config<tile = {m = 64, n = 64}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %g = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %w1 = tile.load %w[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : !tile.view<64x4x32xi8> -> tensor<64x32xi8>
    %a = tile.map %w1 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %float = arith.sitofp %byte : i8 to bf16
      tile.yield %float : bf16
    }
    %x1 = tile.load %x[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<4x32x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %x1, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %b = tile.map %w1 : tensor<64x32xi8> -> tensor<64x32xbf16> {
    ^bb0(%byte: i8):
      %float = arith.sitofp %byte : i8 to bf16
      %negative = arith.negf %float : bf16
      tile.yield %negative : bf16
    }
    %e = tile.dot %b, %x1, %d : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %w1, %z[%c0, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : tensor<64x32xi8>, !tile.view<64x4x32xi8>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
