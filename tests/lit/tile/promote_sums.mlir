// RUN: irc-opt %s -p promote-sums --split-input-file | filecheck %s

// The sum of one step begins at 0 and is added to those before.
// CHECK-LABEL: @f32
// CHECK:         scf.for {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = %s)
// CHECK:           [[ZERO:%[a-z0-9_]+]] = tile.splat
// CHECK-NEXT:      [[PART:%[a-z0-9_]+]] = tile.dot %a, %b, [[ZERO]]
// CHECK-NEXT:      [[SUM:%[a-z0-9_]+]] = tile.map [[ACC]], [[PART]]
// CHECK:             arith.addf
// CHECK:           scf.yield [[SUM]]

// Left alone: what asks for less, and sums of integers.
// CHECK-LABEL: @tf32
// CHECK:         %d = tile.dot %a, %b, %acc
// CHECK-NEXT:    scf.yield %d

// CHECK-LABEL: @f8
// CHECK:         tile.splat
// CHECK:         tile.splat
// CHECK-NEXT:    tile.dot
// CHECK-NEXT:    tile.map

// CHECK-LABEL: @i8
// CHECK:         %d = tile.dot %a, %b, %acc
// CHECK-NEXT:    scf.yield %d

tile.program @f32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %d = tile.dot %a, %b, %acc : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @tf32(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %d = tile.dot %a, %b, %acc {precision = "tf32"} : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @f8(%x: !tile.view<64x256xf8E4M3FN>, %w: !tile.view<64x256xf8E4M3FN>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xf8E4M3FN> -> tensor<64x128xf8E4M3FN>
    %b = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<64x256xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %d = tile.dot %a, %b, %acc : tensor<64x128xf8E4M3FN>, tensor<128x64xf8E4M3FN>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @i8(%x: !tile.view<64x256xi8>, %w: !tile.view<256x64xi8>, %y: !tile.view<64x64xi32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %s = tile.splat %zero : i32 -> tensor<64x64xi32>
  %p = scf.for %k = %c0 to %c256 step %c128 iter_args(%acc = %s) -> (tensor<64x64xi32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xi8> -> tensor<64x128xi8>
    %b = tile.load %w[%k, %c0] : !tile.view<256x64xi8> -> tensor<128x64xi8>
    %d = tile.dot %a, %b, %acc : tensor<64x128xi8>, tensor<128x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
    scf.yield %d : tensor<64x64xi32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xi32>, !tile.view<64x64xi32>
}

// -----

// CHECK-LABEL: tile.program @gating(
// CHECK-NOT:   tile.map
// CHECK:       scf.yield

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
// CHECK-LABEL: @f32_by_mma
// CHECK:         tile.splat
// CHECK:         tile.splat
// CHECK-NEXT:    tile.dot
// CHECK-NEXT:    tile.map
tile.program @f32_by_mma(%x: !tile.view<64x64xf32>, %w: !tile.view<64x64xf32>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xf32> -> tensor<64x32xf32>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
    %d = tile.dot %a, %b, %acc : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}

// Operands of 16 bits are promoted where they ask for it.
// CHECK-LABEL: @bf16_that_asks
// CHECK:         tile.splat
// CHECK:         tile.splat
// CHECK-NEXT:    tile.dot
// CHECK-NEXT:    tile.map
tile.program @bf16_that_asks(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 32}, stages = 2, warps = 4, instruction = "wgmma">} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.000000e+00 : f32
  %s = tile.splat %zero : f32 -> tensor<64x64xf32>
  %p = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %s) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x64xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<64x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %acc {precision = "f32"} : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %p, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
