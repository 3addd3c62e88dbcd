// RUN: irc-opt %s -p tile-kernels --split-input-file | filecheck %s

// Tiles of 64 rows: at most 300 // 64 of them, and one for each of 3 groups and for what no group has. A tile multiplies
// where it has rows of a group, and stores those.
// CHECK-LABEL: tile.program @rows_0
// CHECK-NEXT:    tile.for_tiles (%[[I:.*]], %[[J:.*]]) extents [512, 96] steps [64, 32] {
// CHECK:           %[[AT:.*]] = arith.divui %[[I]], %[[SIZE:.*]] : index
// CHECK-NEXT:      %group, %first, %end = tile.find_segment %c[%[[AT]]] {rows = 64 : i64, most = 300 : i64} : !tile.view<3xi32>
// CHECK:           %[[HAS:.*]] = arith.cmpi slt, %first, %end : index
// CHECK:           %[[STOP:.*]] = arith.select
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %[[STOP]] step
// CHECK-NEXT:        tile.load %a[%first, %[[K]]] {checked = array<i64: 0>} : !tile.view<300x128xbf16> -> tensor<64x64xbf16>
// CHECK-NEXT:        tile.load %b[%[[K]], %[[J]]] symbols(%{{.*}} : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<3x128x96xbf16> -> tensor<64x32xbf16>
// CHECK:           tile.store %{{.*}}, %y[%first, %[[J]]] end %end {checked = array<i64: 0>, end_dim = 0 : i64}
func.func @rows(%x: tensor<300x128xbf16>, %w: tensor<3x128x96xbf16>, %e: tensor<3xi32>) -> tensor<300x96xf32> {
  %y = kernel.fused @rows_0 matmul config<tile = {m = 64, n = 32, k = 64}> (%a = %x : tensor<300x128xbf16>, %b = %w : tensor<3x128x96xbf16>, %c = %e : tensor<3xi32>) -> tensor<300x96xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {rhs_contract = 1} : (tensor<300x128xbf16>, tensor<3x128x96xbf16>, tensor<3xi32>) -> tensor<300x96xf32>
    kernel.yield %0 : tensor<300x96xf32>
  }
  func.return %y : tensor<300x96xf32>
}

// -----

// Tiles of a cluster are of one group: its 128 rows are found together, and each has its own 64.
// CHECK-LABEL: tile.program @rows_0
// CHECK-NEXT:    tile.for_tiles (%[[I:.*]], %[[J:.*]]) extents [768, 96] steps [64, 32] cluster [2, 1] {
// CHECK:           %[[SIZE:.*]] = arith.constant 128 : index
// CHECK-NEXT:      %[[AT:.*]] = arith.divui %[[I]], %[[SIZE]] : index
// CHECK-NEXT:      %group, %first, %end = tile.find_segment %c[%[[AT]]] {rows = 128 : i64, most = 300 : i64} : !tile.view<3xi32>
// CHECK:           %[[HAS:.*]] = arith.cmpi slt, %first, %end : index
// CHECK:           %[[WITHIN:.*]] = arith.remui %[[I]], %[[SIZE]] : index
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %first, %[[WITHIN]] : index
// CHECK:           tile.load %a[%[[ROW]], %{{.*}}]
// CHECK:           tile.store %{{.*}}, %y[%[[ROW]], %[[J]]] end %end {checked = array<i64: 0>, end_dim = 0 : i64}
func.func @rows(%x: tensor<300x128xbf16>, %w: tensor<3x128x96xbf16>, %e: tensor<3xi32>) -> tensor<300x96xf32> {
  %y = kernel.fused @rows_0 matmul config<tile = {m = 64, n = 32, k = 64}, cluster = [2, 1]> (%a = %x : tensor<300x128xbf16>, %b = %w : tensor<3x128x96xbf16>, %c = %e : tensor<3xi32>) -> tensor<300x96xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {rhs_contract = 1} : (tensor<300x128xbf16>, tensor<3x128x96xbf16>, tensor<3xi32>) -> tensor<300x96xf32>
    kernel.yield %0 : tensor<300x96xf32>
  }
  func.return %y : tensor<300x96xf32>
}

// -----

// The loop over K is over a group's rows: whole steps, then what is left in steps of one instruction, 0 behind the end.
// CHECK-LABEL: tile.program @over_rows_0
// CHECK-NEXT:    tile.for_tiles (%[[G:.*]], %[[I:.*]], %[[J:.*]]) extents [3, 128, 96] steps [1, 64, 32] {
// CHECK-COUNT-2:   tile.load_index %c[%{{.*}}] {most = 300 : i64} : !tile.view<3xi64>
// CHECK:           %[[SUM:.*]] = scf.for %[[K:.*]] = %[[BEGIN:.*]] to %[[WHOLE:.*]] step %{{.*}} iter_args
// CHECK-NEXT:        tile.load %a[%[[I]], %[[K]]] {map = affine_map<(d0, d1) -> (d1, d0)>{{.*}}} : !tile.view<300x128xbf16> -> tensor<64x64xbf16>
// CHECK-NEXT:        tile.load %b[%[[K]], %[[J]]] {{.*}} : !tile.view<300x96xbf16> -> tensor<64x32xbf16>
// CHECK:           scf.for %[[L:.*]] = %[[WHOLE]] to %[[END:.*]] step %{{.*}} iter_args(%{{.*}} = %[[SUM]])
// CHECK:             tile.iota %[[L]] {axis = 1 : i64} : tensor<1x16xindex>
// CHECK:             tile.load %a[%[[I]], %[[L]]] symbols(%{{.*}} : tensor<1x16xindex>) {map = affine_map<(d0, d1)[s0] -> (s0, d0)>, checked = array<i64: 0>}
// CHECK:             tile.load %b[%[[L]], %[[J]]] symbols(%{{.*}} : tensor<16x1xindex>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>, checked = array<i64: 0>}
// CHECK:           tile.store %{{.*}}, %y[%[[I]], %[[J]]] symbols(%[[G]] : index)
func.func @over_rows(%x: tensor<300x128xbf16>, %g: tensor<300x96xbf16>, %e: tensor<3xi64>) -> tensor<3x128x96xf32> {
  %y = kernel.fused @over_rows_0 matmul config<tile = {m = 64, n = 32, k = 64}> (%a = %x : tensor<300x128xbf16>, %b = %g : tensor<300x96xbf16>, %c = %e : tensor<3xi64>) -> tensor<3x128x96xf32> {
    %0 = nd.grouped_matmul %a, %b, %c {lhs_contract = 0, rhs_contract = 0} : (tensor<300x128xbf16>, tensor<300x96xbf16>, tensor<3xi64>) -> tensor<3x128x96xf32>
    kernel.yield %0 : tensor<3x128x96xf32>
  }
  func.return %y : tensor<3x128x96xf32>
}
