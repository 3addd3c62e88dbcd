// RUN: irc-opt %s -p merge-dots --split-input-file | filecheck %s

// Two products of one left operand become one over concatenated columns, with slices after the loop.
// CHECK-LABEL: tile.program @gating(
// CHECK:       [[START:%[a-z0-9_]+]] = tile.splat %zero : f32 -> tensor<128x256xf32>
// CHECK:       [[ACC:%[a-z0-9_]+]] = scf.for %k = %c0 to %cK step %ck iter_args([[CARRIED:%[a-z0-9_]+]] = [[START]]) -> (tensor<128x256xf32>)
// CHECK:         %a = tile.load %x[%m, %k]
// CHECK:         [[B:%[a-z0-9_]+]] = tile.concat %p, %q {axis = 1 : i64}
// CHECK-NEXT:    [[DOT:%[a-z0-9_]+]] = tile.dot %a, [[B]], [[CARRIED]]
// CHECK-NOT:     tile.dot
// CHECK:         scf.yield [[DOT]] : tensor<128x256xf32>
// CHECK:       tile.slice [[ACC]] {at = array<i64: 0, 0>}
// CHECK:       tile.slice [[ACC]] {at = array<i64: 0, 128>}

tile.program @gating(%x: !tile.view<512x512xbf16>, %w1: !tile.view<512x512xbf16>, %w2: !tile.view<512x512xbf16>, %b1: !tile.view<512xbf16>, %b2: !tile.view<512xbf16>, %y: !tile.view<512x512xbf16>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, schedule = "persistent", group = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [512, 512] steps [128, 128] schedule "persistent" group 8 {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 512 : index
    %zero = arith.constant 0.000000e+00 : f32
    %z = tile.splat %zero : f32 -> tensor<128x128xf32>
    %z2 = tile.splat %zero : f32 -> tensor<128x128xf32>
    %h, %g = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z, %d = %z2) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<512x512xbf16> -> tensor<128x64xbf16>
      %p = tile.load %w1[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %q = tile.load %w2[%k, %n] : !tile.view<512x512xbf16> -> tensor<64x128xbf16>
      %e = tile.dot %a, %p, %c : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %f = tile.dot %a, %q, %d : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      scf.yield %e, %f : tensor<128x128xf32>, tensor<128x128xf32>
    }
    %u = tile.load %b1[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %v = tile.load %b2[%c0, %n] {map = affine_map<(d0, d1) -> (d1)>} : !tile.view<512xbf16> -> tensor<1x128xbf16>
    %o = tile.map %h, %g, %u, %v : tensor<128x128xf32>, tensor<128x128xf32>, tensor<1x128xbf16>, tensor<1x128xbf16> -> tensor<128x128xbf16> {
    ^bb0(%a_1: f32, %b: f32, %c_1: bf16, %d_1: bf16):
      %one = arith.constant 1.000000e+00 : f32
      %extf = arith.extf %c_1 : bf16 to f32
      %extf_1 = arith.extf %d_1 : bf16 to f32
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

// Left alone: the left operands differ.
// CHECK-LABEL: @two
// CHECK:         tile.dot
// CHECK:         tile.dot
// CHECK-NOT:     tile.concat
tile.program @two(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %t = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p, %q = scf.for %k = %c0 to %c64 step %c16 iter_args(%c = %s, %d = %t) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %a2 = tile.load %x[%c16, %k] {checked = array<i64: 0>} : !tile.view<64x64xf32> -> tensor<64x16xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<16x64xf32>
    %e = tile.dot %a, %b, %c : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %f = tile.dot %a2, %b, %d : tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %e, %f : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.store %q, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
