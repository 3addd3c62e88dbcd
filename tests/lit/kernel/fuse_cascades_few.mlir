// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// One block for all columns, where few have rows, and columns no equal parts: kernels of their own spread them over all SMs.
// CHECK: a cascade: {{[0-9]+}} cycles in one kernel, {{[0-9]+}} in several: stored
// CHECK: kernel.fused @weighted_0 matmul
func.func @weighted(%q: tensor<128x64xbf16>, %k: tensor<65500x64xbf16>, %v: tensor<65500x64xbf16>) -> tensor<128x64xbf16> {
  %scores = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<128x64xbf16>, tensor<65500x64xbf16>) -> tensor<128x65500xf32>
  %iota = nd.iota {axis = 1} : tensor<128x65500xi32>
  %iota_1 = nd.iota {axis = 0} : tensor<128x65500xi32>
  %less_equal = nd.less_equal %iota, %iota_1 : tensor<128x65500xi32> -> tensor<128x65500xi1>
  %constant = nd.constant -inf : tensor<128x65500xf32>
  %seen = nd.where %less_equal, %scores, %constant {nd.declared = bf16} : (tensor<128x65500xi1>, tensor<128x65500xf32>, tensor<128x65500xf32>) -> tensor<128x65500xf32>
  %max = nd.max %seen {axes = [1]} : tensor<128x65500xf32> -> tensor<128xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<128xf32> -> tensor<128x65500xf32>
  %sub = nd.sub %seen, %broadcast : tensor<128x65500xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<128x65500xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<128x65500xf32> -> tensor<128xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<128xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<128xf32> -> tensor<128x65500xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<128x65500xf32>
  %cast = nd.cast %mul : tensor<128x65500xf32> -> tensor<128x65500xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<128x65500xbf16>, tensor<65500x64xbf16>) -> tensor<128x64xf32>
  %cast_1 = nd.cast %product : tensor<128x64xf32> -> tensor<128x64xbf16>
  func.return %cast_1 : tensor<128x64xbf16>
}
