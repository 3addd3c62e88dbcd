// A scan over layers has no loop, no gathers of layers and no writes of rows.
// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// CHECK:      func.func @graph(%arg0: tensor<2x4x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
// CHECK-NEXT:   %0 = nd.slice %arg0 {starts = [0, 0, 0], stops = [1, 4, 4], steps = [1, 1, 1]}
// CHECK-NEXT:   %1 = nd.reshape %0
// CHECK-NEXT:   %2 = nd.matmul %arg1, %1
// CHECK-NEXT:   %3 = nd.reshape %2
// CHECK-NEXT:   %4 = nd.slice %arg0 {starts = [1, 0, 0], stops = [2, 4, 4], steps = [1, 1, 1]}
// CHECK-NEXT:   %5 = nd.reshape %4
// CHECK-NEXT:   %6 = nd.matmul %2, %5
// CHECK-NEXT:   %7 = nd.reshape %6
// CHECK-NEXT:   %8 = nd.concat %3, %7 {axis = 0}
// CHECK-NEXT:   func.return %8

module @jit_f {
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:4 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %c, %iterArg_1 = %arg1, %iterArg_2 = %0) : tensor<2x4x4xf32>, tensor<i32>, tensor<3x4xf32>, tensor<2x3x4xf32>
    cond {
      %c_3 = stablehlo.constant dense<2> : tensor<i32>
      %2 = stablehlo.compare  LT, %iterArg_0, %c_3,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.compare  LT, %iterArg_0, %c_3,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_4 = stablehlo.constant dense<2> : tensor<i32>
      %3 = stablehlo.add %iterArg_0, %c_4 : tensor<i32>
      %4 = stablehlo.select %2, %3, %iterArg_0 : tensor<i1>, tensor<i32>
      %5 = stablehlo.dynamic_slice %iterArg, %4, %c_3, %c_3, sizes = [1, 4, 4] : (tensor<2x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf32>
      %6 = stablehlo.reshape %5 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
      %7 = stablehlo.dot_general %iterArg_1, %6, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
      %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
      %9 = stablehlo.dynamic_update_slice %iterArg_2, %8, %4, %c_3, %c_3 : (tensor<2x3x4xf32>, tensor<1x3x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x4xf32>
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %10 = stablehlo.add %iterArg_0, %c_5 : tensor<i32>
      stablehlo.return %iterArg, %10, %7, %9 : tensor<2x4x4xf32>, tensor<i32>, tensor<3x4xf32>, tensor<2x3x4xf32>
    }
    return %1#3 : tensor<2x3x4xf32>
  }
}
