// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots | filecheck %s
// RUN: irc-opt %s -p merge-dots | filecheck %s --check-prefix=ALONE

// Two products of one left operand become one over concatenated columns, with slices after the loop.
// CHECK:       [[START:%[0-9]+]] = tile.splat %zero : f32 -> tensor<128x256xf32>
// CHECK:       [[ACC:%[0-9]+]] = scf.for %k = %c0 to %cK step %ck iter_args([[CARRIED:%[0-9]+]] = [[START]]) -> (tensor<128x256xf32>)
// CHECK:         %a = tile.load %x[%m, %k]
// CHECK:         [[B:%[0-9]+]] = tile.concat %p, %q {axis = 1 : i64}
// CHECK-NEXT:    [[DOT:%[0-9]+]] = tile.dot %a, [[B]], [[CARRIED]]
// CHECK-NOT:     tile.dot
// CHECK:         scf.yield [[DOT]] : tensor<128x256xf32>
// CHECK:       tile.slice [[ACC]] {at = array<i64: 0, 0>}
// CHECK:       tile.slice [[ACC]] {at = array<i64: 0, 128>}

// Left alone: the left operands differ.
// ALONE-LABEL: @two
// ALONE:         tile.dot
// ALONE:         tile.dot
// ALONE-NOT:     tile.concat
tile.program @two(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %t = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p, %q = scf.for %k = %c0 to %c64 step %c16 iter_args(%c = %s, %d = %t) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %a2 = tile.load %x[%c16, %k] {checked = array<i64: 0>} : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<16x64xf32>
    %e = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %f = tile.dot %a2, %b, %d : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e, %f : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.store %q, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
