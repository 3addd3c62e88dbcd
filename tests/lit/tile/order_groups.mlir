// RUN: irc-opt %s -p order-groups --split-input-file | filecheck %s
// RUN: irc-opt %s -p 'order-groups{explain=true}' --split-input-file 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: irc-opt %s -p order-groups --split-input-file -o %t.mlir
// RUN: irc-opt %t.mlir -p order-groups --split-input-file | filecheck %s --check-prefix=TWICE

// Two warp groups of a partition take turns in issuing the product of the scores, which feeds the one with the values.
// CHECK-LABEL: tile.program @attention_0(
// CHECK:       @load
// CHECK-NOT:     tile.order
// CHECK:       } @compute warps 8
// CHECK:         [[ORDER:%[a-z0-9_]+]] = tile.order
// CHECK:         scf.for
// CHECK-NEXT:      tile.wait
// CHECK-NEXT:      %token = tile.take [[ORDER]]
// CHECK-NEXT:      [[S:%s]] = tile.dot
// CHECK-NEXT:      tile.pass %token
// CHECK-NOT:     tile.take
// CHECK:         tile.store

// A partition has one order.
// TWICE:       tile.order
// TWICE-NOT:   tile.order
// TWICE:       tile.take
// TWICE-NOT:   tile.take

// EXPLAIN:     attention_0 @load: 1 warp group, no turns
// EXPLAIN:     attention_0 @compute: 2 warp groups issue the product at {{.*}}order_groups.mlir:{{[0-9]+}}:{{[0-9]+}} in turn

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
#frag2 = #tile.fragment<((8,4,8),(8,4)):((1024,1,16),(128,4))>
tile.program @attention_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<256x64xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<stages = 2, warps = 8, instruction = "wgmma", turns = true>} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  %channel_2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [256] steps [128] {
      %c0 = arith.constant 0 : index
      %step = arith.constant 64 : index
      %slot, %qt = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %q[%i, %c0] -> %qt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot
      %first = arith.constant 0 : index
      %last = arith.constant 256 : index
      scf.for %j = %first to %last step %step {
        %slot_1, %kt = tile.acquire %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
        tile.copy %k[%c0, %j] -> %kt {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared2>
        tile.commit %slot_1
        %slot_2, %vt = tile.acquire %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_2
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i_1) extents [256] steps [128] {
      %c0_1 = arith.constant 0 : index
      %step_1 = arith.constant 64 : index
      %zero = arith.constant 0.000000e+00 : f32
      %least = arith.constant -1.000000e+30 : f32
      %a0 = tile.splat %zero : f32 -> tensor<128x64xf32, #frag>
      %s0 = tile.splat %zero : f32 -> tensor<128x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<128x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<128x1xf32, #frag1>
      %first_1 = arith.constant 0 : index
      %last_1 = arith.constant 256 : index
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %acc, %sums, %maxima = scf.for %j_1 = %first_1 to %last_1 step %step_1 iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>) {
        %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
        %s = tile.dot %qt_1, %kt_1, %s0 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared2>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_4 after %s : tensor<128x64xf32, #frag>
        %most = tile.reduce %s {axes = array<i64: 1>} : tensor<128x64xf32, #frag> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.maximumf %x, %y : f32
          tile.yield %z : f32
        }
        %m1 = tile.map %m, %most : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0: f32, %x1: f32):
          %z_1 = arith.maximumf %x0, %x1 : f32
          tile.yield %z_1 : f32
        }
        %p = tile.map %s, %m1 : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xf32, #frag> {
        ^bb0(%x0_1: f32, %x1_1: f32):
          %d = arith.subf %x0_1, %x1_1 : f32
          %z_2 = math.exp %d : f32
          tile.yield %z_2 : f32
        }
        %sum = tile.reduce %p {axes = array<i64: 1>} : tensor<128x64xf32, #frag> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x_1: f32, %y_1: f32):
          %z_3 = arith.addf %x_1, %y_1 : f32
          tile.yield %z_3 : f32
        }
        %r = tile.map %m, %m1 : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0_2: f32, %x1_2: f32):
          %d_1 = arith.subf %x0_2, %x1_2 : f32
          %z_4 = math.exp %d_1 : f32
          tile.yield %z_4 : f32
        }
        %l1 = tile.map %l, %r, %sum : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0_3: f32, %x1_3: f32, %x2: f32):
          %f = arith.mulf %x0_3, %x1_3 : f32
          %z_5 = arith.addf %f, %x2 : f32
          tile.yield %z_5 : f32
        }
        %a1 = tile.map %a, %r : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xf32, #frag> {
        ^bb0(%x0_4: f32, %x1_4: f32):
          %z_6 = arith.mulf %x0_4, %x1_4 : f32
          tile.yield %z_6 : f32
        }
        %pb = tile.map %p : tensor<128x64xf32, #frag> -> tensor<128x64xbf16, #frag> {
        ^bb0(%x0_5: f32):
          %z_7 = arith.truncf %x0_5 : f32 to bf16
          tile.yield %z_7 : bf16
        }
        %slot_5, %vt_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %a2 = tile.dot %pb, %vt_1, %a1 {instruction = "wgmma"} : tensor<128x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared1>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_5 after %a2 : tensor<128x64xf32, #frag>
        scf.yield %a2, %l1, %m1 : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>
      }
      tile.release %slot_3
      %y_2 = tile.map %acc, %sums : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xbf16, #frag> {
      ^bb0(%x0_6: f32, %x1_5: f32):
        %d_2 = arith.divf %x0_6, %x1_5 : f32
        %z_8 = arith.truncf %d_2 : f32 to bf16
        tile.yield %z_8 : bf16
      }
      %convert = tile.convert %y_2 {through = #shared} : tensor<128x64xbf16, #frag> -> tensor<128x64xbf16, #frag2>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<128x64xbf16, #frag2>, !tile.view<256x64xbf16>
    }
  }
}

// -----

// The places of `take` and `pass` may be edited: the turn may last until the second product is issued.

// Left alone: programs whose config does not ask for turns, partitions of one warp group, and loops whose dots do not
// feed each other.
// CHECK-LABEL: tile.program @attention_0(
// CHECK:        tile.partitions
// CHECK-NOT:    tile.order
// CHECK:        tile.store

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2)):((0,1,16,64),(8))>
#frag2 = #tile.fragment<((8,4,8),(8,4)):((1024,1,16),(128,4))>
tile.program @attention_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<256x64xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<stages = 2, warps = 8, instruction = "wgmma">} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  %channel_2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [256] steps [128] {
      %c0 = arith.constant 0 : index
      %step = arith.constant 64 : index
      %slot, %qt = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %q[%i, %c0] -> %qt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot
      %first = arith.constant 0 : index
      %last = arith.constant 256 : index
      scf.for %j = %first to %last step %step {
        %slot_1, %kt = tile.acquire %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
        tile.copy %k[%c0, %j] -> %kt {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared2>
        tile.commit %slot_1
        %slot_2, %vt = tile.acquire %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_2
      }
    }
  } @compute warps 8 registers 232 {
    tile.for_tiles (%i_1) extents [256] steps [128] {
      %c0_1 = arith.constant 0 : index
      %step_1 = arith.constant 64 : index
      %zero = arith.constant 0.000000e+00 : f32
      %least = arith.constant -1.000000e+30 : f32
      %a0 = tile.splat %zero : f32 -> tensor<128x64xf32, #frag>
      %s0 = tile.splat %zero : f32 -> tensor<128x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<128x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<128x1xf32, #frag1>
      %first_1 = arith.constant 0 : index
      %last_1 = arith.constant 256 : index
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %acc, %sums, %maxima = scf.for %j_1 = %first_1 to %last_1 step %step_1 iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>) {
        %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared2>>
        %s = tile.dot %qt_1, %kt_1, %s0 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared2>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_4 after %s : tensor<128x64xf32, #frag>
        %most = tile.reduce %s {axes = array<i64: 1>} : tensor<128x64xf32, #frag> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x: f32, %y: f32):
          %z = arith.maximumf %x, %y : f32
          tile.yield %z : f32
        }
        %m1 = tile.map %m, %most : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0: f32, %x1: f32):
          %z_1 = arith.maximumf %x0, %x1 : f32
          tile.yield %z_1 : f32
        }
        %p = tile.map %s, %m1 : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xf32, #frag> {
        ^bb0(%x0_1: f32, %x1_1: f32):
          %d = arith.subf %x0_1, %x1_1 : f32
          %z_2 = math.exp %d : f32
          tile.yield %z_2 : f32
        }
        %sum = tile.reduce %p {axes = array<i64: 1>} : tensor<128x64xf32, #frag> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x_1: f32, %y_1: f32):
          %z_3 = arith.addf %x_1, %y_1 : f32
          tile.yield %z_3 : f32
        }
        %r = tile.map %m, %m1 : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0_2: f32, %x1_2: f32):
          %d_1 = arith.subf %x0_2, %x1_2 : f32
          %z_4 = math.exp %d_1 : f32
          tile.yield %z_4 : f32
        }
        %l1 = tile.map %l, %r, %sum : tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1> -> tensor<128x1xf32, #frag1> {
        ^bb0(%x0_3: f32, %x1_3: f32, %x2: f32):
          %f = arith.mulf %x0_3, %x1_3 : f32
          %z_5 = arith.addf %f, %x2 : f32
          tile.yield %z_5 : f32
        }
        %a1 = tile.map %a, %r : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xf32, #frag> {
        ^bb0(%x0_4: f32, %x1_4: f32):
          %z_6 = arith.mulf %x0_4, %x1_4 : f32
          tile.yield %z_6 : f32
        }
        %pb = tile.map %p : tensor<128x64xf32, #frag> -> tensor<128x64xbf16, #frag> {
        ^bb0(%x0_5: f32):
          %z_7 = arith.truncf %x0_5 : f32 to bf16
          tile.yield %z_7 : bf16
        }
        %slot_5, %vt_1 = tile.wait %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %a2 = tile.dot %pb, %vt_1, %a1 {instruction = "wgmma"} : tensor<128x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared1>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_5 after %a2 : tensor<128x64xf32, #frag>
        scf.yield %a2, %l1, %m1 : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1>, tensor<128x1xf32, #frag1>
      }
      tile.release %slot_3
      %y_2 = tile.map %acc, %sums : tensor<128x64xf32, #frag>, tensor<128x1xf32, #frag1> -> tensor<128x64xbf16, #frag> {
      ^bb0(%x0_6: f32, %x1_5: f32):
        %d_2 = arith.divf %x0_6, %x1_5 : f32
        %z_8 = arith.truncf %d_2 : f32 to bf16
        tile.yield %z_8 : bf16
      }
      %convert = tile.convert %y_2 {through = #shared} : tensor<128x64xbf16, #frag> -> tensor<128x64xbf16, #frag2>
      tile.store %convert, %o[%i_1, %c0_1] : tensor<128x64xbf16, #frag2>, !tile.view<256x64xbf16>
    }
  }
}

// -----

// The places of `take` and `pass` may be edited: the turn may last until the second product is issued.

// Left alone: programs whose config does not ask for turns, partitions of one warp group, and loops whose dots do not
// feed each other.
// CHECK-LABEL: tile.program @attention_0(
// CHECK:        tile.partitions
// CHECK-NOT:    tile.order
// CHECK:        tile.store

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
#frag1 = #tile.fragment<((4,8,4),(2)):((0,1,16),(8))>
#frag2 = #tile.fragment<((8,4,4),(8,4)):((512,1,16),(64,4))>
tile.program @attention_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %o: !tile.view<256x64xbf16>) {results = 1 : i64, threads = 128 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "wgmma", turns = true>} {
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %channel_1 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %channel_2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%i) extents [256] steps [64] {
      %c0 = arith.constant 0 : index
      %step = arith.constant 64 : index
      %slot, %qt = tile.acquire %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      tile.copy %q[%i, %c0] -> %qt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.commit %slot
      %first = arith.constant 0 : index
      %last = arith.constant 256 : index
      scf.for %j = %first to %last step %step {
        %slot_1, %kt = tile.acquire %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %k[%c0, %j] -> %kt {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_1
        %slot_2, %vt = tile.acquire %channel_1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
        tile.copy %v[%j, %c0] -> %vt {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
        tile.commit %slot_2
      }
    }
  } @compute warps 4 registers 240 {
    tile.for_tiles (%i_1) extents [256] steps [64] {
      %c0_1 = arith.constant 0 : index
      %step_1 = arith.constant 64 : index
      %zero = arith.constant 0.000000e+00 : f32
      %least = arith.constant -1.000000e+30 : f32
      %a0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %s0 = tile.splat %zero : f32 -> tensor<64x64xf32, #frag>
      %l0 = tile.splat %zero : f32 -> tensor<64x1xf32, #frag1>
      %m0 = tile.splat %least : f32 -> tensor<64x1xf32, #frag1>
      %first_1 = arith.constant 0 : index
      %last_1 = arith.constant 256 : index
      %slot_3, %qt_1 = tile.wait %channel : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %acc, %sums, %maxima = scf.for %j_1 = %first_1 to %last_1 step %step_1 iter_args(%a = %a0, %l = %l0, %m = %m0) -> (tensor<64x64xf32, #frag>, tensor<64x1xf32, #frag1>, tensor<64x1xf32, #frag1>) {
        %slot_4, %kt_1 = tile.wait %channel_2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %s = tile.dot %qt_1, %kt_1, %s0 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
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
      tile.store %convert, %o[%i_1, %c0_1] : tensor<64x64xbf16, #frag2>, !tile.view<256x64xbf16>
    }
  }
}

// -----

// The places of `take` and `pass` may be edited: the turn may last until the second product is issued.

// Left alone: programs whose config does not ask for turns, partitions of one warp group, and loops whose dots do not
// feed each other.
// CHECK-LABEL: tile.program @gating(
// CHECK:        tile.partitions
// CHECK-NOT:    tile.order
// CHECK:        tile.store

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,32)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#frag2 = #tile.fragment<((4,8,4,2),(2,16)):((2,0,0,0),(1,8))>
#shared3 = #tile.shared<(128,128):(128,1) swizzle(3,3,4)>
#frag3 = #tile.fragment<((16,2,8),(8,8)):((1024,1,16),(128,2))>
tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, threads = 256 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma", turns = true>} {
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
