// RUN: irc-opt %s --split-input-file -p assign-layouts,plan-shared,lower-schedule,lower-to-cuda | filecheck %s

// Four elements of a thread share a branch to the range reduction of large angles; what follows it is for all of them again.
tile.program @cosines(%x: !tile.view<8192xbf16>, %y: !tile.view<8192xbf16>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8192] steps [2048] {
    %a = tile.load %x[%i] : !tile.view<8192xbf16> -> tensor<2048xbf16>
    %b = tile.map %a : tensor<2048xbf16> -> tensor<2048xbf16> {
    ^bb0(%p: bf16):
      %q = arith.extf %p : bf16 to f32
      %r = math.cos %q fastmath<afn> : f32
      %s = arith.addf %r, %r : f32
      %t = arith.truncf %s : f32 to bf16
      tile.yield %t : bf16
    }
    tile.store %b, %y[%i] : tensor<2048xbf16>, !tile.view<8192xbf16>
  }
}
// CHECK-LABEL: cuda.kernel @cosines
// CHECK:         scf.for
// CHECK-COUNT-4:   arith.extf
// CHECK:           arith.constant 0x4B800000 : f32
// CHECK-COUNT-4:   math.cos %{{.*}} fastmath<afn> {near} : f32
// CHECK:           scf.if
// CHECK-COUNT-4:     math.cos %{{.*}} fastmath<afn> : f32
// CHECK:           }
// CHECK-NOT:       scf.if
// CHECK-COUNT-4:   arith.addf

// -----

// An accurate function has a branch of its own, inside of CUDA's.
tile.program @accurate(%x: !tile.view<8192xf32>, %y: !tile.view<8192xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8192] steps [2048] {
    %a = tile.load %x[%i] : !tile.view<8192xf32> -> tensor<2048xf32>
    %b = tile.map %a : tensor<2048xf32> -> tensor<2048xf32> {
    ^bb0(%p: f32):
      %q = math.cos %p : f32
      tile.yield %q : f32
    }
    tile.store %b, %y[%i] : tensor<2048xf32>, !tile.view<8192xf32>
  }
}
// CHECK-LABEL: cuda.kernel @accurate
// CHECK-NOT:     scf.if
// CHECK:         math.cos %{{.*}} : f32
