// RUN: irc-opt %s -p order-tiles --split-input-file | filecheck %s

// The loop is longer the further on the rows are, whatever the batch.
// CHECK-LABEL: @causal
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] reversed [1] {
tile.program @causal(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %c0 to %high step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// It is shorter: the order stays.
// CHECK-LABEL: @from
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
tile.program @from(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %low to %c256 step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// Both bounds grow: the order stays.
// CHECK-LABEL: @window
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
tile.program @window(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %low to %high step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// All tiles have as many iterations: the order stays.
// CHECK-LABEL: @constant
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
tile.program @constant(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %c0 to %c256 step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// A program that says what is reversed keeps it.
// CHECK-LABEL: @chosen
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] reversed [] {
tile.program @chosen(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] reversed [] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %c0 to %high step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// What a loop inside of one with these bounds adds is not known: the order stays.
// CHECK-LABEL: @nested
// CHECK:         tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
tile.program @nested(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %i) extents [4, 256] steps [1, 64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %f0 = arith.constant 0.0 : f32
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %behind = arith.addi %i, %c64 : index
    %high = arith.minsi %behind, %c256 : index
    %before = arith.subi %i, %c64 : index
    %block = arith.floordivsi %before, %c64 : index
    %start = arith.muli %block, %c64 : index
    %low = arith.maxsi %start, %c0 : index
    %sum = scf.for %j = %c0 to %high step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      scf.for %k = %c0 to %j step %c64 {
      }
      %a = tile.load %x[%i, %j] : !tile.view<256x256xf32> -> tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    }
    tile.store %sum, %y[%i, %c0] : tensor<64x64xf32>, !tile.view<256x64xf32>
  }
}

// -----

// One loop goes on where the other ends: together they grow.
// CHECK-LABEL: @sequence
// CHECK:         tile.for_tiles (%i) extents [256] steps [64] reversed [0] {
tile.program @sequence(%x: !tile.view<256x256xf32>, %y: !tile.view<256x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [256] steps [64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %high = arith.addi %i, %c64 : index
    scf.for %j = %c0 to %i step %c64 {
    }
    scf.for %j = %i to %high step %c64 {
    }
  }
}
