// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// Positions are inside of their own axis, moved or cast too.
// CHECK-LABEL: func.func @positions
// CHECK-NOT:     nd.check_indices
func.func @positions(%x: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %i = nd.iota {axis = 0} : tensor<4xi32>
  %wide = nd.cast %i : tensor<4xi32> -> tensor<4xi64>
  %rows = nd.broadcast %wide {dims = [1]} : tensor<4xi64> -> tensor<2x4xi64>
  %checked = nd.check_indices %rows {low = -4, high = 4} : tensor<2x4xi64>
  %again = nd.check_indices %checked {low = 0, high = 4} : tensor<2x4xi64>
  %r = nd.take %x, %again {axis = 0} : (tensor<4x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  func.return %r : tensor<2x4x8xf32>
}

// Left alone: those that may be outside, and positions in integers that do not have them all.
// CHECK-LABEL: func.func @outside
// CHECK-COUNT-3: nd.check_indices
func.func @outside(%j: tensor<8xi32>) -> (tensor<8xi32>, tensor<5xi32>, tensor<200xi8>) {
  %a = nd.check_indices %j {low = 0, high = 4} : tensor<8xi32>
  %i = nd.iota {axis = 0} : tensor<5xi32>
  %b = nd.check_indices %i {low = 0, high = 4} : tensor<5xi32>
  %k = nd.iota {axis = 0} : tensor<200xi8>
  %c = nd.check_indices %k {low = 0, high = 200} : tensor<200xi8>
  func.return %a, %b, %c : tensor<8xi32>, tensor<5xi32>, tensor<200xi8>
}

// An extent that is known is a number.
// CHECK-LABEL: func.func @known
// CHECK:         nd.check_indices %i {low = 0, high = 31} : tensor<4xi32>
func.func @known(%i: tensor<4xi32>) -> tensor<4xi32> {
  %r = nd.check_indices %i {low = 0, high = 1, extent = 30 : index} : tensor<4xi32>
  func.return %r : tensor<4xi32>
}
