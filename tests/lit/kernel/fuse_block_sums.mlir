// Products of blocks of K, elementwise work on them, and their sum are one kernel.
// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// With what the scales need that is smaller than the products, and the work behind the sum.
// CHECK-LABEL: func.func @scaled
// CHECK:         kernel.fused @scaled_0 matmul
// CHECK-NEXT:      // core
// CHECK-NEXT:      nd.matmul
// CHECK-NEXT:      // epilogue
// CHECK:           nd.permute
// CHECK:           nd.mul
// CHECK-NEXT:      nd.sum {{.*}} {axes = [0]}
// CHECK-NEXT:      nd.cast {{.*}} -> tensor<64x256xbf16>
// CHECK-NEXT:      kernel.yield
// CHECK-NOT:     kernel.fused
func.func @scaled(%x: tensor<4x64x128xf8E4M3FN>, %w: tensor<4x256x128xf8E4M3FN>, %s: tensor<256x4xf32>) -> tensor<64x256xbf16> {
  %p = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x128xf8E4M3FN>, tensor<4x256x128xf8E4M3FN>) -> tensor<4x64x256xf32>
  %t = nd.permute %s {permutation = [1, 0]} : tensor<256x4xf32> -> tensor<4x256xf32>
  %b = nd.broadcast %t {dims = [0, 2]} : tensor<4x256xf32> -> tensor<4x64x256xf32>
  %q = nd.mul %p, %b : tensor<4x64x256xf32>
  %r = nd.sum %q {axes = [0]} : tensor<4x64x256xf32> -> tensor<64x256xf32>
  %c = nd.cast %r : tensor<64x256xf32> -> tensor<64x256xbf16>
  func.return %c : tensor<64x256xbf16>
}

// Blocks that are no step of a loop over K, products that are results too, maxima, and sums over rows as well are left
// to a kernel behind the product.
// CHECK-LABEL: func.func @long
// CHECK:         kernel.fused @long_0 matmul
// CHECK:         kernel.fused @long_1 reduce
func.func @long(%x: tensor<4x64x512xf8E4M3FN>, %w: tensor<4x256x512xf8E4M3FN>) -> tensor<64x256xf32> {
  %p = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x512xf8E4M3FN>, tensor<4x256x512xf8E4M3FN>) -> tensor<4x64x256xf32>
  %q = nd.relu %p : tensor<4x64x256xf32>
  %r = nd.sum %q {axes = [0]} : tensor<4x64x256xf32> -> tensor<64x256xf32>
  func.return %r : tensor<64x256xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK:         kernel.fused @kept_0 matmul
// CHECK:         kernel.fused @kept_1 reduce
func.func @kept(%x: tensor<4x64x128xf8E4M3FN>, %w: tensor<4x256x128xf8E4M3FN>) -> (tensor<4x64x256xf32>, tensor<64x256xf32>) {
  %p = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x128xf8E4M3FN>, tensor<4x256x128xf8E4M3FN>) -> tensor<4x64x256xf32>
  %q = nd.relu %p : tensor<4x64x256xf32>
  %r = nd.sum %q {axes = [0]} : tensor<4x64x256xf32> -> tensor<64x256xf32>
  func.return %q, %r : tensor<4x64x256xf32>, tensor<64x256xf32>
}

// CHECK-LABEL: func.func @largest
// CHECK:         kernel.fused @largest_0 matmul
// CHECK:         kernel.fused @largest_1 reduce
func.func @largest(%x: tensor<4x64x128xf8E4M3FN>, %w: tensor<4x256x128xf8E4M3FN>) -> tensor<64x256xf32> {
  %p = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x128xf8E4M3FN>, tensor<4x256x128xf8E4M3FN>) -> tensor<4x64x256xf32>
  %r = nd.max %p {axes = [0]} : tensor<4x64x256xf32> -> tensor<64x256xf32>
  func.return %r : tensor<64x256xf32>
}

// CHECK-LABEL: func.func @rows
// CHECK:         kernel.fused @rows_0 matmul
// CHECK:         kernel.fused @rows_1 reduce
func.func @rows(%x: tensor<4x64x128xf8E4M3FN>, %w: tensor<4x256x128xf8E4M3FN>) -> tensor<256xf32> {
  %p = nd.matmul %x, %w {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x128xf8E4M3FN>, tensor<4x256x128xf8E4M3FN>) -> tensor<4x64x256xf32>
  %r = nd.sum %p {axes = [0, 1]} : tensor<4x64x256xf32> -> tensor<256xf32>
  func.return %r : tensor<256xf32>
}
