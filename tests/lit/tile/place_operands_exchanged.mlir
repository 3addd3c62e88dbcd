// RUN: irc-opt %s -p place-operands | filecheck %s

// Threads that multiply hand what they have computed from a dot to each other through a buffer of their own; its rows are
// columns of the operand. The right operand has the buffer that another dot reads on the left.
// CHECK-LABEL: tile.program @gradients_0(
// CHECK:         %[[K:.*]] = tile.alloc : !tile.buffer<128x64xbf16>
// CHECK-NEXT:    tile.copy %k[%{{.*}}, %{{.*}}] -> %[[K]] {via = "tma"}
// CHECK:         %[[EXCHANGED:.*]] = tile.alloc : !tile.buffer<128x128xbf16>
// CHECK:           tile.dot %[[K]], %{{.*}}
// CHECK:           %[[W:.*]] = tile.map %{{.*}}, %{{.*}} : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16>
// CHECK:           tile.write %[[W]], %[[EXCHANGED]] : tensor<128x128xbf16>, !tile.buffer<128x128xbf16>
// CHECK-NEXT:      %[[T:.*]] = tile.transpose %[[EXCHANGED]] {dims = array<i64: 1, 0>}
// CHECK-NEXT:      tile.dot %[[T]], %[[K]], %{{.*}} : !tile.buffer<128x128xbf16>, !tile.buffer<128x64xbf16>, tensor<128x64xf32>
// CHECK:           tile.dot %[[W]], %{{.*}} : tensor<128x128xbf16>, !tile.buffer<128x64xbf16>, tensor<128x64xf32>
tile.program @gradients_0(%q: !tile.view<256x64xbf16>, %k: !tile.view<256x64xbf16>, %v: !tile.view<256x64xbf16>, %g: !tile.view<256x64xbf16>, %dq: !tile.view<256x64xf32>, %dk: !tile.view<256x64xf32>, %dv: !tile.view<256x64xf32>) {results = 3 : i64, sums = array<i64: 4>, config = #kernel.config<tile = {m = 128, k = 128}, stages = 1, warps = 8, schedule = "grid", indexing = "tma", instruction = "wgmma">} {
  tile.for_tiles (%0) extents [256] steps [128] {
    %1 = arith.constant 0 : index
    %2 = arith.constant 0.000000e+00 : f32
    %3 = tile.splat %2 : f32 -> tensor<128x64xf32>
    %4 = tile.splat %2 : f32 -> tensor<128x128xf32>
    %5 = tile.load %k[%0, %1] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
    %6 = tile.load %v[%0, %1] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
    %7 = arith.constant 256 : index
    %8 = arith.constant 128 : index
    %9, %10 = scf.for %11 = %1 to %7 step %8 iter_args(%12 = %3, %13 = %3) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
      %14 = tile.load %q[%1, %11] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x128xbf16>
      %15 = tile.dot %5, %14, %4 : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %16 = tile.load %g[%1, %11] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<256x64xbf16> -> tensor<64x128xbf16>
      %17 = tile.dot %6, %16, %4 : tensor<128x64xbf16>, tensor<64x128xbf16>, tensor<128x128xf32> -> tensor<128x128xf32>
      %18 = tile.map %15 : tensor<128x128xf32> -> tensor<128x128xf32> {
      ^bb0(%19: f32):
        %20 = math.exp2 %19 : f32
        tile.yield %20 : f32
      }
      %21 = tile.map %18 : tensor<128x128xf32> -> tensor<128x128xbf16> {
      ^bb0(%22: f32):
        %23 = arith.truncf %22 : f32 to bf16
        tile.yield %23 : bf16
      }
      %24 = tile.load %g[%11, %1] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
      %25 = tile.dot %21, %24, %12 : tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      %26 = tile.map %18, %17 : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16> {
      ^bb0(%27: f32, %28: f32):
        %29 = arith.mulf %27, %28 : f32
        %30 = arith.truncf %29 : f32 to bf16
        tile.yield %30 : bf16
      }
      %31 = tile.permute %26 {dims = array<i64: 1, 0>} : tensor<128x128xbf16> -> tensor<128x128xbf16>
      %32 = tile.dot %31, %5, %3 : tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      %33 = tile.load %q[%11, %1] : !tile.view<256x64xbf16> -> tensor<128x64xbf16>
      %34 = tile.dot %26, %33, %13 : tensor<128x128xbf16>, tensor<128x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      tile.store %32, %dq[%11, %1] {add} : tensor<128x64xf32>, !tile.view<256x64xf32>
      scf.yield %25, %34 : tensor<128x64xf32>, tensor<128x64xf32>
    }
    tile.store %10, %dk[%0, %1] : tensor<128x64xf32>, !tile.view<256x64xf32>
    tile.store %9, %dv[%0, %1] : tensor<128x64xf32>, !tile.view<256x64xf32>
  }
}
