// RUN: irc-opt %s -p await-dots --split-input-file | filecheck %s

// What a dot gives that begins anew is carried in flight, and waited for before the first op that needs it.
// CHECK-LABEL: tile.program @blocks(
// CHECK:         @compute
// CHECK:         [[BEGUN:%[a-z0-9_]+]] = tile.dot {{.*}} -> !tile.pending
// CHECK:         {{.*}}, [[CARRIED:%[a-z0-9_]+]], {{%[a-z0-9_]+}} = scf.for {{.*}} [[P:%[a-z0-9_]+]] = [[BEGUN]], {{.*}} -> (tensor<128x128xf32, #frag>, !tile.slot<drain>, !tile.pending<tensor<128x128xf32, #frag>>,
// CHECK:           [[FIRST:%[a-z0-9_]+]] = tile.dot_wait [[P]]
// CHECK-NEXT:      tile.release %previous
// CHECK-NEXT:      tile.dot
// CHECK:           tile.map {{.*}}, [[FIRST]],
// CHECK:           [[NEXT:%[a-z0-9_]+]] = tile.dot {{.*}} -> !tile.pending
// CHECK:           scf.yield {{.*}}, [[NEXT]],
// CHECK:         tile.dot_wait [[CARRIED]]

#shared = #tile.shared<(128,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,128):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
tile.program @blocks(%x: !tile.view<128x1024xf8E4M3FN>, %w: !tile.view<1024x128xf8E4M3FN>, %s: !tile.view<8x128xf32>, %y: !tile.view<128x128xf32>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [128] {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %end = arith.constant 8 : index
      scf.for %g = %c0 to %end step %c1 {
        %k = arith.muli %g, %c128 : index
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.copy %x[%i, %k] -> %a {via = "tma"} : !tile.view<128x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared>
        tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i_1) extents [128] steps [128] {
      %c0_1 = arith.constant 0 : index
      %c1_1 = arith.constant 1 : index
      %end_1 = arith.constant 8 : index
      %zero = arith.constant 0.000000e+00 : f32
      %none = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %0 = arith.constant 2 : index
      %scale = tile.load %s[%i_1, %c0_1] symbols(%c0_1 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
      %slot_1, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
      %p = tile.dot %a_1, %b_1, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
      %1 = arith.constant 2 : index
      %2, %3, %4, %5 = scf.for %g_1 = %1 to %end_1 step %0 iter_args(%sums = %none, %previous = %slot_1, %p_1 = %p, %scale_1 = %scale) -> (tensor<128x128xf32, #frag>, !tile.slot<drain>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1>) {
        %slot_2, %a_2, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.release %previous after %p_1 : tensor<128x128xf32, #frag>
        %p_2 = tile.dot %a_2, %b_2, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        %6 = arith.constant 1 : index
        %7 = arith.muli %6, %0 : index
        %8 = arith.subi %g_1, %7 : index
        %9 = arith.addi %8, %c1_1 : index
        %scale_2 = tile.load %s[%i_1, %c0_1] symbols(%9 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %next = tile.map %sums, %p_1, %scale_1 : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        %scale_3 = tile.load %s[%i_1, %c0_1] symbols(%g_1 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot_3, %a_3, %b_3 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        tile.release %slot_2 after %p_2 : tensor<128x128xf32, #frag>
        %p_3 = tile.dot %a_3, %b_3, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        %next_1 = tile.map %next, %p_2, %scale_2 : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u_1: f32, %v_1: f32, %t_1: f32):
          %product_1 = arith.mulf %v_1, %t_1 : f32
          %added_1 = arith.addf %u_1, %product_1 : f32
          tile.yield %added_1 : f32
        }
        scf.yield %next_1, %slot_3, %p_3, %scale_3 : tensor<128x128xf32, #frag>, !tile.slot<drain>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1>
      }
      %slot_4, %a_4, %b_4 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
      tile.release %3 after %4 : tensor<128x128xf32, #frag>
      %p_4 = tile.dot %a_4, %b_4, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
      %10 = arith.constant 6 : index
      %11 = arith.addi %10, %c1_1 : index
      %scale_4 = tile.load %s[%i_1, %c0_1] symbols(%11 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
      %next_2 = tile.map %2, %4, %5 : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
      ^bb0(%u_2: f32, %v_2: f32, %t_2: f32):
        %product_2 = arith.mulf %v_2, %t_2 : f32
        %added_2 = arith.addf %u_2, %product_2 : f32
        tile.yield %added_2 : f32
      }
      tile.release %slot_4 after %p_4 : tensor<128x128xf32, #frag>
      %next_3 = tile.map %next_2, %p_4, %scale_4 : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
      ^bb0(%u_3: f32, %v_3: f32, %t_3: f32):
        %product_3 = arith.mulf %v_3, %t_3 : f32
        %added_3 = arith.addf %u_3, %product_3 : f32
        tile.yield %added_3 : f32
      }
      tile.store %next_3, %y[%i_1, %c0_1] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}

// -----

// A dot that is issued again before its result of the iteration before is used is waited for in its own iteration.
// CHECK-LABEL: tile.program @late(
// CHECK:         [[FIRST:%[a-z0-9_]+]] = tile.dot_wait
// CHECK-NEXT:    scf.for {{.*}} %p = [[FIRST]])
// CHECK:           tile.map %sums, %p
// CHECK:           [[Q:%[a-z0-9_]+]] = tile.dot_wait
// CHECK-NEXT:      scf.yield {{.*}}, [[Q]]

#shared = #tile.shared<(64,128):(128,1) swizzle(3,4,3)>
#shared1 = #tile.shared<(128,64):(1,128) swizzle(3,4,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @late(%y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64} {
  %a = tile.alloc : !tile.buffer<64x128xf8E4M3FN, #shared>
  %b = tile.alloc : !tile.buffer<128x64xf8E4M3FN, #shared1>
  tile.for_tiles (%i) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %first = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<64x128xf8E4M3FN, #shared>, !tile.buffer<128x64xf8E4M3FN, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    %sum, %last = scf.for %g = %c0 to %c8 step %c1 iter_args(%sums = %none, %p = %first) -> (tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag>) {
      %q = tile.dot %a, %b, %none {instruction = "wgmma"} : !tile.buffer<64x128xf8E4M3FN, #shared>, !tile.buffer<128x64xf8E4M3FN, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      %next = tile.map %sums, %p : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag> {
      ^bb0(%u: f32, %v: f32):
        %added = arith.addf %u, %v : f32
        tile.yield %added : f32
      }
      scf.yield %next, %q : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag>
    }
    %both = tile.map %sum, %last : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag> {
    ^bb0(%u: f32, %v: f32):
      %added = arith.addf %u, %v : f32
      tile.yield %added : f32
    }
    tile.store %both, %y[%i, %c0] : tensor<64x64xf32, #frag>, !tile.view<64x64xf32>
  }
}
