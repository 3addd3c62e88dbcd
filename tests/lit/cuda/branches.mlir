// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda --split-input-file --verify-diagnostics | filecheck %s

#f = #tile.fragment<(32,1):(1,32)>

// Both sides of a branch write the registers of its results: a tile's, and a scalar's.
// CHECK-LABEL: @branch
// CHECK:         [[SUM:%sum]] = cuda.registers : !cuda.registers<1 x f32>
// CHECK-NEXT:    [[AT:%[0-9]+]] = cuda.registers : !cuda.registers<1 x index>
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
tile.program @branch(%v: !tile.view<128xf32>, %y: !tile.view<128xf32>) {results = 1 : i64, threads = 32 : i64} {
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<32xf32, #f>
    %late = arith.cmpi sge, %i, %c2 : index
    %sum, %at = scf.if %late -> (tensor<32xf32, #f>, index) {
      %x = tile.load %v[%i] : !tile.view<128xf32> -> tensor<32xf32, #f>
      scf.yield %x, %c2 : tensor<32xf32, #f>, index
    } else {
      scf.yield %zero, %i : tensor<32xf32, #f>, index
    }
    tile.store %sum, %y[%at] : tensor<32xf32, #f>, !tile.view<128xf32>
  }
}

// -----

#s = #tile.shared<(32):(1)>

tile.program @slot(%y: !tile.view<128xf32>) {results = 1 : i64, threads = 32 : i64} {
  tile.for_tiles (%i) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %late = arith.cmpi sgt, %i, %c0 : index
    // expected-error @+1 {{expected tiles and scalars as results of a branch, found !tile.slot<drain>}}
    %slot = scf.if %late -> (!tile.slot<drain>) {
      %none = tile.no_slot
      scf.yield %none : !tile.slot<drain>
    } else {
      %none = tile.no_slot
      scf.yield %none : !tile.slot<drain>
    }
  }
}
