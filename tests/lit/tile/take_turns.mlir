// RUN: irc-opt %s -p take-turns --split-input-file | filecheck %s

// Two consumers take turns: each skips the 8 stages of the other's tile, and waits until the other has had them.
// CHECK-LABEL: tile.program @product(
// CHECK:     tile.partitions @load warps 4 registers 40 {
// CHECK-NOT:   tile.write
// CHECK:     } @compute_0 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] turn [0, 2]
// CHECK-NOT:     tile.skip
// CHECK:         tile.begin_turn {{.*}} {turn = array<i64: 0, 2>}
// CHECK:         scf.for
// CHECK:         tile.end_turn
// CHECK-NEXT:    tile.release
// CHECK:         tile.write
// CHECK:         [[STAGES:%[a-z0-9_]+]] = arith.constant 8 : index
// CHECK-NEXT:    tile.skip {{.*}} by [[STAGES]]
// CHECK:     } @compute_1 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] turn [1, 2]
// CHECK:         [[OTHERS:%[a-z0-9_]+]] = arith.constant 8 : index
// CHECK-NEXT:    tile.skip {{.*}} by [[OTHERS]]
// CHECK-NEXT:    tile.begin_turn {{.*}} {turn = array<i64: 1, 2>}
// CHECK-NOT:     tile.skip
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
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
      %c0 = arith.constant 0 : index
      %ck = arith.constant 64 : index
      %cK = arith.constant 512 : index
      scf.for %k = %c0 to %cK step %ck {
        %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16, #shared>
        tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot
      }
    }
  } @compute_0 warps 4 registers 232 {
    %alloc = tile.alloc : !tile.buffer<128x64xbf16, #shared2>
    tile.for_tiles (%m_1, %n_1) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
      %c0_1 = arith.constant 0 : index
      %ck_1 = arith.constant 64 : index
      %cK_1 = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %start = tile.splat %zero : f32 -> tensor<128x128xf32, #frag>
      %none = tile.no_slot
      %acc, %none_1 = scf.for %k_1 = %c0_1 to %cK_1 step %ck_1 iter_args(%d = %start, %previous = %none) -> (tensor<128x128xf32, #frag>, !tile.slot<drain>) {
        %slot_1, %a_1, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        %e = tile.dot %a_1, %b_1, %d {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %previous after %d : tensor<128x128xf32, #frag>
        scf.yield %e, %slot_1 : tensor<128x128xf32, #frag>, !tile.slot<drain>
      }
      tile.release %none_1 after %acc : tensor<128x128xf32, #frag>
      %c0_2 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %c32 = arith.constant 32 : index
      scf.for %column = %c0_2 to %c128 step %c32 {
        %c0_3 = arith.constant 0 : index
        %part = tile.slice %acc[%c0_3, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32, #frag> -> tensor<128x32xf32, #frag1>
        %o = tile.map %part : tensor<128x32xf32, #frag1> -> tensor<128x32xbf16, #frag1> {
        ^bb0(%a_2: f32):
          %truncf = arith.truncf %a_2 : f32 to bf16
          tile.yield %truncf : bf16
        }
        %addi = arith.addi %n_1, %column : index
        tile.store_wait {pending = 1 : i64}
        %c0_4 = arith.constant 0 : index
        %c64 = arith.constant 64 : index
        %remui = arith.remui %column, %c64 : index
        %part_1 = tile.subview %alloc[%c0_4, %remui] {at = array<i64: 0, 0>} : !tile.buffer<128x64xbf16, #shared2> -> !tile.buffer<128x32xbf16, #shared3>
        tile.write %o, %part_1 : tensor<128x32xbf16, #frag1>, !tile.buffer<128x32xbf16, #shared3>
        %addi_1 = arith.addi %n_1, %column : index
        %convert = tile.convert %part {through = #shared4} : tensor<128x32xf32, #frag1> -> tensor<128x32xf32, #frag2>
        tile.store %convert, %z[%m_1, %addi_1] : tensor<128x32xf32, #frag2>, !tile.view<512x512xf32, strides [1, 512]>
        tile.store %part_1, %y[%m_1, %addi] : !tile.buffer<128x32xbf16, #shared3>, !tile.view<512x512xbf16>
      } {unroll}
    }
    tile.store_wait
  } @compute_1 warps 4 registers 232 {
    %alloc_1 = tile.alloc : !tile.buffer<128x64xbf16, #shared2>
    tile.for_tiles (%m_2, %n_2) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
      %c0_5 = arith.constant 0 : index
      %ck_2 = arith.constant 64 : index
      %cK_2 = arith.constant 512 : index
      %zero_1 = arith.constant 0.000000e+00 : f32
      %start_1 = tile.splat %zero_1 : f32 -> tensor<128x128xf32, #frag>
      %none_2 = tile.no_slot
      %acc_1, %none_3 = scf.for %k_2 = %c0_5 to %cK_2 step %ck_2 iter_args(%d_1 = %start_1, %previous_1 = %none_2) -> (tensor<128x128xf32, #frag>, !tile.slot<drain>) {
        %slot_2, %a_3, %b_2 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>>
        %e_1 = tile.dot %a_3, %b_2, %d_1 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag> -> tensor<128x128xf32, #frag>
        tile.release %previous_1 after %d_1 : tensor<128x128xf32, #frag>
        scf.yield %e_1, %slot_2 : tensor<128x128xf32, #frag>, !tile.slot<drain>
      }
      tile.release %none_3 after %acc_1 : tensor<128x128xf32, #frag>
      %c0_6 = arith.constant 0 : index
      %c128_1 = arith.constant 128 : index
      %c32_1 = arith.constant 32 : index
      scf.for %column_1 = %c0_6 to %c128_1 step %c32_1 {
        %c0_7 = arith.constant 0 : index
        %part_2 = tile.slice %acc_1[%c0_7, %column_1] {at = array<i64: 0, 0>} : tensor<128x128xf32, #frag> -> tensor<128x32xf32, #frag1>
        %o_1 = tile.map %part_2 : tensor<128x32xf32, #frag1> -> tensor<128x32xbf16, #frag1> {
        ^bb0(%a_4: f32):
          %truncf_1 = arith.truncf %a_4 : f32 to bf16
          tile.yield %truncf_1 : bf16
        }
        %addi_2 = arith.addi %n_2, %column_1 : index
        tile.store_wait {pending = 1 : i64}
        %c0_8 = arith.constant 0 : index
        %c64_1 = arith.constant 64 : index
        %remui_1 = arith.remui %column_1, %c64_1 : index
        %part_3 = tile.subview %alloc_1[%c0_8, %remui_1] {at = array<i64: 0, 0>} : !tile.buffer<128x64xbf16, #shared2> -> !tile.buffer<128x32xbf16, #shared3>
        tile.write %o_1, %part_3 : tensor<128x32xbf16, #frag1>, !tile.buffer<128x32xbf16, #shared3>
        %addi_3 = arith.addi %n_2, %column_1 : index
        %convert_1 = tile.convert %part_2 {through = #shared4} : tensor<128x32xf32, #frag1> -> tensor<128x32xf32, #frag2>
        tile.store %convert_1, %z[%m_2, %addi_3] : tensor<128x32xf32, #frag2>, !tile.view<512x512xf32, strides [1, 512]>
        tile.store %part_3, %y[%m_2, %addi_2] : !tile.buffer<128x32xbf16, #shared3>, !tile.view<512x512xbf16>
      } {unroll}
    }
    tile.store_wait
  }
}

// -----

// A program of one consumer is left alone.
// CHECK-LABEL: tile.program @gating(
// CHECK-NOT: begin_turn
// CHECK:     tile.store

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
