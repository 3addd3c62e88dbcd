// RUN: irc-opt %s -p outer-products | filecheck %s

// CHECK-LABEL: func.func @scaled
// CHECK-NEXT:    %[[S:.*]] = nd.broadcast %s {dims = []} : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:    %[[X:.*]] = nd.broadcast %x {dims = [0]} : tensor<4xf32>
// CHECK-NEXT:    %[[M:.*]] = nd.mul %[[S]], %[[X]] {nd.declared = bf16} : tensor<4xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @scaled(%s: tensor<f32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nd.matmul %s, %x {lhs_contract = [], rhs_contract = [], nd.declared = bf16} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Batches come first, then the free axes of either side; what was rounded is multiplied in the type of the result.
// CHECK-LABEL: func.func @batches
// CHECK-NEXT:    %[[X:.*]] = nd.cast %x : tensor<3x2x5xbf16> -> tensor<3x2x5xf32>
// CHECK-NEXT:    %[[A:.*]] = nd.broadcast %[[X]] {dims = [2, 1, 0]} : tensor<3x2x5xf32> -> tensor<5x2x3x7xf32>
// CHECK-NEXT:    %[[Y:.*]] = nd.cast %y : tensor<2x7x5xbf16> -> tensor<2x7x5xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.broadcast %[[Y]] {dims = [1, 3, 0]} : tensor<2x7x5xf32> -> tensor<5x2x3x7xf32>
// CHECK-NEXT:    nd.mul %[[A]], %[[B]] : tensor<5x2x3x7xf32>
func.func @batches(%x: tensor<3x2x5xbf16>, %y: tensor<2x7x5xbf16>) -> tensor<5x2x3x7xf32> {
  %0 = nd.matmul %x, %y {lhs_batch = [2, 1], rhs_batch = [2, 0], lhs_contract = [], rhs_contract = []} : (tensor<3x2x5xbf16>, tensor<2x7x5xbf16>) -> tensor<5x2x3x7xf32>
  func.return %0 : tensor<5x2x3x7xf32>
}

// What is accumulated wider than it is returned is multiplied so.
// CHECK-LABEL: func.func @wide
// CHECK:         %[[M:.*]] = nd.mul {{.*}} : tensor<2x3xf64>
// CHECK-NEXT:    nd.cast %[[M]] : tensor<2x3xf64> -> tensor<2x3xf32>
func.func @wide(%x: tensor<2xf64>, %y: tensor<3xf64>) -> tensor<2x3xf32> {
  %0 = nd.matmul %x, %y {lhs_contract = [], rhs_contract = []} : (tensor<2xf64>, tensor<3xf64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @rounded
// CHECK:         nd.cast %x : tensor<2xf32> -> tensor<2xbf16>
// CHECK:         nd.cast %y : tensor<3xf32> -> tensor<3xbf16>
// CHECK:         nd.mul {{.*}} : tensor<2x3xf32>
func.func @rounded(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nd.matmul %x, %y {lhs_contract = [], rhs_contract = [], precision = "bf16"} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @contracted
// CHECK:         nd.matmul
func.func @contracted(%x: tensor<2x1xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xf32> {
  %0 = nd.matmul %x, %y {lhs_contract = [1], rhs_contract = [0]} : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
