// RUN: irc-opt %s -p multicast-copies --split-input-file | filecheck %s

// The left operand is the same in all columns of the cluster, the right one in all rows.
// CHECK-LABEL: tile.program @product(
// CHECK: tile.copy %x[%m, %k] -> %a {via = "tma", multicast = 1 : i64}
// CHECK: tile.copy %w[%k, %n] -> %b {via = "tma", multicast = 0 : i64}

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
    %o = tile.map %acc : tensor<128x128xf32> -> tensor<128x128xbf16> {
    ^bb0(%a_1: f32):
      %truncf = arith.truncf %a_1 : f32 to bf16
      tile.yield %truncf : bf16
    }
    tile.store %o, %y[%m, %n] : tensor<128x128xbf16>, !tile.view<512x512xbf16>
    tile.store %acc, %z[%m, %n] : tensor<128x128xf32>, !tile.view<512x512xf32, strides [1, 512]>
  }
}

// -----

// A group that tiles of a cluster are of together: which it is they find by the number of the cluster.
// CHECK-LABEL: tile.program @grouped(
// CHECK: tile.copy %x[%row, %k] -> %a {via = "tma"}
// CHECK: tile.copy %w[%k, %n] symbols(%group : index) -> %b {{{.*}}, via = "tma", multicast = 0 : i64}
// CHECK: tile.copy %w[%k, %n] symbols(%own : index) -> %c {{{.*}}, via = "tma"}

tile.program @grouped(%x: !tile.view<512x512xbf16>, %w: !tile.view<5x512x512xbf16>, %e: !tile.view<4xi32>, %y: !tile.view<512x512xf32>) {results = 1 : i64} {
  tile.for_tiles (%m, %n) extents [2304, 512] steps [128, 128] schedule "persistent" group 8 cluster [2, 1] {
    %k = arith.constant 0 : index
    %rows = arith.constant 256 : index
    %half = arith.constant 128 : index
    %number = arith.divui %m, %rows : index
    %group, %first, %end = tile.find_segment %e[%number] {rows = 256 : i64, most = 512 : i64} : !tile.view<4xi32>
    %within = arith.remui %m, %rows : index
    %row = arith.addi %first, %within : index
    %tile = arith.divui %m, %half : index
    %own, %first_1, %end_1 = tile.find_segment %e[%tile] {rows = 128 : i64, most = 512 : i64} : !tile.view<4xi32>
    %a = tile.alloc : !tile.buffer<128x64xbf16>
    %b = tile.alloc : !tile.buffer<64x128xbf16>
    %c = tile.alloc : !tile.buffer<64x128xbf16>
    tile.copy %x[%row, %k] -> %a {via = "tma"} : !tile.view<512x512xbf16> -> !tile.buffer<128x64xbf16>
    tile.copy %w[%k, %n] symbols(%group : index) -> %b {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, via = "tma"} : !tile.view<5x512x512xbf16> -> !tile.buffer<64x128xbf16>
    tile.copy %w[%k, %n] symbols(%own : index) -> %c {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, via = "tma"} : !tile.view<5x512x512xbf16> -> !tile.buffer<64x128xbf16>
  }
}

// -----

// Left alone: no clusters.
// CHECK-LABEL: tile.program @gating(
// CHECK:     tile.copy
// CHECK-NOT: multicast

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
