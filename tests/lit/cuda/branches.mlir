// RUN: irc-opt %s -p lower-to-cuda --split-input-file --verify-diagnostics | filecheck %s

// Both sides of a branch write the registers of its results: a tile's, and a scalar's.
// CHECK-LABEL: @branch
// CHECK:         [[SUM:%sum]] = cuda.registers : !cuda.registers<1 x f32>
// CHECK-NEXT:    [[AT:%[a-z0-9_]+]] = cuda.registers : !cuda.registers<1 x index>
// CHECK-NEXT:    scf.if
// CHECK:           cuda.load %v
// CHECK:           cuda.set [[SUM]]
// CHECK:           cuda.set [[AT]]
// CHECK:         } else {
// CHECK:           cuda.set [[SUM]]
// CHECK:           cuda.set [[AT]]
// CHECK:         }
// CHECK:         cuda.get [[AT]]
// CHECK:         cuda.store [[SUM]]

#frag = #tile.fragment<((32),(1)):((1),(32))>
tile.program @branch(%v: !tile.view<128xf32>, %y: !tile.view<128xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 4 : i64} {
  %block = cuda.block_id
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %f0 = arith.constant 0.000000e+00 : f32
  %zero = tile.splat %f0 : f32 -> tensor<32xf32, #frag>
  %late = arith.cmpi sge, %block, %c2 : index
  %sum, %at = scf.if %late -> (tensor<32xf32, #frag>, index) {
    %x = tile.load %v[%block] : !tile.view<128xf32> -> tensor<32xf32, #frag>
    scf.yield %x, %c2 : tensor<32xf32, #frag>, index
  } else {
    scf.yield %zero, %block : tensor<32xf32, #frag>, index
  }
  tile.store %sum, %y[%at] : tensor<32xf32, #frag>, !tile.view<128xf32>
}

// -----

tile.program @slot(%y: !tile.view<128xf32>) {results = 1 : i64, threads = 32 : i64, shared = 0 : i64, grid = 4 : i64} {
  %block = cuda.block_id
  %c0 = arith.constant 0 : index
  %late = arith.cmpi sgt, %block, %c0 : index
  // expected-error @+1 {{expected tiles and scalars as results of a branch, found !tile.slot<drain>}}
  %slot = scf.if %late -> (!tile.slot<drain>) {
    %none = tile.no_slot
    scf.yield %none : !tile.slot<drain>
  } else {
    %none_1 = tile.no_slot
    scf.yield %none_1 : !tile.slot<drain>
  }
}
