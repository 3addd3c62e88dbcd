// RUN: irc-opt %s -p lower-to-cuda --split-input-file | filecheck %s

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

// Four elements of a thread share a branch to the range reduction of large angles; what follows it is for all of them again.
#frag = #tile.fragment<((256),(8)):((8),(1))>
tile.program @cosines(%x: !tile.view<8192xbf16>, %y: !tile.view<8192xbf16>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 4 : i64} {
  %block = cuda.block_id
  %c11 = arith.constant 11 : index
  %i = arith.shli %block, %c11 : index
  %a = tile.load %x[%i] : !tile.view<8192xbf16> -> tensor<2048xbf16, #frag>
  %b = tile.map %a : tensor<2048xbf16, #frag> -> tensor<2048xbf16, #frag> {
  ^bb0(%p: bf16):
    %q = arith.extf %p : bf16 to f32
    %r = math.cos %q fastmath<afn> : f32
    %s = arith.addf %r, %r : f32
    %t = arith.truncf %s : f32 to bf16
    tile.yield %t : bf16
  }
  tile.store %b, %y[%i] : tensor<2048xbf16, #frag>, !tile.view<8192xbf16>
}

// -----

// CHECK-LABEL: cuda.kernel @accurate
// CHECK-NOT:     scf.if
// CHECK:         math.cos %{{.*}} : f32

// An accurate function has a branch of its own, inside of CUDA's.
#frag = #tile.fragment<((256),(4,2)):((4),(1,1024))>
tile.program @accurate(%x: !tile.view<8192xf32>, %y: !tile.view<8192xf32>) {results = 1 : i64, threads = 256 : i64, shared = 0 : i64, grid = 4 : i64} {
  %block = cuda.block_id
  %c11 = arith.constant 11 : index
  %i = arith.shli %block, %c11 : index
  %a = tile.load %x[%i] : !tile.view<8192xf32> -> tensor<2048xf32, #frag>
  %b = tile.map %a : tensor<2048xf32, #frag> -> tensor<2048xf32, #frag> {
  ^bb0(%p: f32):
    %q = math.cos %p : f32
    tile.yield %q : f32
  }
  tile.store %b, %y[%i] : tensor<2048xf32, #frag>, !tile.view<8192xf32>
}
