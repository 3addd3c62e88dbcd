// RUN: irc-opt %s -p merge-reductions | filecheck %s

// Two reductions over the same axis become one, before which what the second one needs is computed.
// CHECK-LABEL: tile.program @columns
// CHECK:       [[U:%[0-9a-z]+]] = tile.map
// CHECK:       [[V:%[0-9a-z]+]] = tile.map
// CHECK:       [[S:%[0-9a-z]+]], [[T:%[0-9a-z]+]] = tile.reduce [[U]], [[V]] {axes = array<i64: 0>} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<1x32xf32>, tensor<1x32xf32> {
// CHECK-NEXT:  ^bb0([[A:%[0-9]+]]: f32, [[B:%[0-9]+]]: f32, [[C:%[0-9]+]]: f32, [[D:%[0-9]+]]: f32):
// CHECK-NEXT:    [[SUM:%[0-9]+]] = arith.addf [[A]], [[C]] : f32
// CHECK-NEXT:    [[MOST:%[0-9]+]] = arith.maximumf [[B]], [[D]] : f32
// CHECK-NEXT:    tile.yield [[SUM]], [[MOST]] : f32, f32
// CHECK:       tile.store [[S]], %y
// CHECK:       tile.store [[T]], %z
tile.program @columns(%a: !tile.view<64x16xbf16>, %b: !tile.view<16x32xbf16>, %y: !tile.view<1x32xf32>, %z: !tile.view<1x32xf32>) {results = 2 : i64} {
  tile.for_tiles (%m, %n) extents [64, 32] steps [64, 32] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %0 = tile.splat %zero : f32 -> tensor<64x32xf32>
    %l = tile.load %a[%m, %c0] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
    %r = tile.load %b[%c0, %n] : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
    %d = tile.dot %l, %r, %0 : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
    %u = tile.map %d : tensor<64x32xf32> -> tensor<64x32xf32> {
    ^bb0(%1: f32):
      %2 = arith.mulf %1, %1 : f32
      tile.yield %2 : f32
    }
    %s = tile.reduce %u {axes = array<i64: 0>} : tensor<64x32xf32> -> tensor<1x32xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.addf %1, %2 : f32
      tile.yield %3 : f32
    }
    tile.store %s, %y[%c0, %n] : tensor<1x32xf32>, !tile.view<1x32xf32>
    %v = tile.map %d : tensor<64x32xf32> -> tensor<64x32xf32> {
    ^bb0(%1: f32):
      %2 = arith.negf %1 : f32
      tile.yield %2 : f32
    }
    %t = tile.reduce %v {axes = array<i64: 0>} : tensor<64x32xf32> -> tensor<1x32xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.maximumf %1, %2 : f32
      tile.yield %3 : f32
    }
    tile.store %t, %z[%c0, %n] : tensor<1x32xf32>, !tile.view<1x32xf32>
  }
}

// Left alone: other axes, a result that is read again, and one that waits for what was stored in between.
// CHECK-LABEL: tile.program @apart
// CHECK:       tile.reduce %{{[0-9a-z]+}} {axes = array<i64: 0>}
// CHECK:       tile.reduce %{{[0-9a-z]+}} {axes = array<i64: 1>}
// CHECK:       tile.map
// CHECK:       tile.reduce %{{[0-9a-z]+}} {axes = array<i64: 0>}
tile.program @apart(%a: !tile.view<64x16xbf16>, %b: !tile.view<16x32xbf16>, %x: !tile.view<64x32xf32>, %y: !tile.view<1x32xf32>, %z: !tile.view<1x32xf32>) {results = 2 : i64} {
  tile.for_tiles (%m, %n) extents [64, 32] steps [64, 32] {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %0 = tile.splat %zero : f32 -> tensor<64x32xf32>
    %l = tile.load %a[%m, %c0] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
    %r = tile.load %b[%c0, %n] : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
    %d = tile.dot %l, %r, %0 : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
    %s = tile.reduce %d {axes = array<i64: 0>} : tensor<64x32xf32> -> tensor<1x32xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.addf %1, %2 : f32
      tile.yield %3 : f32
    }
    tile.store %s, %y[%c0, %n] : tensor<1x32xf32>, !tile.view<1x32xf32>
    %t = tile.reduce %d {axes = array<i64: 1>} : tensor<64x32xf32> -> tensor<64x1xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.maximumf %1, %2 : f32
      tile.yield %3 : f32
    }
    %e = tile.load %x[%m, %n] : !tile.view<64x32xf32> -> tensor<64x32xf32>
    %v = tile.map %e, %t : tensor<64x32xf32>, tensor<64x1xf32> -> tensor<64x32xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.subf %1, %2 : f32
      tile.yield %3 : f32
    }
    %w = tile.reduce %v {axes = array<i64: 0>} : tensor<64x32xf32> -> tensor<1x32xf32> {
    ^bb0(%1: f32, %2: f32):
      %3 = arith.maximumf %1, %2 : f32
      tile.yield %3 : f32
    }
    tile.store %w, %z[%c0, %n] : tensor<1x32xf32>, !tile.view<1x32xf32>
  }
}
