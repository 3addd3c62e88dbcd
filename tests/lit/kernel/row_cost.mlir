// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// A tile with whole rows reduces them and reads them again.
// CHECK:      f_0: 10 ops, 2 operands, 1 results
// CHECK:        Epilogue:
// CHECK:          max(
// CHECK:          sum(
// CHECK:        Stores: v9: tensor<16384x256xbf16>
// CHECK-NEXT: rows of 256: 3317 cycles lost in tiles of whole rows, 15740 saved: fused
// CHECK-NOT:  kernel.fused @f_1
func.func @f(%x: tensor<16384x64xbf16>, %w: tensor<64x256xbf16>) -> tensor<16384x256xbf16> {
  %product = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16384x64xbf16>, tensor<64x256xbf16>) -> tensor<16384x256xf32>
  %max = nd.max %product {axes = [1]} : tensor<16384x256xf32> -> tensor<16384xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<16384xf32> -> tensor<16384x256xf32>
  %sub = nd.sub %product, %broadcast : tensor<16384x256xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<16384x256xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<16384x256xf32> -> tensor<16384xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<16384xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<16384xf32> -> tensor<16384x256xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<16384x256xf32>
  %cast = nd.cast %mul : tensor<16384x256xf32> -> tensor<16384x256xbf16>
  func.return %cast : tensor<16384x256xbf16>
}
