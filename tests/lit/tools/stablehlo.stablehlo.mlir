// RUN: irc-opt %s -p canonicalize-nd | filecheck %s
// RUN: irc-compile %s --emit kernel | filecheck %s --check-prefix KERNEL

// CHECK:      func.func @graph(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]}
// CHECK-NEXT:   %1 = nd.constant 0.0
// CHECK-NEXT:   %2 = nd.maximum %0, %1
// CHECK-NEXT:   %3 = nd.sum %2 {axes = [1]}
// CHECK-NEXT:   func.return %3

// KERNEL: kernel.fused @{{.*}} matmul

module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc(#loc1)
    %1 = call @relu(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @relu(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
#loc1 = loc("f.py":3:0)
