// RUN: irc-opt %s -p assign-layouts | filecheck %s

// CHECK:        #shared = #tile.shared<(64,(64,2)):(64,(1,4096)) swizzle(3,3,3)>
// CHECK-LABEL:  tile.program @strides
// CHECK:        tile.copy %a{{.*}} -> !tile.buffer<64x128xbf16, #shared>
func.func @strides(%x: tensor<4x16x16x128xbf16>, %w: tensor<64x3x3x128xbf16>) -> tensor<4x8x14x64xf32> {
  %r = kernel.launch @strides_0(%x, %w) : (tensor<4x16x16x128xbf16>, tensor<64x3x3x128xbf16>) -> tensor<4x8x14x64xf32>
  func.return %r : tensor<4x8x14x64xf32>
}
tile.program @strides_0(%a: !tile.view<4x16x16x128xbf16>, %b: !tile.view<64x9x128xbf16>, %r: !tile.view<448x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 128}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [448, 64] steps [64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c128 = arith.constant 128 : index
    %c0 = arith.constant 0 : index
    %c1152 = arith.constant 1152 : index
    %alloc = tile.alloc : !tile.buffer<64x128xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<128x64xbf16>
    %acc = scf.for %k = %c0 to %c1152 step %c128 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      %floordivsi = arith.floordivsi %k, %c128 : index
      tile.copy %a[%arg, %c0] symbols(%floordivsi : index) -> %alloc {map = affine_map<(d0, d1)[s0] -> ((d0 floordiv 112), (((((d0 floordiv 14) mod 8) * 2) + (s0 floordiv 3)) + -1), ((s0 mod 3) + (d0 mod 14)), d1)>, checked = array<i64: 1>, via = #tile.im2col<dims = [0, 1, 2, 3], lower = [-1, 0], upper = [-2, -2], steps = [2, 1]>} : !tile.view<4x16x16x128xbf16> -> !tile.buffer<64x128xbf16>
      tile.copy %b[%c0, %arg_1] symbols(%floordivsi : index) -> %alloc_1 {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, via = "tma"} : !tile.view<64x9x128xbf16> -> !tile.buffer<128x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x128xbf16>, !tile.buffer<128x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] : tensor<64x64xf32>, !tile.view<448x64xf32>
  }
}
func.func @image(%x: tensor<16x16x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<1x14x14x64xf32> {
  %v = nd.reshape %x : tensor<16x16x64xbf16> -> tensor<1x16x16x64xbf16>
  %r = kernel.launch @image_0(%v, %w) : (tensor<1x16x16x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<1x14x14x64xf32>
  func.return %r : tensor<1x14x14x64xf32>
}
tile.program @image_0(%a: !tile.view<1x16x16x64xbf16>, %b: !tile.view<64x9x64xbf16>, %r: !tile.view<196x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [196, 64] steps [64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c576 = arith.constant 576 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x64xbf16>
    %acc = scf.for %k = %c0 to %c576 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      %floordivsi = arith.floordivsi %k, %c64 : index
      tile.copy %a[%arg, %c0] symbols(%floordivsi : index) -> %alloc {map = affine_map<(d0, d1)[s0] -> (0, ((s0 floordiv 3) + (d0 floordiv 14)), ((s0 mod 3) + (d0 mod 14)), d1)>, checked = array<i64: 1>, via = #tile.im2col<dims = [0, 1, 2, 3], lower = [0, 0], upper = [-2, -2], steps = [1, 1]>} : !tile.view<1x16x16x64xbf16> -> !tile.buffer<64x64xbf16>
      tile.copy %b[%c0, %arg_1] symbols(%floordivsi : index) -> %alloc_1 {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, via = "tma"} : !tile.view<64x9x64xbf16> -> !tile.buffer<64x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] {checked = array<i64: 0>} : tensor<64x64xf32>, !tile.view<196x64xf32>
  }
}
func.func @steps(%x: tensor<2x64x64x64xbf16>, %w: tensor<64x1x1x64xbf16>) -> tensor<2x8x8x64xf32> {
  %r = kernel.launch @steps_0(%x, %w) : (tensor<2x64x64x64xbf16>, tensor<64x1x1x64xbf16>) -> tensor<2x8x8x64xf32>
  func.return %r : tensor<2x8x8x64xf32>
}
tile.program @steps_0(%a: !tile.view<2x64x64x64xbf16>, %b: !tile.view<64x64xbf16>, %r: !tile.view<128x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [128, 64] steps [64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x64xbf16>
    %acc = scf.for %k = %c0 to %c64 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      %a_tile = tile.load %a[%arg, %k] {map = affine_map<(d0, d1) -> ((d0 floordiv 64), (((d0 floordiv 8) mod 8) * 9), ((d0 mod 8) * 9), d1)>} : !tile.view<2x64x64x64xbf16> -> tensor<64x64xbf16>
      tile.write %a_tile, %alloc : tensor<64x64xbf16>, !tile.buffer<64x64xbf16>
      tile.copy %b[%k, %arg_1] -> %alloc_1 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<64x64xbf16> -> !tile.buffer<64x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] : tensor<64x64xf32>, !tile.view<128x64xf32>
  }
}
func.func @moves(%x: tensor<1x300x8x64xbf16>, %w: tensor<64x2x1x64xbf16>) -> tensor<1x40x8x64xf32> {
  %r = kernel.launch @moves_0(%x, %w) : (tensor<1x300x8x64xbf16>, tensor<64x2x1x64xbf16>) -> tensor<1x40x8x64xf32>
  func.return %r : tensor<1x40x8x64xf32>
}
tile.program @moves_0(%a: !tile.view<1x300x8x64xbf16>, %b: !tile.view<64x2x64xbf16>, %r: !tile.view<320x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [320, 64] steps [64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x64xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      %floordivsi = arith.floordivsi %k, %c64 : index
      %a_tile = tile.load %a[%arg, %c0] symbols(%floordivsi : index) {map = affine_map<(d0, d1)[s0] -> (0, ((s0 * 260) + (d0 floordiv 8)), (d0 mod 8), d1)>} : !tile.view<1x300x8x64xbf16> -> tensor<64x64xbf16>
      tile.write %a_tile, %alloc : tensor<64x64xbf16>, !tile.buffer<64x64xbf16>
      tile.copy %b[%c0, %arg_1] symbols(%floordivsi : index) -> %alloc_1 {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, via = "tma"} : !tile.view<64x2x64xbf16> -> !tile.buffer<64x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] : tensor<64x64xf32>, !tile.view<320x64xf32>
  }
}
func.func @images_last(%x: tensor<4x16x16x64xbf16>, %w: tensor<64x3x3x64xbf16>) -> tensor<16x16x4x64xf32> {
  %r = kernel.launch @images_last_0(%x, %w) : (tensor<4x16x16x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<16x16x4x64xf32>
  func.return %r : tensor<16x16x4x64xf32>
}
tile.program @images_last_0(%a: !tile.view<4x16x16x64xbf16>, %b: !tile.view<64x9x64xbf16>, %r: !tile.view<1024x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1) extents [1024, 64] steps [64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c576 = arith.constant 576 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x64xbf16>
    %acc = scf.for %k = %c0 to %c576 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      %floordivsi = arith.floordivsi %k, %c64 : index
      tile.copy %a[%arg, %c0] symbols(%floordivsi : index) -> %alloc {map = affine_map<(d0, d1)[s0] -> ((d0 mod 4), (((s0 floordiv 3) + (d0 floordiv 64)) + -1), (((s0 mod 3) + ((d0 floordiv 4) mod 16)) + -1), d1)>, checked = array<i64: 1, 2>, via = #tile.im2col<dims = [-1, 1, 2, 0, 3], lower = [-1, -1, 0], upper = [-1, -1, 0], steps = [1, 1, 1]>} : !tile.view<4x16x16x64xbf16> -> !tile.buffer<64x64xbf16>
      tile.copy %b[%c0, %arg_1] symbols(%floordivsi : index) -> %alloc_1 {map = affine_map<(d0, d1)[s0] -> (d1, s0, d0)>, via = "tma"} : !tile.view<64x9x64xbf16> -> !tile.buffer<64x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg, %arg_1] : tensor<64x64xf32>, !tile.view<1024x64xf32>
  }
}
func.func @gradient(%x: tensor<4x8x8x64xbf16>, %g: tensor<4x8x8x64xbf16>) -> tensor<2x1x1x64x3x3x64xf32> {
  %r = kernel.launch @gradient_0(%x, %g) : (tensor<4x8x8x64xbf16>, tensor<4x8x8x64xbf16>) -> tensor<2x1x1x64x3x3x64xf32>
  func.return %r : tensor<2x1x1x64x3x3x64xf32>
}
tile.program @gradient_0(%a: !tile.view<4x8x8x64xbf16>, %b: !tile.view<256x64xbf16>, %r: !tile.view<2x64x3x3x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, n = 64, k = 64}, stages = 2, warps = 4, schedule = "persistent", instruction = "wgmma">} {
  tile.for_tiles (%arg, %arg_1, %arg_2, %arg_3, %arg_4) extents [2, 3, 3, 64, 64] steps [1, 1, 1, 64, 64] schedule "persistent" {
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<64x64xf32>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %alloc = tile.alloc : !tile.buffer<64x64xbf16>
    %alloc_1 = tile.alloc : !tile.buffer<64x64xbf16>
    %acc = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc_1 = %init) -> (tensor<64x64xf32>) {
      tile.copy %a[%arg_3, %k] symbols(%arg, %arg_1, %arg_2 : index, index, index) -> %alloc {map = affine_map<(d0, d1)[s0, s1, s2] -> (((s0 * 2) + (d1 floordiv 64)), ((((d1 floordiv 8) mod 8) + s1) + -1), (((d1 mod 8) + s2) + -1), d0)>, checked = array<i64: 1, 2>, via = #tile.im2col<dims = [0, 1, 2, 3], lower = [-1, -1], upper = [-1, -1], steps = [1, 1]>} : !tile.view<4x8x8x64xbf16> -> !tile.buffer<64x64xbf16>
      tile.copy %b[%k, %arg_4] symbols(%arg : index) -> %alloc_1 {map = affine_map<(d0, d1)[s0] -> (((s0 * 128) + d0), d1)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x64xbf16>
      %sum = tile.dot %alloc, %alloc_1, %acc_1 : !tile.buffer<64x64xbf16>, !tile.buffer<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %sum : tensor<64x64xf32>
    }
    tile.store %acc, %r[%arg_3, %arg_4] symbols(%arg, %arg_1, %arg_2 : index, index, index) {map = affine_map<(d0, d1)[s0, s1, s2] -> (s0, d1, s1, s2, d0)>} : tensor<64x64xf32>, !tile.view<2x64x3x3x64xf32>
  }
}
