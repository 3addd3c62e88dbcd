module @jit_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x12xi32>, %arg1: tensor<50x32xf32>, %arg2: tensor<32x32xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<32x32xf32>, %arg5: tensor<32x32xf32>, %arg6: tensor<32xf32>, %arg7: tensor<32xf32>) -> (tensor<2x12x32xf32> {jax.result_info = "result[0]"}, tensor<2x12xi32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x12xi32>
    %1 = stablehlo.compare LT, %arg0, %0, SIGNED : (tensor<2x12xi32>, tensor<2x12xi32>) -> tensor<2x12xi1>
    %c_0 = stablehlo.constant dense<50> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x12xi32>
    %3 = stablehlo.add %arg0, %2 : tensor<2x12xi32>
    %4 = stablehlo.select %1, %3, %arg0 : tensor<2x12xi1>, tensor<2x12xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x12xi32>) -> tensor<2x12x1xi32>
    %6 = "stablehlo.gather"(%arg1, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<50x32xf32>, tensor<2x12x1xi32>) -> tensor<2x12x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x12x32xf32>, tensor<f32>) -> tensor<2x12xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x12xf32>) -> tensor<2x12x1xf32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x12x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<2x12x1xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %11 = call @_var(%6, %c_2) : (tensor<2x12x32xf32>, tensor<i32>) -> tensor<2x12x1xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x12x1xf32>) -> tensor<2x12x32xf32>
    %13 = stablehlo.subtract %6, %12 : tensor<2x12x32xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x12x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<2x12x1xf32>
    %16 = stablehlo.sqrt %15 : tensor<2x12x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x12x1xf32>) -> tensor<2x12x32xf32>
    %18 = stablehlo.divide %13, %17 : tensor<2x12x32xf32>
    %19 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x12x32xf32>
    %21 = stablehlo.multiply %18, %20 : tensor<2x12x32xf32>
    %22 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<2x12x32xf32>
    %24 = stablehlo.add %21, %23 : tensor<2x12x32xf32>
    %25 = stablehlo.dot_general %24, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x12x32xf32>, tensor<32x32xf32>) -> tensor<2x12x32xf32>
    %26 = stablehlo.reshape %25 : (tensor<2x12x32xf32>) -> tensor<2x12x4x8xf32>
    %27 = stablehlo.transpose %26, dims = [0, 2, 1, 3] : (tensor<2x12x4x8xf32>) -> tensor<2x4x12x8xf32>
    %28 = stablehlo.dot_general %24, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x12x32xf32>, tensor<32x32xf32>) -> tensor<2x12x32xf32>
    %29 = stablehlo.reshape %28 : (tensor<2x12x32xf32>) -> tensor<2x12x4x8xf32>
    %30 = stablehlo.transpose %29, dims = [0, 2, 1, 3] : (tensor<2x12x4x8xf32>) -> tensor<2x4x12x8xf32>
    %31 = stablehlo.dot_general %24, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x12x32xf32>, tensor<32x32xf32>) -> tensor<2x12x32xf32>
    %32 = stablehlo.reshape %31 : (tensor<2x12x32xf32>) -> tensor<2x12x4x8xf32>
    %33 = stablehlo.transpose %32, dims = [0, 2, 1, 3] : (tensor<2x12x4x8xf32>) -> tensor<2x4x12x8xf32>
    %34 = stablehlo.dot_general %27, %30, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32>) -> tensor<2x4x12x12xf32>
    %cst_4 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x12x12xf32>
    %36 = stablehlo.divide %34, %35 : tensor<2x4x12x12xf32>
    %c_5 = stablehlo.constant dense<true> : tensor<i1>
    %37 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i1>) -> tensor<12x12xi1>
    %38 = call @tril(%37) : (tensor<12x12xi1>) -> tensor<12x12xi1>
    %cst_6 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %39 = call @_where_0(%38, %36, %cst_6) : (tensor<12x12xi1>, tensor<2x4x12x12xf32>, tensor<f32>) -> tensor<2x4x12x12xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %40 = stablehlo.reduce(%39 init: %cst_7) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x12x12xf32>, tensor<f32>) -> tensor<2x4x12xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x12xf32>
    %42 = stablehlo.maximum %41, %40 : tensor<2x4x12xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<2x4x12xf32>) -> tensor<2x4x12x1xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<2x4x12x1xf32>) -> tensor<2x4x12x12xf32>
    %45 = stablehlo.subtract %39, %44 : tensor<2x4x12x12xf32>
    %46 = stablehlo.exponential %45 : tensor<2x4x12x12xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%46 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<2x4x12x12xf32>, tensor<f32>) -> tensor<2x4x12xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2] : (tensor<2x4x12xf32>) -> tensor<2x4x12x1xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<2x4x12x1xf32>) -> tensor<2x4x12x12xf32>
    %50 = stablehlo.divide %46, %49 : tensor<2x4x12x12xf32>
    %51 = stablehlo.dot_general %50, %33, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x12x12xf32>, tensor<2x4x12x8xf32>) -> tensor<2x4x12x8xf32>
    %52 = stablehlo.transpose %51, dims = [0, 2, 1, 3] : (tensor<2x4x12x8xf32>) -> tensor<2x12x4x8xf32>
    %53 = stablehlo.reshape %52 : (tensor<2x12x4x8xf32>) -> tensor<2x12x32xf32>
    %54 = stablehlo.dot_general %53, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x12x32xf32>, tensor<32x32xf32>) -> tensor<2x12x32xf32>
    %55 = stablehlo.add %6, %54 : tensor<2x12x32xf32>
    %56 = call @argmax(%53) : (tensor<2x12x32xf32>) -> tensor<2x12xi32>
    return %55, %56 : tensor<2x12x32xf32>, tensor<2x12xi32>
  }
  func.func private @_var(%arg0: tensor<2x12x32xf32>, %arg1: tensor<i32>) -> tensor<2x12x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x12x32xf32>, tensor<f32>) -> tensor<2x12xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x12xf32>) -> tensor<2x12x1xf32>
    %cst_0 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x12x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x12x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x12x1xf32>) -> tensor<2x12x32xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x12x32xf32>
    %6 = chlo.square %5 : tensor<2x12x32xf32> -> tensor<2x12x32xf32>
    %7 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<2x12x32xf32>, tensor<f32>) -> tensor<2x12xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x12xf32>) -> tensor<2x12x1xf32>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x12x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x12x1xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<2x12x1xf32>, tensor<f32>) -> tensor<2x12x1xf32>
    return %14 : tensor<2x12x1xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<2x12x1xf32>, %arg2: tensor<f32>) -> tensor<2x12x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x12x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<2x12x1xf32>
    return %2 : tensor<2x12x1xf32>
  }
  func.func private @tril(%arg0: tensor<12x12xi1>) -> tensor<12x12xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<12x12xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<12x12xi32>
    %2 = stablehlo.add %0, %1 : tensor<12x12xi32>
    %3 = stablehlo.iota dim = 1 : tensor<12x12xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<12x12xi32>, tensor<12x12xi32>) -> tensor<12x12xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<12x12xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<12x12xi1>, tensor<12x12xi1>
    return %6 : tensor<12x12xi1>
  }
  func.func private @_where_0(%arg0: tensor<12x12xi1>, %arg1: tensor<2x4x12x12xf32>, %arg2: tensor<f32>) -> tensor<2x4x12x12xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<12x12xi1>) -> tensor<2x4x12x12xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x12x12xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x12x12xi1>, tensor<2x4x12x12xf32>
    return %3 : tensor<2x4x12x12xf32>
  }
  func.func private @argmax(%arg0: tensor<2x12x32xf32>) -> tensor<2x12xi32> {
    %0 = stablehlo.iota dim = 2 : tensor<2x12x32xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [2] : (tensor<2x12x32xf32>, tensor<2x12x32xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x12xf32>, tensor<2x12xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<2x12xi32>
  }
}
