// RUN: irc-opt %s -p tile-kernels | filecheck %s

// A product whose tile has whole rows: reductions of them read the accumulator that the result reads.
// CHECK:      tile.program @rows
// CHECK:        [[ACC:%[a-z0-9_]+]] = scf.for
// CHECK:          tile.dot
// CHECK-NOT:      tile.dot
// CHECK:        [[MAX:%[a-z0-9_]+]] = tile.reduce [[ACC]] {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32>
// CHECK:        [[EXP:%[a-z0-9_]+]] = tile.map [[ACC]], [[MAX]]
// CHECK:        [[SUM:%[a-z0-9_]+]] = tile.reduce [[EXP]] {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32>
// CHECK:        [[OUT:%[a-z0-9_]+]] = tile.map [[EXP]], [[SUM]]
// CHECK:        tile.store [[OUT]], {{.*}} : tensor<64x256xf32>
// CHECK:        tile.store [[SUM]], {{.*}} : tensor<64x1xf32>

func.func @f(%x: tensor<512x128xbf16>, %w: tensor<128x256xbf16>) -> (tensor<512x256xf32>, tensor<512xf32>) {
  %p, %t = kernel.fused @rows matmul config<tile = {m = 64, n = 256, k = 64}, warps = 4, schedule = "persistent", instruction = "wgmma"> (%a = %x : tensor<512x128xbf16>, %b = %w : tensor<128x256xbf16>) -> (tensor<512x256xf32>, tensor<512xf32>) {
    %c = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<512x128xbf16>, tensor<128x256xbf16>) -> tensor<512x256xf32>
    %m = nd.max %c {axes = [1]} : tensor<512x256xf32> -> tensor<512xf32>
    %d = nd.broadcast %m {dims = [0]} : tensor<512xf32> -> tensor<512x256xf32>
    %e = nd.sub %c, %d : tensor<512x256xf32>
    %h = nd.exp %e : tensor<512x256xf32>
    %s = nd.sum %h {axes = [1]} : tensor<512x256xf32> -> tensor<512xf32>
    %q = nd.broadcast %s {dims = [0]} : tensor<512xf32> -> tensor<512x256xf32>
    %o = nd.div %h, %q : tensor<512x256xf32>
    kernel.yield %o, %s : tensor<512x256xf32>, tensor<512xf32>
  }
  func.return %p, %t : tensor<512x256xf32>, tensor<512xf32>
}
