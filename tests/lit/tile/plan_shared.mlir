// RUN: irc-opt %s -p plan-shared --split-input-file | filecheck %s

// CHECK-LABEL: tile.program @gating(
// CHECK: shared = 197632 : i64
// CHECK: tile.channel {stages = 4 : i64, offset = 0 : i64}

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

// -----

// CHECK-LABEL: tile.program @buffers(
// CHECK: shared = 4096 : i64
// CHECK: tile.alloc {offset = 0 : i64}
// CHECK: tile.alloc {offset = 2048 : i64}
tile.program @buffers(%x: !tile.view<32x32xf32>) {results = 0 : i64} {
  %a = tile.alloc : !tile.buffer<16x32xf32, #tile.shared<(16,32):(32,1)>>
  %b = tile.alloc : !tile.buffer<16x32xf32, #tile.shared<(16,32):(32,1)>>
}

// -----

// Tickets lie behind the barriers of the last channel, where a buffer could not begin: they take no bytes.
// CHECK-LABEL: tile.program @tickets(
// CHECK: shared = 17408 : i64
// CHECK: %channel = tile.channel {stages = 2 : i64, offset = 0 : i64}
// CHECK: %tickets = tile.channel {stages = 2 : i64, offset = 16416 : i64}
#shared = #tile.shared<(32,128):(128,1)>
#word = #tile.shared<(1):(1)>
tile.program @tickets(%x: !tile.view<8192x128xbf16>, %counter: !tile.view<1xi32>) {results = 1 : i64, sums = array<i64: 1>} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
  %tickets = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<1xi32, #word>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [8192, 128] steps [32, 128] schedule "dynamic" {
      %slot, %b = tile.acquire %channel : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
      tile.copy %x[%m, %n] -> %b {via = "tma"} : !tile.view<8192x128xbf16> -> !tile.buffer<32x128xbf16, #shared>
      tile.commit %slot
      %slot_1, %left = tile.acquire %tickets : !tile.channel<!tile.buffer<1xi32, #word>>
      %ticket = tile.take_ticket %counter -> %left : !tile.view<1xi32> -> !tile.buffer<1xi32, #word>
      tile.commit %slot_1
      tile.next_tile %ticket
    }
  }
}
