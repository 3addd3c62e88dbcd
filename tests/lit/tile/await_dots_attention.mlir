// RUN: irc-opt %s -p await-dots --split-input-file | filecheck %s

// CHECK-LABEL: tile.program @attention_0(
// CHECK:       scf.for %j_1
// CHECK:         [[S:%s[_0-9]*]] = tile.dot {{.*}} -> !tile.pending
// CHECK:         [[O:%a2[_0-9]*]] = tile.dot {{.*}} -> !tile.pending
// CHECK-NEXT:    tile.dot_wait [[S]]
// CHECK-NEXT:    tile.release {{%slot[_0-9]*$}}
// CHECK:         tile.dot_wait [[O]]
// CHECK-NEXT:    tile.release {{%slot[_0-9]*$}}
// CHECK-NEXT:    tile.map

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
      %s0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<64x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<64x1xf32, #frag1>
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
      %s = tile.dot %qt_1, %kt_1, %s0 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      tile.release %slot_4 after %s : tensor<64x64xf32, #frag>
      %most = tile.reduce %s {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maximumf %x, %y : f32
        tile.yield %z : f32
      }
      %m1 = tile.map %m0, %most : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
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
      %r = tile.map %m0, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%x0_2: f32, %x1_2: f32):
        %d_1 = arith.subf %x0_2, %x1_2 : f32
        %z_4 = math.exp %d_1 : f32
        tile.yield %z_4 : f32
      }
      %l1 = tile.map %l0, %r, %sum : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
      ^bb0(%x0_3: f32, %x1_3: f32, %x2: f32):
        %f = arith.mulf %x0_3, %x1_3 : f32
        %z_5 = arith.addf %f, %x2 : f32
        tile.yield %z_5 : f32
      }
      %a1 = tile.map %a0, %r : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
      ^bb0(%x0_4: f32, %x1_4: f32):
        %z_6 = arith.mulf %x0_4, %x1_4 : f32
        tile.yield %z_6 : f32
      }
      %pb = tile.map %p : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
      ^bb0(%x0_5: f32):
        %z_7 = arith.truncf %x0_5 : f32 to bf16
        tile.yield %z_7 : bf16
      }
      %c64 = arith.constant 64 : index
      %sums, %m1_1, %pb_1, %a1_1 = scf.for %j_1 = %c64 to %n_1 step %step_1 iter_args(%l = %l1, %m = %m1, %pb_2 = %pb, %a1_2 = %a1) -> (tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x64xbf16, #frag>, tensor<64x64xf32, #frag>) {
        %slot_5, %kt_2 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %s_1 = tile.dot %qt_1, %kt_2, %s0 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        %slot_6, %vt_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        %a2 = tile.dot %pb_2, %vt_1, %a1_2 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_5 after %s_1 : tensor<64x64xf32, #frag>
        %most_1 = tile.reduce %s_1 {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x_2: f32, %y_2: f32):
          %z_8 = arith.maximumf %x_2, %y_2 : f32
          tile.yield %z_8 : f32
        }
        %m1_2 = tile.map %m, %most_1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_6: f32, %x1_5: f32):
          %z_9 = arith.maximumf %x0_6, %x1_5 : f32
          tile.yield %z_9 : f32
        }
        %p_1 = tile.map %s_1, %m1_2 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
        ^bb0(%x0_7: f32, %x1_6: f32):
          %d_2 = arith.subf %x0_7, %x1_6 : f32
          %z_10 = math.exp %d_2 : f32
          tile.yield %z_10 : f32
        }
        %sum_1 = tile.reduce %p_1 {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x_3: f32, %y_3: f32):
          %z_11 = arith.addf %x_3, %y_3 : f32
          tile.yield %z_11 : f32
        }
        %r_1 = tile.map %m, %m1_2 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_8: f32, %x1_7: f32):
          %d_3 = arith.subf %x0_8, %x1_7 : f32
          %z_12 = math.exp %d_3 : f32
          tile.yield %z_12 : f32
        }
        %l1_1 = tile.map %l, %r_1, %sum_1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_9: f32, %x1_8: f32, %x2_1: f32):
          %f_1 = arith.mulf %x0_9, %x1_8 : f32
          %z_13 = arith.addf %f_1, %x2_1 : f32
          tile.yield %z_13 : f32
        }
        tile.release %slot_6 after %a2 : tensor<64x64xf32, #frag>
        %a1_3 = tile.map %a2, %r_1 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
        ^bb0(%x0_10: f32, %x1_9: f32):
          %z_14 = arith.mulf %x0_10, %x1_9 : f32
          tile.yield %z_14 : f32
        }
        %pb_3 = tile.map %p_1 : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
        ^bb0(%x0_11: f32):
          %z_15 = arith.truncf %x0_11 : f32 to bf16
          tile.yield %z_15 : bf16
        }
        scf.yield %l1_1, %m1_2, %pb_3, %a1_3 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x64xbf16, #frag>, tensor<64x64xf32, #frag>
      }
      %slot_7, %vt_2 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %a2_1 = tile.dot %pb_1, %vt_2, %a1_1 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
      tile.release %slot_7 after %a2_1 : tensor<64x64xf32, #frag>
      tile.release %slot_3
      %y_4 = tile.map %a2_1, %sums : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xbf16, #frag> {
      ^bb0(%x0_12: f32, %x1_10: f32):
        %d_4 = arith.divf %x0_12, %x1_10 : f32
        %z_16 = arith.truncf %d_4 : f32 to bf16
        tile.yield %z_16 : bf16
      }
      %convert = tile.convert %y_4 {through = #shared} : tensor<64x64xbf16, #frag> -> tensor<64x64xbf16, #frag2>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<64x64xbf16, #frag2>, !tile.view<128x64xbf16>
    }
  }
}

// -----

// With bounds that depend on the tile, both partitions compute them. The consumer's loop is in a branch, with the first
// scores and the last product with the values, and all dots are waited for in it.
// CHECK-LABEL: tile.program @attention_0(
// CHECK:      @load
// CHECK:        arith.muli %i, %i
// CHECK:        scf.for {{.*}} to %n
// CHECK:      @compute
// CHECK:        [[RUNS:%[a-z0-9_]+]] = arith.cmpi slt, %c0{{[_0-9]*}}, %n{{[_0-9]*}} : index
// CHECK:        [[RESULTS:%acc[_0-9]*]], [[SUMS:%sums[_0-9]*]] = scf.if [[RUNS]]
// CHECK:            tile.dot_wait
// CHECK:          scf.for
// CHECK:            scf.yield
// CHECK:          [[LAST:%a2[_0-9]*]] = tile.dot_wait
// CHECK-NEXT:     tile.release
// CHECK-NEXT:     scf.yield [[LAST]]
// CHECK:        } else {
// CHECK-NEXT:     scf.yield %a0
// CHECK:        tile.map [[RESULTS]], [[SUMS]]

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
      %n = arith.muli %i, %i : index
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
      %n_1 = arith.muli %i_1, %i_1 : index
      %step_1 = arith.constant 64 : index
      %zero = arith.constant 0.000000e+00 : f32
      %least = arith.constant -1.000000e+30 : f32
      %a0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %s0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<64x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<64x1xf32, #frag1>
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %cmpi = arith.cmpi slt, %c0_1, %n_1 : index
      %acc, %sums = scf.if %cmpi -> (tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>) {
        %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %s = tile.dot %qt_1, %kt_1, %s0 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_4 after %s : tensor<64x64xf32, #frag>
        %most = tile.reduce %s {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.maximumf %x, %y : f32
          tile.yield %z : f32
        }
        %m1 = tile.map %m0, %most : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
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
        %r = tile.map %m0, %m1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_2: f32, %x1_2: f32):
          %d_1 = arith.subf %x0_2, %x1_2 : f32
          %z_4 = math.exp %d_1 : f32
          tile.yield %z_4 : f32
        }
        %l1 = tile.map %l0, %r, %sum : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
        ^bb0(%x0_3: f32, %x1_3: f32, %x2: f32):
          %f = arith.mulf %x0_3, %x1_3 : f32
          %z_5 = arith.addf %f, %x2 : f32
          tile.yield %z_5 : f32
        }
        %a1 = tile.map %a0, %r : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
        ^bb0(%x0_4: f32, %x1_4: f32):
          %z_6 = arith.mulf %x0_4, %x1_4 : f32
          tile.yield %z_6 : f32
        }
        %pb = tile.map %p : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
        ^bb0(%x0_5: f32):
          %z_7 = arith.truncf %x0_5 : f32 to bf16
          tile.yield %z_7 : bf16
        }
        %c64 = arith.constant 64 : index
        %sums_1, %m1_1, %pb_1, %a1_1 = scf.for %j_1 = %c64 to %n_1 step %step_1 iter_args(%l = %l1, %m = %m1, %pb_2 = %pb, %a1_2 = %a1) -> (tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x64xbf16, #frag>, tensor<64x64xf32, #frag>) {
          %slot_5, %kt_2 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
          %s_1 = tile.dot %qt_1, %kt_2, %s0 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
          %slot_6, %vt_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
          %a2 = tile.dot %pb_2, %vt_1, %a1_2 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
          tile.release %slot_5 after %s_1 : tensor<64x64xf32, #frag>
          %most_1 = tile.reduce %s_1 {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
          ^bb0(%x_2: f32, %y_2: f32):
            %z_8 = arith.maximumf %x_2, %y_2 : f32
            tile.yield %z_8 : f32
          }
          %m1_2 = tile.map %m, %most_1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
          ^bb0(%x0_6: f32, %x1_5: f32):
            %z_9 = arith.maximumf %x0_6, %x1_5 : f32
            tile.yield %z_9 : f32
          }
          %p_1 = tile.map %s_1, %m1_2 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
          ^bb0(%x0_7: f32, %x1_6: f32):
            %d_2 = arith.subf %x0_7, %x1_6 : f32
            %z_10 = math.exp %d_2 : f32
            tile.yield %z_10 : f32
          }
          %sum_1 = tile.reduce %p_1 {axes = array<i64: 1>} : tensor<64x64xf32, #frag> -> tensor<64x1xf32, #frag1> {
          ^bb0(%x_3: f32, %y_3: f32):
            %z_11 = arith.addf %x_3, %y_3 : f32
            tile.yield %z_11 : f32
          }
          %r_1 = tile.map %m, %m1_2 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
          ^bb0(%x0_8: f32, %x1_7: f32):
            %d_3 = arith.subf %x0_8, %x1_7 : f32
            %z_12 = math.exp %d_3 : f32
            tile.yield %z_12 : f32
          }
          %l1_1 = tile.map %l, %r_1, %sum_1 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1> -> tensor<64x1xf32, #frag1> {
          ^bb0(%x0_9: f32, %x1_8: f32, %x2_1: f32):
            %f_1 = arith.mulf %x0_9, %x1_8 : f32
            %z_13 = arith.addf %f_1, %x2_1 : f32
            tile.yield %z_13 : f32
          }
          tile.release %slot_6 after %a2 : tensor<64x64xf32, #frag>
          %a1_3 = tile.map %a2, %r_1 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xf32, #frag> {
          ^bb0(%x0_10: f32, %x1_9: f32):
            %z_14 = arith.mulf %x0_10, %x1_9 : f32
            tile.yield %z_14 : f32
          }
          %pb_3 = tile.map %p_1 : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
          ^bb0(%x0_11: f32):
            %z_15 = arith.truncf %x0_11 : f32 to bf16
            tile.yield %z_15 : bf16
          }
          scf.yield %l1_1, %m1_2, %pb_3, %a1_3 : tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>, tensor<64x64xbf16, #frag>, tensor<64x64xf32, #frag>
        }
        %slot_7, %vt_2 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        %a2_1 = tile.dot %pb_1, %vt_2, %a1_1 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_7 after %a2_1 : tensor<64x64xf32, #frag>
        scf.yield %a2_1, %sums_1 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>
      } else {
        scf.yield %a0, %l0 : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>
      }
      tile.release %slot_3
      %y_4 = tile.map %acc, %sums : tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1> -> tensor<64x64xbf16, #frag> {
      ^bb0(%x0_12: f32, %x1_10: f32):
        %d_4 = arith.divf %x0_12, %x1_10 : f32
        %z_16 = arith.truncf %d_4 : f32 to bf16
        tile.yield %z_16 : bf16
      }
      %convert = tile.convert %y_4 {through = #shared} : tensor<64x64xbf16, #frag> -> tensor<64x64xbf16, #frag2>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<64x64xbf16, #frag2>, !tile.view<128x64xbf16>
    }
  }
}
