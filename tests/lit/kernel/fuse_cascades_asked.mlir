// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Sums that a program asks for are those of products by themselves: no cascade, whose sums the tensor core carries on.
// CHECK-LABEL: func.func @asks
// CHECK-NOT:   cascade
// CHECK:       kernel.fused @asks_0 matmul
// CHECK-NOT:   cascade
// CHECK:       kernel.fused @asks_{{[1-9]}} matmul
func.func @asks(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
  %s = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], precision = "f32", nd.declared = bf16} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %0 = nd.max %s {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %1 = nd.broadcast %0 {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %2 = nd.sub %s, %1 : tensor<4096x4096xf32>
  %3 = nd.exp %2 {nd.relaxed} : tensor<4096x4096xf32>
  %4 = nd.sum %3 {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %5 = nd.reciprocal %4 {nd.relaxed} : tensor<4096xf32>
  %6 = nd.broadcast %5 {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %7 = nd.mul %3, %6 {nd.declared = bf16} : tensor<4096x4096xf32>
  %8 = nd.cast %7 : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %9 = nd.matmul %8, %v {lhs_contract = [1], rhs_contract = [0], precision = "f32", nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %10 = nd.cast %9 : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %10 : tensor<4096x64xbf16>
}
