// RUN: irc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected stores that add to the program's sums, and nothing else, found tile.store of another view}}
tile.program @not_a_sum(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %t = tile.load %x[%i] : !tile.view<64xf32> -> tensor<64xf32>
    tile.store %t, %y[%i] {add} : tensor<64xf32>, !tile.view<64xf32>
  }
}

// -----

// expected-error @+1 {{expected stores that add to the program's sums, and nothing else, found tile.store of a sum}}
tile.program @overwritten(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64, sums = array<i64: 1>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %t = tile.load %x[%i] : !tile.view<64xf32> -> tensor<64xf32>
    tile.store %t, %y[%i] : tensor<64xf32>, !tile.view<64xf32>
  }
}

// -----

// expected-error @+1 {{expected results in sums, found [0]}}
tile.program @operand(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64, sums = array<i64: 0>} {
}

// -----

tile.program @narrow(%x: !tile.view<64xbf16>, %y: !tile.view<64xbf16>) {results = 1 : i64, sums = array<i64: 1>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %t = tile.load %x[%i] : !tile.view<64xbf16> -> tensor<64xbf16>
    // expected-error @+1 {{expected elements of f32 to add to, found bf16}}
    tile.store %t, %y[%i] {add} : tensor<64xbf16>, !tile.view<64xbf16>
  }
}

// -----

tile.program @alone(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>, %t: !tile.view<8xi32>) {results = 2 : i64, sums = array<i64: 1, 2>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %a = tile.load %x[%i] : !tile.view<64xf32> -> tensor<64xf32>
    // expected-error @+1 {{expected a part together with the view of `semaphores`, the number of_parts, and add}}
    tile.store %a, %y[%i] part %i in %t : !tile.view<8xi32> {add} : tensor<64xf32>, !tile.view<64xf32>
  }
}

// -----

tile.program @of_words(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>, %t: !tile.view<8x8xi32>) {results = 2 : i64, sums = array<i64: 1, 2>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %a = tile.load %x[%i] : !tile.view<64xf32> -> tensor<64xf32>
    // expected-error @+1 {{expected semaphores of i32 of rank 1, found !tile.view<8x8xi32>}}
    tile.store %a, %y[%i] part %i in %t : !tile.view<8x8xi32> {add, of_parts = 2 : i64} : tensor<64xf32>, !tile.view<64xf32>
  }
}

// -----

// expected-error @+1 {{expected stores that add to the program's sums, and nothing else, found tile.store of another view}}
tile.program @no_sum(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>, %t: !tile.view<8xi32>) {results = 2 : i64, sums = array<i64: 1>} {
  tile.for_tiles (%i) extents [64] steps [64] {
    %a = tile.load %x[%i] : !tile.view<64xf32> -> tensor<64xf32>
    tile.store %a, %y[%i] part %i in %t : !tile.view<8xi32> {add, of_parts = 2 : i64} : tensor<64xf32>, !tile.view<64xf32>
  }
}
