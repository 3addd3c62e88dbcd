builtin.module {
  func.func @f(%x: tensor<3001x70xbf16>, %w: tensor<3001xf32>) -> (tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>) {
    %x_1 = nd.cast %x : tensor<3001x70xbf16> -> tensor<3001x70xf32>
    %0 = nd.sum %x_1 {axes = [0]} : tensor<3001x70xf32> -> tensor<70xf32>
    %1 = nd.sum %x_1 {axes = [0, 1]} : tensor<3001x70xf32> -> tensor<f32>
    %2 = nd.max %x_1 {axes = [0]} : tensor<3001x70xf32> -> tensor<70xf32>
    %3 = nd.constant 0.0 : tensor<3001xf32>
    %4 = nd.greater %w, %3 : tensor<3001xf32> -> tensor<3001xi1>
    %5 = nd.cast %4 : tensor<3001xi1> -> tensor<3001xi32>
    %6 = nd.sum %5 {axes = [0]} : tensor<3001xi32> -> tensor<i32>
    func.return %0, %1, %2, %6 : tensor<70xf32>, tensor<f32>, tensor<70xf32>, tensor<i32>
  }
}
