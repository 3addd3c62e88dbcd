// RUN: irc-opt %s -p schedule-loops --split-input-file | filecheck %s
// RUN: irc-opt %s -p 'schedule-loops{explain=true}' --split-input-file 2>&1 | filecheck %s --check-prefix=EXPLAIN

// The gradients of two products, of which each step adds its part of q's. Where v's is issued at once, threads hold the
// weights in both types, and the other scores: more than they have. It comes right before q's, and so do its weights.
// EXPLAIN: wide: in order: 224 registers where a product is issued, has 216
// EXPLAIN: wide: sparing: 192 registers
// CHECK-LABEL: tile.program @wide(
// CHECK:         %s = tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 1>
// CHECK:         %t = tile.dot {{.*}} {scheduled = #tile.at<stage = 0, order = 3>
// CHECK:         %p = tile.map {{.*}} order = 4>
// CHECK:         %w = tile.map {{.*}} order = 8>
// CHECK:         %dv = tile.dot {{.*}} order = 10>
// CHECK:         %d = tile.map {{.*}} order = 5>
// CHECK:         tile.write {{.*}} order = 6>
// CHECK:         %dq = tile.dot {{.*}} order = 11>
// CHECK:         %dk = tile.dot {{.*}} order = 13>

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,128):(1,64) swizzle(3,3,3)>
#shared2 = #tile.shared<(128,(32,2)):(32,(1,4096)) swizzle(3,2,3)>
#frag = #tile.fragment<((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))>
#frag1 = #tile.fragment<((4,8,4,2),(2,2,16)):((256,1,16,64),(128,8,1024))>
#shared3 = #tile.shared<(128,(64,2)):(64,(1,8192)) swizzle(3,3,3)>
#shared4 = #tile.shared<((64,2),128):((1,8192),64) swizzle(3,3,3)>
tile.program @wide(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %g: !tile.view<256x64xbf16>, %sums: !tile.view<256x64xf32>, %of_k: !tile.view<256x64xbf16>, %of_v: !tile.view<256x64xbf16>) {results = 3 : i64, threads = 256 : i64, sums = array<i64: 4>, config = #kernel.config<tile = {m = 128, k = 128}, stages = 2, warps = 8, indexing = "tma", instruction = "wgmma">} {
  %0 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %1 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
  %2 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
  %3 = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
  tile.partitions @load warps 4 registers 24 {
    tile.for_tiles (%4) extents [256] steps [128] {
      %5 = arith.constant 0 : index
      %slot, %6 = tile.acquire %1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %k[%4, %5] -> %6 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot
      %slot_1, %7 = tile.acquire %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      tile.copy %v[%4, %5] -> %7 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.commit %slot_1
      %8 = arith.constant 256 : index
      %9 = arith.constant 128 : index
      scf.for %10 = %5 to %8 step %9 {
        %slot_2, %11 = tile.acquire %3 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        tile.copy %q[%5, %10] -> %11 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot_2
        %slot_3, %12 = tile.acquire %2 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        tile.copy %g[%5, %10] -> %12 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x128xbf16, #shared1>
        tile.commit %slot_3
      }
    }
  } @compute warps 8 registers 240 {
    %13 = tile.alloc : !tile.buffer<128x64xbf16, #shared>
    %14 = tile.alloc : !tile.buffer<128x64xbf16, #shared>
    %15 = tile.alloc : !tile.buffer<128x64xf32, #shared2>
    tile.for_tiles (%16) extents [256] steps [128] {
      %17 = arith.constant 0 : index
      %18 = arith.constant 0.000000e+00 : f32
      %19 = tile.splat %18 : f32 -> tensor<128x64xf32, #frag>
      %20 = tile.splat %18 : f32 -> tensor<128x64xf32, #frag>
      %21 = tile.splat %18 : f32 -> tensor<128x64xf32, #frag>
      %22 = tile.splat %18 : f32 -> tensor<128x128xf32, #frag1>
      %23 = tile.splat %18 : f32 -> tensor<128x128xf32, #frag1>
      %24 = arith.constant 256 : index
      %25 = arith.constant 128 : index
      %26 = tile.alloc : !tile.buffer<128x128xbf16, #shared3>
      %slot_4, %27 = tile.wait %1 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %slot_5, %28 = tile.wait %0 : !tile.channel<!tile.buffer<128x64xbf16, #shared>>
      %29, %30 = scf.for %31 = %17 to %24 step %25 iter_args(%32 = %20, %33 = %19) -> (tensor<128x64xf32, #frag>, tensor<128x64xf32, #frag>) {
        %slot_6, %34 = tile.wait %3 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        %s = tile.dot %27, %34, %22 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag1> -> tensor<128x128xf32, #frag1>
        %slot_7, %35 = tile.wait %2 : !tile.channel<!tile.buffer<64x128xbf16, #shared1>>
        %t = tile.dot %28, %35, %23 {instruction = "wgmma"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x128xbf16, #shared1>, tensor<128x128xf32, #frag1> -> tensor<128x128xf32, #frag1>
        %p = tile.map %s : tensor<128x128xf32, #frag1> -> tensor<128x128xf32, #frag1> {
        ^bb0(%36: f32):
          %37 = arith.maximumf %36, %18 : f32
          tile.yield %37 : f32
        }
        %w = tile.map %p : tensor<128x128xf32, #frag1> -> tensor<128x128xbf16, #frag1> {
        ^bb0(%38: f32):
          %39 = arith.truncf %38 : f32 to bf16
          tile.yield %39 : bf16
        }
        %40 = tile.transpose %35 {dims = array<i64: 1, 0>} : !tile.buffer<64x128xbf16, #shared1> -> !tile.buffer<128x64xbf16, #shared>
        %dv = tile.dot %w, %40, %32 {instruction = "wgmma"} : tensor<128x128xbf16, #frag1>, !tile.buffer<128x64xbf16, #shared>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_7 after %dv : tensor<128x64xf32, #frag>
        %d = tile.map %p, %t : tensor<128x128xf32, #frag1>, tensor<128x128xf32, #frag1> -> tensor<128x128xbf16, #frag1> {
        ^bb0(%41: f32, %42: f32):
          %43 = arith.mulf %41, %42 : f32
          %44 = arith.truncf %43 : f32 to bf16
          tile.yield %44 : bf16
        }
        tile.write %d, %26 : tensor<128x128xbf16, #frag1>, !tile.buffer<128x128xbf16, #shared3>
        %45 = tile.transpose %26 {dims = array<i64: 1, 0>} : !tile.buffer<128x128xbf16, #shared3> -> !tile.buffer<128x128xbf16, #shared4>
        %dq = tile.dot %45, %27, %21 {instruction = "wgmma"} : !tile.buffer<128x128xbf16, #shared4>, !tile.buffer<128x64xbf16, #shared>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        %46 = tile.transpose %34 {dims = array<i64: 1, 0>} : !tile.buffer<64x128xbf16, #shared1> -> !tile.buffer<128x64xbf16, #shared>
        %dk = tile.dot %d, %46, %33 {instruction = "wgmma"} : tensor<128x128xbf16, #frag1>, !tile.buffer<128x64xbf16, #shared>, tensor<128x64xf32, #frag> -> tensor<128x64xf32, #frag>
        tile.release %slot_6 after %dk : tensor<128x64xf32, #frag>
        tile.store_wait
        tile.write %dq, %15 : tensor<128x64xf32, #frag>, !tile.buffer<128x64xf32, #shared2>
        tile.store %15, %sums[%31, %17] {add} : !tile.buffer<128x64xf32, #shared2>, !tile.view<256x64xf32>
        scf.yield %dv, %dk : tensor<128x64xf32, #frag>, tensor<128x64xf32, #frag>
      }
      tile.release %slot_5 after %29 : tensor<128x64xf32, #frag>
      tile.release %slot_4 after %30 : tensor<128x64xf32, #frag>
      %kr = tile.map %30 : tensor<128x64xf32, #frag> -> tensor<128x64xbf16, #frag> {
      ^bb0(%47: f32):
        %48 = arith.truncf %47 : f32 to bf16
        tile.yield %48 : bf16
      }
      tile.store_wait
      tile.write %kr, %14 : tensor<128x64xbf16, #frag>, !tile.buffer<128x64xbf16, #shared>
      %vr = tile.map %29 : tensor<128x64xf32, #frag> -> tensor<128x64xbf16, #frag> {
      ^bb0(%49: f32):
        %50 = arith.truncf %49 : f32 to bf16
        tile.yield %50 : bf16
      }
      tile.write %vr, %13 : tensor<128x64xbf16, #frag>, !tile.buffer<128x64xbf16, #shared>
      tile.store %14, %of_k[%16, %17] : !tile.buffer<128x64xbf16, #shared>, !tile.view<256x64xbf16>
      tile.store %13, %of_v[%16, %17] : !tile.buffer<128x64xbf16, #shared>, !tile.view<256x64xbf16>
    }
    tile.store_wait
    tile.store_wait
  }
}

// -----

// Steps of half as many columns leave registers: the order stays.
// EXPLAIN: narrow: in order: 144 registers where a product is issued, chosen
// CHECK-LABEL: tile.program @narrow(
// CHECK:         %p = tile.map {{.*}} order = 4>
// CHECK:         %w = tile.map {{.*}} order = 5>
// CHECK:         %dv = tile.dot {{.*}} order = 7>
// CHECK:         %d = tile.map {{.*}} order = 8>
// CHECK:         %dq = tile.dot {{.*}} order = 11>
// CHECK:         %dk = tile.dot {{.*}} order = 13>

#shared = #tile.shared<(64,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,64):(1,64) swizzle(3,3,3)>
#shared2 = #tile.shared<(64,(32,2)):(32,(1,2048)) swizzle(3,2,3)>
#frag = #tile.fragment<((4,8,4),(2,2,8)):((128,1,16),(64,8,512))>
tile.program @narrow(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %g: !tile.view<256x64xbf16>, %sums: !tile.view<256x64xf32>, %of_k: !tile.view<256x64xbf16>, %of_v: !tile.view<256x64xbf16>) {results = 3 : i64, threads = 128 : i64, sums = array<i64: 4>, config = #kernel.config<tile = {m = 64, k = 64}, warps = 4, indexing = "tma", instruction = "wgmma">} {
  %0 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %1 = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
  %2 = tile.channel {stages = 8 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  %3 = tile.channel {stages = 8 : i64} : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
  tile.partitions @load warps 4 registers 24 {
    tile.for_tiles (%4) extents [256] steps [64] {
      %5 = arith.constant 0 : index
      %slot, %6 = tile.acquire %1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      tile.copy %k[%4, %5] -> %6 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.commit %slot
      %slot_1, %7 = tile.acquire %0 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      tile.copy %v[%4, %5] -> %7 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared>
      tile.commit %slot_1
      %8 = arith.constant 256 : index
      %9 = arith.constant 64 : index
      scf.for %10 = %5 to %8 step %9 {
        %slot_2, %11 = tile.acquire %3 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %q[%5, %10] -> %11 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_2
        %slot_3, %12 = tile.acquire %2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        tile.copy %g[%5, %10] -> %12 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16, #shared1>
        tile.commit %slot_3
      }
    }
  } @compute warps 4 registers 240 {
    %13 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %14 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
    %15 = tile.alloc : !tile.buffer<64x64xf32, #shared2>
    tile.for_tiles (%16) extents [256] steps [64] {
      %17 = arith.constant 0 : index
      %18 = arith.constant 0.000000e+00 : f32
      %19 = tile.splat %18 : f32 -> tensor<64x64xf32, #frag>
      %20 = tile.splat %18 : f32 -> tensor<64x64xf32, #frag>
      %21 = tile.splat %18 : f32 -> tensor<64x64xf32, #frag>
      %22 = tile.splat %18 : f32 -> tensor<64x64xf32, #frag>
      %23 = tile.splat %18 : f32 -> tensor<64x64xf32, #frag>
      %24 = arith.constant 256 : index
      %25 = arith.constant 64 : index
      %26 = tile.alloc : !tile.buffer<64x64xbf16, #shared>
      %slot_4, %27 = tile.wait %1 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %slot_5, %28 = tile.wait %0 : !tile.channel<!tile.buffer<64x64xbf16, #shared>>
      %29, %30 = scf.for %31 = %17 to %24 step %25 iter_args(%32 = %22, %33 = %21) -> (tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag>) {
        %slot_6, %34 = tile.wait %3 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %s = tile.dot %27, %34, %20 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        %slot_7, %35 = tile.wait %2 : !tile.channel<!tile.buffer<64x64xbf16, #shared1>>
        %t = tile.dot %28, %35, %19 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared>, !tile.buffer<64x64xbf16, #shared1>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        %p = tile.map %s : tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag> {
        ^bb0(%36: f32):
          %37 = arith.maximumf %36, %18 : f32
          tile.yield %37 : f32
        }
        %w = tile.map %p : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
        ^bb0(%38: f32):
          %39 = arith.truncf %38 : f32 to bf16
          tile.yield %39 : bf16
        }
        %40 = tile.transpose %35 {dims = array<i64: 1, 0>} : !tile.buffer<64x64xbf16, #shared1> -> !tile.buffer<64x64xbf16, #shared>
        %dv = tile.dot %w, %40, %32 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_7 after %dv : tensor<64x64xf32, #frag>
        %d = tile.map %p, %t : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
        ^bb0(%41: f32, %42: f32):
          %43 = arith.mulf %41, %42 : f32
          %44 = arith.truncf %43 : f32 to bf16
          tile.yield %44 : bf16
        }
        tile.write %d, %26 : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>
        %45 = tile.transpose %26 {dims = array<i64: 1, 0>} : !tile.buffer<64x64xbf16, #shared> -> !tile.buffer<64x64xbf16, #shared1>
        %dq = tile.dot %45, %27, %23 {instruction = "wgmma"} : !tile.buffer<64x64xbf16, #shared1>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        %46 = tile.transpose %34 {dims = array<i64: 1, 0>} : !tile.buffer<64x64xbf16, #shared1> -> !tile.buffer<64x64xbf16, #shared>
        %dk = tile.dot %d, %46, %33 {instruction = "wgmma"} : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>, tensor<64x64xf32, #frag> -> tensor<64x64xf32, #frag>
        tile.release %slot_6 after %dk : tensor<64x64xf32, #frag>
        tile.store_wait
        tile.write %dq, %15 : tensor<64x64xf32, #frag>, !tile.buffer<64x64xf32, #shared2>
        tile.store %15, %sums[%31, %17] {add} : !tile.buffer<64x64xf32, #shared2>, !tile.view<256x64xf32>
        scf.yield %dv, %dk : tensor<64x64xf32, #frag>, tensor<64x64xf32, #frag>
      }
      tile.release %slot_5 after %29 : tensor<64x64xf32, #frag>
      tile.release %slot_4 after %30 : tensor<64x64xf32, #frag>
      %kr = tile.map %30 : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
      ^bb0(%47: f32):
        %48 = arith.truncf %47 : f32 to bf16
        tile.yield %48 : bf16
      }
      tile.store_wait
      tile.write %kr, %14 : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>
      %vr = tile.map %29 : tensor<64x64xf32, #frag> -> tensor<64x64xbf16, #frag> {
      ^bb0(%49: f32):
        %50 = arith.truncf %49 : f32 to bf16
        tile.yield %50 : bf16
      }
      tile.write %vr, %13 : tensor<64x64xbf16, #frag>, !tile.buffer<64x64xbf16, #shared>
      tile.store %14, %of_k[%16, %17] : !tile.buffer<64x64xbf16, #shared>, !tile.view<256x64xbf16>
      tile.store %13, %of_v[%16, %17] : !tile.buffer<64x64xbf16, #shared>, !tile.view<256x64xbf16>
    }
    tile.store_wait
    tile.store_wait
  }
}
