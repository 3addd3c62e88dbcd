// RUN: irc-opt %s -p lower-to-cuda --split-input-file --verify-diagnostics

// The registers in which the loop carries the dot are those of the one that is added behind it.
#shared = #tile.shared<(64,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,64):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @late(%y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, shared = 16384 : i64, grid = 1 : i64} {
  %a = tile.alloc {offset = 0 : i64} : !tile.buffer<64x128xf8E4M3FN, #shared>
  %b = tile.alloc {offset = 8192 : i64} : !tile.buffer<128x64xf8E4M3FN, #shared1>
  %block = cuda.block_id
  %0 = arith.constant 6 : index
  %i = arith.shli %block, %0 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.000000e+00 : f32
  %none = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %first = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<64x128xf8E4M3FN, #shared>, !tile.buffer<128x64xf8E4M3FN, #shared1>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
  %sum, %last = scf.for %g = %c0 to %c8 step %c1 iter_args(%sums = %none, %p = %first) -> (tensor<64x64xf32, #frag>, !tile.pending<tensor<64x64xf32, #frag>>) {
    // expected-error @+1 {{a dot that a loop carries in flight is issued where its result of the iteration before is still used}}
    %q = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<64x128xf8E4M3FN, #shared>, !tile.buffer<128x64xf8E4M3FN, #shared1>, tensor<64x64xf32, #frag> -> !tile.pending<tensor<64x64xf32, #frag>>
    %before = tile.dot_wait %p : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
    %next = tile.map %sums, %before : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag> {
    ^bb0(%u: f32, %v: f32):
      %added = arith.addf %u, %v : f32
      tile.yield %added : f32
    }
    scf.yield %next, %q : tensor<64x64xf32, #frag>, !tile.pending<tensor<64x64xf32, #frag>>
  }
  %ended = tile.dot_wait %last : !tile.pending<tensor<64x64xf32, #frag>> -> tensor<64x64xf32, #frag>
  %both = tile.map %sum, %ended : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag> {
  ^bb0(%u_1: f32, %v_1: f32):
    %added_1 = arith.addf %u_1, %v_1 : f32
    tile.yield %added_1 : f32
  }
  tile.store %both, %y[%i, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
}
