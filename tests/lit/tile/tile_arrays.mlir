// RUN: irc-opt %s -p tile-arrays | filecheck %s

// Rows of 60 elements are tiles of 64, masked where they are reduced or multiplied; what has one user is a part of its map.
// CHECK-LABEL: @softmax_product
// CHECK:         %[[X:.*]] = tile.load %x[%m, %c0] {checked = array<i64: 0, 1>} : !tile.view<100x60xbf16> -> tensor<64x64xbf16>
// CHECK:         %[[WIDE:.*]] = tile.map %[[X]] : tensor<64x64xbf16> -> tensor<64x64xf32>
// CHECK:           arith.extf
// CHECK:         %[[AT:.*]] = tile.iota {{.*}} {axis = 1 : i64} : tensor<1x64xindex>
// CHECK:         %[[MASKED:.*]] = tile.map %[[WIDE]], %[[AT]]
// CHECK:           arith.constant 60 : index
// CHECK:           arith.constant 0xff800000 : f32
// CHECK:           arith.select
// CHECK:         %[[MAX:.*]] = tile.reduce %[[MASKED]] {axes = array<i64: 1>} : tensor<64x64xf32> -> tensor<64x1xf32>
// CHECK:         %[[EXP:.*]] = tile.map %[[X]], %[[MAX]] : tensor<64x64xbf16>, tensor<64x1xf32> -> tensor<64x64xbf16>
// CHECK:           arith.extf
// CHECK-NEXT:      arith.subf
// CHECK-NEXT:      math.exp
// CHECK-NEXT:      arith.truncf
// CHECK:         %[[W:.*]] = tile.load %w[%c0, %c0] {checked = array<i64: 0>} : !tile.view<60x64xbf16> -> tensor<64x64xbf16>
// CHECK:         %[[LHS:.*]] = tile.map %[[EXP]], {{.*}} : tensor<64x64xbf16>, tensor<1x64xindex> -> tensor<64x64xbf16>
// CHECK:         %[[DOT:.*]] = tile.dot %[[LHS]], %[[W]], {{.*}} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
// CHECK:         tile.store %[[DOT]]
// CHECK-NOT:     nd.
tile.program @softmax_product(%x: !tile.view<100x60xbf16>, %w: !tile.view<60x64xbf16>, %y: !tile.view<100x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [100] steps [64] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %x[%m, %c0] {checked = array<i64: 0>} : !tile.view<100x60xbf16> -> tensor<64x60xbf16>
    %1 = nd.cast %0 : tensor<64x60xbf16> -> tensor<64x60xf32>
    %2 = nd.max %1 {axes = [1]} : tensor<64x60xf32> -> tensor<64xf32>
    %3 = nd.broadcast %2 {dims = [0]} : tensor<64xf32> -> tensor<64x60xf32>
    %4 = nd.sub %1, %3 : tensor<64x60xf32>
    %5 = nd.exp %4 : tensor<64x60xf32>
    %6 = nd.cast %5 : tensor<64x60xf32> -> tensor<64x60xbf16>
    %7 = tile.load %w[%c0, %c0] : !tile.view<60x64xbf16> -> tensor<60x64xbf16>
    %8 = nd.matmul %6, %7 {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x60xbf16>, tensor<60x64xbf16>) -> tensor<64x64xf32>
    tile.store %8, %y[%m, %c0] {checked = array<i64: 0>} : tensor<64x64xf32>, !tile.view<100x64xf32>
  }
}

// A loop carries a dot's accumulator and a column of row sums; a permuted operand is loaded in another order.
// CHECK-LABEL: @carried
// CHECK:         %[[INIT:.*]] = tile.splat {{.*}} : f32 -> tensor<64x32xf32>
// CHECK:         %[[COLUMN:.*]] = tile.splat {{.*}} : f32 -> tensor<64x1xf32>
// CHECK:         scf.for %k = {{.*}} iter_args(%[[ACC:.*]] = %[[INIT]], %[[SUM:.*]] = %[[COLUMN]]) -> (tensor<64x32xf32>, tensor<64x1xf32>)
// CHECK:           %[[A:.*]] = tile.load %x[%m, %k] : !tile.view<64x128xbf16> -> tensor<64x64xbf16>
// CHECK:           %[[B:.*]] = tile.load %w[%k, %c0] {map = affine_map<(d0, d1) -> (d1, d0)>} : !tile.view<32x128xbf16> -> tensor<64x32xbf16>
// CHECK:           %[[NEXT:.*]] = tile.dot %[[A]], %[[B]], %[[ACC]]
// CHECK:           %[[ROW:.*]] = tile.reduce
// CHECK:           %[[TOTAL:.*]] = tile.map %[[SUM]], %[[ROW]] : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
// CHECK:           scf.yield %[[NEXT]], %[[TOTAL]]
// CHECK:         tile.map {{.*}} : tensor<64x32xf32>, tensor<64x1xf32> -> tensor<64x32xf32>
tile.program @carried(%x: !tile.view<64x128xbf16>, %w: !tile.view<32x128xbf16>, %y: !tile.view<64x32xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = nd.constant 0.0 : tensor<64x32xf32>
    %none = nd.constant 0.0 : tensor<64xf32>
    %acc, %sum = scf.for %k = %c0 to %c128 step %c64 iter_args(%a = %zero, %s = %none) -> (tensor<64x32xf32>, tensor<64xf32>) {
      %0 = tile.load %x[%m, %k] : !tile.view<64x128xbf16> -> tensor<64x64xbf16>
      %1 = tile.load %w[%c0, %k] : !tile.view<32x128xbf16> -> tensor<32x64xbf16>
      %2 = nd.permute %1 {permutation = [1, 0]} : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %3 = nd.matmul %0, %2 {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xf32>
      %4 = nd.add %a, %3 : tensor<64x32xf32>
      %5 = nd.cast %0 : tensor<64x64xbf16> -> tensor<64x64xf32>
      %6 = nd.sum %5 {axes = [1]} : tensor<64x64xf32> -> tensor<64xf32>
      %7 = nd.add %s, %6 : tensor<64xf32>
      scf.yield %4, %7 : tensor<64x32xf32>, tensor<64xf32>
    }
    %8 = nd.broadcast %sum {dims = [0]} : tensor<64xf32> -> tensor<64x32xf32>
    %9 = nd.div %acc, %8 : tensor<64x32xf32>
    tile.store %9, %y[%m, %c0] : tensor<64x32xf32>, !tile.view<64x32xf32>
  }
}

// A tile of integers gathers rows, and a scan runs along them.
// CHECK-LABEL: @gathered
// CHECK:         %[[IDS:.*]] = tile.load %ids[%m, {{.*}}] {map = affine_map<(d0, d1) -> (d0)>} : !tile.view<64xi32> -> tensor<32x1xi32>
// CHECK:         %[[ROWS:.*]] = tile.load %t[%c0, %c0] symbols(%[[IDS]] : tensor<32x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>, checked = array<i64: 0, 1>} : !tile.view<50x20xf32> -> tensor<32x32xf32>
// CHECK:         %[[SUMS:.*]] = tile.scan %[[ROWS]] {axis = 1 : i64} : tensor<32x32xf32> -> tensor<32x32xf32>
// CHECK:         tile.store %[[SUMS]], %y[%m, %c0] {checked = array<i64: 1>}
tile.program @gathered(%ids: !tile.view<64xi32>, %t: !tile.view<50x20xf32>, %y: !tile.view<64x20xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [32] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %ids[%m] : !tile.view<64xi32> -> tensor<32xi32>
    %1 = nd.reshape %0 : tensor<32xi32> -> tensor<32x1xi32>
    %2 = tile.load %t[%c0, %c0] symbols(%1 : tensor<32x1xi32>) {map = affine_map<(d0, d1)[s0] -> (s0, d1)>, checked = array<i64: 0>} : !tile.view<50x20xf32> -> tensor<32x20xf32>
    %3 = nd.cumsum %2 {axis = 1} : tensor<32x20xf32>
    tile.store %3, %y[%m, %c0] : tensor<32x20xf32>, !tile.view<64x20xf32>
  }
}

// Left alone: a program of tiles.
// CHECK-LABEL: @tiles
// CHECK:         %[[T:.*]] = tile.load %x[%m] : !tile.view<60xf32> -> tensor<64xf32>
// CHECK-NEXT:    tile.store %[[T]], %y[%m] : tensor<64xf32>, !tile.view<60xf32>
tile.program @tiles(%x: !tile.view<60xf32>, %y: !tile.view<60xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [60] steps [64] {
    %0 = tile.load %x[%m] : !tile.view<60xf32> -> tensor<64xf32>
    tile.store %0, %y[%m] : tensor<64xf32>, !tile.view<60xf32>
  }
}

// A part of an axis is stored: what the tile has beyond it would be within the array, and goes beyond the array's end.
// CHECK-LABEL: @part
// CHECK:         tile.store {{.*}}, %y[%m, {{.*}}] {map = affine_map<(d0, d1) -> (d0, (d1 + ((d1 floordiv 6) * 12)))>, checked = array<i64: 1>} : tensor<4x8xf32>
tile.program @part(%x: !tile.view<4x12xf32>, %y: !tile.view<4x12xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [4] steps [4] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %x[%m, %c0] : !tile.view<4x12xf32> -> tensor<4x6xf32>
    %1 = nd.neg %0 : tensor<4x6xf32>
    tile.store %1, %y[%m, %c0] : tensor<4x6xf32>, !tile.view<4x12xf32>
  }
}

// A product that is added to nothing starts from 0, which stands before the loops.
// CHECK-LABEL: @alone
// CHECK:         %[[START:.*]] = tile.splat {{.*}} : f32 -> tensor<64x64xf32>
// CHECK:         scf.for
// CHECK-NOT:       tile.splat
// CHECK:           tile.dot {{.*}}, {{.*}}, %[[START]]
// CHECK:           scf.yield
tile.program @alone(%x: !tile.view<64x64xbf16>, %w: !tile.view<64x256xbf16>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [64] {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = nd.constant 0.0 : tensor<64xf32>
    %sum = scf.for %n = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<64xf32>) {
      %a = tile.load %x[%m, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %w[%c0, %n] : !tile.view<64x256xbf16> -> tensor<64x64xbf16>
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
      %most = nd.max %p {axes = [1]} : tensor<64x64xf32> -> tensor<64xf32>
      %next = nd.maximum %acc, %most : tensor<64xf32>
      scf.yield %next : tensor<64xf32>
    }
    tile.store %sum, %y[%m] : tensor<64xf32>, !tile.view<64xf32>
  }
}
