// RUN: irc-opt %s -p split-reductions | filecheck %s

// Parts of the columns have a maximum, a sum and a product each; a part is a batch of the last product. The second kernel
// makes sums and products relative to the maximum of all, and adds them.
// CHECK:       kernel.fused @decode cascade config<tile = {m = 64, k = 128}>
// CHECK:         %[[K:.*]] = nd.reshape %{{.*}} : tensor<8x2048x64xbf16> -> tensor<8x4x512x64xbf16>
// CHECK:         %[[S:.*]] = nd.matmul %{{.*}}, %[[K]] {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [3]} : {{.*}} -> tensor<8x16x4x512xf32>
// CHECK:         %[[M:.*]] = nd.max %[[S]] {axes = [3]} : tensor<8x16x4x512xf32> -> tensor<8x16x4xf32>
// CHECK:         %[[B:.*]] = nd.broadcast %[[M]] {dims = [0, 1, 2]} : tensor<8x16x4xf32> -> tensor<8x16x4x512xf32>
// CHECK:         %[[D:.*]] = nd.sub %[[S]], %[[B]]
// CHECK:         %[[E:.*]] = nd.exp %[[D]]
// CHECK:         %[[L:.*]] = nd.sum %[[E]] {axes = [3]} : tensor<8x16x4x512xf32> -> tensor<8x16x4xf32>
// CHECK:         %[[P:.*]] = nd.cast %[[E]]
// CHECK:         %[[V:.*]] = nd.reshape %{{.*}} : tensor<8x2048x64xbf16> -> tensor<8x4x512x64xbf16>
// CHECK:         %[[O:.*]] = nd.matmul %[[P]], %[[V]] {lhs_batch = [0, 2], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2]} : {{.*}} -> tensor<8x4x16x64xf32>
// CHECK:         kernel.yield %[[M]], %[[L]], %[[O]]
// CHECK:       kernel.fused @decode_finish reduce
// CHECK-SAME:    (%[[MA:.*]] = %{{.*}} : tensor<8x16x4xf32>, %[[LA:.*]] = %{{.*}} : tensor<8x16x4xf32>, %[[OA:.*]] = %{{.*}} : tensor<8x4x16x64xf32>)
// CHECK:         nd.max %[[MA]] {axes = [2]} : tensor<8x16x4xf32> -> tensor<8x16xf32>
// CHECK:         %[[SPREAD:.*]] = nd.broadcast %{{.*}} {dims = [0, 1]} : tensor<8x16xf32> -> tensor<8x16x4xf32>
// CHECK:         nd.sub %[[SPREAD]], %[[MA]]
// CHECK:         %[[F:.*]] = nd.exp
// CHECK:         nd.mul %[[LA]], %{{.*}}
// CHECK:         nd.sum %{{.*}} {axes = [2]} : tensor<8x16x4xf32> -> tensor<8x16xf32>
// CHECK:         nd.broadcast %{{.*}} {dims = [0, 2, 1]} : tensor<8x16x4xf32> -> tensor<8x4x16x64xf32>
// CHECK:         nd.mul %[[OA]]
// CHECK:         nd.sum %{{.*}} {axes = [1]} : tensor<8x4x16x64xf32> -> tensor<8x16x64xf32>
// CHECK:         nd.div
func.func @decode(%q: tensor<8x16x64xbf16>, %k: tensor<8x2048x64xbf16>, %v: tensor<8x2048x64xbf16>) -> tensor<8x16x64xf32> {
  %r = kernel.fused @decode cascade config<tile = {m = 64, k = 128}, split = 4> (%a = %q : tensor<8x16x64xbf16>, %b = %k : tensor<8x2048x64xbf16>, %c = %v : tensor<8x2048x64xbf16>) -> tensor<8x16x64xf32> {
    %s = nd.matmul %a, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<8x16x64xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x16x2048xf32>
    %m = nd.max %s {axes = [2]} : tensor<8x16x2048xf32> -> tensor<8x16xf32>
    %0 = nd.broadcast %m {dims = [0, 1]} : tensor<8x16xf32> -> tensor<8x16x2048xf32>
    %1 = nd.sub %s, %0 : tensor<8x16x2048xf32>
    %e = nd.exp %1 : tensor<8x16x2048xf32>
    %l = nd.sum %e {axes = [2]} : tensor<8x16x2048xf32> -> tensor<8x16xf32>
    %p = nd.cast %e : tensor<8x16x2048xf32> -> tensor<8x16x2048xbf16>
    %o = nd.matmul %p, %c {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<8x16x2048xbf16>, tensor<8x2048x64xbf16>) -> tensor<8x16x64xf32>
    %2 = nd.broadcast %l {dims = [0, 1]} : tensor<8x16xf32> -> tensor<8x16x64xf32>
    %y = nd.div %o, %2 : tensor<8x16x64xf32>
    kernel.yield %y : tensor<8x16x64xf32>
  }
  func.return %r : tensor<8x16x64xf32>
}
