// RUN: irc-opt %s -p lower-to-cpu --arch cpu | filecheck %s

// What is known to be inside needs no test: steps that divide, numbers that are bounded, remainders, loops without a body.

// CHECK: cpu.kernel @rows
tile.program @rows(%x: !tile.view<50x8xf32>, %at: !tile.view<20xi32>, %out: !tile.view<20x8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [20, 8] steps [5, 8] {
    %n = tile.load %at[%i, %j] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<20xi32> -> tensor<5x1xi32>
    %m = tile.map %n : tensor<5x1xi32> -> tensor<5x1xi32> {
    ^bb0(%p: i32):
      %zero = arith.constant 0 : i32
      %last = arith.constant 49 : i32
      %q = arith.maxsi %p, %zero : i32
      %r = arith.minsi %q, %last : i32
      tile.yield %r : i32
    }
    %a = tile.load %x[%i, %j] symbols(%m : tensor<5x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>} : !tile.view<50x8xf32> -> tensor<5x8xf32>
    tile.store %a, %out[%i, %j] : tensor<5x8xf32>, !tile.view<20x8xf32>
  }
}

// CHECK: cpu.kernel @parts
tile.program @parts(%x: !tile.view<8x96xf32>, %out: !tile.view<8x96xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %part) extents [8, 3] steps [8, 1] {
    %length = arith.constant 32 : index
    %step = arith.constant 16 : index
    %first = arith.muli %part, %length : index
    %end = arith.addi %first, %length : index
    scf.for %k = %first to %end step %step {
      %a = tile.load %x[%i, %k] {map = affine_map<(d0, d1) -> (d0, ((d1 floordiv 2) * 2) + (d1 mod 2))>, checked = array<i64: 1>} : !tile.view<8x96xf32> -> tensor<8x16xf32>
      tile.store %a, %out[%i, %k] : tensor<8x16xf32>, !tile.view<8x96xf32>
    }
  }
}

// CHECK: cpu.kernel @none
tile.program @none(%x: !tile.view<4xf32>, %out: !tile.view<4xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [4] steps [4] {
    %begin = arith.constant 4 : index
    %end = arith.constant 4 : index
    %step = arith.constant 4 : index
    scf.for %k = %begin to %end step %step {
      %a = tile.load %x[%k] : !tile.view<4xf32> -> tensor<4xf32>
      tile.store %a, %out[%k] : tensor<4xf32>, !tile.view<4xf32>
    }
    %a = tile.load %x[%i] {map = affine_map<(d0) -> (d0 mod 4)>} : !tile.view<4xf32> -> tensor<4xf32>
    tile.store %a, %out[%i] : tensor<4xf32>, !tile.view<4xf32>
  }
}
