// RUN: irc-opt %s -p stage-loads --split-input-file | filecheck %s

// A subtile of an array comes by TMA; a vector does not.
// CHECK-LABEL: tile.program @epilogue(
// CHECK:       scf.for %column
// CHECK:         tile.copy %r[%m, {{%[a-z0-9_]+}}] -> %r1 {via = "tma"} : {{.*}} -> !tile.buffer<128x64xbf16>
// CHECK:         tile.read %r1
// CHECK:         tile.load %b

tile.program @epilogue(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %r: !tile.view<512x512xbf16>, %b: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %v = tile.alloc : !tile.buffer<64x128xbf16>
    %p = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x128xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %n] -> %v {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %d = tile.dot %a, %v, %acc : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128 step %c64_1 {
      %addi = arith.addi %n, %column : index
      %r1 = tile.load %r[%m, %addi] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %addi_1 = arith.addi %n, %column : index
      %b1 = tile.load %b[%m, %addi_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16>
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %p[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32> -> tensor<128x64xf32>
      %o = tile.map %part, %r1, %b1 : tensor<128x64xf32>, tensor<128x64xbf16>, tensor<1x64xbf16> -> tensor<128x64xbf16> {
      ^bb0(%a_1: f32, %b_1: bf16, %c: bf16):
        %extf = arith.extf %b_1 : bf16 to f32
        %extf_1 = arith.extf %c : bf16 to f32
        %addf = arith.addf %a_1, %extf : f32
        %mulf = arith.mulf %addf, %extf_1 : f32
        %truncf = arith.truncf %mulf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_2 = arith.addi %n, %column : index
      tile.store %o, %y[%m, %addi_2] : tensor<128x64xbf16>, !tile.view<512x512xbf16>
    } {unroll}
  }
}

// -----

// With load_stages in the config, so does a vector.
// CHECK-LABEL: tile.program @vectors(
// CHECK:       scf.for %column
// CHECK:         tile.copy %r[%m, {{%[a-z0-9_]+}}] -> %r1 {via = "tma"} : {{.*}} -> !tile.buffer<128x64xbf16>
// CHECK:         tile.read %r1
// CHECK:         tile.copy %b[%m, {{%[a-z0-9_]+}}] -> %b1 {map = affine_map<(d0, d1) -> (d1)>, via = "tma"} : {{.*}} -> !tile.buffer<1x64xbf16>
// CHECK:         tile.read %b1

tile.program @vectors(%x: !tile.view<512x512xbf16>, %w: !tile.view<512x512xbf16>, %r: !tile.view<512x512xbf16>, %b: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma", load_stages = 2>} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %start = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %v = tile.alloc : !tile.buffer<64x128xbf16>
    %p = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x128xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %n] -> %v {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<64x128xbf16>
      %d = tile.dot %a, %v, %acc : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %c0_1 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64_1 = arith.constant 64 : index
    scf.for %column = %c0_1 to %c128 step %c64_1 {
      %addi = arith.addi %n, %column : index
      %r1 = tile.load %r[%m, %addi] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %addi_1 = arith.addi %n, %column : index
      %b1 = tile.load %b[%m, %addi_1] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x64xbf16>
      %c0_2 = arith.constant 0 : index
      %part = tile.slice %p[%c0_2, %column] {at = array<i64: 0, 0>} : tensor<128x128xf32> -> tensor<128x64xf32>
      %o = tile.map %part, %r1, %b1 : tensor<128x64xf32>, tensor<128x64xbf16>, tensor<1x64xbf16> -> tensor<128x64xbf16> {
      ^bb0(%a_1: f32, %b_1: bf16, %c: bf16):
        %extf = arith.extf %b_1 : bf16 to f32
        %extf_1 = arith.extf %c : bf16 to f32
        %addf = arith.addf %a_1, %extf : f32
        %mulf = arith.mulf %addf, %extf_1 : f32
        %truncf = arith.truncf %mulf : f32 to bf16
        tile.yield %truncf : bf16
      }
      %addi_2 = arith.addi %n, %column : index
      tile.store %o, %y[%m, %addi_2] : tensor<128x64xbf16>, !tile.view<512x512xbf16>
    } {unroll}
  }
}

// -----

// Left alone: vectors only.
// CHECK-LABEL: tile.program @gating(
// CHECK:     scf.for %column
// CHECK-NOT: tile.copy

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
