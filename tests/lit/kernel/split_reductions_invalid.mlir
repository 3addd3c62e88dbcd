// RUN: irc-opt %s --split-input-file --verify-diagnostics -p split-reductions

func.func @f(%x: tensor<250xf32>) -> tensor<250xf32> {
  %r = kernel.fused @k reduce config<split = 4> (%a = %x : tensor<250xf32>) -> tensor<250xf32> {
    // expected-error @below {{nd.cumsum cannot be split, its config asks for 4 parts}}
    %m = nd.cumsum %a {axis = 0} : tensor<250xf32>
    kernel.yield %m : tensor<250xf32>
  }
  func.return %r : tensor<250xf32>
}

// -----

func.func @f(%x: tensor<8x8xf32>) -> tensor<f32> {
  // expected-error @below {{a product's reductions are split by its tile, and it has none}}
  %r = kernel.fused @k matmul (%a = %x : tensor<8x8xf32>) -> tensor<f32> {
    %c = nd.matmul %a, %a {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<8x8xf32>
    %m = nd.max %c {axes = [0, 1]} : tensor<8x8xf32> -> tensor<f32>
    kernel.yield %m : tensor<f32>
  }
  func.return %r : tensor<f32>
}
