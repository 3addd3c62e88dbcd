// RUN: irc-opt %s --arch sm_100a -p schedule-loops | filecheck %s

// A dot whose sums are in Tensor Memory releases the stage that it reads itself, when it is complete: in its own
// iteration.
// CHECK-LABEL: tile.program @product(
// CHECK:       tile.wait %channel {scheduled = #tile.at<stage = 0, order = 0>}
// CHECK-NEXT:  %[[SUM:.*]] = tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 1>, instruction = "tcgen05"}
// CHECK-NEXT:  tile.release %{{.*}} after %[[SUM]] : {{.*}} {scheduled = #tile.at<stage = 0, order = 2>}

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag = #tile.fragment<((128),(32)):((1),(128))>
tile.program @product(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x64xbf16>, %y: !tile.view<256x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  %channel = tile.channel {stages = 8 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 128 : index
      scf.for %k = %c0 to %cK step %ck {
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<64x32xbf16, #shared1>
        tile.commit %slot
      }
    }
  } @compute warps 4 registers 240 {
    tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 128 : index
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<128x32xf32, #frag>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32, #frag>) {
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
        %sum = tile.dot %a, %b, %before {instruction = "tcgen05"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, tensor<128x32xf32, #frag> -> tensor<128x32xf32, #frag>
        tile.release %slot after %sum : tensor<128x32xf32, #frag>
        scf.yield %sum : tensor<128x32xf32, #frag>
      }
      tile.store %acc, %y[%m, %n] : tensor<128x32xf32, #frag>, !tile.view<256x64xf32>
    }
  }
}
