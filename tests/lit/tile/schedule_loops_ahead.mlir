// RUN: irc-opt %s -p schedule-loops | filecheck %s

// Two dots that begin anew: the first works an iteration ahead of all else, with what is loaded for it. Each is behind
// the release of the other one's stage, and before the map of that.
// CHECK-LABEL: tile.program @blocks(
// CHECK:         @compute
// CHECK:           tile.load {{.*}} {scheduled = #tile.at<stage = 0, order = 6>
// CHECK-NEXT:      tile.wait {{.*}} {scheduled = #tile.at<stage = 0, order = 7>}
// CHECK-NEXT:      tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 9>
// CHECK-NEXT:      tile.release {{.*}} {scheduled = #tile.at<stage = 1, order = 1>}
// CHECK-NEXT:      tile.map {{.*}} {scheduled = #tile.at<stage = 1, order = 5>}
// CHECK:           tile.load {{.*}} {scheduled = #tile.at<stage = 1, order = 4>
// CHECK-NEXT:      tile.wait {{.*}} {scheduled = #tile.at<stage = 1, order = 0>}
// CHECK-NEXT:      tile.dot {{.*}} {scheduled = #tile.at<stage = 1, order = 2>
// CHECK-NEXT:      tile.release {{.*}} {scheduled = #tile.at<stage = 1, order = 8>}
// CHECK-NEXT:      tile.map {{.*}} {scheduled = #tile.at<stage = 1, order = 10>}

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
      %sum = scf.for %g_1 = %c0_1 to %end_1 step %0 iter_args(%sums = %none) -> (tensor<128x128xf32, #frag>) {
        %scale = tile.load %s[%i_1, %c0_1] symbols(%g_1 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot_1, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p = tile.dot %a_1, %b_1, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot_1 after %p : tensor<128x128xf32, #frag>
        %next = tile.map %sums, %p, %scale : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u: f32, %v: f32, %t: f32):
          %product = arith.mulf %v, %t : f32
          %added = arith.addf %u, %product : f32
          tile.yield %added : f32
        }
        %1 = arith.addi %g_1, %c1_1 : index
        %scale_1 = tile.load %s[%i_1, %c0_1] symbols(%1 : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x128xf32> -> tensor<128x1xf32, #frag1>
        %slot_2, %a_2, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>>
        %p_1 = tile.dot %a_2, %b_2, %none {instruction = "wgmma"} : !tile.buffer<128x128xf8E4M3FN, #shared>, !tile.buffer<128x128xf8E4M3FN, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot_2 after %p_1 : tensor<128x128xf32, #frag>
        %next_1 = tile.map %next, %p_1, %scale_1 : tensor<128x128xf32, #frag>, tensor<128x128xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x128xf32, #frag> {
        ^bb0(%u_1: f32, %v_1: f32, %t_1: f32):
          %product_1 = arith.mulf %v_1, %t_1 : f32
          %added_1 = arith.addf %u_1, %product_1 : f32
          tile.yield %added_1 : f32
        }
        scf.yield %next_1 : tensor<128x128xf32, #frag>
      }
      tile.store %sum, %y[%i_1, %c0_1] : tensor<128x128xf32, #frag>, !tile.view<128x128xf32>
    }
  }
}
