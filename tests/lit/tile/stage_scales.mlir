// RUN: irc-opt %s -p stage-scales --split-input-file | filecheck %s

// Of a block of K, the scales of the rows come by TMA, and the scale of the columns with its neighbors.
// CHECK-LABEL: tile.program @blocks(
// CHECK:         [[ROWS:%[a-z0-9_]+]] = tile.alloc : !tile.buffer<128x1xf32>
// CHECK-NEXT:    [[NUMBERS:%[a-z0-9_]+]] = tile.alloc : !tile.buffer<1x4xf32>
// CHECK-NEXT:    scf.for %g
// CHECK:           tile.copy %sx[%m, %c0] symbols(%g : index) -> [[ROWS]] {map = affine_map<(d0, d1)[s0] -> (s0, d0)>, via = "tma"}
// CHECK-NEXT:      [[SX:%[a-z0-9_]+]] = tile.read [[ROWS]] {{.*}} -> tensor<128x1xf32>
// CHECK:           tile.copy %sw{{.*}} symbols(%n, %g : index, index) -> [[NUMBERS]] {map = affine_map<(d0, d1)[s0, s1] -> (s0, (((s1 floordiv 4) * 4) + d1))>, via = "tma"}
// CHECK:           [[AT:%[a-z0-9_]+]] = arith.remui %g,
// CHECK-NEXT:      [[PART:%[a-z0-9_]+]] = tile.subview [[NUMBERS]][{{%[a-z0-9_]+}}, [[AT]]]
// CHECK-NEXT:      [[SW:%[a-z0-9_]+]] = tile.read [[PART]] {{.*}} -> tensor<1x1xf32>
// CHECK:           tile.map {{.*}}, [[SX]], [[SW]]

tile.program @blocks(%x: !tile.view<256x1024xf8E4M3FN>, %w: !tile.view<1024x256xf8E4M3FN, strides [1, 1024]>, %sx: !tile.view<8x256xf32>, %sw: !tile.view<2x8xf32>, %y: !tile.view<256x256xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [256, 2] steps [128, 1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %b = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %columns = arith.muli %n, %c128 : index
    %sum = scf.for %g = %c0 to %c8 step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32>) {
      %k = arith.muli %g, %c128 : index
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN>
      tile.copy %w[%k, %columns] -> %b {via = "tma"} : !tile.view<1024x256xf8E4M3FN, strides [1, 1024]> -> !tile.buffer<128x128xf8E4M3FN>
      %p = tile.dot %a, %b, %none : !tile.buffer<128x128xf8E4M3FN>, !tile.buffer<128x128xf8E4M3FN>, tensor<128x128xf32> -> tensor<128x128xf32>
      %s = tile.load %sx[%m, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x256xf32> -> tensor<128x1xf32>
      %t = tile.load %sw[%c0, %c0] symbols(%n, %g : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (s0, s1)>} : !tile.view<2x8xf32> -> tensor<1x1xf32>
      %added = tile.map %sums, %p, %s, %t : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x1xf32>, tensor<1x1xf32> -> tensor<128x128xf32> {
      ^bb0(%before: f32, %product: f32, %row: f32, %column: f32):
        %scale = arith.mulf %row, %column : f32
        %scaled = arith.mulf %product, %scale : f32
        %after = arith.addf %before, %scaled : f32
        tile.yield %after : f32
      }
      scf.yield %added : tensor<128x128xf32>
    }
    tile.store %sum, %y[%m, %columns] : tensor<128x128xf32>, !tile.view<256x256xf32>
  }
}

// -----

// Left alone: rows of scales that begin at no multiple of 16 bytes, and numbers in rows of 7.
// CHECK-LABEL: tile.program @unaligned(
// CHECK:         tile.load %sx
// CHECK:         tile.load %sw

tile.program @unaligned(%x: !tile.view<256x896xf8E4M3FN>, %w: !tile.view<896x256xf8E4M3FN, strides [1, 896]>, %sx: !tile.view<7x250xf32>, %sw: !tile.view<2x7xf32>, %y: !tile.view<256x256xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 128}, stages = 4, warps = 8, instruction = "wgmma">} {
  tile.for_tiles (%m, %n) extents [256, 2] steps [128, 1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %b = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %columns = arith.muli %n, %c128 : index
    %sum = scf.for %g = %c0 to %c7 step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32>) {
      %k = arith.muli %g, %c128 : index
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x896xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN>
      tile.copy %w[%k, %columns] -> %b {via = "tma"} : !tile.view<896x256xf8E4M3FN, strides [1, 896]> -> !tile.buffer<128x128xf8E4M3FN>
      %p = tile.dot %a, %b, %none : !tile.buffer<128x128xf8E4M3FN>, !tile.buffer<128x128xf8E4M3FN>, tensor<128x128xf32> -> tensor<128x128xf32>
      %s = tile.load %sx[%m, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>, checked = array<i64: 1>} : !tile.view<7x250xf32> -> tensor<128x1xf32>
      %t = tile.load %sw[%c0, %c0] symbols(%n, %g : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (s0, s1)>} : !tile.view<2x7xf32> -> tensor<1x1xf32>
      %added = tile.map %sums, %p, %s, %t : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x1xf32>, tensor<1x1xf32> -> tensor<128x128xf32> {
      ^bb0(%before: f32, %product: f32, %row: f32, %column: f32):
        %scale = arith.mulf %row, %column : f32
        %scaled = arith.mulf %product, %scale : f32
        %after = arith.addf %before, %scaled : f32
        tile.yield %after : f32
      }
      scf.yield %added : tensor<128x128xf32>
    }
    tile.store %sum, %y[%m, %columns] : tensor<128x128xf32>, !tile.view<256x256xf32>
  }
}

// -----

// Left alone: vectors of a loop whose dot goes on with the sums of the step before.
// CHECK-LABEL: tile.program @goes_on(
// CHECK:         tile.load %s

tile.program @goes_on(%x: !tile.view<256x1024xbf16>, %w: !tile.view<1024x128xbf16>, %s: !tile.view<16x256xf32>, %y: !tile.view<256x128xf32>, %z: !tile.view<256x1xf32>) {results = 2 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 64}, stages = 4, warps = 8, instruction = "wgmma">} {
  tile.for_tiles (%m) extents [256] steps [128] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<128x128xf32>
    %nothing = tile.splat %zero : f32 -> tensor<128x1xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %b = tile.alloc : !tile.buffer<64x128xbf16>
    %sum, %total = scf.for %g = %c0 to %c16 step %c1 iter_args(%sums = %none, %totals = %nothing) -> (tensor<128x128xf32>, tensor<128x1xf32>) {
      %k = arith.muli %g, %c64 : index
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x1024xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xbf16> -> !tile.buffer<64x128xbf16>
      %p = tile.dot %a, %b, %sums : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %t = tile.load %s[%m, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<16x256xf32> -> tensor<128x1xf32>
      %added = tile.map %totals, %t : tensor<128x1xf32>, tensor<128x1xf32> -> tensor<128x1xf32> {
      ^bb0(%before: f32, %each: f32):
        %after = arith.addf %before, %each : f32
        tile.yield %after : f32
      }
      scf.yield %p, %added : tensor<128x128xf32>, tensor<128x1xf32>
    }
    tile.store %sum, %y[%m, %c0] : tensor<128x128xf32>, !tile.view<256x128xf32>
    tile.store %total, %z[%m, %c0] : tensor<128x1xf32>, !tile.view<256x1xf32>
  }
}

// -----

// Left alone: stages that leave no room.
// CHECK-LABEL: tile.program @full(
// CHECK:         tile.load %sx

tile.program @full(%x: !tile.view<256x1024xf8E4M3FN>, %w: !tile.view<1024x128xf8E4M3FN, strides [1, 1024]>, %sx: !tile.view<8x256xf32>, %y: !tile.view<256x128xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 128, k = 128}, stages = 7, warps = 8, instruction = "wgmma">} {
  tile.for_tiles (%m) extents [256] steps [128] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %none = tile.splat %zero : f32 -> tensor<128x128xf32>
    %a = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %b = tile.alloc : !tile.buffer<128x128xf8E4M3FN>
    %sum = scf.for %g = %c0 to %c8 step %c1 iter_args(%sums = %none) -> (tensor<128x128xf32>) {
      %k = arith.muli %g, %c128 : index
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x1024xf8E4M3FN> -> !tile.buffer<128x128xf8E4M3FN>
      tile.copy %w[%k, %c0] -> %b {via = "tma"} : !tile.view<1024x128xf8E4M3FN, strides [1, 1024]> -> !tile.buffer<128x128xf8E4M3FN>
      %p = tile.dot %a, %b, %none : !tile.buffer<128x128xf8E4M3FN>, !tile.buffer<128x128xf8E4M3FN>, tensor<128x128xf32> -> tensor<128x128xf32>
      %s = tile.load %sx[%m, %c0] symbols(%g : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>} : !tile.view<8x256xf32> -> tensor<128x1xf32>
      %added = tile.map %sums, %p, %s : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x1xf32> -> tensor<128x128xf32> {
      ^bb0(%before: f32, %product: f32, %row: f32):
        %scaled = arith.mulf %product, %row : f32
        %after = arith.addf %before, %scaled : f32
        tile.yield %after : f32
      }
      scf.yield %added : tensor<128x128xf32>
    }
    tile.store %sum, %y[%m, %c0] : tensor<128x128xf32>, !tile.view<256x128xf32>
  }
}
