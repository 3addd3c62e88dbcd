// RUN: irc-opt %s -p fuse-kernels --split-input-file | filecheck %s

// The sum of a row divides within the products: it would be needed before the row has been walked over.
// CHECK-LABEL: func.func @weighted(
// CHECK: kernel.fused @weighted_0 matmul
func.func @weighted(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
  %scores = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %iota = nd.iota {axis = 1} : tensor<4096x4096xi32>
  %iota_1 = nd.iota {axis = 0} : tensor<4096x4096xi32>
  %less_equal = nd.less_equal %iota, %iota_1 : tensor<4096x4096xi32> -> tensor<4096x4096xi1>
  %constant = nd.constant -inf : tensor<4096x4096xf32>
  %seen = nd.where %less_equal, %scores, %constant {nd.declared = bf16} : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %max = nd.max %seen {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %sub = nd.sub %seen, %broadcast : tensor<4096x4096xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<4096x4096xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<4096xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %cast_1 = nd.cast %product : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %cast_1 : tensor<4096x64xbf16>
}

// -----

// CHECK-LABEL: func.func @weighted(
// CHECK: kernel.fused @weighted_0 cascade
func.func @weighted(%q: tensor<128x64xbf16>, %k: tensor<65536x64xbf16>, %v: tensor<65536x64xbf16>) -> tensor<128x64xbf16> {
  %scores = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : (tensor<128x64xbf16>, tensor<65536x64xbf16>) -> tensor<128x65536xf32>
  %iota = nd.iota {axis = 1} : tensor<128x65536xi32>
  %iota_1 = nd.iota {axis = 0} : tensor<128x65536xi32>
  %less_equal = nd.less_equal %iota, %iota_1 : tensor<128x65536xi32> -> tensor<128x65536xi1>
  %constant = nd.constant -inf : tensor<128x65536xf32>
  %seen = nd.where %less_equal, %scores, %constant {nd.declared = bf16} : (tensor<128x65536xi1>, tensor<128x65536xf32>, tensor<128x65536xf32>) -> tensor<128x65536xf32>
  %max = nd.max %seen {axes = [1]} : tensor<128x65536xf32> -> tensor<128xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<128xf32> -> tensor<128x65536xf32>
  %sub = nd.sub %seen, %broadcast : tensor<128x65536xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<128x65536xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<128x65536xf32> -> tensor<128xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<128xf32>
  %cast = nd.cast %exp : tensor<128x65536xf32> -> tensor<128x65536xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<128x65536xbf16>, tensor<65536x64xbf16>) -> tensor<128x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<128xf32> -> tensor<128x64xf32>
  %mul = nd.mul %product, %broadcast_1 {nd.declared = bf16} : tensor<128x64xf32>
  %cast_1 = nd.cast %mul : tensor<128x64xf32> -> tensor<128x64xbf16>
  func.return %cast_1 : tensor<128x64xbf16>
}

// -----

// A row of 512 that both products need whole.
// CHECK-LABEL: func.func @weighted(
// CHECK: kernel.fused @weighted_0 matmul
func.func @weighted(%q: tensor<4096x512xbf16>, %k: tensor<4096x512xbf16>, %v: tensor<4096x512xbf16>) -> tensor<4096x512xbf16> {
  %scores = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : tensor<4096x512xbf16> -> tensor<4096x4096xf32>
  %iota = nd.iota {axis = 1} : tensor<4096x4096xi32>
  %iota_1 = nd.iota {axis = 0} : tensor<4096x4096xi32>
  %less_equal = nd.less_equal %iota, %iota_1 : tensor<4096x4096xi32> -> tensor<4096x4096xi1>
  %constant = nd.constant -inf : tensor<4096x4096xf32>
  %seen = nd.where %less_equal, %scores, %constant {nd.declared = bf16} : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %max = nd.max %seen {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %sub = nd.sub %seen, %broadcast : tensor<4096x4096xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<4096x4096xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<4096xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x512xbf16>) -> tensor<4096x512xf32>
  %cast_1 = nd.cast %product : tensor<4096x512xf32> -> tensor<4096x512xbf16>
  func.return %cast_1 : tensor<4096x512xbf16>
}
