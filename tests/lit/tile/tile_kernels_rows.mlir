// RUN: irc-opt %s -p tile-kernels | filecheck %s
// RUN: irc-opt %s -p tile-kernels,merge-dots,place-operands,overlap-epilogue | filecheck %s --check-prefix=SUBTILES

// A product whose tile has whole rows: reductions of them read the accumulator that the result reads.
// CHECK:      tile.program @rows
// CHECK:        [[ACC:%[0-9]+]] = scf.for
// CHECK:          tile.dot
// CHECK-NOT:      tile.dot
// CHECK:        [[MAX:%[0-9]+]] = tile.reduce [[ACC]] {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32>
// CHECK:        [[EXP:%[0-9]+]] = tile.map [[ACC]], [[MAX]]
// CHECK:        [[SUM:%[0-9]+]] = tile.reduce [[EXP]] {axes = array<i64: 1>} : tensor<64x256xf32> -> tensor<64x1xf32>
// CHECK:        [[OUT:%[0-9]+]] = tile.map [[EXP]], [[SUM]]
// CHECK:        tile.store [[OUT]], {{.*}} : tensor<64x256xf32>
// CHECK:        tile.store [[SUM]], {{.*}} : tensor<64x1xf32>

// What follows the last reduction has subtiles, but for what has one element for each row.
// SUBTILES:       [[EXP:%[0-9]+]] = tile.map {{.*}} -> tensor<64x256xf32>
// SUBTILES:       [[SUM:%[0-9]+]] = tile.reduce [[EXP]]
// SUBTILES:       tile.store [[SUM]]
// SUBTILES:       scf.for %column
// SUBTILES:         [[PART:%[0-9]+]] = tile.slice [[EXP]][{{%[0-9]+}}, %column] {at = array<i64: 0, 0>} : tensor<64x256xf32> -> tensor<64x32xf32>
// SUBTILES:         [[ROWS:%[0-9]+]] = tile.slice [[SUM]] {at = array<i64: 0, 0>} : tensor<64x1xf32> -> tensor<64x1xf32>
// SUBTILES-NEXT:    tile.map [[PART]], [[ROWS]]
// SUBTILES:       } {unroll}

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
