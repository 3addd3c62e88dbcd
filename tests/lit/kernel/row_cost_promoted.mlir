// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// Promoted sums are kept beside those of a step: rows of 256 columns, which a tile has room for otherwise, are stored.
// CHECK: kernel.fused @rows_0 matmul
// CHECK: kernel.fused @rows_1 reduce
func.func @rows(%x: tensor<8192x64xbf16>, %w: tensor<64x256xbf16>) -> tensor<8192x256xbf16> {
  %0 = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], precision = "f32", nd.declared = bf16} : (tensor<8192x64xbf16>, tensor<64x256xbf16>) -> tensor<8192x256xf32>
  %1 = nd.max %0 {axes = [1]} : tensor<8192x256xf32> -> tensor<8192xf32>
  %2 = nd.broadcast %1 {dims = [0]} : tensor<8192xf32> -> tensor<8192x256xf32>
  %3 = nd.sub %0, %2 : tensor<8192x256xf32>
  %4 = nd.exp %3 {nd.relaxed} : tensor<8192x256xf32>
  %5 = nd.sum %4 {axes = [1]} : tensor<8192x256xf32> -> tensor<8192xf32>
  %6 = nd.reciprocal %5 {nd.relaxed} : tensor<8192xf32>
  %7 = nd.broadcast %6 {dims = [0]} : tensor<8192xf32> -> tensor<8192x256xf32>
  %8 = nd.mul %4, %7 {nd.declared = bf16} : tensor<8192x256xf32>
  %9 = nd.cast %8 : tensor<8192x256xf32> -> tensor<8192x256xbf16>
  func.return %9 : tensor<8192x256xbf16>
}
