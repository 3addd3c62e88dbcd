// RUN: irc-opt %s -p schedule-loops | filecheck %s

// A constant in the loop has a place as all that is computed has: the dot of the values still works an iteration behind.
// CHECK-LABEL: tile.program @attention_0(
// CHECK:         %none = arith.constant {scheduled = #tile.at<stage = 0, order = {{[0-9]+}}>} 0.000000e+00 : f32
// CHECK:         %s = tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = {{[0-9]+}}>, instruction = "wgmma"}
// CHECK:         %a2 = tile.dot {{.*}} {scheduled = #tile.at<stage = 1, order = {{[0-9]+}}>, instruction = "wgmma"}

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#frag1 = #tile.fragment<((4,8,4),(2)):((0,1,16),(8))>
#frag2 = #tile.fragment<((8,4,4),(8,4)):((512,1,16),(64,4))>
tile.program @attention_0(%q: !tile.view<128x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<128x64xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "wgmma">} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %channel_2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [128] steps [64] {
      %c0 = arith.constant 0 : index
      %n = arith.constant 256 : index
      %step = arith.constant 64 : index
      %slot, %qt = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      tile.copy %q[%i, %c0] -> %qt {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.commit %slot
      scf.for %j = %c0 to %n step %step {
        %slot_1, %kt = tile.acquire %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %k[%c0, %j] -> %kt {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_1
        %slot_2, %vt = tile.acquire %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
        tile.commit %slot_2
      }
    }
  } @compute warps 4 registers 240 {
    tile.for_tiles (%i_1) extents [128] steps [64] {
      %c0_1 = arith.constant 0 : index
      %n_1 = arith.constant 256 : index
      %step_1 = arith.constant 64 : index
      %zero = arith.constant 0.000000e+00 : f32
      %least = arith.constant -1.000000e+30 : f32
      %a0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<64x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<64x1xf32, #frag1>
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %acc, %sums, %maxima = scf.for %j_1 = %c0_1 to %n_1 step %step_1 iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>) {
        %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %none = arith.constant 0.000000e+00 : f32
        %start = tile.splat %none : f32 -> tensor<64x64xf32, #frag>
        %s = tile.dot %qt_1, %kt_1, %start {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_4 after %s : tensor<64x64xf32, #frag>
        %most = tile.reduce %s {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.maximumf %x, %y : f32
          tile.yield %z : f32
        }
        %m1 = tile.map %m, %most : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0: f32, %x1: f32):
          %z_1 = arith.maximumf %x0, %x1 : f32
          tile.yield %z_1 : f32
        }
        %p = tile.map %s, %m1 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
        ^bb0(%x0_1: f32, %x1_1: f32):
          %d = arith.subf %x0_1, %x1_1 : f32
          %z_2 = math.exp %d : f32
          tile.yield %z_2 : f32
        }
        %sum = tile.reduce %p {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x_1: f32, %y_1: f32):
          %z_3 = arith.addf %x_1, %y_1 : f32
          tile.yield %z_3 : f32
        }
        %r = tile.map %m, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_2: f32, %x1_2: f32):
          %d_1 = arith.subf %x0_2, %x1_2 : f32
          %z_4 = math.exp %d_1 : f32
          tile.yield %z_4 : f32
        }
        %l1 = tile.map %l, %r, %sum : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_3: f32, %x1_3: f32, %x2: f32):
          %f = arith.mulf %x0_3, %x1_3 : f32
          %z_5 = arith.addf %f, %x2 : f32
          tile.yield %z_5 : f32
        }
        %a1 = tile.map %a, %r : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
        ^bb0(%x0_4: f32, %x1_4: f32):
          %z_6 = arith.mulf %x0_4, %x1_4 : f32
          tile.yield %z_6 : f32
        }
        %pb = tile.map %p : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
        ^bb0(%x0_5: f32):
          %z_7 = arith.truncf %x0_5 : f32 to bf16
          tile.yield %z_7 : bf16
        }
        %slot_5, %vt_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        %a2 = tile.dot %pb, %vt_1, %a1 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_5 after %a2 : tensor<64x64xf32, #frag>
        scf.yield %a2, %l1, %m1 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>
      }
      tile.release %slot_3
      %y_2 = tile.map %acc, %sums : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xbf16, #frag> {
      ^bb0(%x0_6: f32, %x1_5: f32):
        %d_2 = arith.divf %x0_6, %x1_5 : f32
        %z_8 = arith.truncf %d_2 : f32 to bf16
        tile.yield %z_8 : bf16
      }
      %convert = tile.convert %y_2 {through = #shared} : tensor<64x64xbf16, #frag> -> tensor<64x64xbf16, #frag2>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<64x64xbf16, #frag2>, !tile.view<128x64xbf16>
    }
  }
}

