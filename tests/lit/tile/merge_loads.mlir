// RUN: irc-opt %s -p merge-loads --split-input-file | filecheck %s

// Loads of one array at neighboring places are one, with what the checked ones read outside.
// CHECK-LABEL: @pool
// CHECK:         %{{.*}}, %{{.*}} = tile.load_window %x[%i, %j] other %{{.*}} : f32 {map = affine_map<(d0, d1) -> ((d0 * 2), d1)>, checked = array<i64: 1>, taps = array<i64: 0, -1, 1, 0>} : !tile.view<64x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
// CHECK-NOT:     tile.load %
tile.program @pool(%x: !tile.view<64x64xf32>, %y: !tile.view<32x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [32, 64] steps [8, 64] {
    %least = arith.constant -1.0 : f32
    %a = tile.load %x[%i, %j] other %least : f32 {map = affine_map<(d0, d1) -> (d0 * 2, d1 - 1)>, checked = array<i64: 1>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %b = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0 * 2 + 1, d1)>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %c = tile.map %a, %b : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32> {
    ^bb0(%p: f32, %q: f32):
      %m = arith.maximumf %p, %q : f32
      tile.yield %m : f32
    }
    tile.store %c, %y[%i, %j] : tensor<8x64xf32>, !tile.view<32x64xf32>
  }
}

// -----

// Loads that read other values outside, that move otherwise, at coordinates that take divisions, and alone, stay.
// CHECK-LABEL: @unlike
// CHECK-NOT:     tile.load_window
tile.program @unlike(%x: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [8, 64] {
    %least = arith.constant -1.0 : f32
    %a = tile.load %x[%i, %j] other %least : f32 {map = affine_map<(d0, d1) -> (d0, d1 - 1)>, checked = array<i64: 1>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %b = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 + 1)>, checked = array<i64: 1>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %c = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %d = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0 floordiv 2, d1)>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %e = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0 floordiv 2 + 1, d1)>} : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %f = tile.load %z[%i, %j] : !tile.view<64x64xf32> -> tensor<8x64xf32>
    %g = tile.map %a, %b, %c, %d, %e, %f : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32> {
    ^bb0(%p: f32, %q: f32, %r: f32, %s: f32, %t: f32, %u: f32):
      %m = arith.addf %p, %q : f32
      tile.yield %m : f32
    }
    tile.store %g, %y[%i, %j] : tensor<8x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// A program that reduces is left alone.
// CHECK-LABEL: @reduced
// CHECK-NOT:     tile.load_window
tile.program @reduced(%x: !tile.view<64x66xf32>, %y: !tile.view<64x1xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    %zero = arith.constant 0 : index
    %a = tile.load %x[%i, %zero] : !tile.view<64x66xf32> -> tensor<8x64xf32>
    %b = tile.load %x[%i, %zero] {map = affine_map<(d0, d1) -> (d0, d1 + 2)>} : !tile.view<64x66xf32> -> tensor<8x64xf32>
    %c = tile.map %a, %b : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32> {
    ^bb0(%p: f32, %q: f32):
      %m = arith.addf %p, %q : f32
      tile.yield %m : f32
    }
    %s = tile.reduce %c {axes = array<i64: 1>} : tensor<8x64xf32> -> tensor<8x1xf32> {
    ^bb0(%p: f32, %q: f32):
      %m = arith.addf %p, %q : f32
      tile.yield %m : f32
    }
    tile.store %s, %y[%i, %zero] : tensor<8x1xf32>, !tile.view<64x1xf32>
  }
}

// -----

// Loads that are far apart are two windows, whose elements between nobody reads.
// CHECK-LABEL: @far
// CHECK-COUNT-2: tile.load_window
// CHECK-NOT:     tile.load
tile.program @far(%x: !tile.view<64x256xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%i, %j) extents [64, 64] steps [8, 64] {
    %a = tile.load %x[%i, %j] : !tile.view<64x256xf32> -> tensor<8x64xf32>
    %b = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 + 128)>} : !tile.view<64x256xf32> -> tensor<8x64xf32>
    %c = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 + 1)>} : !tile.view<64x256xf32> -> tensor<8x64xf32>
    %d = tile.load %x[%i, %j] {map = affine_map<(d0, d1) -> (d0, d1 + 129)>} : !tile.view<64x256xf32> -> tensor<8x64xf32>
    %e = tile.map %a, %b, %c, %d : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32> {
    ^bb0(%p: f32, %q: f32, %r: f32, %s: f32):
      %t = arith.addf %p, %q : f32
      %u = arith.addf %r, %s : f32
      %v = arith.mulf %t, %u : f32
      tile.yield %v : f32
    }
    tile.store %e, %y[%i, %j] : tensor<8x64xf32>, !tile.view<64x64xf32>
  }
}

// -----

// So are those of a step of a loop.
// CHECK-LABEL: @steps
// CHECK:         scf.for
// CHECK:           tile.load_window %x{{.*}} taps = array<i64: 0, 0, 0, 1>
// CHECK-NOT:       tile.load %x
tile.program @steps(%x: !tile.view<64x66xf32>, %y: !tile.view<64x1xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [64] steps [8] {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %end = arith.constant 65 : index
    %none = arith.constant 0.0 : f32
    %start = tile.splat %none : f32 -> tensor<8x1xf32>
    %sum = scf.for %k = %zero to %end step %one iter_args(%s = %start) -> (tensor<8x1xf32>) {
      %a = tile.load %x[%i, %k] : !tile.view<64x66xf32> -> tensor<8x1xf32>
      %b = tile.load %x[%i, %k] {map = affine_map<(d0, d1) -> (d0, d1 + 1)>} : !tile.view<64x66xf32> -> tensor<8x1xf32>
      %c = tile.map %s, %a, %b : tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x1xf32> {
      ^bb0(%o: f32, %p: f32, %q: f32):
        %m = arith.mulf %p, %q : f32
        %n = arith.addf %o, %m : f32
        tile.yield %n : f32
      }
      scf.yield %c : tensor<8x1xf32>
    }
    tile.store %sum, %y[%i, %zero] : tensor<8x1xf32>, !tile.view<64x1xf32>
  }
}
