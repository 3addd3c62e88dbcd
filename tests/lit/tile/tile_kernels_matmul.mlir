// tile-kernels on products.
// RUN: irc-opt %s -p split-reductions,tile-kernels | filecheck %s

// Two products of one operand share the loop over K and the load of that operand; the epilogue is one map.
// CHECK-LABEL: tile.program @gating_0
// CHECK-NEXT:    tile.for_tiles ([[M:%[0-9]+]], [[N:%[0-9]+]]) extents [256, 512] steps [128, 128] schedule "persistent" group 8 {
// CHECK:           [[P:%[0-9]+]], [[Q:%[0-9]+]] = scf.for [[K:%[0-9]+]] =
// CHECK-NEXT:        [[A:%[0-9]+]] = tile.load %a{{\[}}[[M]], [[K]]] : !tile.view<256x192xbf16> -> tensor<128x64xbf16>
// CHECK-NEXT:        [[B:%[0-9]+]] = tile.load %b{{\[}}[[K]], [[N]]] : !tile.view<192x512xbf16> -> tensor<64x128xbf16>
// CHECK-NEXT:        tile.dot [[A]], [[B]]
// CHECK-NEXT:        [[C:%[0-9]+]] = tile.load %c{{\[}}[[K]], [[N]]] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<512x192xbf16> -> tensor<64x128xbf16>
// CHECK-NEXT:        tile.dot [[A]], [[C]]
// CHECK-NEXT:        scf.yield
// CHECK:           tile.map [[P]], [[Q]] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xbf16> {
// CHECK:           tile.store
// CHECK-NOT:     tile.store
func.func @gating(%x: tensor<256x192xbf16>, %w: tensor<192x512xbf16>, %v: tensor<512x192xbf16>) -> tensor<256x512xbf16> {
  %r = kernel.fused @gating_0 matmul config<tile = {m = 128, n = 128, k = 64}, schedule = "persistent", group = 8> (%a = %x : tensor<256x192xbf16>, %b = %w : tensor<192x512xbf16>, %c = %v : tensor<512x192xbf16>) -> tensor<256x512xbf16> {
    %p = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
    %q = nd.matmul %a, %c {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [1]} : (tensor<256x192xbf16>, tensor<512x192xbf16>) -> tensor<256x512xf32>
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
// CHECK:         tile.for_tiles ([[B:%[0-9]+]], [[M:%[0-9]+]], [[N:%[0-9]+]]) extents [3, 24, 64] steps [1, 32, 64]
// CHECK:           [[A:%[0-9]+]] = tile.load %a{{\[}}[[M]], [[K:%[0-9]+]]] symbols([[B]] : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>, checked = array<i64: 1, 2>}
// CHECK:           [[I:%[0-9]+]] = tile.iota [[K]]
// CHECK:           [[E:%[0-9]+]] = tile.map [[A]], [[I]]
// CHECK:             math.exp
// CHECK:             arith.select
// CHECK:           [[W:%[0-9]+]] = tile.load %b
// CHECK-NEXT:      tile.dot [[E]], [[W]]
func.func @batched(%x: tensor<3x4x6x40xf32>, %w: tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32> {
  %r = kernel.fused @batched_0 matmul config<tile = {m = 32, n = 64, k = 16}> (%a = %x : tensor<3x4x6x40xf32>, %b = %w : tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32> {
    %e = nd.exp %a : tensor<3x4x6x40xf32>
    %p = nd.matmul %e, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [3], rhs_contract = [1]} : (tensor<3x4x6x40xf32>, tensor<3x40x64xf32>) -> tensor<3x4x6x64xf32>
    kernel.yield %p : tensor<3x4x6x64xf32>
  }
  func.return %r : tensor<3x4x6x64xf32>
}

// Partial sums of an epilogue: reductions of the tile alone, stored at the number of the tile.
// CHECK-LABEL: tile.program @sums_0
// CHECK:         tile.for_tiles ([[M:%[0-9]+]], [[N:%[0-9]+]]) extents [256, 512] steps [128, 128]
// CHECK:           tile.dot
// CHECK-NOT:       tile.dot
// CHECK:           tile.store
// CHECK:           [[R:%[0-9]+]] = tile.reduce %{{[0-9]+}} {axes = array<i64: 0>} : tensor<128x128xf32> -> tensor<1x128xf32>
// CHECK:           tile.store [[R]], %{{[0-9]+}}{{\[}}[[M]], [[N]]] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), d1)>} : tensor<1x128xf32>, !tile.view<2x512xf32>
// CHECK-LABEL: tile.program @sums_0_finish
func.func @sums(%x: tensor<256x192xbf16>, %w: tensor<192x512xbf16>) -> (tensor<256x512xf32>, tensor<512xf32>) {
  %r, %t = kernel.fused @sums_0 matmul config<tile = {m = 128, n = 128, k = 64}> (%a = %x : tensor<256x192xbf16>, %b = %w : tensor<192x512xbf16>) -> (tensor<256x512xf32>, tensor<512xf32>) {
    %p = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
    %s = nd.sum %p {axes = [0]} : tensor<256x512xf32> -> tensor<512xf32>
    kernel.yield %p, %s : tensor<256x512xf32>, tensor<512xf32>
  }
  func.return %r, %t : tensor<256x512xf32>, tensor<512xf32>
}

// Rows of two dimensions: the parts of their columns' sums lie across both, and are of the same tile all the same.
// CHECK-LABEL: tile.program @rows_of_two_0
// CHECK:         tile.dot
// CHECK-NOT:     tile.dot
// CHECK:         tile.store
// CHECK:         [[R:%[0-9]+]] = tile.reduce %{{[0-9]+}} {axes = array<i64: 0>} : tensor<128x128xf32> -> tensor<1x128xf32>
// CHECK:         tile.store [[R]], %{{[0-9]+}}{{\[}}{{%[0-9]+}}, {{%[0-9]+}}] {map = affine_map<(d0, d1) -> ((d0 floordiv 128), d1)>} : tensor<1x128xf32>, !tile.view<12x512xf32>
// CHECK-LABEL: tile.program @rows_of_two_0_finish
func.func @rows_of_two(%x: tensor<6x256x192xbf16>, %w: tensor<192x512xbf16>) -> (tensor<6x256x512xf32>, tensor<512xf32>) {
  %r, %t = kernel.fused @rows_of_two_0 matmul config<tile = {m = 128, n = 128, k = 64}> (%a = %x : tensor<6x256x192xbf16>, %b = %w : tensor<192x512xbf16>) -> (tensor<6x256x512xf32>, tensor<512xf32>) {
    %p = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [2], rhs_contract = [0]} : (tensor<6x256x192xbf16>, tensor<192x512xbf16>) -> tensor<6x256x512xf32>
    %s = nd.sum %p {axes = [0, 1]} : tensor<6x256x512xf32> -> tensor<512xf32>
    kernel.yield %p, %s : tensor<6x256x512xf32>, tensor<512xf32>
  }
  func.return %r, %t : tensor<6x256x512xf32>, tensor<512xf32>
}
