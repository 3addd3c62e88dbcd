// RUN: irc-opt %s -p lower-to-cpu --arch cpu --split-input-file --verify-diagnostics

// Tiles that do not divide the array.
tile.program @tiles(%x: !tile.view<50x30xf32>, %out: !tile.view<50x30xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [50, 30] steps [16, 16] {
    // expected-error @+1 {{'tile.load': dimension 0 of the view may be accessed out of range, found 0 to 63 of 50}}
    %a = tile.load %x[%i, %j] : !tile.view<50x30xf32> -> tensor<16x16xf32>
    tile.store %a, %out[%i, %j] {checked = array<i64: 0, 1>} : tensor<16x16xf32>, !tile.view<50x30xf32>
  }
}

// -----

tile.program @stores(%x: !tile.view<50x30xf32>, %out: !tile.view<50x30xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [50, 30] steps [10, 16] {
    %a = tile.load %x[%i, %j] {checked = array<i64: 1>} : !tile.view<50x30xf32> -> tensor<10x16xf32>
    // expected-error @+1 {{'tile.store': dimension 1 of the view may be accessed out of range, found 0 to 31 of 30}}
    tile.store %a, %out[%i, %j] : tensor<10x16xf32>, !tile.view<50x30xf32>
  }
}

// -----

// The last step of a loop.
tile.program @steps(%x: !tile.view<8x100xf32>, %out: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %zero = arith.constant 0 : index
    %end = arith.constant 100 : index
    %step = arith.constant 32 : index
    %none = arith.constant 0.0 : f32
    %start = tile.splat %none : f32 -> tensor<8x1xf32>
    %sum = scf.for %k = %zero to %end step %step iter_args(%acc = %start) -> (tensor<8x1xf32>) {
      // expected-error @+1 {{'tile.load': dimension 1 of the view may be accessed out of range, found 0 to 127 of 100}}
      %a = tile.load %x[%i, %k] : !tile.view<8x100xf32> -> tensor<8x32xf32>
      %b = tile.reduce %a {axes = array<i64: 1>} : tensor<8x32xf32> -> tensor<8x1xf32> {
      ^bb0(%p: f32, %q: f32):
        %r = arith.addf %p, %q : f32
        tile.yield %r : f32
      }
      scf.yield %b : tensor<8x1xf32>
    }
    tile.store %sum, %out[%i, %zero] {map = affine_map<(d0, d1) -> (d0)>} : tensor<8x1xf32>, !tile.view<8xf32>
  }
}

// -----

// Rows by numbers that are data: nothing bounds them.
tile.program @rows(%x: !tile.view<50x8xf32>, %at: !tile.view<20xi32>, %out: !tile.view<20x8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [20, 8] steps [20, 8] {
    %n = tile.load %at[%i, %j] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<20xi32> -> tensor<20x1xi32>
    // expected-error @+1 {{'tile.load': dimension 0 of the view may be accessed out of range, found -2147483648 to 2147483647 of 50}}
    %a = tile.load %x[%i, %j] symbols(%n : tensor<20x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>} : !tile.view<50x8xf32> -> tensor<20x8xf32>
    tile.store %a, %out[%i, %j] : tensor<20x8xf32>, !tile.view<20x8xf32>
  }
}

// -----

// An index that is not tested, and one that is bounded.
tile.program @index(%at: !tile.view<4xi32>, %x: !tile.view<64xf32>, %out: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [16] {
    %sixteen = arith.constant 16 : index
    %n = arith.floordivsi %i, %sixteen : index
    %first = tile.load_index %at[%n] {most = 48 : i64} : !tile.view<4xi32>
    // expected-error @+1 {{'tile.load_index': dimension 0 of the view may be accessed out of range, found 0 to 48 of 4}}
    %second = tile.load_index %at[%first] {most = 48 : i64} : !tile.view<4xi32>
    %a = tile.load %x[%second] : !tile.view<64xf32> -> tensor<16xf32>
    tile.store %a, %out[%i] : tensor<16xf32>, !tile.view<64xf32>
  }
}
