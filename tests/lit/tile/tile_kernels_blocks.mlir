// Sums over blocks of K: a step of the loop is a block, summed from zero, computed on, and added.
// RUN: irc-opt %s -p tile-kernels | filecheck %s

// A scale for each row of a block is a load of a column. One for each 128 columns is a scalar of the tile, by a quotient
// of where it begins.
// CHECK-LABEL: tile.program @scaled_0
// CHECK:         tile.for_tiles (%[[M:.*]], %[[N:.*]]) extents [256, 384] steps [128, 128]
// CHECK:           %[[ZERO:.*]] = tile.splat
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %[[STEP:.*]] iter_args(%[[SUM:.*]] = %[[ZERO]])
// CHECK-NEXT:        %[[BLOCK:.*]] = arith.floordivsi %[[K]], %[[STEP]]
// CHECK:             %[[P:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[ZERO]]
// CHECK-NEXT:        %[[ROWS:.*]] = tile.load %a[%[[M]], %[[N]]] symbols(%[[BLOCK]] : index) {{.*}} -> tensor<128x1xf32>
// CHECK-NEXT:        %[[PART:.*]] = arith.divui %[[N]], %[[STEP]]
// CHECK-NEXT:        %[[COLUMNS:.*]] = tile.load %b[%[[M]], %[[N]]] symbols(%[[BLOCK]], %[[PART]] : index, index) {{.*}} -> tensor<1x1xf32>
// CHECK-NEXT:        %[[NEXT:.*]] = tile.map %[[SUM]], %[[P]], %[[ROWS]], %[[COLUMNS]]
// CHECK:               arith.mulf
// CHECK:               arith.mulf
// CHECK-NEXT:          arith.addf
// CHECK:             scf.yield %[[NEXT]]
func.func @scaled(%x: tensor<4x256x128xf8E4M3FN>, %w: tensor<4x384x128xf8E4M3FN>, %s: tensor<4x256xf32>, %t: tensor<4x3xf32>) -> tensor<256x384xf32> {
  %r = kernel.fused @scaled_0 matmul config<tile = {m = 128, n = 128, k = 128}> (%x_1 = %x : tensor<4x256x128xf8E4M3FN>, %w_1 = %w : tensor<4x384x128xf8E4M3FN>, %a = %s : tensor<4x256xf32>, %b = %t : tensor<4x3xf32>) -> tensor<256x384xf32> {
    %p = nd.matmul %x_1, %w_1 {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x256x128xf8E4M3FN>, tensor<4x384x128xf8E4M3FN>) -> tensor<4x256x384xf32>
    %rows = nd.broadcast %a {dims = [0, 1]} : tensor<4x256xf32> -> tensor<4x256x384xf32>
    %parts = nd.broadcast %b {dims = [0, 1]} : tensor<4x3xf32> -> tensor<4x3x128xf32>
    %merged = nd.reshape %parts : tensor<4x3x128xf32> -> tensor<4x384xf32>
    %columns = nd.broadcast %merged {dims = [0, 2]} : tensor<4x384xf32> -> tensor<4x256x384xf32>
    %scales = nd.mul %rows, %columns : tensor<4x256x384xf32>
    %q = nd.mul %p, %scales : tensor<4x256x384xf32>
    %sum = nd.sum %q {axes = [0]} : tensor<4x256x384xf32> -> tensor<256x384xf32>
    kernel.yield %sum : tensor<256x384xf32>
  }
  func.return %r : tensor<256x384xf32>
}
