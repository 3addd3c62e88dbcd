// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// Both products, the softmax between them, and what makes the mask, are one kernel.
// CHECK: weighted_0:
// CHECK:       Core:
// CHECK-NEXT:    v{{.*}} = matmul(q, k)
// CHECK:         max(
// CHECK:         matmul(v{{.*}}, v)
// CHECK:       Epilogue:
// CHECK-NEXT:    v{{.*}} = sum(
// CHECK:       Stores: {{.*}}tensor<4096x64xbf16>
// CHECK: a cascade: {{[0-9]+}} cycles in one kernel, {{[0-9]+}} in several: fused

// The logarithms of the sums are a result of the kernel that has the sums.
// CHECK: with_sums_0:
// CHECK:       Core:
// CHECK-NEXT:    v{{.*}} = matmul(q, k)
// CHECK-NOT:     matmul(q, k)
// CHECK:         matmul(v{{.*}}, v)
// CHECK:       Stores: {{.*}}tensor<4096xf32>, {{.*}}tensor<4096x64xbf16>

// So are two products with nothing reduced between them.
// CHECK: hidden_0:
// CHECK:       Core:
// CHECK-NEXT:    v{{.*}} = matmul(q, a)
// CHECK:         relu(
// CHECK:         matmul(

// Something else reads the weights: they are stored.
// CHECK: kernel.fused @weighted_0 cascade
// CHECK: kernel.fused @with_sums_0 cascade
// CHECK-NOT: with_sums_1
// CHECK: kernel.fused @hidden_0 cascade
// CHECK: kernel.fused @kept_0 matmul
// CHECK: kernel.fused @kept_1 reduce
// CHECK: kernel.fused @kept_2 matmul

// A mean is no factor, and cannot be rescaled.
// CHECK: kernel.fused @centered_0 matmul
// CHECK: kernel.fused @centered_1 reduce
// CHECK: kernel.fused @centered_2 matmul
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
  %cast = nd.cast %exp : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<4096xf32> -> tensor<4096x64xf32>
  %mul = nd.mul %product, %broadcast_1 {nd.declared = bf16} : tensor<4096x64xf32>
  %cast_1 = nd.cast %mul : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %cast_1 : tensor<4096x64xbf16>
}
func.func @with_sums(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> (tensor<4096x64xbf16>, tensor<4096xf32>) {
  %product = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1]} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %constant = nd.constant 0.125 : tensor<4096x4096xf32>
  %mul = nd.mul %product, %constant : tensor<4096x4096xf32>
  %constant_1 = nd.constant -inf : tensor<4096x4096xf32>
  %iota = nd.iota {axis = 0} : tensor<4096x4096xi32>
  %iota_1 = nd.iota {axis = 1} : tensor<4096x4096xi32>
  %less_equal = nd.less_equal %iota_1, %iota : tensor<4096x4096xi32> -> tensor<4096x4096xi1>
  %where = nd.where %less_equal, %mul, %constant_1 : (tensor<4096x4096xi1>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %max = nd.max %where {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %sub = nd.sub %where, %broadcast : tensor<4096x4096xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<4096x4096xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<4096xf32>
  %cast = nd.cast %exp : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product_1 = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0]} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<4096xf32> -> tensor<4096x64xf32>
  %mul_1 = nd.mul %product_1, %broadcast_1 {nd.declared = bf16} : tensor<4096x64xf32>
  %log = nd.log %sum {nd.relaxed} : tensor<4096xf32>
  %add = nd.add %max, %log : tensor<4096xf32>
  %cast_1 = nd.cast %mul_1 : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %cast_1, %add : tensor<4096x64xbf16>, tensor<4096xf32>
}
func.func @hidden(%q: tensor<16384x64xbf16>, %a: tensor<64x4096xbf16>, %b: tensor<4096x64xbf16>) -> tensor<16384x64xbf16> {
  %product = nd.matmul %q, %a {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16384x64xbf16>, tensor<64x4096xbf16>) -> tensor<16384x4096xf32>
  %relu = nd.relu %product {nd.declared = bf16} : tensor<16384x4096xf32>
  %cast = nd.cast %relu : tensor<16384x4096xf32> -> tensor<16384x4096xbf16>
  %product_1 = nd.matmul %cast, %b {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<16384x4096xbf16>, tensor<4096x64xbf16>) -> tensor<16384x64xf32>
  %cast_1 = nd.cast %product_1 : tensor<16384x64xf32> -> tensor<16384x64xbf16>
  func.return %cast_1 : tensor<16384x64xbf16>
}
func.func @kept(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> (tensor<4096x64xbf16>, tensor<4096x4096xbf16>) {
  %product = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %max = nd.max %product {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %broadcast = nd.broadcast %max {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %sub = nd.sub %product, %broadcast : tensor<4096x4096xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<4096x4096xf32>
  %sum = nd.sum %exp {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<4096xf32>
  %broadcast_1 = nd.broadcast %reciprocal {dims = [0]} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %mul = nd.mul %exp, %broadcast_1 {nd.declared = bf16} : tensor<4096x4096xf32>
  %weights = nd.cast %mul : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product_1 = nd.matmul %weights, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %cast = nd.cast %product_1 : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %cast, %weights : tensor<4096x64xbf16>, tensor<4096x4096xbf16>
}
func.func @centered(%q: tensor<4096x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
  %scores = nd.matmul %q, %k {lhs_contract = [1], rhs_contract = [1], nd.declared = bf16} : tensor<4096x64xbf16> -> tensor<4096x4096xf32>
  %sum = nd.sum %scores {axes = [1]} : tensor<4096x4096xf32> -> tensor<4096xf32>
  %constant = nd.constant 0.00024414062 : tensor<4096xf32>
  %mul = nd.mul %sum, %constant {nd.declared = bf16} : tensor<4096xf32>
  %broadcast = nd.broadcast %mul {dims = [0], nd.declared = bf16} : tensor<4096xf32> -> tensor<4096x4096xf32>
  %sub = nd.sub %scores, %broadcast {nd.declared = bf16} : tensor<4096x4096xf32>
  %cast = nd.cast %sub : tensor<4096x4096xf32> -> tensor<4096x4096xbf16>
  %product = nd.matmul %cast, %v {lhs_contract = [1], rhs_contract = [0], nd.declared = bf16} : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xf32>
  %cast_1 = nd.cast %product : tensor<4096x64xf32> -> tensor<4096x64xbf16>
  func.return %cast_1 : tensor<4096x64xbf16>
}
