// RUN: irc-opt %s -p place-operands | filecheck %s

// Two dots read a tile, one its transpose: it has one buffer, which TMA fills once.
// CHECK-LABEL: tile.program @shared
// CHECK:         %[[B:.*]] = tile.alloc : !tile.buffer<64x32xbf16>
// CHECK-NOT:     tile.alloc
// CHECK:         scf.for
// CHECK:           tile.copy %k[%{{.*}}, %{{.*}}] -> %[[B]]
// CHECK-NOT:       tile.copy
// CHECK:           tile.dot %{{.*}}, %[[B]], %{{.*}} : !tile.buffer<64x64xbf16>, !tile.buffer<64x32xbf16>
// CHECK:           %[[T:.*]] = tile.transpose %[[B]] {dims = array<i64: 1, 0>} : !tile.buffer<64x32xbf16> -> !tile.buffer<32x64xbf16>
// CHECK:           tile.dot %{{.*}}, %[[T]], %{{.*}} : tensor<64x32xbf16>, !tile.buffer<32x64xbf16>
tile.program @shared(%q: !tile.view<64x64xbf16>, %k: !tile.view<256x64xbf16>, %o: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, k = 32}, stages = 2, warps = 4, indexing = "tma", instruction = "wgmma">} {
  %0 = arith.constant 0 : index
  %256 = arith.constant 256 : index
  %32 = arith.constant 32 : index
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x32xf32>
  %start = tile.splat %f : f32 -> tensor<64x64xf32>
  %a = tile.load %q[%0, %0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %r = scf.for %i = %0 to %256 step %32 iter_args(%acc = %start) -> (tensor<64x64xf32>) {
    %b = tile.load %k[%0, %i] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x32xbf16>
    %s = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
    %p = tile.map %s : tensor<64x32xf32> -> tensor<64x32xbf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to bf16
      tile.yield %y : bf16
    }
    %c = tile.load %k[%i, %0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %p, %c, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %o[%0, %0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}

// Elsewhere in the array, or by threads: a buffer for each.
// CHECK-LABEL: tile.program @other_rows
// CHECK-NOT:     tile.transpose
// CHECK-LABEL: tile.program @threads
// CHECK-NOT:     tile.transpose
tile.program @other_rows(%q: !tile.view<64x64xbf16>, %k: !tile.view<256x64xbf16>, %o: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, k = 32}, stages = 2, warps = 4, indexing = "tma", instruction = "wgmma">} {
  %0 = arith.constant 0 : index
  %32 = arith.constant 32 : index
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x32xf32>
  %start = tile.splat %f : f32 -> tensor<64x64xf32>
  %a = tile.load %q[%0, %0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%0, %32] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x32xbf16>
  %s = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  %p = tile.map %s : tensor<64x32xf32> -> tensor<64x32xbf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to bf16
    tile.yield %y : bf16
  }
  %c = tile.load %k[%0, %0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16>
  %d = tile.dot %p, %c, %start : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %d, %o[%0, %0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
tile.program @threads(%q: !tile.view<64x64xbf16>, %k: !tile.view<256x64xbf16>, %o: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<tile = {m = 64, k = 32}, stages = 2, warps = 4, instruction = "mma">} {
  %0 = arith.constant 0 : index
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x32xf32>
  %start = tile.splat %f : f32 -> tensor<64x64xf32>
  %a = tile.load %q[%0, %0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%0, %0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x32xbf16>
  %s = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  %p = tile.map %s : tensor<64x32xf32> -> tensor<64x32xbf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to bf16
    tile.yield %y : bf16
  }
  %c = tile.load %k[%0, %0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16>
  %d = tile.dot %p, %c, %start : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %d, %o[%0, %0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
