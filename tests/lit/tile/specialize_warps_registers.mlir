// RUN: irc-opt %s -p specialize-warps --split-input-file | filecheck %s

// The config says how many registers a thread has that multiplies; one that issues TMA needs few.
// CHECK: tile.partitions @load warps 4 registers 40 {
// CHECK: } @compute_0 warps 4 registers 208 {
// CHECK: } @compute_1 warps 4 registers 208 {
#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))>
#shared2 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag1 = #tile.fragment<((16,8),(8,8,2)):((1024,8),(128,1,64))>
#shared3 = #tile.shared<(128,128):(1,128) swizzle(2,3,5)>
#frag2 = #tile.fragment<((32,4),(4,4,8)):((4,512),(1,128,2048))>
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @product(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>, %z: !tile.view<512x512xf32, strides [1, 512]>) {results = 2 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 4, schedule = "pingpong", instruction = "wgmma", registers = 208>} {
    %0 = tile.channel {stages = 4 : i64, cluster = array<i64: 2, 2>} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32, #frag>) {
        %slot, %a, %b = tile.acquire %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot
        %slot_1, %a_1, %b_1 = tile.wait %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        %e = tile.dot %a_1, %b_1, %d {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot_1 after %e : tensor<128x128xf32, #frag>
        scf.yield %e : tensor<128x128xf32, #frag>
      }
      %o = tile.map %acc : tensor<128x128xf32, #frag> -> tensor<128x128xbf16, #frag> {
      ^bb0(%1: f32):
        %2 = arith.truncf %1 : f32 to bf16
        tile.yield %2 : bf16
      }
      %3 = tile.convert %o {through = #shared2} : tensor<128x128xbf16, #frag> -> tensor<128x128xbf16, #frag1>
      tile.store %3, %y[%m, %n] : tensor<128x128xbf16, #frag1>, !tile.view<512x512xbf16>
      %4 = tile.convert %acc {through = #shared3} : tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag2>
      tile.store %4, %z[%m, %n] : tensor<128x128xf32, #frag2>, !tile.view<512x512xf32, strides [1, 512]>
    }
  }
}

// -----

// Blocks that share an SM have as many registers together.
// CHECK: tile.partitions @load warps 4 registers 40 {
// CHECK: } @compute warps 4 registers 216 {
#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))>
#shared2 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag1 = #tile.fragment<((16,8),(8,8,2)):((1024,8),(128,1,64))>
#shared3 = #tile.shared<(128,128):(1,128) swizzle(2,3,5)>
#frag2 = #tile.fragment<((32,4),(4,4,8)):((4,512),(1,128,2048))>
builtin.module attributes {irc.target = "sm_90a"} {
  tile.program @shared(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>, %z: !tile.view<512x512xf32, strides [1, 512]>) {results = 2 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 4, schedule = "persistent", occupancy = 2, instruction = "wgmma">} {
    %0 = tile.channel {stages = 4 : i64, cluster = array<i64: 2, 2>} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32, #frag>) {
        %slot, %a, %b = tile.acquire %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot
        %slot_1, %a_1, %b_1 = tile.wait %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        %e = tile.dot %a_1, %b_1, %d {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %slot_1 after %e : tensor<128x128xf32, #frag>
        scf.yield %e : tensor<128x128xf32, #frag>
      }
      %o = tile.map %acc : tensor<128x128xf32, #frag> -> tensor<128x128xbf16, #frag> {
      ^bb0(%1: f32):
        %2 = arith.truncf %1 : f32 to bf16
        tile.yield %2 : bf16
      }
      %3 = tile.convert %o {through = #shared2} : tensor<128x128xbf16, #frag> -> tensor<128x128xbf16, #frag1>
      tile.store %3, %y[%m, %n] : tensor<128x128xbf16, #frag1>, !tile.view<512x512xbf16>
      %4 = tile.convert %acc {through = #shared3} : tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag2>
      tile.store %4, %z[%m, %n] : tensor<128x128xf32, #frag2>, !tile.view<512x512xf32, strides [1, 512]>
    }
  }
}
