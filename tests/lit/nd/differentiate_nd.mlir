// RUN: irc-opt %s --split-input-file -p 'differentiate-nd{wrt=0}' | filecheck %s
// RUN: irc-opt %s --split-input-file -p 'differentiate-nd{wrt=0 values=false}' | filecheck %s --check-prefix=ALONE
// RUN: irc-opt %s --split-input-file -p differentiate-nd | filecheck %s --check-prefix=ALL

// The gradient comes after the function's own results; of a product with itself it is added up from both sides.
// CHECK-LABEL: func.func @square(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK:         %[[Y:.*]] = nd.mul %x, %x
// CHECK-NEXT:    %[[S:.*]] = nd.sum %[[Y]]
// CHECK-NEXT:    %[[ONE:.*]] = nd.constant 1.0 : tensor<f32>
// CHECK-NEXT:    %[[G:.*]] = nd.broadcast %[[ONE]] {dims = []} : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.mul %[[G]], %x
// CHECK-NEXT:    %[[B:.*]] = nd.mul %[[G]], %x
// CHECK-NEXT:    %[[R:.*]] = nd.add %[[A]], %[[B]]
// CHECK-NEXT:    func.return %[[S]], %[[R]]
// ALONE-LABEL: func.func @square(%x: tensor<4xf32>) -> tensor<4xf32>
// ALONE-NOT:     nd.sum
// ALONE:         func.return
// ALL-LABEL:   func.func @product
// ALL-SAME:      -> (tensor<f32>, tensor<4x3xf32>, tensor<3x8xf32>)
// ALL-LABEL:   func.func @rows
// ALL-SAME:      -> (tensor<f32>, tensor<9x4xf32>)
func.func @square(%x: tensor<4xf32>) -> tensor<f32> {
  %y = nd.mul %x, %x : tensor<4xf32>
  %s = nd.sum %y {axes = [0]} : tensor<4xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// A product with the other operand; that for the gradient of w is left out.
// CHECK-LABEL: func.func @product
// CHECK:         %[[G:.*]] = nd.broadcast
// CHECK-NEXT:    %[[R:.*]] = nd.matmul %[[G]], %w {lhs_contract = [1], rhs_contract = [1]} : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    func.return %{{.*}}, %[[R]]
func.func @product(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>) -> tensor<f32> {
  %y = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %s = nd.sum %y {axes = [0, 1]} : tensor<4x8xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Narrow floats: the rule is computed in f32, with deferred casts around it, from the result of the forward pass.
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[Y:.*]] = nd.tanh %x : tensor<4xbf16>
// CHECK:         %[[G:.*]] = nd.cast %{{.*}} {nd.deferred} : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT:    %[[W:.*]] = nd.cast %[[Y]] {nd.deferred} : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT:    %[[YY:.*]] = nd.mul %[[W]], %[[W]] : tensor<4xf32>
// CHECK:         %[[D:.*]] = nd.sub %{{.*}}, %[[YY]] : tensor<4xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.mul %[[G]], %[[D]] : tensor<4xf32>
// CHECK-NEXT:    nd.cast %[[P]] {nd.deferred} : tensor<4xf32> -> tensor<4xbf16>
func.func @narrow(%x: tensor<4xbf16>) -> tensor<f32> {
  %y = nd.tanh %x : tensor<4xbf16>
  %s = nd.sum %y {axes = [0]} : tensor<4xbf16> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// A row of a table is read once or more: its gradient is added at its index.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[Z:.*]] = nd.constant 0.0 : tensor<9x4xf32>
// CHECK-NEXT:    nd.scatter_add %[[Z]], %i, %{{.*}} {axis = 0}
func.func @rows(%x: tensor<9x4xf32>, %i: tensor<6xi32>) -> tensor<f32> {
  %y = nd.take %x, %i {axis = 0} : (tensor<9x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %s = nd.sum %y {axes = [0, 1]} : tensor<6x4xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Nothing flows through comparisons and integers: the gradient is zero.
// CHECK-LABEL: func.func @constant
// CHECK:         nd.sum
// CHECK-NEXT:    %[[Z:.*]] = nd.constant 0.0 : tensor<4xf32>
// CHECK-NEXT:    func.return %{{.*}}, %[[Z]]
func.func @constant(%x: tensor<4xf32>) -> tensor<f32> {
  %z = nd.constant 0.0 : tensor<4xf32>
  %b = nd.greater %x, %z : tensor<4xf32> -> tensor<4xi1>
  %y = nd.cast %b : tensor<4xi1> -> tensor<4xf32>
  %s = nd.sum %y {axes = [0]} : tensor<4xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
