// RUN: irc-opt %s -p canonicalize-nd | filecheck %s

// Transposes of operands and of the result go into the dimension numbers.
// CHECK-LABEL: func.func @transposes
// CHECK-NEXT:    %[[M:.*]] = nd.matmul %b, %a {lhs_contract = [1], rhs_contract = [0]} : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
// CHECK-NEXT:    func.return %[[M]]
func.func @transposes(%a: tensor<8x4xf32>, %b: tensor<16x8xf32>) -> tensor<16x4xf32> {
  %at = nd.permute %a {permutation = [1, 0]} : tensor<8x4xf32> -> tensor<4x8xf32>
  %bt = nd.permute %b {permutation = [1, 0]} : tensor<16x8xf32> -> tensor<8x16xf32>
  %m = nd.matmul %at, %bt {lhs_contract = [1], rhs_contract = [0]} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %t = nd.permute %m {permutation = [1, 0]} : tensor<4x16xf32> -> tensor<16x4xf32>
  func.return %t : tensor<16x4xf32>
}

// Heads: batches are named where they are.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT:    nd.matmul %q, %k {lhs_batch = [0, 2], rhs_batch = [0, 2], lhs_contract = [3], rhs_contract = [3]}
// CHECK-NEXT:    func.return
func.func @heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32> {
  %a = nd.permute %q {permutation = [0, 2, 1, 3]} : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %b = nd.permute %k {permutation = [0, 2, 3, 1]} : tensor<2x8x4x16xf32> -> tensor<2x4x16x8xf32>
  %m = nd.matmul %a, %b {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  func.return %m : tensor<2x4x8x8xf32>
}

// A weight that only repeats along the batch: one product with more rows.
// CHECK-LABEL: func.func @shared_weight
// CHECK-NEXT:    nd.matmul %x, %w {lhs_contract = [2], rhs_contract = [0]} : (tensor<2x8x16xf32>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT:    func.return
func.func @shared_weight(%x: tensor<2x8x16xf32>, %w: tensor<16x4xf32>) -> tensor<2x8x4xf32> {
  %b = nd.broadcast %w {dims = [1, 2]} : tensor<16x4xf32> -> tensor<2x16x4xf32>
  %m = nd.matmul %x, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<2x8x16xf32>, tensor<2x16x4xf32>) -> tensor<2x8x4xf32>
  func.return %m : tensor<2x8x4xf32>
}

// Left alone: a permute that exchanges two free axes of one operand, and one of a product with another use.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT:    nd.permute %x
// CHECK-NEXT:    nd.matmul
// CHECK-NEXT:    nd.matmul
// CHECK-NEXT:    nd.permute
// CHECK-NEXT:    func.return
func.func @left_alone(%x: tensor<2x8x16xf32>, %w: tensor<16x4xf32>) -> (tensor<8x2x4xf32>, tensor<2x8x4xf32>, tensor<4x2x8xf32>) {
  %p = nd.permute %x {permutation = [1, 0, 2]} : tensor<2x8x16xf32> -> tensor<8x2x16xf32>
  %m = nd.matmul %p, %w {lhs_contract = [2], rhs_contract = [0]} : (tensor<8x2x16xf32>, tensor<16x4xf32>) -> tensor<8x2x4xf32>
  %n = nd.matmul %x, %w {lhs_contract = [2], rhs_contract = [0]} : (tensor<2x8x16xf32>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %t = nd.permute %n {permutation = [2, 0, 1]} : tensor<2x8x4xf32> -> tensor<4x2x8xf32>
  func.return %m, %n, %t : tensor<8x2x4xf32>, tensor<2x8x4xf32>, tensor<4x2x8xf32>
}

// Operands of grouped products are read as they lie, and what contracts rows gives its results transposed.
// CHECK-LABEL: func.func @grouped
// CHECK-NEXT:    nd.grouped_matmul %x, %w, %e {lhs_contract = 0, rhs_contract = 2} : (tensor<8x16xf32>, tensor<3x5x8xf32>, tensor<3xi32>) -> tensor<16x5xf32>
// CHECK-NEXT:    nd.grouped_matmul %y, %x, %e {lhs_contract = 0, rhs_contract = 1} : (tensor<16x5xf32>, tensor<8x16xf32>, tensor<3xi32>) -> tensor<3x5x8xf32>
// CHECK-NEXT:    func.return
func.func @grouped(%x: tensor<8x16xf32>, %w: tensor<3x5x8xf32>, %y: tensor<16x5xf32>, %e: tensor<3xi32>) -> (tensor<16x5xf32>, tensor<3x5x8xf32>) {
  %a = nd.permute %x {permutation = [1, 0]} : tensor<8x16xf32> -> tensor<16x8xf32>
  %b = nd.permute %w {permutation = [2, 0, 1]} : tensor<3x5x8xf32> -> tensor<8x3x5xf32>
  %m = nd.grouped_matmul %a, %b, %e {lhs_contract = 1, rhs_contract = 0, rhs_group = 1} : (tensor<16x8xf32>, tensor<8x3x5xf32>, tensor<3xi32>) -> tensor<16x5xf32>
  %n = nd.grouped_matmul %x, %y, %e {lhs_contract = 1, rhs_contract = 0} : (tensor<8x16xf32>, tensor<16x5xf32>, tensor<3xi32>) -> tensor<3x8x5xf32>
  %t = nd.permute %n {permutation = [0, 2, 1]} : tensor<3x8x5xf32> -> tensor<3x5x8xf32>
  func.return %m, %t : tensor<16x5xf32>, tensor<3x5x8xf32>
}

// What is permuted for others too is read as it lies there, not permuted once more: gradients of a projection's weights
// beside that of its input. Where the weights' alone use it, one permute is what it was.
// CHECK-LABEL: func.func @gradients_of_a_projection
// CHECK-NEXT:    %[[P:.*]] = nd.permute %d {permutation = [0, 2, 1, 3]}
// CHECK-NEXT:    %[[R:.*]] = nd.reshape %[[P]] : tensor<4x512x4x128xbf16> -> tensor<2048x512xbf16>
// CHECK-NEXT:    nd.matmul %[[R]], %x {lhs_contract = [0], rhs_contract = [0]}
// CHECK-NEXT:    nd.matmul %[[R]], %w {lhs_contract = [1], rhs_contract = [0]}
func.func @gradients_of_a_projection(%d: tensor<4x4x512x128xbf16>, %x: tensor<2048x64xbf16>, %w: tensor<512x64xbf16>) -> (tensor<512x64xbf16>, tensor<2048x64xbf16>) {
  %p = nd.permute %d {permutation = [0, 2, 1, 3]} : tensor<4x4x512x128xbf16> -> tensor<4x512x4x128xbf16>
  %r = nd.reshape %p : tensor<4x512x4x128xbf16> -> tensor<2048x512xbf16>
  %t = nd.permute %r {permutation = [1, 0]} : tensor<2048x512xbf16> -> tensor<512x2048xbf16>
  %a = nd.matmul %t, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x2048xbf16>, tensor<2048x64xbf16>) -> tensor<512x64xbf16>
  %s = nd.reshape %p : tensor<4x512x4x128xbf16> -> tensor<2048x512xbf16>
  %b = nd.matmul %s, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<2048x512xbf16>, tensor<512x64xbf16>) -> tensor<2048x64xbf16>
  func.return %a, %b : tensor<512x64xbf16>, tensor<2048x64xbf16>
}

// CHECK-LABEL: func.func @gradient_of_weights_alone
// CHECK-NEXT:    nd.permute %d {permutation = [1, 3, 0, 2]}
func.func @gradient_of_weights_alone(%d: tensor<4x4x512x128xbf16>, %x: tensor<2048x64xbf16>) -> tensor<512x64xbf16> {
  %p = nd.permute %d {permutation = [0, 2, 1, 3]} : tensor<4x4x512x128xbf16> -> tensor<4x512x4x128xbf16>
  %r = nd.reshape %p : tensor<4x512x4x128xbf16> -> tensor<2048x512xbf16>
  %t = nd.permute %r {permutation = [1, 0]} : tensor<2048x512xbf16> -> tensor<512x2048xbf16>
  %a = nd.matmul %t, %x {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x2048xbf16>, tensor<2048x64xbf16>) -> tensor<512x64xbf16>
  func.return %a : tensor<512x64xbf16>
}

// A sum of products along batches is one product, which contracts them, too.
// CHECK-LABEL: func.func @summed
// CHECK-NEXT:    %[[P:.*]] = nd.matmul %x, %y {lhs_contract = [0, 1], rhs_contract = [0, 1]} : (tensor<2x8x4xf32>, tensor<2x8x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @summed(%x: tensor<2x8x4xf32>, %y: tensor<2x8x5xf32>) -> tensor<4x5xf32> {
  %0 = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [1]} : (tensor<2x8x4xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<2x4x5xf32> -> tensor<4x5xf32>
  func.return %1 : tensor<4x5xf32>
}

// One batch of two is summed, the other one stays.
// CHECK-LABEL: func.func @summed_in_batches
// CHECK-NEXT:    %[[P:.*]] = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1, 2], rhs_contract = [1, 2]} : (tensor<3x2x8x4xf32>, tensor<3x2x8x5xf32>) -> tensor<3x4x5xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @summed_in_batches(%x: tensor<3x2x8x4xf32>, %y: tensor<3x2x8x5xf32>) -> tensor<3x4x5xf32> {
  %0 = nd.matmul %x, %y {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [2], rhs_contract = [2]} : (tensor<3x2x8x4xf32>, tensor<3x2x8x5xf32>) -> tensor<3x2x4x5xf32>
  %1 = nd.sum %0 {axes = [1]} : tensor<3x2x4x5xf32> -> tensor<3x4x5xf32>
  func.return %1 : tensor<3x4x5xf32>
}

// Sums stay where what is contracted would not be one run of either operand, where the products are read elsewhere, too,
// and where rows are summed.
// CHECK-LABEL: func.func @not_summed
// CHECK-COUNT-3: nd.sum
func.func @not_summed(%x: tensor<2x8x4xf32>, %y: tensor<2x5x8xf32>) -> (tensor<8x5xf32>, tensor<4x5xf32>, tensor<2x4x5xf32>, tensor<2x5xf32>) {
  %z = nd.permute %x {permutation = [0, 2, 1]} : tensor<2x8x4xf32> -> tensor<2x4x8xf32>
  %0 = nd.matmul %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [1], rhs_contract = [2]} : (tensor<2x8x4xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %1 = nd.sum %0 {axes = [0]} : tensor<2x4x5xf32> -> tensor<4x5xf32>
  %2 = nd.sum %0 {axes = [1]} : tensor<2x4x5xf32> -> tensor<2x5xf32>
  %w = nd.slice %y {starts = [0, 0, 0], stops = [2, 5, 4], steps = [1, 1, 1]} : tensor<2x5x8xf32> -> tensor<2x5x4xf32>
  %3 = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<2x8x4xf32>, tensor<2x5x4xf32>) -> tensor<2x8x5xf32>
  %4 = nd.sum %3 {axes = [0]} : tensor<2x8x5xf32> -> tensor<8x5xf32>
  func.return %4, %1, %0, %2 : tensor<8x5xf32>, tensor<4x5xf32>, tensor<2x4x5xf32>, tensor<2x5xf32>
}
