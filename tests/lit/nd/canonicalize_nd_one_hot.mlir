// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// A choice between two numbers is compared with a third when compiled.
// CHECK-LABEL: func.func @compared
// CHECK-NEXT:    nd.bitwise_not %c : tensor<4xi1>
// CHECK-NEXT:    nd.constant true : tensor<4xi1>
// CHECK-NEXT:    func.return %c, %{{.*}}, %{{.*}}
func.func @compared(%c: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = nd.constant 1 : tensor<4xi32>
  %1 = nd.constant 0 : tensor<4xi32>
  %2 = nd.where %c, %0, %1 : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = nd.greater %2, %1 : tensor<4xi32> -> tensor<4xi1>
  %4 = nd.equal %2, %1 : tensor<4xi32> -> tensor<4xi1>
  %5 = nd.less_equal %2, %0 : tensor<4xi32> -> tensor<4xi1>
  func.return %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// One position of each row is hit, or none: the sum is known from the index.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     nd.sum
// CHECK:         %[[LOW:.*]] = nd.greater_equal %i, %{{.*}} : tensor<4xi64> -> tensor<4xi1>
// CHECK:         %[[LAST:.*]] = nd.constant 8 : tensor<4xi64>
// CHECK:         %[[HIGH:.*]] = nd.less_equal %i, %[[LAST]] : tensor<4xi64> -> tensor<4xi1>
// CHECK:         %[[IN:.*]] = nd.bitwise_and %[[LOW]], %[[HIGH]]
// CHECK:         nd.where %[[IN]], %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @alone(%i: tensor<4xi64>) -> tensor<4xf32> {
  %0 = nd.broadcast %i {dims = [0]} : tensor<4xi64> -> tensor<4x9xi64>
  %1 = nd.iota {axis = 0} : tensor<9xi64>
  %2 = nd.broadcast %1 {dims = [1]} : tensor<9xi64> -> tensor<4x9xi64>
  %3 = nd.equal %2, %0 : tensor<4x9xi64> -> tensor<4x9xi1>
  %4 = nd.constant -1.0 : tensor<4x9xf32>
  %5 = nd.constant 0.0 : tensor<4x9xf32>
  %6 = nd.where %3, %4, %5 : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %7 = nd.sum %6 {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>
  func.return %7 : tensor<4xf32>
}

// Times what repeats along the axis: once by the number, and by zero, of which an infinity makes a NaN.
// CHECK-LABEL: func.func @scaled
// CHECK-NOT:     nd.sum
// CHECK:         %[[HOT:.*]] = nd.where %{{.*}} : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK:         %[[A:.*]] = nd.mul %s, %[[HOT]] : tensor<3xf32>
// CHECK:         %[[B:.*]] = nd.mul %s, %{{.*}} : tensor<3xf32>
// CHECK:         nd.add %[[A]], %[[B]] : tensor<3xf32>
func.func @scaled(%i: tensor<3xi32>, %s: tensor<3xf32>) -> tensor<3xf32> {
  %0 = nd.broadcast %i {dims = [1]} : tensor<3xi32> -> tensor<9x3xi32>
  %1 = nd.iota {axis = 0} : tensor<9x3xi32>
  %2 = nd.equal %0, %1 : tensor<9x3xi32> -> tensor<9x3xi1>
  %3 = nd.constant 2.0 : tensor<9x3xf32>
  %4 = nd.constant 0.0 : tensor<9x3xf32>
  %5 = nd.where %2, %3, %4 : (tensor<9x3xi1>, tensor<9x3xf32>, tensor<9x3xf32>) -> tensor<9x3xf32>
  %6 = nd.broadcast %s {dims = [1]} : tensor<3xf32> -> tensor<9x3xf32>
  %7 = nd.mul %6, %5 : tensor<9x3xf32>
  %8 = nd.sum %7 {axes = [0]} : tensor<9x3xf32> -> tensor<3xf32>
  func.return %8 : tensor<3xf32>
}

// Cast on the way, each part is cast as what is summed was.
// CHECK-LABEL: func.func @cast
// CHECK-NOT:     nd.sum
// CHECK:         %[[P:.*]] = nd.mul %s, %{{.*}} : tensor<4xf32>
// CHECK:         %[[Z:.*]] = nd.mul %s, %{{.*}} : tensor<4xf32>
// CHECK:         %[[PB:.*]] = nd.cast %[[P]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[PF:.*]] = nd.cast %[[PB]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         %[[ZB:.*]] = nd.cast %[[Z]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK:         %[[ZF:.*]] = nd.cast %[[ZB]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK:         nd.add %[[PF]], %[[ZF]] : tensor<4xf32>
func.func @cast(%i: tensor<4xi64>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nd.broadcast %i {dims = [0]} : tensor<4xi64> -> tensor<4x9xi64>
  %1 = nd.iota {axis = 1} : tensor<4x9xi64>
  %2 = nd.equal %0, %1 : tensor<4x9xi64> -> tensor<4x9xi1>
  %3 = nd.constant -1.0 : tensor<4x9xf32>
  %4 = nd.constant 0.0 : tensor<4x9xf32>
  %5 = nd.where %2, %3, %4 : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %6 = nd.broadcast %s {dims = [0]} : tensor<4xf32> -> tensor<4x9xf32>
  %7 = nd.mul %5, %6 : tensor<4x9xf32>
  %8 = nd.cast %7 : tensor<4x9xf32> -> tensor<4x9xbf16>
  %9 = nd.cast %8 : tensor<4x9xbf16> -> tensor<4x9xf32>
  %10 = nd.sum %9 {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>
  func.return %10 : tensor<4xf32>
}

// Left alone: sums along the other axis, of other numbers elsewhere, times what differs along the axis, of floats as
// indices, of positions that wrap.
// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-5: nd.sum
func.func @left_alone(%i: tensor<4xi64>, %f: tensor<4xf32>, %x: tensor<4x9xf32>, %n: tensor<4xi8>) -> (tensor<9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nd.broadcast %i {dims = [0]} : tensor<4xi64> -> tensor<4x9xi64>
  %1 = nd.iota {axis = 1} : tensor<4x9xi64>
  %2 = nd.equal %0, %1 : tensor<4x9xi64> -> tensor<4x9xi1>
  %3 = nd.constant 1.0 : tensor<4x9xf32>
  %4 = nd.constant 0.0 : tensor<4x9xf32>
  %5 = nd.constant 0.5 : tensor<4x9xf32>
  %6 = nd.where %2, %3, %4 : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %7 = nd.sum %6 {axes = [0]} : tensor<4x9xf32> -> tensor<9xf32>
  %8 = nd.where %2, %3, %5 : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %9 = nd.sum %8 {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>
  %10 = nd.mul %6, %x : tensor<4x9xf32>
  %11 = nd.sum %10 {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>
  %12 = nd.broadcast %f {dims = [0]} : tensor<4xf32> -> tensor<4x9xf32>
  %13 = nd.iota {axis = 1} : tensor<4x9xf32>
  %14 = nd.equal %12, %13 : tensor<4x9xf32> -> tensor<4x9xi1>
  %15 = nd.where %14, %3, %4 : (tensor<4x9xi1>, tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %16 = nd.sum %15 {axes = [1]} : tensor<4x9xf32> -> tensor<4xf32>
  %17 = nd.broadcast %n {dims = [0]} : tensor<4xi8> -> tensor<4x300xi8>
  %18 = nd.iota {axis = 1} : tensor<4x300xi8>
  %19 = nd.equal %17, %18 : tensor<4x300xi8> -> tensor<4x300xi1>
  %20 = nd.constant 1.0 : tensor<4x300xf32>
  %21 = nd.constant 0.0 : tensor<4x300xf32>
  %22 = nd.where %19, %20, %21 : (tensor<4x300xi1>, tensor<4x300xf32>, tensor<4x300xf32>) -> tensor<4x300xf32>
  %23 = nd.sum %22 {axes = [1]} : tensor<4x300xf32> -> tensor<4xf32>
  func.return %7, %9, %11, %16, %23 : tensor<9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
