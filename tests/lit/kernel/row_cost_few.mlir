// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// Few rows: more blocks multiply in narrower tiles, and in parts of K.
// CHECK: f_0: 2 ops
// CHECK: rows of 256: {{[0-9]+}} cycles lost in tiles of whole rows, {{[0-9]+}} saved: stored
// CHECK: kernel.fused @f_1 reduce
func.func @f(%x: tensor<64x8192xbf16>, %w: tensor<8192x256xbf16>) -> tensor<64x256xbf16> {
  %product = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<64x8192xbf16>, tensor<8192x256xbf16>) -> tensor<64x256xf32>
  %max = nd.max %product {axes = [1]} : tensor<64x256xf32> -> tensor<64xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<64xf32> -> tensor<64x256xf32>
  %sub = nd.sub %product, %broadcast : tensor<64x256xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<64x256xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<64x256xf32> -> tensor<64xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<64xf32> -> tensor<64x256xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<64x256xf32>
  %cast = nd.cast %mul : tensor<64x256xf32> -> tensor<64x256xbf16>
  func.return %cast : tensor<64x256xbf16>
}
