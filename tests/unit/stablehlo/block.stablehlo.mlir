module @jit_resnet attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x10x10x8xf32>, %arg1: tensor<3x3x8x8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<8xf32>, %arg6: tensor<3x3x8x8xf32>, %arg7: tensor<8xf32>, %arg8: tensor<8xf32>, %arg9: tensor<8xf32>, %arg10: tensor<8xf32>) -> (tensor<2x5x5x8xf32> {jax.result_info = "result[0]"}, tensor<2x8xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x10x10x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x10x10x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %3 = stablehlo.subtract %0, %2 : tensor<2x10x10x8xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.add %arg5, %4 : tensor<8xf32>
    %6 = stablehlo.rsqrt %5 : tensor<8xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %9 = stablehlo.multiply %3, %8 : tensor<2x10x10x8xf32>
    %10 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %12 = stablehlo.multiply %9, %11 : tensor<2x10x10x8xf32>
    %13 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %15 = stablehlo.add %12, %14 : tensor<2x10x10x8xf32>
    %16 = call @relu(%15) : (tensor<2x10x10x8xf32>) -> tensor<2x10x10x8xf32>
    %17 = stablehlo.convolution(%16, %arg6) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x10x10x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x10x10x8xf32>
    %18 = stablehlo.broadcast_in_dim %arg9, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %20 = stablehlo.subtract %17, %19 : tensor<2x10x10x8xf32>
    %cst_0 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %22 = stablehlo.add %arg10, %21 : tensor<8xf32>
    %23 = stablehlo.rsqrt %22 : tensor<8xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %26 = stablehlo.multiply %20, %25 : tensor<2x10x10x8xf32>
    %27 = stablehlo.broadcast_in_dim %arg7, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %29 = stablehlo.multiply %26, %28 : tensor<2x10x10x8xf32>
    %30 = stablehlo.broadcast_in_dim %arg8, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<2x10x10x8xf32>
    %32 = stablehlo.add %29, %31 : tensor<2x10x10x8xf32>
    %33 = stablehlo.add %arg0, %32 : tensor<2x10x10x8xf32>
    %34 = call @relu(%33) : (tensor<2x10x10x8xf32>) -> tensor<2x10x10x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<f32>
    %36 = "stablehlo.reduce_window"(%34, %35) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %40 = stablehlo.maximum %arg11, %arg12 : tensor<f32>
      stablehlo.return %40 : tensor<f32>
    }) : (tensor<2x10x10x8xf32>, tensor<f32>) -> tensor<2x5x5x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%36 init: %cst_2) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x5x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %cst_3 = stablehlo.constant dense<2.500000e+01> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %39 = stablehlo.divide %37, %38 : tensor<2x8xf32>
    return %36, %39 : tensor<2x5x5x8xf32>, tensor<2x8xf32>
  }
  func.func private @relu(%arg0: tensor<2x10x10x8xf32>) -> tensor<2x10x10x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x10x10x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x10x10x8xf32>
    return %1 : tensor<2x10x10x8xf32>
  }
}
