// RUN: irc-opt %s -p specialize-warps --split-input-file | filecheck %s

// The producer keeps no accumulator, the consumer no copy; both walk over the same tiles.
// CHECK-LABEL: tile.program @gating(
// CHECK:       tile.partitions @load warps 4 registers 40 {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK:           scf.for %k = %c0 to %cK step %ck {
// CHECK-NEXT:        tile.acquire
// CHECK-NOT:         tile.dot
// CHECK:             tile.commit
// CHECK-NOT:     tile.store
// CHECK:       } @compute warps 8 registers 232 {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK-NOT:       tile.copy
// CHECK:           tile.wait
// CHECK:           tile.dot
// CHECK:           tile.release
// CHECK:           tile.store

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared3 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag3 = #tile.fragment<((16,2,8),(8,8)):((1024,1,16),(128,2))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%acc_1 = %init) -> (tensor<128x256xf32, #frag>) {
      %slot, %a, %buffer = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      %part = tile.subview %buffer {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      %part_1 = tile.subview %buffer {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      tile.commit %slot
      %slot_1, %a_1, %buffer_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
      %sum = tile.dot %a_1, %buffer_1, %acc_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
      tile.release %slot_1 after %sum : tensor<128x256xf32, #frag>
      scf.yield %sum : tensor<128x256xf32, #frag>
    }
    %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
    %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32, #frag1>, tensor<128x128xf32, #frag1>, tensor<1x128xbf16, #frag2>, tensor<1x128xbf16, #frag2> -> tensor<128x128xbf16, #frag1> {
    ^bb0(%a_2: f32, %b: f32, %c: bf16, %d: bf16):
      %one = arith.constant 1.000000e+00 : f32
      %extf = arith.extf %c : bf16 to f32
      %extf_1 = arith.extf %d : bf16 to f32
      %addf = arith.addf %a_2, %extf : f32
      %addf_1 = arith.addf %b, %extf_1 : f32
      %negf = arith.negf %addf : f32
      %exp = math.exp %negf : f32
      %addf_2 = arith.addf %one, %exp : f32
      %divf = arith.divf %addf_1, %addf_2 : f32
      %truncf = arith.truncf %divf : f32 to bf16
      tile.yield %truncf : bf16
    }
    %convert = tile.convert %o {through = #shared3} : tensor<128x128xbf16, #frag1> -> tensor<128x128xbf16, #frag3>
    tile.store %convert, %y[%m, %n] : tensor<128x128xbf16, #frag3>, !tile.view<512x512xbf16>
  }
}

// -----

// The schedule "pingpong" has two consumers of the same code.
// CHECK-LABEL: tile.program @product(
// CHECK:     tile.partitions @load warps 4 registers 40 {
// CHECK-NOT:   tile.write
// CHECK:     } @compute_0 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] {
// CHECK:         tile.write
// CHECK:     } @compute_1 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] {
// CHECK:         tile.store_wait

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(128,(32,2)):(32,(1,4096)) swizzle(2,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,16,2)):((256,1,16),(128,8,1024,64))>
#frag1 = #tile.fragment<((4,8,4),(2,2,4,2)):((256,1,16),(128,8,1024,64))>
#shared3 = #tile.shared<(128,32):(32,1) swizzle(2,3,3)>
#shared4 = #tile.shared<(128,32):(1,128) swizzle(2,3,5)>
#frag2 = #tile.fragment<((32,4),(4,8)):((4,128),(1,512))>
tile.program @product(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>, %z: !tile.view<512x512xf32, strides [1, 512]>) {results = 2 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64, cluster = array<i64: 2, 2>} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
  %alloc = tile.alloc : !tile.buffer<128x64xbf16, #shared2>
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32, #frag>) {
      %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
      tile.commit %slot
      %slot_1, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
      %e = tile.dot %a_1, %b_1, %d {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
      tile.release %slot_1 after %e : tensor<128x128xf32, #frag>
      scf.yield %e : tensor<128x128xf32, #frag>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c32 = arith.constant 32 : index
    scf.for %column = %c0_1 to %c128 step %c32 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32, #frag> -> tensor<128x32xf32, #frag1>
      %o = tile.map %part : tensor<128x32xf32, #frag1> -> tensor<128x32xbf16, #frag1> {
      ^bb0(%a_2: f32):
        %truncf = arith.truncf %a_2 : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %n, %column : index
      tile.store_wait {pending = 1 : i64}
      %c0_3 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %remui = arith.remui %column, %c64 : index
      %part_1 = tile.subview %alloc[%c0_3, %remui] {at = array<i64: 0, 0>} : !tile.buffer<128x64xbf16, #shared2> -> !tile.buffer<128x32xbf16, #shared3>
      tile.write %o, %part_1 : tensor<128x32xbf16, #frag1>, !tile.buffer<128x32xbf16, #shared3>
      %addi_1 = arith.addi %n, %column : index
      %convert = tile.convert %part {through = #shared4} : tensor<128x32xf32, #frag1> -> tensor<128x32xf32, #frag2>
      tile.store %convert, %z[%m, %addi_1] : tensor<128x32xf32, #frag2>, !tile.view<512x512xf32, strides [1, 512]>
      tile.store %part_1, %y[%m, %addi] : !tile.buffer<128x32xbf16, #shared3>, !tile.view<512x512xbf16>
    } {unroll}
  }
  tile.store_wait
}

// -----

// CHECK-LABEL: tile.program @softmax(
// CHECK-NOT: tile.partitions
// CHECK:     tile.store

#frag = #tile.fragment<((256),(4)):((4),(1))>
#frag1 = #tile.fragment<((256),()):((0),())>
tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64, threads = 256 : i64} {
  tile.for_tiles (%i) extents [100] steps [1] {
    %c0 = arith.constant 0 : index
    %lo = arith.constant 0xff800000 : f32
    %a = tile.load %x[%i, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32, #frag>
    %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
    ^bb0(%x_1: f32, %y_1: f32):
      %maximumf = arith.maximumf %x_1, %y_1 : f32
      tile.yield %maximumf : f32
    }
    %e = tile.map %a, %m : tensor<1x1024xf32, #frag>, tensor<1x1xf32, #frag1> -> tensor<1x1024xf32, #frag> {
    ^bb0(%a_1: f32, %b: f32):
      %subf = arith.subf %a_1, %b : f32
      %exp = math.exp %subf : f32
      tile.yield %exp : f32
    }
    %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32, #frag> -> tensor<1x1xf32, #frag1> {
    ^bb0(%x_2: f32, %y_2: f32):
      %addf = arith.addf %x_2, %y_2 : f32
      tile.yield %addf : f32
    }
    %r = tile.map %e, %s : tensor<1x1024xf32, #frag>, tensor<1x1xf32, #frag1> -> tensor<1x1024xf32, #frag> {
    ^bb0(%a_2: f32, %b_1: f32):
      %divf = arith.divf %a_2, %b_1 : f32
      tile.yield %divf : f32
    }
    tile.store %r, %y[%i, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32, #frag>, !tile.view<100x1000xf32>
  }
}
