// RUN: irc-opt %s --split-input-file --verify-diagnostics -p 'differentiate-nd{wrt=0}'
// RUN: not irc-opt %s --split-input-file -p 'differentiate-nd{wrt=0}' 2>&1 | filecheck %s

// CHECK: error: cannot differentiate with respect to n: i32[4]
// CHECK: hint: gradients are of floats with respect to floats
// expected-error @+1 {{cannot differentiate with respect to n: i32[4]}}
func.func @of_integers(%n: tensor<4xi32>) -> tensor<f32> {
  %s = nd.mean %n {axes = [0]} : tensor<4xi32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

func.func @of_several(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot differentiate result 0 of of_several: f32[4]}}
  %y = nd.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @through_bits(%x: tensor<bf16>) -> tensor<f16> {
  // expected-error @+1 {{cannot differentiate nd.bitcast}}
  %y = nd.bitcast %x : tensor<bf16> -> tensor<f16>
  func.return %y : tensor<f16>
}

// -----

// expected-error @+1 {{nothing has no argument 0}}
func.func @nothing() -> tensor<f32> {
  %y = nd.constant 0.0 : tensor<f32>
  func.return %y : tensor<f32>
}

// -----

func.func @widened(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{cannot differentiate nd.exp after widen-arithmetic}}
  %y = nd.exp %x {nd.declared = bf16} : tensor<f32>
  func.return %y : tensor<f32>
}

// -----

func.func @by_parts(%x: tensor<2x4x8xf32>, %k: tensor<6x4x3xf32>) -> tensor<f32> {
  // expected-error @+1 {{nd.conv by parts has no gradient}}
  %y = nd.conv %x, %k {strides = [1], low = [0], high = [0], dilation = [1], input_dilation = [1], groups = 1, parts = [2]} : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x2x6x6xf32>
  %s = nd.sum %y {axes = [0, 1, 2, 3]} : tensor<2x2x6x6xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
