// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// CHECK-LABEL: func.func @identities
// CHECK-NEXT:    %[[N:.*]] = nd.neg %x
// CHECK-NEXT:    %[[S:.*]] = nd.sub %y, %x
// CHECK-NEXT:    %[[R:.*]] = nd.reciprocal %x
// CHECK-NEXT:    %[[P:.*]] = nd.mul %x, %x
// CHECK-NEXT:    func.return %x, %[[N]], %[[S]], %[[R]], %[[P]]
func.func @identities(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = nd.constant 0.0 : tensor<4xf32>
  %one = nd.constant 1.0 : tensor<4xf32>
  %two = nd.constant 2.0 : tensor<4xf32>
  %minus = nd.constant -1.0 : tensor<4xf32>
  %a = nd.mul %one, %x : tensor<4xf32>
  %b = nd.sub %a, %zero : tensor<4xf32>
  %c = nd.div %b, %one : tensor<4xf32>
  %d = nd.mul %c, %minus : tensor<4xf32>
  %e = nd.add %d, %y : tensor<4xf32>
  %f = nd.div %one, %c : tensor<4xf32>
  %g = nd.pow %c, %two : tensor<4xf32>
  func.return %c, %d, %e, %f, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Not exact for floats: -0.0 + 0.0 is 0.0, inf * 0 is NaN, NaN - NaN is NaN, sqrt differs from pow(x, 0.5), 1 / 3 rounds.
// CHECK-LABEL: func.func @left_alone
// CHECK:         nd.add %x
// CHECK:         nd.mul %x
// CHECK:         nd.sub %x, %x
// CHECK:         nd.pow %x
// CHECK:         nd.div %x
func.func @left_alone(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = nd.constant 0.0 : tensor<4xf32>
  %half = nd.constant 0.5 : tensor<4xf32>
  %three = nd.constant 3.0 : tensor<4xf32>
  %a = nd.add %x, %zero : tensor<4xf32>
  %b = nd.mul %x, %zero : tensor<4xf32>
  %c = nd.sub %x, %x : tensor<4xf32>
  %d = nd.pow %x, %half : tensor<4xf32>
  %e = nd.div %x, %three : tensor<4xf32>
  func.return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Of integers they are; conditions that are known or inverted choose directly.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT:    %[[Z:.*]] = nd.constant 0 : tensor<4xi32>
// CHECK-NEXT:    %[[W:.*]] = nd.where %c, %y, %x
// CHECK-NEXT:    func.return %x, %[[Z]], %[[W]], %x
func.func @integers(%x: tensor<4xi32>, %y: tensor<4xi32>, %c: tensor<4xi1>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %zero = nd.constant 0 : tensor<4xi32>
  %true = nd.constant true : tensor<4xi1>
  %a = nd.add %x, %zero : tensor<4xi32>
  %b = nd.sub %x, %a : tensor<4xi32>
  %n = nd.bitwise_not %c : tensor<4xi1>
  %w = nd.where %n, %a, %y : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %k = nd.where %true, %x, %y : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %a, %b, %w, %k : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// Common subexpressions, in any order of commutative operands; not where the declared types differ.
// CHECK-LABEL: func.func @common
// CHECK-NEXT:    %[[A:.*]] = nd.add %x, %y : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = nd.add %x, %y {nd.declared = bf16} : tensor<4xf32>
// CHECK-NEXT:    func.return %[[A]], %[[A]], %[[B]]
func.func @common(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = nd.add %x, %y : tensor<4xf32>
  %b = nd.add %y, %x : tensor<4xf32>
  %c = nd.add %x, %y {nd.declared = bf16} : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Constants fold, splats of any size; arithmetic on bf16 waits for widen-arithmetic.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    nd.constant 3.0 : tensor<100000x100000xf32>
// CHECK-NEXT:    nd.constant [5, 7] : tensor<2xi32>
// CHECK-NEXT:    nd.constant
// CHECK-NEXT:    nd.add {{.*}} : tensor<4xbf16>
// CHECK-NEXT:    func.return
func.func @constants() -> (tensor<100000x100000xf32>, tensor<2xi32>, tensor<4xbf16>) {
  %a = nd.constant 1.0 : tensor<100000x100000xf32>
  %b = nd.constant 2.0 : tensor<100000x100000xf32>
  %c = nd.add %a, %b : tensor<100000x100000xf32>
  %d = nd.constant [[2, 3], [3, 4]] : tensor<2x2xi32>
  %e = nd.sum %d {axes = [0]} : tensor<2x2xi32> -> tensor<2xi32>
  %f = nd.constant 0.1 : tensor<4xbf16>
  %g = nd.add %f, %f : tensor<4xbf16>
  func.return %c, %e, %g : tensor<100000x100000xf32>, tensor<2xi32>, tensor<4xbf16>
}

// A widening cast and back is nothing; a rounding that the user asks for stays.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %[[A:.*]] = nd.cast %y : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT:    %[[B:.*]] = nd.cast %[[A]] : tensor<4xbf16> -> tensor<4xf32>
// CHECK-NEXT:    func.return %x, %[[B]]
func.func @casts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %a = nd.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %b = nd.cast %a : tensor<4xf32> -> tensor<4xbf16>
  %c = nd.cast %y : tensor<4xf32> -> tensor<4xbf16>
  %d = nd.cast %c : tensor<4xbf16> -> tensor<4xf32>
  func.return %b, %d : tensor<4xbf16>, tensor<4xf32>
}

// A list of elements that no list was made from is not: a kernel compares indices instead.
// CHECK-LABEL: func.func @no_lists
// CHECK-NEXT:    nd.constant 0
// CHECK-NEXT:    nd.constant 1
// CHECK-NEXT:    nd.concat
// CHECK-NEXT:    func.return
func.func @no_lists() -> tensor<8xi32> {
  %a = nd.constant 0 : tensor<4xi32>
  %b = nd.constant 1 : tensor<4xi32>
  %c = nd.concat %a, %b {axis = 0} : tensor<4xi32> -> tensor<8xi32>
  func.return %c : tensor<8xi32>
}
