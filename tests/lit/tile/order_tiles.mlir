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

// -----

// Phases along a row of memory are stored between each other: the tiles of a product follow one another along them.
// Those of other rows, those whose elements are a sector apart, and tiles of no product do not.
// CHECK-LABEL: @phases
// CHECK:         tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] fastest [1] {
// CHECK:         tile.for_tiles (%b_1, %i_1, %j_1) extents [2, 512, 256] steps [1, 64, 64] {
// CHECK:         tile.for_tiles (%b_2, %i_2, %j_2) extents [2, 1024, 256] steps [1, 64, 64] {
tile.program @phases(%x: !tile.view<1024x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x4096xf32>, %z: !tile.view<256x32x512xf32>) {results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %v = tile.load %x[%i, %c0] : !tile.view<1024x64xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %y[%i, %j] symbols(%a, %b : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (d1, (d0 floordiv 64) * 256 + s0 * 128 + s1 + d0 mod 64 * 2)>} : tensor<64x64xf32>, !tile.view<256x4096xf32>
  }
  tile.for_tiles (%b, %i, %j) extents [2, 512, 256] steps [1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %v = tile.load %x[%i, %c0] : !tile.view<1024x64xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %z[%i, %j] symbols(%b : index) {map = affine_map<(d0, d1)[s0] -> (d1, (d0 floordiv 16), d0 mod 16 * 32 + s0 * 8)>} : tensor<64x64xf32>, !tile.view<256x32x512xf32>
  }
  tile.for_tiles (%b, %i, %j) extents [2, 1024, 256] steps [1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    tile.store %zero, %y[%i, %j] symbols(%b : index) {map = affine_map<(d0, d1)[s0] -> (d1, d0 * 2 + s0)>} : tensor<64x64xf32>, !tile.view<256x4096xf32>
  }
}

// -----

// Rows of 112 bytes end inside of a sector: those of the phases follow one another, too, also where they differ in their
// iterations. Rows of whole sectors, and rows of many, do not.
// CHECK-LABEL: @rows
// CHECK:         tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] fastest [0, 1] {
// CHECK:         tile.for_tiles (%a_1, %b_1, %i_1, %j_1) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] fastest [0, 1] reversed [0] {
// CHECK:         tile.for_tiles (%a_2, %b_2, %i_2, %j_2) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] fastest [1] {
// CHECK:         tile.for_tiles (%a_3, %b_3, %i_3, %j_3) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] fastest [1] {
tile.program @rows(%x: !tile.view<1024x256xbf16>, %w: !tile.view<256x256xbf16>, %y: !tile.view<256x16384xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %f0 = arith.constant 0.0 : f32
  tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %d = scf.for %k = %c0 to %c256 step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %v = tile.load %x[%i, %k] : !tile.view<1024x256xbf16> -> tensor<64x64xbf16>
      %u = tile.load %w[%k, %j] : !tile.view<256x256xbf16> -> tensor<64x64xbf16>
      %t = tile.dot %v, %u, %s : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %t : tensor<64x64xf32>
    }
    tile.store %d, %y[%i, %j] symbols(%a, %b : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (d1, (d0 floordiv 14) * 56 + s0 * 28 + s1 + d0 mod 14 * 2)>} : tensor<64x64xf32>, !tile.view<256x16384xf32>
  }
  tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %taps = arith.addi %a, %c1 : index
    %end = arith.muli %taps, %c64 : index
    %d = scf.for %k = %c0 to %end step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %v = tile.load %x[%i, %k] : !tile.view<1024x256xbf16> -> tensor<64x64xbf16>
      %u = tile.load %w[%k, %j] : !tile.view<256x256xbf16> -> tensor<64x64xbf16>
      %t = tile.dot %v, %u, %s : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %t : tensor<64x64xf32>
    }
    tile.store %d, %y[%i, %j] symbols(%a, %b : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (d1, (d0 floordiv 14) * 56 + s0 * 28 + s1 + d0 mod 14 * 2)>} : tensor<64x64xf32>, !tile.view<256x16384xf32>
  }
  tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %v = tile.load %x[%i, %c0] : !tile.view<1024x256xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<256x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %y[%i, %j] symbols(%a, %b : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (d1, (d0 floordiv 12) * 48 + s0 * 24 + s1 + d0 mod 12 * 2)>} : tensor<64x64xf32>, !tile.view<256x16384xf32>
  }
  tile.for_tiles (%a, %b, %i, %j) extents [2, 2, 1024, 256] steps [1, 1, 64, 64] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %v = tile.load %x[%i, %c0] : !tile.view<1024x256xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<256x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %y[%i, %j] symbols(%a, %b : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (d1, (d0 floordiv 33) * 132 + s0 * 66 + s1 + d0 mod 33 * 2)>} : tensor<64x64xf32>, !tile.view<256x16384xf32>
  }
}

// -----

// Groups of 12 outputs, which are half of a sector and more, follow one another; groups of 16 are whole ones.
// CHECK-LABEL: @groups
// CHECK:         tile.for_tiles (%g, %i, %j) extents [8, 1024, 12] steps [1, 64, 16] fastest [0] {
// CHECK:         tile.for_tiles (%g_1, %i_1, %j_1) extents [8, 1024, 16] steps [1, 64, 16] {
tile.program @groups(%x: !tile.view<1024x8x64xbf16>, %w: !tile.view<64x16xbf16>, %y: !tile.view<1024x8x12xbf16>, %z: !tile.view<1024x8x16xbf16>) {results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.for_tiles (%g, %i, %j) extents [8, 1024, 12] steps [1, 64, 16] {
    %zero = tile.splat %f0 : f32 -> tensor<64x16xf32>
    %v = tile.load %x[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : !tile.view<1024x8x64xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    %r = tile.map %d : tensor<64x16xf32> -> tensor<64x16xbf16> {
    ^bb0(%a: f32):
      %b = arith.truncf %a : f32 to bf16
      tile.yield %b : bf16
    }
    tile.store %r, %y[%i, %j] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>, checked = array<i64: 2>} : tensor<64x16xbf16>, !tile.view<1024x8x12xbf16>
  }
  tile.for_tiles (%g, %i, %j) extents [8, 1024, 16] steps [1, 64, 16] {
    %zero = tile.splat %f0 : f32 -> tensor<64x16xf32>
    %v = tile.load %x[%i, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : !tile.view<1024x8x64xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    %r = tile.map %d : tensor<64x16xf32> -> tensor<64x16xbf16> {
    ^bb0(%a: f32):
      %b = arith.truncf %a : f32 to bf16
      tile.yield %b : bf16
    }
    tile.store %r, %z[%i, %j] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (d0, s0, d1)>} : tensor<64x16xbf16>, !tile.view<1024x8x16xbf16>
  }
}

// -----

// A program that says what is the fastest keeps it.
// CHECK-LABEL: @chosen_fastest
// CHECK:         tile.for_tiles (%b, %i, %j) extents [2, 1024, 256] steps [1, 64, 64] fastest [] {
tile.program @chosen_fastest(%x: !tile.view<1024x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<256x2048xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  tile.for_tiles (%b, %i, %j) extents [2, 1024, 256] steps [1, 64, 64] fastest [] {
    %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %v = tile.load %x[%i, %c0] : !tile.view<1024x64xbf16> -> tensor<64x64xbf16>
    %u = tile.load %w[%c0, %j] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %v, %u, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %d, %y[%i, %j] symbols(%b : index) {map = affine_map<(d0, d1)[s0] -> (d1, d0 * 2 + s0)>} : tensor<64x64xf32>, !tile.view<256x2048xf32>
  }
}
