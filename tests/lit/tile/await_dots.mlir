// RUN: irc-opt %s -p await-dots --split-input-file | filecheck %s

// A dot whose result is only carried stays in flight: the stage of the iteration before is released behind an await.
// CHECK-LABEL: tile.program @gating(
// CHECK:       [[NONE:%[a-z0-9_]+]] = tile.no_slot
// CHECK:       [[ACC:%[a-z0-9_]+]], [[LAST:%[a-z0-9_]+]] = scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[PREVIOUS:%[a-z0-9_]+]] = [[NONE]])
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[BEFORE]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.await [[BEFORE]]
// CHECK-NEXT:    tile.release [[PREVIOUS]]
// CHECK-NEXT:    scf.yield [[SUM]], [[SLOT]]
// CHECK:       tile.dot_wait [[ACC]]
// CHECK-NEXT:  tile.release [[LAST]]

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared3 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag3 = #tile.fragment<((16,2,8),(8,8)):((1024,1,16),(128,2))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      scf.for %k = %c0 to %cK step %ck {
        %slot, %a, %buffer = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        %part = tile.subview %buffer {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
        tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
        %part_1 = tile.subview %buffer {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
        tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%m_1, %n_1) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
      %c0_1 = arith.constant 0 : index
      %ck_1 = arith.constant 64 : index
      %cK_1 = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
      %none = tile.no_slot
      %acc, %none_1 = scf.for %k_1 = %c0_1 to %cK_1 step %ck_1 iter_args(%acc_1 = %init, %previous = %none) -> (tensor<128x256xf32, #frag>, !tile.slot<drain>) {
        %slot_1, %a_1, %buffer_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
        %sum = tile.dot %a_1, %buffer_1, %acc_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
        tile.release %previous after %acc_1 : tensor<128x256xf32, #frag>
        scf.yield %sum, %slot_1 : tensor<128x256xf32, #frag>, !tile.slot<drain>
      }
      tile.release %none_1 after %acc : tensor<128x256xf32, #frag>
      %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
      %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
      %u = tile.load %b1[%c0_1, %n_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
      %v = tile.load %b2[%c0_1, %n_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
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
      tile.store %convert, %y[%m_1, %n_1] : tensor<128x128xbf16, #frag3>, !tile.view<512x512xbf16>
    }
  }
}

// -----

// Dots on parts of K leave all but one in flight; the next step reads before it waits for the first.
// CHECK-LABEL: @streamed
// CHECK:         } {
// CHECK:         tile.wait
// CHECK-NOT:     tile.map
// CHECK:         tile.read
// CHECK:         tile.await [[FIRST:%[a-z0-9_]+]]
// CHECK-NEXT:    [[A:%a]] = tile.map
// CHECK:         [[HALF:%[a-z0-9_]+]] = tile.dot [[A]], {{%[a-z0-9_]+}}, [[ACC:%[a-z0-9_]+]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.await [[ACC]]
// CHECK:         tile.dot {{.*}}, [[HALF]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.release
// CHECK-NEXT:    scf.yield
// CHECK:         tile.dot_wait

#shared = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#shared1 = #tile.shared<(32,64):(64,1) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#shared2 = #tile.shared<(64,16):(32,1) swizzle(2,3,3)>
#frag1 = #tile.fragment<((4,8,4),(2,2,2)):((128,1,16),(64,8,512))>
#shared3 = #tile.shared<(16,64):(64,1) swizzle(3,3,3)>
#shared4 = #tile.shared<(64,64):(64,1) swizzle(2,3,3)>
#frag2 = #tile.fragment<((16,2,4),(4,8)):((256,1,16),(64,2))>
tile.program @streamed(%x: !tile.view<64x64xbf16>, %s: !tile.view<64x64xbf16>, %v: !tile.view<64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c32 {
      %slot, %x1, %s1, %b = tile.acquire %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
      tile.copy %x[%c0, %k] -> %x1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16, #shared>
      tile.copy %s[%c0, %k] -> %s1 {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x32xbf16, #shared>
      tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<32x64xbf16, #shared1>
      tile.commit %slot
    }
  } @compute warps 4 registers 240 {
    %c0_1 = arith.constant 0 : index
    %c32_1 = arith.constant 32 : index
    %c64_1 = arith.constant 64 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
    %none = tile.no_slot
    %p, %none_1 = scf.for %k_1 = %c0_1 to %c64_1 step %c32_1 iter_args(%acc = %start, %previous = %none) -> (tensor<64x64xf32, #frag>, !tile.slot<drain>) {
      %slot_1, %x1_1, %s1_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x32xbf16, #shared>, !tile.buffer<64x32xbf16, #shared>, !tile.buffer<32x64xbf16, #shared1>>
      %part = tile.subview %x1_1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
      %x1_2 = tile.read %part : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
      %part_1 = tile.subview %s1_1 {at = array<i64: 0, 0>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
      %s1_2 = tile.read %part_1 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
      %part_2 = tile.subview %x1_1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
      %x1_3 = tile.read %part_2 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
      %part_3 = tile.subview %s1_1 {at = array<i64: 0, 16>} : !tile.buffer<64x32xbf16, #shared> -> !tile.buffer<64x16xbf16, #shared2>
      %s1_3 = tile.read %part_3 : !tile.buffer<64x16xbf16, #shared2> -> tensor<64x16xbf16, #frag1>
      %a = tile.map %x1_2, %s1_2 : tensor<64x16xbf16, #frag1>, tensor<64x16xbf16, #frag1> -> tensor<64x16xbf16, #frag1> {
      ^bb0(%a_1: bf16, %b_2: bf16):
        %zero_1 = arith.constant 0.000000e+00 : bf16
        %maximumf = arith.maximumf %a_1, %zero_1 : bf16
        %mulf = arith.mulf %maximumf, %b_2 : bf16
        tile.yield %mulf : bf16
      }
      %part_4 = tile.subview %b_1 {at = array<i64: 0, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
      %sum = tile.dot %a, %part_4, %acc {instruction = "wgmma"} : tensor<64x16xbf16, #frag1>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      %a_2 = tile.map %x1_3, %s1_3 : tensor<64x16xbf16, #frag1>, tensor<64x16xbf16, #frag1> -> tensor<64x16xbf16, #frag1> {
      ^bb0(%a_3: bf16, %b_3: bf16):
        %zero_2 = arith.constant 0.000000e+00 : bf16
        %maximumf_1 = arith.maximumf %a_3, %zero_2 : bf16
        %mulf_1 = arith.mulf %maximumf_1, %b_3 : bf16
        tile.yield %mulf_1 : bf16
      }
      %part_5 = tile.subview %b_1 {at = array<i64: 16, 0>} : !tile.buffer<32x64xbf16, #shared1> -> !tile.buffer<16x64xbf16, #shared3>
      %d = tile.dot %a_2, %part_5, %sum {instruction = "wgmma"} : tensor<64x16xbf16, #frag1>, !tile.buffer<16x64xbf16, #shared3>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      tile.release %previous after %acc : tensor<64x64xf32, #frag>
      scf.yield %d, %slot_1 : tensor<64x64xf32, #frag>, !tile.slot<drain>
    }
    tile.release %none_1 after %p : tensor<64x64xf32, #frag>
    %convert = tile.convert %p {through = #shared4} : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag2>
    tile.store %convert, %y[%c0_1, %c0_1] : tensor<64x64xf32, #frag2>, !tile.view<64x64xf32>
  }
}

// -----

// Where the stage is released at once, so is the dot waited for.
// CHECK-LABEL: tile.program @gating(
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}} -> !tile.pending
// CHECK-NEXT:    [[DONE:%[a-z0-9_]+]] = tile.dot_wait [[SUM]]
// CHECK-NEXT:    tile.release
// CHECK-NEXT:    scf.yield [[DONE]]

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared3 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag3 = #tile.fragment<((16,2,8),(8,8)):((1024,1,16),(128,2))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 4 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      scf.for %k = %c0 to %cK step %ck {
        %slot, %a, %buffer = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        %part = tile.subview %buffer {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
        tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
        %part_1 = tile.subview %buffer {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16, #shared1> -> !tile.buffer<64x128xbf16, #shared2>
        tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared2>
        tile.commit %slot
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%m_1, %n_1) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
      %c0_1 = arith.constant 0 : index
      %ck_1 = arith.constant 64 : index
      %cK_1 = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %init = tile.splat %zero : f32 -> tensor<128x256xf32, #frag>
      %acc = scf.for %k_1 = %c0_1 to %cK_1 step %ck_1 iter_args(%acc_1 = %init) -> (tensor<128x256xf32, #frag>) {
        %slot_1, %a_1, %buffer_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>>
        %sum = tile.dot %a_1, %buffer_1, %acc_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x256xbf16, #shared1>, tensor<128x256xf32, #frag> -> tensor<128x256xf32, #frag>
        tile.release %slot_1 after %sum : tensor<128x256xf32, #frag>
        scf.yield %sum : tensor<128x256xf32, #frag>
      }
      %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
      %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32, #frag> -> tensor<128x128xf32, #frag1>
      %u = tile.load %b1[%c0_1, %n_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
      %v = tile.load %b2[%c0_1, %n_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16, #frag2>
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
      tile.store %convert, %y[%m_1, %n_1] : tensor<128x128xbf16, #frag3>, !tile.view<512x512xbf16>
    }
  }
}
