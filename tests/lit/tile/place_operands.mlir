// RUN: irc-opt %s -p place-operands --split-input-file | filecheck %s

// Loads that TMA can make become copies; the parts of a concatenation fill parts of one buffer.
// CHECK-LABEL: tile.program @gating(
// CHECK:       tile.alloc : !tile.buffer<128x64xbf16>
// CHECK:       [[B:%[a-z0-9_]+]] = tile.alloc : !tile.buffer<64x256xbf16>
// CHECK:       scf.for
// CHECK-NOT:     tile.load
// CHECK:         tile.copy %x[%m, %k] -> %a {via = "tma"}
// CHECK:         [[LEFT:%[a-z0-9_]+]] = tile.subview [[B]] {at = array<i64: 0, 0>}
// CHECK:         tile.copy %w1[%k, %n] -> [[LEFT]] {via = "tma"}
// CHECK:         [[RIGHT:%[a-z0-9_]+]] = tile.subview [[B]] {at = array<i64: 0, 128>}
// CHECK:         tile.copy %w2[%k, %n] -> [[RIGHT]] {via = "tma"}
// CHECK:         tile.dot %a, [[B]]

tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %z = tile.splat %zero : f32 -> tensor<128x128xf32>
    %z2 = tile.splat %zero : f32 -> tensor<128x128xf32>
    %init = tile.splat %zero : f32 -> tensor<128x256xf32>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%acc_1 = %init) -> (tensor<128x256xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %p = tile.load %w1[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %q = tile.load %w2[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %concat = tile.concat %p, %q {axis = 1 : i64} : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<64x256xbf16>
      %sum = tile.dot %a, %concat, %acc_1 : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32> -> tensor<128x256xf32>
      scf.yield %sum : tensor<128x256xf32>
    }
    %h = tile.slice %acc {at = array<i64: 0, 0>} : tensor<128x256xf32> -> tensor<128x128xf32>
    %g = tile.slice %acc {at = array<i64: 0, 128>} : tensor<128x256xf32> -> tensor<128x128xf32>
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32>, tensor<128x128xf32>, tensor<1x128xbf16>, tensor<1x128xbf16> -> tensor<128x128xbf16> {
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
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
  }
}

// -----

// Without wgmma, operands go through registers; one that two dots share is written once.
// CHECK-LABEL: @two
// CHECK:         [[A:%[a-z0-9_]+]] = tile.load %x
// CHECK:         tile.write [[A]]
// CHECK:         tile.write
// CHECK:         tile.dot {{.*}} : !tile.buffer<64x16xf32>, !tile.buffer<16x64xf32>
// CHECK:         tile.write
// CHECK-NOT:     tile.write
// CHECK:         tile.dot
tile.program @two(%x: !tile.view<64x64xf32>, %w: !tile.view<64x128xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c16 iter_args(%c = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x128xf32> -> tensor<16x64xf32>
    %b2 = tile.load %w[%k, %c64] : !tile.view<64x128xf32> -> tensor<16x64xf32>
    %e = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %f = tile.dot %a, %b2, %e : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %f : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
