// RUN: irc-opt %s -p stage-stores --split-input-file | filecheck %s

// Two subtiles take turns in a buffer of two; the one stored before the last is waited for.
// CHECK-LABEL: tile.program @gating(
// CHECK:       [[BUFFER:%[a-z0-9_]+]] = tile.alloc : !tile.buffer<128x128xbf16>
// CHECK:       scf.for %column
// CHECK:         tile.store_wait {pending = 1 : i64}
// CHECK:         [[AT:%[a-z0-9_]+]] = arith.remui %column, {{%[a-z0-9_]+}} : index
// CHECK-NEXT:    [[PART:%[a-z0-9_]+]] = tile.subview [[BUFFER]][{{%[a-z0-9_]+}}, [[AT]]]
// CHECK-NEXT:    tile.write %o, [[PART]]
// CHECK-NEXT:    tile.store [[PART]], %y[%m, {{%[a-z0-9_]+}}] : !tile.buffer<128x64xbf16>, !tile.view<512x512xbf16>
// CHECK-NEXT:  } {unroll}
// CHECK-NEXT: }
// CHECK-NEXT: tile.store_wait

tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x256xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %alloc = tile.alloc : !tile.buffer<64x256xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%acc_1 = %init) -> (tensor<128x256xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
      %part = tile.subview %alloc {at = array<i64: 0, 0>} : !tile.buffer<64x256xbf16> -> !tile.buffer<64x128xbf16>
      tile.copy %w1[%k, %n] -> %part {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %part_1 = tile.subview %alloc {at = array<i64: 0, 128>} : !tile.buffer<64x256xbf16> -> !tile.buffer<64x128xbf16>
      tile.copy %w2[%k, %n] -> %part_1 {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %sum = tile.dot %a, %alloc, %acc_1 : !tile.buffer<128x64xbf16>, !tile.buffer<64x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %sum : tensor<128x256xf32>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128 step %c64 {
      %c0_2 = arith.constant 0 : index
      %part_2 = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x64xf32>
      %c0_3 = arith.constant 0 : index
      %part_3 = tile.slice %acc[%c0_3, %column] {at = array<i64: 0, 128>} : tensor<128x256xf32> -> tensor<128x64xf32>
      %addi = arith.addi %n, %column : index
      %u = tile.load %b1[%c0, %addi] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16>
      %addi_1 = arith.addi %n, %column : index
      %v = tile.load %b2[%c0, %addi_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16>
      %o = tile.map %part_2, %part_3, %u, %v : tensor<128x64xf32>, tensor<128x64xf32>, tensor<1x64xbf16>, tensor<1x64xbf16> -> tensor<128x64xbf16> {
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
      %addi_2 = arith.addi %n, %column : index
      tile.store %o, %y[%m, %addi_2] : tensor<128x64xbf16>, !tile.view<512x512xbf16>
    } {unroll}
  }
}

// -----

// A row of a subtile is at most 128 bytes of any result. Left alone: the store along columns.
// CHECK-LABEL: tile.program @product(
// CHECK:     tile.alloc : !tile.buffer<128x64xbf16>
// CHECK:     tile.store_wait {pending = 1 : i64}
// CHECK:     tile.write %o
// CHECK:     tile.store {{.*}} : tensor<128x32xf32>
// CHECK:     tile.store {{.*}} : !tile.buffer<128x32xbf16>

tile.program @product(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %y: !tile.view<512x512xbf16>, %z: !tile.view<512x512xf32, strides [1, 512]>) {results = 2 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 4, schedule = "pingpong", instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 2] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %b = tile.alloc : !tile.buffer<64x128xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%d = %start) -> (tensor<128x128xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %e = tile.dot %a, %b, %d : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %e : tensor<128x128xf32>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c32 = arith.constant 32 : index
    scf.for %column = %c0_1 to %c128 step %c32 {
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %acc[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32> -> tensor<128x32xf32>
      %o = tile.map %part : tensor<128x32xf32> -> tensor<128x32xbf16> {
      ^bb0(%a_1: f32):
        %truncf = arith.truncf %a_1 : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi = arith.addi %n, %column : index
      tile.store %o, %y[%m, %addi] : tensor<128x32xbf16>, !tile.view<512x512xbf16>
      %addi_1 = arith.addi %n, %column : index
      tile.store %part, %z[%m, %addi_1] : tensor<128x32xf32>, !tile.view<512x512xf32, strides [1, 512]>
    } {unroll}
  }
}

// -----

// Left alone: no product.
// CHECK-LABEL: tile.program @softmax(
// CHECK-NOT: tile.store_wait
// CHECK:     tile.store

tile.program @softmax(%x: !tile.view<100x1000xf32>, %y: !tile.view<100x1000xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [100] steps [1] {
    %c0 = arith.constant 0 : index
    %lo = arith.constant 0xff800000 : f32
    %a = tile.load %x[%i, %c0] other %lo : f32 {checked = array<i64: 1>} : !tile.view<100x1000xf32> -> tensor<1x1024xf32>
    %m = tile.reduce %a {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%x_1: f32, %y_1: f32):
      %maximumf = arith.maximumf %x_1, %y_1 : f32
      tile.yield %maximumf : f32
    }
    %e = tile.map %a, %m : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%a_1: f32, %b: f32):
      %subf = arith.subf %a_1, %b : f32
      %exp = math.exp %subf : f32
      tile.yield %exp : f32
    }
    %s = tile.reduce %e {axes = array<i64: 1>} : tensor<1x1024xf32> -> tensor<1x1xf32> {
    ^bb0(%x_2: f32, %y_2: f32):
      %addf = arith.addf %x_2, %y_2 : f32
      tile.yield %addf : f32
    }
    %r = tile.map %e, %s : tensor<1x1024xf32>, tensor<1x1xf32> -> tensor<1x1024xf32> {
    ^bb0(%a_2: f32, %b_1: f32):
      %divf = arith.divf %a_2, %b_1 : f32
      tile.yield %divf : f32
    }
    tile.store %r, %y[%i, %c0] {checked = array<i64: 1>} : tensor<1x1024xf32>, !tile.view<100x1000xf32>
  }
}
