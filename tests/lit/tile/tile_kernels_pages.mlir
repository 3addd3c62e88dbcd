// RUN: irc-opt %s -p tile-kernels | filecheck %s

// A step has rows of one page: its number is one index for the tile, read, checked and brought into range once for keys
// and values.
// CHECK-LABEL: tile.program @pages_0
// CHECK:         tile.for_tiles (%[[B:.*]], %[[M:.*]]) extents [4, 64] steps [1, 64]
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             %[[PAGE:.*]] = arith.divui %[[T]]
// CHECK:             %[[READ:.*]] = tile.load_index %table[%[[B]], %[[PAGE]]]
// CHECK:             scalar.check_index {{.*}} 0 to 99
// CHECK:             arith.maxsi
// CHECK:             arith.minsi
// CHECK:             %[[AT:.*]] = arith.index_cast
// CHECK:             tile.load %pool[%{{.*}}, %[[T]]] symbols(%[[AT]], %[[PAGE]] : index, index) {map = affine_map<(d0, d1)[s0, s1] -> (s0, (d1 + (s1 * -64)), d0)>} : !tile.view<99x64x64xbf16> -> tensor<64x32xbf16>
// CHECK-NOT:         tile.load_index
// CHECK:             tile.load %pool[%[[T]], %{{.*}}] symbols(%[[AT]], %[[PAGE]] : index, index)
func.func @pages(%q: tensor<4x64x64xbf16>, %pool: tensor<99x64x64xbf16>, %table: tensor<4x8xi32>) -> tensor<4x64x64xf32> {
  %r = kernel.fused @pages_0 cascade config<tile = {m = 64, k = 32}> (%q_1 = %q : tensor<4x64x64xbf16>, %pool_1 = %pool : tensor<99x64x64xbf16>, %table_1 = %table : tensor<4x8xi32>) -> tensor<4x64x64xf32> {
    %checked = nd.check_indices %table_1 {low = 0, high = 99} : tensor<4x8xi32>
    %taken = nd.take %pool_1, %checked {axis = 0} : (tensor<99x64x64xbf16>, tensor<4x8xi32>) -> tensor<4x8x64x64xbf16>
    %k = nd.reshape %taken : tensor<4x8x64x64xbf16> -> tensor<4x512x64xbf16>
    %s = nd.matmul %q_1, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : (tensor<4x64x64xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x512xf32>
    %e = nd.relu %s : tensor<4x64x512xf32>
    %p = nd.cast %e : tensor<4x64x512xf32> -> tensor<4x64x512xbf16>
    %y = nd.matmul %p, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<4x64x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x64x64xf32>
    kernel.yield %y : tensor<4x64x64xf32>
  }
  func.return %r : tensor<4x64x64xf32>
}
