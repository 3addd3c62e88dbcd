// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands | filecheck %s
// RUN: irc-opt %s -p place-operands | filecheck %s --check-prefix=WRITE

// Loads that TMA can make become copies; the parts of a concatenation fill parts of one buffer.
// CHECK:       tile.alloc : !tile.buffer<128x64xbf16>
// CHECK:       [[B:%[0-9]+]] = tile.alloc : !tile.buffer<64x256xbf16>
// CHECK:       scf.for
// CHECK-NOT:     tile.load
// CHECK:         tile.copy %x[%m, %k] -> %a {via = "tma"}
// CHECK:         [[LEFT:%[0-9]+]] = tile.subview [[B]] {at = array<i64: 0, 0>}
// CHECK:         tile.copy %w1[%k, %n] -> [[LEFT]] {via = "tma"}
// CHECK:         [[RIGHT:%[0-9]+]] = tile.subview [[B]] {at = array<i64: 0, 128>}
// CHECK:         tile.copy %w2[%k, %n] -> [[RIGHT]] {via = "tma"}
// CHECK:         tile.dot %a, [[B]]

// Without wgmma, operands go through registers; one that two dots share is written once.
// WRITE-LABEL: @two
// WRITE:         [[A:%[a-z0-9_]+]] = tile.load %x
// WRITE:         tile.write [[A]]
// WRITE:         tile.write
// WRITE:         tile.dot {{.*}} : !tile.buffer<64x16xf32>, !tile.buffer<16x64xf32>
// WRITE:         tile.write
// WRITE-NOT:     tile.write
// WRITE:         tile.dot
tile.program @two(%x: !tile.view<64x64xf32>, %w: !tile.view<64x128xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c16 iter_args(%c = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x128xf32> -> tensor<16x64xf32>
    %b2 = tile.load %w[%k, %c64] : !tile.view<64x128xf32> -> tensor<16x64xf32>
    %e = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %f = tile.dot %a, %b2, %e : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %f : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
