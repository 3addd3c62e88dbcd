// RUN: irc-opt %s -p make-channels --split-input-file | filecheck %s

// CHECK-LABEL: tile.program @gating(
// CHECK:       [[CHANNEL:%[a-z0-9_]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:   tile.alloc
// CHECK:       scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}})
// CHECK:         [[FILLED:%[a-z0-9_]+]], {{.*}} = tile.acquire [[CHANNEL]]
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait [[CHANNEL]]
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[BEFORE]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.release [[SLOT]] after [[SUM]]
// CHECK-NEXT:    scf.yield [[SUM]]

#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared3 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag3 = #tile.fragment<((16,2,8),(8,8)):((1024,1,16),(128,2))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
    %a = tile.alloc : !tile.buffer<128x64xbf16, #shared>
    %alloc = tile.alloc : !tile.buffer<64x256xbf16, #shared1>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%acc_1 = %init) -> (tensor<128x256xf32, #frag>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
      %part = tile.subview %alloc {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      %part_1 = tile.subview %alloc {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
      tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
      %sum = tile.dot %a, %alloc, %acc_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
      scf.yield %sum : tensor<128x256xf32, #frag>
    }
    %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
    %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32, #frag1>, tensor<128x128xf32, #frag1>, tensor<1x128xbf16, #frag2>, tensor<1x128xbf16, #frag2> -> tensor<128x128xbf16, #frag1> {
    ^bb0(%a_1: f32, %b: f32, %c: bf16, %d: bf16):
      %one = arith.constant 1.000000e+00 : f32
      %extf = arith.extf %c : bf16 to f32
      %extf_1 = arith.extf %d : bf16 to f32
      %addf = arith.addf %a_1, %extf : f32
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

// Dots on parts of K are one chain: what they read is released behind the last of them.
// CHECK-LABEL: @streamed
// CHECK:         [[CHANNEL:%[a-z0-9_]+]] = tile.channel {stages = 2 : i64}
// CHECK:         tile.commit
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait [[CHANNEL]]
// CHECK-NOT:     tile.map
// CHECK:         tile.read
// CHECK:         [[A:%a]] = tile.map
// CHECK:         [[HALF:%[a-z0-9_]+]] = tile.dot [[A]]
// CHECK-NOT:     tile.release
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[HALF]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.release [[SLOT]] after [[SUM]]
// CHECK-NEXT:    scf.yield

#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,16):(32,1) swizzle(2,3,3)>
#frag1 = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
#shared3 = #tile.shared<(16,64):(64,1) swizzle(3,3,3)>
#shared4 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
tile.program @streamed(%x: !tile.view<64x64xbf16>, %s: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %start = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
  %s1 = tile.alloc : !tile.buffer<64x32xbf16, #shared>
  %x1 = tile.alloc : !tile.buffer<64x32xbf16, #shared>
  %b = tile.alloc : !tile.buffer<32x64xbf16, #shared1>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %start) -> (tensor<64x64xf32, #frag>) {
    tile.copy %x[%c0, %k] -> %x1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.copy %s[%c0, %k] -> %s1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16, #shared>
    tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16, #shared1>
    %part = tile.subview %x1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %x1_1 = tile.read %part : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
    %part_1 = tile.subview %s1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %s1_1 = tile.read %part_1 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
    %part_2 = tile.subview %x1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %x1_2 = tile.read %part_2 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
    %part_3 = tile.subview %s1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
    %s1_2 = tile.read %part_3 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
    %a = tile.map %x1_1, %s1_1 : tensor<64x16xbf16, #frag1>, tensor<64x16xbf16, #frag1> -> tensor<64x16xbf16, #frag1> {
    ^bb0(%a_1: bf16, %b_1: bf16):
      %zero_1 = arith.constant 0.000000e+00 : bf16
      %maximumf = arith.maximumf %a_1, %zero_1 : bf16
      %mulf = arith.mulf %maximumf, %b_1 : bf16
      tile.yield %mulf : bf16
    }
    %part_4 = tile.subview %b {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
    %sum = tile.dot %a, %part_4, %acc {instruction = "wgmma"} : tensor<64x16xbf16, #frag1>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    %a_2 = tile.map %x1_2, %s1_2 : tensor<64x16xbf16, #frag1>, tensor<64x16xbf16, #frag1> -> tensor<64x16xbf16, #frag1> {
    ^bb0(%a_3: bf16, %b_2: bf16):
      %zero_2 = arith.constant 0.000000e+00 : bf16
      %maximumf_1 = arith.maximumf %a_3, %zero_2 : bf16
      %mulf_1 = arith.mulf %maximumf_1, %b_2 : bf16
      tile.yield %mulf_1 : bf16
    }
    %part_5 = tile.subview %b {at = array<i64: 16, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
    %d = tile.dot %a_2, %part_5, %sum {instruction = "wgmma"} : tensor<64x16xbf16, #frag1>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
    scf.yield %d : tensor<64x64xf32, #frag>
  }
  %convert = tile.convert %p {through = #shared4} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
  tile.store %convert, %y[%c0, %c0] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
}

// -----

// CHECK-LABEL: tile.program @softmax(
// CHECK-NOT: tile.channel
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
