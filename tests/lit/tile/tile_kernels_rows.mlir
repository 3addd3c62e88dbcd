// RUN: irc-opt %s -p tile-kernels --split-input-file | filecheck %s

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

// -----

// Sums along the rows of what is computed from reductions of rows: their columns are those of the product, not what a
// reduction of a row runs over.
// CHECK:      tile.program @sums
// CHECK:        [[SUMS:%[a-z0-9_]+]] = scf.for
// CHECK:        tile.reduce {{.*}} {axes = array<i64: 1>} : tensor<12x16xf32> -> tensor<12x1xf32>
// CHECK:        tile.reduce {{.*}} {axes = array<i64: 1>} : tensor<12x16xf32> -> tensor<12x1xf32>
// CHECK:        [[ALONG:%[a-z0-9_]+]] = tile.reduce {{.*}} {axes = array<i64: 0>} : tensor<12x16xf32> -> tensor<1x16xf32>
// CHECK:        tile.store [[ALONG]], {{.*}} : tensor<1x16xf32>

builtin.module attributes {irc.target = "cpu"} {
  func.func @g(%x: tensor<2x6x32xf32>, %w: tensor<32x16xf32>, %g: tensor<2x6x16xf32>) -> (tensor<2x6x16xf32>, tensor<1x16xf32>) {
    %z, %s = kernel.fused @sums matmul config<tile = {m = 12, n = 16, k = 32}, stages = 1, schedule = "grid", instruction = "fma"> (%a = %x : tensor<2x6x32xf32>, %b = %w : tensor<32x16xf32>, %c = %g : tensor<2x6x16xf32>) -> (tensor<2x6x16xf32>, tensor<1x16xf32>) {
      %h = nd.matmul %a, %b {lhs_contract = [2], rhs_contract = [0]} : (tensor<2x6x32xf32>, tensor<32x16xf32>) -> tensor<2x6x16xf32>
      %square = nd.mul %h, %h : tensor<2x6x16xf32>
      %norm = nd.sum %square {axes = [2]} : tensor<2x6x16xf32> -> tensor<2x6xf32>
      %norms = nd.broadcast %norm {dims = [0, 1]} : tensor<2x6xf32> -> tensor<2x6x16xf32>
      %y = nd.div %h, %norms : tensor<2x6x16xf32>
      %gy = nd.mul %c, %y : tensor<2x6x16xf32>
      %dot = nd.sum %gy {axes = [2]} : tensor<2x6x16xf32> -> tensor<2x6xf32>
      %dots = nd.broadcast %dot {dims = [0, 1]} : tensor<2x6xf32> -> tensor<2x6x16xf32>
      %left = nd.sub %c, %y : tensor<2x6x16xf32>
      %r = nd.mul %dots, %left : tensor<2x6x16xf32>
      %rows = nd.reshape %gy : tensor<2x6x16xf32> -> tensor<1x12x16xf32>
      %along = nd.sum %rows {axes = [1]} : tensor<1x12x16xf32> -> tensor<1x16xf32>
      kernel.yield %r, %along : tensor<2x6x16xf32>, tensor<1x16xf32>
    }
    func.return %z, %s : tensor<2x6x16xf32>, tensor<1x16xf32>
  }
}
