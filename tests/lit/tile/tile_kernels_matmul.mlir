// RUN: irc-opt %s -p tile-kernels | filecheck %s

// tile-kernels on products.

// Two products of one operand share the loop over K and the load of that operand; the epilogue is one map.
// CHECK-LABEL: tile.program @gating_0
// CHECK-NEXT:    tile.for_tiles ([[M:%[a-z0-9_]+]], [[N:%[a-z0-9_]+]]) extents [256, 512] steps [128, 128] schedule "persistent" group 8 {
// CHECK:           [[P:%[a-z0-9_]+]], [[Q:%[a-z0-9_]+]] = scf.for [[K:%[a-z0-9_]+]] =
// CHECK-NEXT:        [[A:%[a-z0-9_]+]] = tile.load %a{{\[}}[[M]], [[K]]] : !tile.view<256x192xbf16> -> tensor<128x64xbf16>
// CHECK-NEXT:        [[B:%[a-z0-9_]+]] = tile.load %b{{\[}}[[K]], [[N]]] : !tile.view<192x512xbf16> -> tensor<64x128xbf16>
// CHECK-NEXT:        tile.dot [[A]], [[B]]
// CHECK-NEXT:        [[C:%[a-z0-9_]+]] = tile.load %c{{\[}}[[K]], [[N]]] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<512x192xbf16> -> tensor<64x128xbf16>
// CHECK-NEXT:        tile.dot [[A]], [[C]]
// CHECK-NEXT:        scf.yield
// CHECK:           tile.map [[P]], [[Q]] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16> {
// CHECK:           tile.store
// CHECK-NOT:     tile.store
func.func @gating(%x: tensor<256x192xbf16>, %w: tensor<192x512xbf16>, %v: tensor<512x192xbf16>) -> tensor<256x512xbf16> {
  %r = kernel.fused @gating_0 matmul config<tile = {m = 128, n = 128, k = 64}, schedule = "persistent", group = 8> (%a = %x : tensor<256x192xbf16>, %b = %w : tensor<192x512xbf16>, %c = %v : tensor<512x192xbf16>) -> tensor<256x512xbf16> {
    // core
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
    %q = nd.matmul %a, %c {lhs_contract = [1], rhs_contract = [1]} : (tensor<256x192xbf16>, tensor<512x192xbf16>) -> tensor<256x512xf32>
    // epilogue
    %g = nd.sigmoid %p : tensor<256x512xf32>
    %h = nd.mul %g, %q : tensor<256x512xf32>
    %o = nd.cast %h : tensor<256x512xf32> -> tensor<256x512xbf16>
    kernel.yield %o : tensor<256x512xbf16>
  }
  func.return %r : tensor<256x512xbf16>
}

// Batches are walked one by one and enter the accesses as symbols; free dimensions that merge are one. K has a tail: the load of
// the prologue's operand is masked after the map, as exp(0) is not 0; the other operand's load gives 0 by itself.
// CHECK-LABEL: tile.program @batched_0(%a: !tile.view<3x24x40xf32>, %b: !tile.view<3x40x64xf32>
// CHECK:         tile.for_tiles ([[B:%[a-z0-9_]+]], [[M:%[a-z0-9_]+]], [[N:%[a-z0-9_]+]]) extents [3, 24, 64] steps [1, 32, 64]
// CHECK:           [[A:%[a-z0-9_]+]] = tile.load %a{{\[}}[[M]], [[K:%[a-z0-9_]+]]] symbols([[B]] : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, checked = array<i64: 1, 2>}
// CHECK:           [[I:%[a-z0-9_]+]] = tile.iota [[K]]
// CHECK:           [[E:%[a-z0-9_]+]] = tile.map [[A]], [[I]]
// CHECK:             math.exp
// CHECK:             arith.select
// CHECK:           [[W:%[a-z0-9_]+]] = tile.load %b
// CHECK-NEXT:      tile.dot [[E]], [[W]]
func.func @batched(%x: tensor<3x4x6x40xf32>, %w: tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32> {
  %r = kernel.fused @batched_0 matmul config<tile = {m = 32, n = 64, k = 16}> (%a = %x : tensor<3x4x6x40xf32>, %b = %w : tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32> {
    // prologue
    %e = nd.exp %a : tensor<3x4x6x40xf32>
    // core
    %p = nd.matmul %e, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [3], rhs_contract = [1]} : (tensor<3x4x6x40xf32>, tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32>
    kernel.yield %p : tensor<3x4x6x64xf32>
  }
  func.return %r : tensor<3x4x6x64xf32>
}

// Partial sums of an epilogue: reductions of the tile alone, stored at the number of the tile.
// CHECK-LABEL: tile.program @sums_0
// CHECK:         tile.for_tiles ([[M:%[a-z0-9_]+]], [[N:%[a-z0-9_]+]]) extents [256, 512] steps [128, 128]
// CHECK:           tile.dot
// CHECK-NOT:       tile.dot
// CHECK:           tile.store
// CHECK:           [[R:%[a-z0-9_]+]] = tile.reduce %{{[a-z0-9_]+}} {axes = array<i64: 0>} : tensor<128x128xf32> -> tensor<1x128xf32>
// CHECK:           tile.store [[R]], %{{[a-z0-9_]+}}{{\[}}[[M]], [[N]]] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), d1)>} : tensor<1x128xf32>, !tile.view<2x512xf32>
// CHECK-LABEL: tile.program @sums_0_finish
func.func @sums(%x: tensor<256x192xbf16>, %w: tensor<192x512xbf16>) -> (tensor<256x512xf32>, tensor<512xf32>) {
  %r, %fused = kernel.fused @sums_0 matmul config<tile = {m = 128, n = 128, k = 64}> (%a = %x : tensor<256x192xbf16>, %b = %w : tensor<192x512xbf16>) -> (tensor<256x512xf32>, tensor<2x512xf32>) {
    // core
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
    // epilogue
    %reshape = nd.reshape %p : tensor<256x512xf32> -> tensor<2x128x512xf32>
    %sum = nd.sum %reshape {axes = [1]} : tensor<2x128x512xf32> -> tensor<2x512xf32>
    kernel.yield %p, %sum : tensor<256x512xf32>, tensor<2x512xf32>
  }
  %t = kernel.fused @sums_0_finish reduce config<tile = {d = 128, r = 2}, warps = 1, schedule = "grid", reduction = "persistent", occupancy = 32> (%arg = %fused : tensor<2x512xf32>) -> tensor<512xf32> {
    // core
    %sum = nd.sum %arg {axes = [0]} : tensor<2x512xf32> -> tensor<512xf32>
    kernel.yield %sum : tensor<512xf32>
  }
  func.return %r, %t : tensor<256x512xf32>, tensor<512xf32>
}

// Rows of two dimensions: the parts of their columns' sums lie across both, and are of the same tile all the same.
// CHECK-LABEL: tile.program @rows_of_two_0
// CHECK:         tile.dot
// CHECK-NOT:     tile.dot
// CHECK:         tile.store
// CHECK:         [[R:%[a-z0-9_]+]] = tile.reduce %{{[a-z0-9_]+}} {axes = array<i64: 0>} : tensor<128x128xf32> -> tensor<1x128xf32>
// CHECK:         tile.store [[R]], %{{[a-z0-9_]+}}{{\[}}{{%[a-z0-9_]+}}, {{%[a-z0-9_]+}}] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), d1)>} : tensor<1x128xf32>, !tile.view<12x512xf32>
// CHECK-LABEL: tile.program @rows_of_two_0_finish
func.func @rows_of_two(%x: tensor<6x256x192xbf16>, %w: tensor<192x512xbf16>) -> (tensor<6x256x512xf32>, tensor<512xf32>) {
  %r, %fused = kernel.fused @rows_of_two_0 matmul config<tile = {m = 128, n = 128, k = 64}> (%a = %x : tensor<6x256x192xbf16>, %b = %w : tensor<192x512xbf16>) -> (tensor<6x256x512xf32>, tensor<12x512xf32>) {
    // core
    %p = nd.matmul %a, %b {lhs_contract = [2], rhs_contract = [0]} : (tensor<6x256x192xbf16>, tensor<192x512xbf16>) -> tensor<6x256x512xf32>
    // epilogue
    %reshape = nd.reshape %p : tensor<6x256x512xf32> -> tensor<1536x512xf32>
    %reshape_1 = nd.reshape %reshape : tensor<1536x512xf32> -> tensor<12x128x512xf32>
    %sum = nd.sum %reshape_1 {axes = [1]} : tensor<12x128x512xf32> -> tensor<12x512xf32>
    kernel.yield %p, %sum : tensor<6x256x512xf32>, tensor<12x512xf32>
  }
  %t = kernel.fused @rows_of_two_0_finish reduce config<tile = {d = 128, r = 16}, warps = 4, schedule = "grid", reduction = "persistent", occupancy = 16> (%arg = %fused : tensor<12x512xf32>) -> tensor<512xf32> {
    // core
    %sum = nd.sum %arg {axes = [0]} : tensor<12x512xf32> -> tensor<512xf32>
    kernel.yield %sum : tensor<512xf32>
  }
  func.return %r, %t : tensor<6x256x512xf32>, tensor<512xf32>
}
