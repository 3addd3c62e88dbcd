// RUN: irc-opt %s --arch sm_100a -p assign-layouts --split-input-file --verify-diagnostics | filecheck %s

// A thread loads a row of the sums from its lane of Tensor Memory. Operands lie as wgmma reads them.
// CHECK:       #[[ROWS:.*]] = #tile.fragment<((128),(32)):((1),(128))>
// CHECK:       #[[LEFT:.*]] = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
// CHECK-LABEL: tile.program @product(
// CHECK:       tile.alloc : !tile.buffer<128x64xbf16, #[[LEFT]]>
// CHECK:       tile.dot {{.*}} {instruction = "tcgen05"} : {{.*}} -> tensor<128x32xf32, #[[ROWS]]>

tile.program @product(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x64xbf16>, %y: !tile.view<256x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %b = tile.alloc : !tile.buffer<64x32xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<64x32xbf16>
      %sum = tile.dot %a, %b, %before : !tile.buffer<128x64xbf16>, !tile.buffer<64x32xbf16>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    tile.store %acc, %y[%m, %n] : tensor<128x32xf32>, !tile.view<256x64xf32>
  }
}

// -----

// Two warp groups have columns side by side of each slice of the sums, of each 128 rows.
// CHECK:       #[[ROWS:.*]] = #tile.fragment<((128,2),(8,2,2)):((1,2048),(256,4096,128))>
// CHECK-LABEL: tile.program @groups(
// CHECK:       tile.dot {{.*}} -> tensor<256x32xf32, #[[ROWS]]>

tile.program @groups(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x64xbf16>, %y: !tile.view<256x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 256, n = 32, k = 64}, stages = 8, warps = 8, schedule = "grid", instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [256, 64] steps [256, 32] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<256x32xf32>
    %a = tile.alloc : !tile.buffer<256x64xbf16>
    %b = tile.alloc : !tile.buffer<64x32xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<256x32xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<256x64xbf16>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<64x32xbf16>
      %sum = tile.dot %a, %b, %before : !tile.buffer<256x64xbf16>, !tile.buffer<64x32xbf16>, tensor<256x32xf32> -> tensor<256x32xf32>
      scf.yield %sum : tensor<256x32xf32>
    }
    %left = tile.slice %acc {at = array<i64: 0, 0>} : tensor<256x32xf32> -> tensor<256x16xf32>
    tile.store %left, %y[%m, %n] : tensor<256x16xf32>, !tile.view<256x64xf32>
  }
}

// -----

tile.program @product(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x64xbf16>, %y: !tile.view<256x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 2, schedule = "grid", instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %b = tile.alloc : !tile.buffer<64x32xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x64xbf16>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<64x32xbf16>
      // expected-error @below {{tcgen05 takes tiles of a multiple of 128 rows and 16 to 256 columns, a multiple of 16, which 64 threads load in equal parts, found 128 x 32}}
      %sum = tile.dot %a, %b, %before : !tile.buffer<128x64xbf16>, !tile.buffer<64x32xbf16>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    tile.store %acc, %y[%m, %n] : tensor<128x32xf32>, !tile.view<256x64xf32>
  }
}

// -----

tile.program @product(%x: !tile.view<256x128xbf16>, %w: !tile.view<128x64xbf16>, %y: !tile.view<256x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  tile.for_tiles (%m, %n) extents [256, 64] steps [128, 32] {
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32>
    %a = tile.alloc : !tile.buffer<128x8xbf16>
    %b = tile.alloc : !tile.buffer<8x32xbf16>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %init) -> (tensor<128x32xf32>) {
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<256x128xbf16> -> !tile.buffer<128x8xbf16>
      tile.copy %w[%k, %n] -> %b {via = "tma"} : !tile.view<128x64xbf16> -> !tile.buffer<8x32xbf16>
      // expected-error @below {{tcgen05 takes steps of 16 along K, found 8}}
      %sum = tile.dot %a, %b, %before : !tile.buffer<128x8xbf16>, !tile.buffer<8x32xbf16>, tensor<128x32xf32> -> tensor<128x32xf32>
      scf.yield %sum : tensor<128x32xf32>
    }
    tile.store %acc, %y[%m, %n] : tensor<128x32xf32>, !tile.view<256x64xf32>
  }
}
