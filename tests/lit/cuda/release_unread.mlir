// RUN: irc-opt %s -p lower-to-cuda --split-input-file | filecheck %s

// The dots of a loop that may have no step read a stage that is held all through it: each warp releases it by itself, since
// nothing else would keep a warp that has not looked for the stage yet from missing it.
// CHECK-LABEL: cuda.kernel @may_have_no_step
// CHECK:         cuda.channel %thread {stages = 1 : i64, full = 3072 : i64, arrivals = 1 : i64, empty = 3080 : i64, releases = 4 : i64, align = 1024 : i64, by_warp
#a = #tile.shared<(64,16):(16,1) swizzle(1,3,3)>
#b = #tile.shared<(16,16):(1,16) swizzle(1,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
tile.program @may_have_no_step(%x: !tile.view<192x16xbf16>, %w: !tile.view<16x16xbf16>, %y: !tile.view<192x16xf32>) {results = 1 : i64, threads = 128 : i64, shared = 4096 : i64, grid = 3 : i64} {
  %channel = tile.channel {stages = 1 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
  tile.partitions @load warps 4 registers 40 {
    %block = cuda.block_id
    %c6 = arith.constant 6 : index
    %i = arith.shli %block, %c6 : index
    %c0 = arith.constant 0 : index
    %filled, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
    tile.copy %x[%i, %c0] -> %a {via = "tma"} : !tile.view<192x16xbf16> -> !tile.buffer<64x16xbf16, #a>
    tile.copy %w[%c0, %c0] -> %b {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<16x16xbf16> -> !tile.buffer<16x16xbf16, #b>
    tile.commit %filled
  } @compute warps 4 registers 240 {
    %block_1 = cuda.block_id
    %c6_1 = arith.constant 6 : index
    %i_1 = arith.shli %block_1, %c6_1 : index
    %c0_1 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %blank = tile.splat %zero : f32 -> tensor<64x16xf32, #frag>
    %held, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
    %sum = scf.for %j = %i_1 to %c64 step %c16 iter_args(%acc = %blank) -> (tensor<64x16xf32, #frag>) {
      %next = tile.dot %a_1, %b_1, %acc {instruction = "wgmma"} : !tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>, tensor<64x16xf32, #frag> -> !tile.pending<tensor<64x16xf32, #frag>>
      %known = tile.dot_wait %next : !tile.pending<tensor<64x16xf32, #frag>> -> tensor<64x16xf32, #frag>
      scf.yield %known : tensor<64x16xf32, #frag>
    }
    tile.release %held
    tile.store %sum, %y[%i_1, %c0_1] : tensor<64x16xf32, #frag>, !tile.view<192x16xf32>
  }
}

// -----

// The same loop with as many steps in every tile: its dots hold a warp group together, of which one thread arrives.
// CHECK-LABEL: cuda.kernel @has_steps
// CHECK:         cuda.channel %thread {stages = 1 : i64, full = 3072 : i64, arrivals = 1 : i64, empty = 3080 : i64, releases = 1 : i64, align = 1024 : i64}
#a = #tile.shared<(64,16):(16,1) swizzle(1,3,3)>
#b = #tile.shared<(16,16):(1,16) swizzle(1,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
tile.program @has_steps(%x: !tile.view<192x16xbf16>, %w: !tile.view<16x16xbf16>, %y: !tile.view<192x16xf32>) {results = 1 : i64, threads = 128 : i64, shared = 4096 : i64, grid = 3 : i64} {
  %channel = tile.channel {stages = 1 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
  tile.partitions @load warps 4 registers 40 {
    %block = cuda.block_id
    %c6 = arith.constant 6 : index
    %i = arith.shli %block, %c6 : index
    %c0 = arith.constant 0 : index
    %filled, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
    tile.copy %x[%i, %c0] -> %a {via = "tma"} : !tile.view<192x16xbf16> -> !tile.buffer<64x16xbf16, #a>
    tile.copy %w[%c0, %c0] -> %b {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<16x16xbf16> -> !tile.buffer<16x16xbf16, #b>
    tile.commit %filled
  } @compute warps 4 registers 240 {
    %block_1 = cuda.block_id
    %c6_1 = arith.constant 6 : index
    %i_1 = arith.shli %block_1, %c6_1 : index
    %c0_1 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %blank = tile.splat %zero : f32 -> tensor<64x16xf32, #frag>
    %held, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>>
    %sum = scf.for %j = %c0_1 to %c64 step %c16 iter_args(%acc = %blank) -> (tensor<64x16xf32, #frag>) {
      %next = tile.dot %a_1, %b_1, %acc {instruction = "wgmma"} : !tile.buffer<64x16xbf16, #a>, !tile.buffer<16x16xbf16, #b>, tensor<64x16xf32, #frag> -> !tile.pending<tensor<64x16xf32, #frag>>
      %known = tile.dot_wait %next : !tile.pending<tensor<64x16xf32, #frag>> -> tensor<64x16xf32, #frag>
      scf.yield %known : tensor<64x16xf32, #frag>
    }
    tile.release %held
    tile.store %sum, %y[%i_1, %c0_1] : tensor<64x16xf32, #frag>, !tile.view<192x16xf32>
  }
}
