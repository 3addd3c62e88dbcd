// RUN: irc-opt %s -p stage-stores | filecheck %s

// What a step adds has a buffer of its own, which is waited for when the next step writes it; so have the results behind
// the loop.
// CHECK-LABEL: tile.program @gradients_0(
// CHECK:         scf.for
// CHECK:           tile.store_wait
// CHECK-NEXT:      tile.write %{{.*}}, %[[BUFFER:.*]] : tensor<128x64xf32>, !tile.buffer<128x64xf32>
// CHECK-NEXT:      tile.store %[[BUFFER]], %dq[%{{.*}}, %{{.*}}] {add} : !tile.buffer<128x64xf32>, !tile.view<256x64xf32>
// CHECK-NEXT:      scf.yield
// CHECK:         tile.store_wait
// CHECK:         tile.store %{{.*}}, %dk[%{{.*}}, %{{.*}}] : !tile.buffer<128x64xf32>
tile.program @gradients_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %g: !tile.view<256x64xbf16>, %dq: !tile.view<256x64xf32>, %dk: !tile.view<256x64xf32>, %dv: !tile.view<256x64xf32>) {results = 3 : i64, sums = array<i64: 4>, config = #kernel.config<tile = {m = 128, k = 128}, stages = 1, warps = 8, schedule = "grid", indexing = "tma", instruction = "wgmma">} {
  tile.for_tiles (%0) extents [256] steps [128] {
    %1 = arith.constant 0 : index
    %2 = arith.constant 0.000000e+00 : f32
    %3 = tile.splat %2 : f32 -> tensor<128x64xf32>
    %4 = tile.splat %2 : f32 -> tensor<128x128xf32>
    %5 = tile.alloc : !tile.buffer<128x64xbf16>
    tile.copy %k[%0, %1] -> %5 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16>
    %6 = tile.alloc : !tile.buffer<128x64xbf16>
    tile.copy %v[%0, %1] -> %6 {via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<128x64xbf16>
    %7 = arith.constant 256 : index
    %8 = arith.constant 128 : index
    %9 = tile.alloc : !tile.buffer<64x128xbf16>
    %10 = tile.alloc : !tile.buffer<64x128xbf16>
    %11 = tile.alloc : !tile.buffer<128x128xbf16>
    %12, %13 = scf.for %14 = %1 to %7 step %8 iter_args(%15 = %3, %16 = %3) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
      tile.copy %q[%1, %14] -> %9 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x128xbf16>
      %17 = tile.dot %5, %9, %4 : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      tile.copy %g[%1, %14] -> %10 {map = affine_map<(d0, d1) -> (d1, d0)>, via = "tma"} : !tile.view<256x64xbf16> -> !tile.buffer<64x128xbf16>
      %18 = tile.dot %6, %10, %4 : !tile.buffer<128x64xbf16>, !tile.buffer<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %19 = tile.map %17 : tensor<128x128xf32> -> tensor<128x128xf32> {
      ^bb0(%20: f32):
        %21 = math.exp2 %20 : f32
        tile.yield %21 : f32
      }
      %22 = tile.map %19 : tensor<128x128xf32> -> tensor<128x128xbf16> {
      ^bb0(%23: f32):
        %24 = arith.truncf %23 : f32 to bf16
        tile.yield %24 : bf16
      }
      %25 = tile.transpose %10 {dims = array<i64: 1, 0>} : !tile.buffer<64x128xbf16> -> !tile.buffer<128x64xbf16>
      %26 = tile.dot %22, %25, %15 : tensor<128x128xbf16>, !tile.buffer<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      %27 = tile.map %19, %18 : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16> {
      ^bb0(%28: f32, %29: f32):
        %30 = arith.mulf %28, %29 : f32
        %31 = arith.truncf %30 : f32 to bf16
        tile.yield %31 : bf16
      }
      tile.write %27, %11 : tensor<128x128xbf16>, !tile.buffer<128x128xbf16>
      %32 = tile.transpose %11 {dims = array<i64: 1, 0>} : !tile.buffer<128x128xbf16> -> !tile.buffer<128x128xbf16>
      %33 = tile.dot %32, %5, %3 : !tile.buffer<128x128xbf16>, !tile.buffer<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      %34 = tile.transpose %9 {dims = array<i64: 1, 0>} : !tile.buffer<64x128xbf16> -> !tile.buffer<128x64xbf16>
      %35 = tile.dot %27, %34, %16 : tensor<128x128xbf16>, !tile.buffer<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      tile.store %33, %dq[%14, %1] {add} : tensor<128x64xf32>, !tile.view<256x64xf32>
      scf.yield %26, %35 : tensor<128x64xf32>, tensor<128x64xf32>
    }
    tile.store %13, %dk[%0, %1] : tensor<128x64xf32>, !tile.view<256x64xf32>
    tile.store %12, %dv[%0, %1] : tensor<128x64xf32>, !tile.view<256x64xf32>
  }
}
