// RUN: irc-opt %s -p schedule-loops | filecheck %s

// Warp groups that take turns issue dots, and what they wait for, as soon as they can: the stage that the second one reads is waited
// for while the first one is in flight.
// CHECK:       scf.for
// CHECK-NOT:     #tile.at
// CHECK:       scf.for
// CHECK:         tile.wait %channel_2 {scheduled = #tile.at<stage = 0, order = 0>}
// CHECK-NEXT:    %token = tile.take {{.*}}{scheduled = #tile.at<stage = 0, order = 1>}
// CHECK-NEXT:    %s = tile.dot {{.*}}{scheduled = #tile.at<stage = 0, order = 2>
// CHECK-NEXT:    tile.pass %token {scheduled = #tile.at<stage = 0, order = 3>}
// CHECK-NEXT:    tile.release {{.*}}{scheduled = #tile.at<stage = 0, order = 5>}
// CHECK-NEXT:    %p = tile.map %s {scheduled = #tile.at<stage = 0, order = 6>}
// CHECK:         tile.wait %channel_1 {scheduled = #tile.at<stage = 0, order = 4>}
// CHECK-NEXT:    %d = tile.dot {{.*}}{scheduled = #tile.at<stage = 0, order = 7>
// CHECK-NEXT:    tile.release {{.*}}{scheduled = #tile.at<stage = 0, order = 8>}

#shared = #tile.shared<(192,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,32):(32,1) swizzle(2,3,3)>
#shared2 = #tile.shared<(32,32):(1,32) swizzle(2,3,3)>
#frag = #tile.fragment<((4,8,4,3),(2,2,4)):((384,1,16,64),(192,8,1536))>
#shared3 = #tile.shared<(192,32):(32,1) swizzle(2,3,2)>
#frag1 = #tile.fragment<((8,4,12),(4,4)):((768,1,16),(192,4))>
tile.program @three_groups(%x: !tile.view<192x32xbf16>, %a: !tile.view<128x32xbf16>, %b: !tile.view<128x32xbf16>, %o: !tile.view<192x32xf32>) {results = 1 : i64, threads = 384 : i64, config = #kernel.config<tile = {m = 192, k = 32}, stages = 1, warps = 12, schedule = "persistent", indexing = "tma", instruction = "wgmma", turns = true>} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<192x32xbf16, #shared>>
  %channel_1 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<32x32xbf16, #shared1>>
  %channel_2 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<32x32xbf16, #shared2>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [192] steps [192] schedule "persistent" {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %c32 = arith.constant 32 : index
      %slot, %rows = tile.acquire %channel : !tile.channel<!tile.buffer<192x32xbf16, #shared>>
      tile.copy %x[%i, %c0] -> %rows {via = "tma"} : !tile.view<192x32xbf16> -> !tile.buffer<192x32xbf16, #shared>
      tile.commit %slot
      scf.for %j = %c0 to %c128 step %c32 {
        %slot_1, %k = tile.acquire %channel_2 : !tile.channel<!tile.buffer<32x32xbf16, #shared2>>
        tile.copy %a[%c0, %j] -> %k {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<32x32xbf16, #shared2>
        tile.commit %slot_1
        %slot_2, %v = tile.acquire %channel_1 : !tile.channel<!tile.buffer<32x32xbf16, #shared1>>
        tile.copy %b[%j, %c0] -> %v {via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<32x32xbf16, #shared1>
        tile.commit %slot_2
      }
    }
  } @compute warps 12 registers 152 {
    %order = tile.order
    tile.for_tiles (%i_1) extents [192] steps [192] schedule "persistent" {
      %c0_1 = arith.constant 0 : index
      %c128_1 = arith.constant 128 : index
      %c32_1 = arith.constant 32 : index
      %f = arith.constant 0.000000e+00 : f32
      %start = tile.splat %f : f32 -> tensor<192x32xf32, #frag>
      %start_1 = tile.splat %f : f32 -> tensor<192x32xf32, #frag>
      %slot_3, %rows_1 = tile.wait %channel : !tile.channel<!tile.buffer<192x32xbf16, #shared>>
      %r = scf.for %j_1 = %c0_1 to %c128_1 step %c32_1 iter_args(%acc = %start_1) -> (tensor<192x32xf32, #frag>) {
        %slot_4, %k_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<32x32xbf16, #shared2>>
        %token = tile.take %order
        %s = tile.dot %rows_1, %k_1, %start {instruction = "wgmma"} : !tile.buffer<192x32xbf16, #shared>, !tile.buffer<32x32xbf16, #shared2>, tensor<192x32xf32, #frag> -> tensor<192x32xf32, #frag>
        tile.pass %token
        tile.release %slot_4 after %s : tensor<192x32xf32, #frag>
        %p = tile.map %s : tensor<192x32xf32, #frag> -> tensor<192x32xbf16, #frag> {
        ^bb0(%e: f32):
          %t = arith.truncf %e : f32 to bf16
          tile.yield %t : bf16
        }
        %slot_5, %v_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<32x32xbf16, #shared1>>
        %d = tile.dot %p, %v_1, %acc {instruction = "wgmma"} : tensor<192x32xbf16, #frag>, !tile.buffer<32x32xbf16, #shared1>, tensor<192x32xf32, #frag> -> tensor<192x32xf32, #frag>
        tile.release %slot_5 after %d : tensor<192x32xf32, #frag>
        scf.yield %d : tensor<192x32xf32, #frag>
      }
      tile.release %slot_3
      %convert = tile.convert %r {through = #shared3} : tensor<192x32xf32, #frag> -> tensor<192x32xf32, #frag1>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<192x32xf32, #frag1>, !tile.view<192x32xf32>
    }
  }
}
