builtin.module {
  func.func @f(%x: tensor<3001x70xbf16>, %w: tensor<3001xf32>) -> (tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>) {
    %0, %1, %2, %3 = kernel.fused @f_0 reduce config<tile = [128, 16], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16> (%x_1 = %x : tensor<3001x70xbf16>) -> (tensor<70xf32>, tensor<46x70xf32>, tensor<70xf32>, tensor<46x70xf32>) {
      // prologue
      %x_2 = nd.cast %x_1 : tensor<3001x70xbf16> -> tensor<3001x70xf32>
      %4 = nd.slice %x_2 {starts = [0, 0], stops = [2944, 70], steps = [1, 1]} : tensor<3001x70xf32> -> tensor<2944x70xf32>
      %5 = nd.reshape %4 : tensor<2944x70xf32> -> tensor<46x64x70xf32>
      // core
      %6 = nd.sum %5 {axes = [1]} : tensor<46x64x70xf32> -> tensor<46x70xf32>
      // prologue
      %7 = nd.slice %x_2 {starts = [2944, 0], stops = [3001, 70], steps = [1, 1]} : tensor<3001x70xf32> -> tensor<57x70xf32>
      // core
      %8 = nd.sum %7 {axes = [0]} : tensor<57x70xf32> -> tensor<70xf32>
      // prologue
      %9 = nd.slice %x_2 {starts = [0, 0], stops = [2944, 70], steps = [1, 1]} : tensor<3001x70xf32> -> tensor<2944x70xf32>
      %10 = nd.reshape %9 : tensor<2944x70xf32> -> tensor<46x64x70xf32>
      // core
      %11 = nd.max %10 {axes = [1]} : tensor<46x64x70xf32> -> tensor<46x70xf32>
      // prologue
      %12 = nd.slice %x_2 {starts = [2944, 0], stops = [3001, 70], steps = [1, 1]} : tensor<3001x70xf32> -> tensor<57x70xf32>
      // core
      %13 = nd.max %12 {axes = [0]} : tensor<57x70xf32> -> tensor<70xf32>
      kernel.yield %8, %6, %13, %11 : tensor<70xf32>, tensor<46x70xf32>, tensor<70xf32>, tensor<46x70xf32>
    }
    %4, %5 = kernel.fused @f_0_finish reduce config<tile = [128, 8], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16> (%6 = %1 : tensor<46x70xf32>, %7 = %0 : tensor<70xf32>, %8 = %3 : tensor<46x70xf32>, %9 = %2 : tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>) {
      // core
      %10 = nd.sum %6 {axes = [0]} : tensor<46x70xf32> -> tensor<70xf32>
      // epilogue
      %11 = nd.add %10, %7 : tensor<70xf32>
      // core
      %12 = nd.max %8 {axes = [0]} : tensor<46x70xf32> -> tensor<70xf32>
      // epilogue
      %13 = nd.maximum %12, %9 : tensor<70xf32>
      kernel.yield %11, %13 : tensor<70xf32>, tensor<70xf32>
    }
    %6, %7 = kernel.fused @f_1 reduce config<tile = [1, 2048], warps = 8, schedule = "grid", reduction = "looped", unroll = 4, vector = 16> (%x_1 = %x : tensor<3001x70xbf16>) -> (tensor<f32>, tensor<25xf32>) {
      // prologue
      %x_2 = nd.cast %x_1 : tensor<3001x70xbf16> -> tensor<3001x70xf32>
      %8 = nd.reshape %x_2 : tensor<3001x70xf32> -> tensor<210070xf32>
      %9 = nd.slice %8 {starts = [0], stops = [204800], steps = [1]} : tensor<210070xf32> -> tensor<204800xf32>
      %10 = nd.reshape %9 : tensor<204800xf32> -> tensor<25x8192xf32>
      // core
      %11 = nd.sum %10 {axes = [1]} : tensor<25x8192xf32> -> tensor<25xf32>
      // prologue
      %12 = nd.slice %8 {starts = [204800], stops = [210070], steps = [1]} : tensor<210070xf32> -> tensor<5270xf32>
      // core
      %13 = nd.sum %12 {axes = [0]} : tensor<5270xf32> -> tensor<f32>
      kernel.yield %13, %11 : tensor<f32>, tensor<25xf32>
    }
    %8 = kernel.fused @f_1_finish reduce config<tile = [1, 32], warps = 1, schedule = "grid", reduction = "persistent", vector = 16> (%9 = %7 : tensor<25xf32>, %10 = %6 : tensor<f32>) -> tensor<f32> {
      // core
      %11 = nd.sum %9 {axes = [0]} : tensor<25xf32> -> tensor<f32>
      // epilogue
      %12 = nd.add %11, %10 : tensor<f32>
      kernel.yield %12 : tensor<f32>
    }
    %9 = kernel.fused @f_2 reduce config<tile = [1, 4096], warps = 8, schedule = "grid", reduction = "persistent", vector = 16> (%w_1 = %w : tensor<3001xf32>) -> tensor<i32> {
      // prologue
      %10 = nd.constant 0.0 : tensor<3001xf32>
      %11 = nd.greater %w_1, %10 : tensor<3001xf32> -> tensor<3001xi1>
      %12 = nd.cast %11 : tensor<3001xi1> -> tensor<3001xi32>
      // core
      %13 = nd.sum %12 {axes = [0]} : tensor<3001xi32> -> tensor<i32>
      kernel.yield %13 : tensor<i32>
    }
    func.return %4, %8, %5, %9 : tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>
  }
}
