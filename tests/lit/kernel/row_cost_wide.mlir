// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// Rows that no tile has room for.
// CHECK:     f_0: 2 ops
// CHECK-NOT: rows of
// CHECK:     kernel.fused @f_1 reduce
func.func @f(%x: tensor<16384x64xbf16>, %w: tensor<64x1024xbf16>) -> tensor<16384x1024xbf16> {
  %product = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16384x64xbf16>, tensor<64x1024xbf16>) -> tensor<16384x1024xf32>
  %max = nd.max %product {axes = [1]} : tensor<16384x1024xf32> -> tensor<16384xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<16384xf32> -> tensor<16384x1024xf32>
  %sub = nd.sub %product, %broadcast : tensor<16384x1024xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<16384x1024xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<16384x1024xf32> -> tensor<16384xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<16384xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<16384xf32> -> tensor<16384x1024xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<16384x1024xf32>
  %cast = nd.cast %mul : tensor<16384x1024xf32> -> tensor<16384x1024xbf16>
  func.return %cast : tensor<16384x1024xbf16>
}
