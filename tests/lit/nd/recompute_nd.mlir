// RUN: irc-opt %s --split-input-file -p recompute-nd | filecheck %s
// RUN: irc-opt %s --split-input-file -p 'recompute-nd{explain=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=EXPLAIN

// tanh of a product is used after the next product: the product's result has to be kept for nothing else, but the
// tanh is an operand of a product, and written anyway. Reading it again is cheapest.
// CHECK-LABEL: func.func @kept
// CHECK:         %[[T:.*]] = nd.tanh
// CHECK:         nd.add %[[T]]
// CHECK-NOT:     nd.repeated
// EXPLAIN:      kept: values used after a later product: 1
// EXPLAIN-NEXT:   keep nd.tanh t tensor<64x64xf32>: 1.64e+04 bytes
func.func @kept(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %t = nd.tanh %y : tensor<64x64xf32>
  %z = nd.matmul %t, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %r = nd.add %t, %z : tensor<64x64xf32>
  func.return %r : tensor<64x64xf32>
}

// -----

// Of a chain on what is written anyway, nothing is kept: the later kernel repeats it.
// CHECK-LABEL: func.func @repeated
// CHECK:         %[[T:.*]] = nd.tanh
// CHECK-NEXT:    %[[TT:.*]] = nd.mul %[[T]], %[[T]] {nd.repeated}
// CHECK-NEXT:    %[[E:.*]] = nd.exp %[[TT]] {nd.repeated}
// CHECK-NEXT:    %[[Z:.*]] = nd.matmul %[[T]]
// CHECK-NEXT:    nd.mul %[[Z]], %[[E]]
// EXPLAIN:      repeated: values used after a later product: 1
// EXPLAIN-NEXT:   keep nd.tanh t
// EXPLAIN-NEXT:   repeat nd.mul u tensor<64x64xf32>: 3.28e+04 bytes to keep, 587 to repeat
// EXPLAIN-NEXT:   repeat nd.exp e tensor<64x64xf32>: 3.28e+04 bytes to keep, 2.35e+03 to repeat
func.func @repeated(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %t = nd.tanh %y : tensor<64x64xf32>
  %u = nd.mul %t, %t : tensor<64x64xf32>
  %e = nd.exp %u : tensor<64x64xf32>
  %z = nd.matmul %t, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %r = nd.mul %z, %e : tensor<64x64xf32>
  func.return %r : tensor<64x64xf32>
}

// -----

// A sum of three products is one array, its parts are three: the sum is kept.
// CHECK-LABEL: func.func @sum
// CHECK-NOT:     nd.repeated
// EXPLAIN:      sum: values used after a later product: 1
// EXPLAIN-NEXT:   keep nd.add s
func.func @sum(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %b = nd.matmul %x, %w {lhs_contract = [0], rhs_contract = [0]} : tensor<64x64xf32>
  %c = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [1]} : tensor<64x64xf32>
  %t = nd.add %a, %b : tensor<64x64xf32>
  %s = nd.add %t, %c : tensor<64x64xf32>
  %e = nd.exp %s : tensor<64x64xf32>
  %z = nd.matmul %e, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xf32>
  %r = nd.mul %z, %s : tensor<64x64xf32>
  func.return %r : tensor<64x64xf32>
}

// -----

// A declared type says how many bytes a value costs; a reduction is never repeated, its few results are kept.
// CHECK-LABEL: func.func @narrow
// CHECK:         nd.sum
// CHECK:         %[[B:.*]] = nd.broadcast %s {dims = [0], nd.repeated}
// CHECK:         %[[D:.*]] = nd.sub %y, %[[B]] {nd.repeated}
// CHECK:         nd.exp %[[D]] {nd.repeated}
// CHECK:         nd.matmul
// EXPLAIN:      narrow:
// EXPLAIN:        keep nd.sum s tensor<64xf32>: 512 bytes
// EXPLAIN:        repeat nd.exp e
func.func @narrow(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %y = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s = nd.sum %y {axes = [1]} : tensor<64x64xf32> -> tensor<64xf32>
  %b = nd.broadcast %s {dims = [0]} : tensor<64xf32> -> tensor<64x64xf32>
  %d = nd.sub %y, %b : tensor<64x64xf32>
  %e = nd.exp %d : tensor<64x64xf32>
  %n = nd.cast %e : tensor<64x64xf32> -> tensor<64x64xbf16>
  %z = nd.matmul %n, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %r = nd.mul %z, %e : tensor<64x64xf32>
  func.return %r : tensor<64x64xf32>
}

// -----

// Without products there are no stages.
// CHECK-LABEL: func.func @flat
// CHECK-NOT:     nd.repeated
// EXPLAIN:      flat: values used after a later product: 0
func.func @flat(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = nd.exp %x : tensor<64xf32>
  %b = nd.mul %a, %x : tensor<64xf32>
  func.return %b : tensor<64xf32>
}

// -----

// A running sum of what is written anyway: of its first terms it is computed again, of more of them than it has arrays
// itself, which all later stages would read, it is not.
// CHECK-LABEL: func.func @running_sum
// CHECK:         %[[S1:.*]] = nd.add %x, %y1 {nd.repeated}
// CHECK:         %[[S2:.*]] = nd.add %[[S1]], %y2
// CHECK:         %[[S3:.*]] = nd.add %[[S2]], %y3
// CHECK:         %[[S4:.*]] = nd.add %[[S3]], %y4
// CHECK:         %[[S5:.*]] = nd.add %[[S4]], %y5
// CHECK:         nd.add %[[S5]], %y6
// CHECK-NOT:     nd.repeated
// EXPLAIN:      running_sum: values used after a later product:
// EXPLAIN:        repeat nd.add s1 tensor<64x64xf32>: 3.28e+04 bytes to keep, 587 to repeat
// EXPLAIN-NEXT:   keep nd.add s2 tensor<64x64xf32>: 3.28e+04 bytes
func.func @running_sum(%x: tensor<64x64xf32>, %w: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %b0 = nd.cast %x : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y1 = nd.matmul %b0, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s1 = nd.add %x, %y1 : tensor<64x64xf32>
  %b1 = nd.cast %s1 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y2 = nd.matmul %b1, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s2 = nd.add %s1, %y2 : tensor<64x64xf32>
  %b2 = nd.cast %s2 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y3 = nd.matmul %b2, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s3 = nd.add %s2, %y3 : tensor<64x64xf32>
  %b3 = nd.cast %s3 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y4 = nd.matmul %b3, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s4 = nd.add %s3, %y4 : tensor<64x64xf32>
  %b4 = nd.cast %s4 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y5 = nd.matmul %b4, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s5 = nd.add %s4, %y5 : tensor<64x64xf32>
  %b5 = nd.cast %s5 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %y6 = nd.matmul %b5, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x64xbf16> -> tensor<64x64xf32>
  %s6 = nd.add %s5, %y6 : tensor<64x64xf32>
  func.return %s6, %y1, %y2, %y3, %y4, %y5 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}
