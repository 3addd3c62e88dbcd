// RUN: irc-opt %s --arch sm_100a -p plan-shared | filecheck %s

// An accumulator has a barrier and the address of its columns behind the barriers of the channel.
// CHECK-LABEL: tile.program @product(
// CHECK-SAME:  shared = 164864 : i64
// CHECK:       tile.channel {stages = 8 : i64, offset = 0 : i64}
// CHECK:       tile.accumulator {offset = 163968 : i64}

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
    %sums = tile.accumulator : !tile.accumulator<tensor<128x32xf32, #frag>>
    tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 128 : index
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<128x32xf32, #frag>
      %begun = tile.as_pending %init in %sums : tensor<128x32xf32, #frag>, !tile.accumulator<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %begun) -> (!tile.pending<tensor<128x32xf32, #frag>>) {
        %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
        %sum = tile.dot %a, %b, %before {instruction = "tcgen05"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, !tile.pending<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
        tile.release %slot after %sum : !tile.pending<tensor<128x32xf32, #frag>>
        scf.yield %sum : !tile.pending<tensor<128x32xf32, #frag>>
      }
      %found = tile.dot_wait %acc : !tile.pending<tensor<128x32xf32, #frag>> -> tensor<128x32xf32, #frag>
      tile.store %found, %y[%m, %n] : tensor<128x32xf32, #frag>, !tile.view<256x64xf32>
    }
  }
}
