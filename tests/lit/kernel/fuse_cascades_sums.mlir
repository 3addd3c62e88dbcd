// RUN: irc-opt %s -p 'fuse-kernels{explain=true}' 2>&1 | filecheck %s

// A sum of attention's result times its gradient reads both as they are stored: in f32 their product would be twice that.
// CHECK: read_0:
// CHECK:       Stores: v11: tensor<64x1024x64xbf16>
// CHECK-NEXT: read_1: 4 ops, 2 operands, 1 results
// CHECK-NEXT:  Core:
// CHECK-NEXT:    v3: tensor<64x1024xf32> = sum(v2)
// CHECK-NEXT:  Mainloop:
// CHECK-NEXT:    v0: tensor<64x1024x64xf32> = cast(result)
// CHECK-NEXT:    v1: tensor<64x1024x64xf32> = cast(g)
// CHECK-NEXT:    v2: tensor<64x1024x64xf32> = mul(v0, v1)

// Where the result is stored in f32 it is no narrower, and the cascade's kernel stores what the sum reads.
// CHECK: whole_0:
// CHECK:       Stores: v10: tensor<64x1024x64xf32>, v12: tensor<64x1024x64xf32>
// CHECK-NEXT: whole_1: 1 ops, 1 operands, 1 results
func.func @read(%q: tensor<64x1024x64xbf16>, %k: tensor<64x1024x64xbf16>, %v: tensor<64x1024x64xbf16>, %g: tensor<64x1024x64xbf16>) -> (tensor<64x1024x64xbf16>, tensor<64x1024xf32>) {
  %scores = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x1024x64xbf16> -> tensor<64x1024x1024xf32>
  %max = nd.max %scores {axes = [2]} : tensor<64x1024x1024xf32> -> tensor<64x1024xf32>
  %spread = nd.broadcast %max {dims = [0, 1]} : tensor<64x1024xf32> -> tensor<64x1024x1024xf32>
  %sub = nd.sub %scores, %spread : tensor<64x1024x1024xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<64x1024x1024xf32>
  %sum = nd.sum %exp {axes = [2]} : tensor<64x1024x1024xf32> -> tensor<64x1024xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<64x1024xf32>
  %weights = nd.cast %exp : tensor<64x1024x1024xf32> -> tensor<64x1024x1024xbf16>
  %product = nd.matmul %weights, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<64x1024x1024xbf16>, tensor<64x1024x64xbf16>) -> tensor<64x1024x64xf32>
  %factor = nd.broadcast %reciprocal {dims = [0, 1]} : tensor<64x1024xf32> -> tensor<64x1024x64xf32>
  %y = nd.mul %product, %factor {nd.declared = bf16} : tensor<64x1024x64xf32>
  %slope = nd.cast %g : tensor<64x1024x64xbf16> -> tensor<64x1024x64xf32>
  %both = nd.mul %y, %slope : tensor<64x1024x64xf32>
  %total = nd.sum %both {axes = [2]} : tensor<64x1024x64xf32> -> tensor<64x1024xf32>
  %result = nd.cast %y : tensor<64x1024x64xf32> -> tensor<64x1024x64xbf16>
  func.return %result, %total : tensor<64x1024x64xbf16>, tensor<64x1024xf32>
}
func.func @whole(%q: tensor<64x1024x64xbf16>, %k: tensor<64x1024x64xbf16>, %v: tensor<64x1024x64xbf16>, %g: tensor<64x1024x64xbf16>) -> (tensor<64x1024x64xf32>, tensor<64x1024xf32>) {
  %scores = nd.matmul %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<64x1024x64xbf16> -> tensor<64x1024x1024xf32>
  %max = nd.max %scores {axes = [2]} : tensor<64x1024x1024xf32> -> tensor<64x1024xf32>
  %spread = nd.broadcast %max {dims = [0, 1]} : tensor<64x1024xf32> -> tensor<64x1024x1024xf32>
  %sub = nd.sub %scores, %spread : tensor<64x1024x1024xf32>
  %exp = nd.exp %sub {nd.relaxed} : tensor<64x1024x1024xf32>
  %sum = nd.sum %exp {axes = [2]} : tensor<64x1024x1024xf32> -> tensor<64x1024xf32>
  %reciprocal = nd.reciprocal %sum {nd.relaxed} : tensor<64x1024xf32>
  %weights = nd.cast %exp : tensor<64x1024x1024xf32> -> tensor<64x1024x1024xbf16>
  %product = nd.matmul %weights, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<64x1024x1024xbf16>, tensor<64x1024x64xbf16>) -> tensor<64x1024x64xf32>
  %factor = nd.broadcast %reciprocal {dims = [0, 1]} : tensor<64x1024xf32> -> tensor<64x1024x64xf32>
  %y = nd.mul %product, %factor {nd.declared = bf16} : tensor<64x1024x64xf32>
  %slope = nd.cast %g : tensor<64x1024x64xbf16> -> tensor<64x1024x64xf32>
  %both = nd.mul %y, %slope : tensor<64x1024x64xf32>
  %total = nd.sum %both {axes = [2]} : tensor<64x1024x64xf32> -> tensor<64x1024xf32>
  func.return %y, %total : tensor<64x1024x64xf32>, tensor<64x1024xf32>
}
