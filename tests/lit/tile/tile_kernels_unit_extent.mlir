// RUN: irc-opt %s -p tile-kernels | filecheck %s

// A reduction over a tile masks the rows beyond an extent of 1, too: they are copies of the first, not zeros.

// CHECK:       tile.program @f_0
// CHECK:       [[ROWS:%.*]] = tile.iota {{.*}} {axis = 0 : i64} : tensor<16x1xindex>
// CHECK:       [[COLUMNS:%.*]] = tile.iota {{.*}} {axis = 1 : i64} : tensor<1x16xindex>
// CHECK:       [[MASKED:%.*]] = tile.map {{.*}}, [[ROWS]], [[COLUMNS]]
// CHECK:       arith.andi
// CHECK:       arith.select
// CHECK:       tile.reduce [[MASKED]] {axes = array<i64: 0, 1>}
func.func @f(%x: tensor<1x3xf32>, %w: tensor<3x3xf32>) -> (tensor<1x3xf32>, tensor<f32>) {
  %y, %fused = kernel.fused @f_0 matmul config<tile = {m = 16, n = 16, k = 16}, stages = 1, cluster = [1, 1], warps = 1, schedule = "grid", group = 8, indexing = "pointers", instruction = "fma"> (%x_1 = %x : tensor<1x3xf32>, %w_1 = %w : tensor<3x3xf32>) -> (tensor<1x3xf32>, tensor<1x1xf32>) {
    // core
    %product = nd.matmul %x_1, %w_1 {lhs_contract = [1], rhs_contract = [0]} : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    // epilogue
    %constant = nd.constant 1.0 {nd.repeated} : tensor<1x3xf32>
    %y_1 = nd.add %product, %constant : tensor<1x3xf32>
    %constant_1 = nd.constant 0.0 : tensor<f32>
    %pad = nd.pad %y_1, %constant_1 {low = [0, 0], high = [15, 13]} : (tensor<1x3xf32>, tensor<f32>) -> tensor<16x16xf32>
    %reshape = nd.reshape %pad : tensor<16x16xf32> -> tensor<1x16x1x16xf32>
    %sum = nd.sum %reshape {axes = [1, 3]} : tensor<1x16x1x16xf32> -> tensor<1x1xf32>
    kernel.yield %y_1, %sum : tensor<1x3xf32>, tensor<1x1xf32>
  }
  %fused_1 = kernel.fused @f_0_finish reduce config<tile = {d = 1, r = 1}, warps = 1, schedule = "grid", reduction = "persistent", occupancy = 32> (%arg = %fused : tensor<1x1xf32>) -> tensor<f32> {
    // core
    %sum = nd.sum %arg {axes = [0, 1]} : tensor<1x1xf32> -> tensor<f32>
    kernel.yield %sum : tensor<f32>
  }
  func.return %y, %fused_1 : tensor<1x3xf32>, tensor<f32>
}
