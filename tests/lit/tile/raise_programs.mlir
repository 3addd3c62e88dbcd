// RUN: irc-opt %s -p raise-programs | filecheck %s

// A loop over tiles of the whole extent runs once: loads are arrays, and what a loop carries is what it is after one iteration.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:    %[[ZERO:.*]] = nd.constant 0.0 : tensor<4x6xf32>
// CHECK-NEXT:    %[[DOT:.*]] = nd.matmul %x, %w {lhs_contract = [1], rhs_contract = [0]} : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
// CHECK-NEXT:    %[[SUM:.*]] = nd.add %[[ZERO]], %[[DOT]]
// CHECK-NEXT:    func.return %[[SUM]]
// CHECK-NOT:     tile.program @product_0
tile.program @product_0(%x: !tile.view<4x8xbf16>, %w: !tile.view<8x6xbf16>, %y: !tile.view<4x6xf32>) {results = 1 : i64} {
  tile.for_tiles (%m, %n) extents [4, 6] steps [4, 6] {
    %zero = nd.constant 0.0 : tensor<4x6xf32>
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %sum = scf.for %k = %c0 to %c8 step %c8 iter_args(%acc = %zero) -> (tensor<4x6xf32>) {
      %a = tile.load %x[%m, %k] : !tile.view<4x8xbf16> -> tensor<4x8xbf16>
      %b = tile.load %w[%k, %n] : !tile.view<8x6xbf16> -> tensor<8x6xbf16>
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
      %next = nd.add %acc, %p : tensor<4x6xf32>
      scf.yield %next : tensor<4x6xf32>
    }
    tile.store %sum, %y[%m, %n] : tensor<4x6xf32>, !tile.view<4x6xf32>
  }
}

func.func @product(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>) -> tensor<4x6xf32> {
  %y = kernel.launch @product_0(%x, %w) : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// A loop over a range becomes an axis: of x by its place in the array, of the reduction, of the result. By a number that is computed
// from it an array is gathered.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[TOP:.*]] = nd.max %x {axes = [2]} : tensor<4x5x6xf32> -> tensor<4x5xf32>
// CHECK:         nd.floordiv {{.*}} : tensor<4xi32>
// CHECK:         %[[TAKEN:.*]] = nd.take %g, {{.*}} {axis = 0} : (tensor<2x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
// CHECK:         %[[GIVEN:.*]] = nd.where {{.*}}, %[[TAKEN]]
// CHECK:         nd.mul %[[TOP]], %[[GIVEN]] : tensor<4x5xf32>
// CHECK:         %[[TURNED:.*]] = nd.permute {{.*}} {permutation = [1, 0]} : tensor<4x5xf32> -> tensor<5x4xf32>
// CHECK-NEXT:    func.return %[[TURNED]]
tile.program @rows_0(%x: !tile.view<4x5x6xf32>, %g: !tile.view<2x5xf32>, %y: !tile.view<5x4xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %m) extents [4, 5] steps [1, 5] {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %half = arith.divsi %b, %c2 : index
    %t = tile.load %x[%m, %c0] symbols(%b : index) {map = affine_map<(d0, d1)[s0] -> (s0, d0, d1)>} : !tile.view<4x5x6xf32> -> tensor<5x6xf32>
    %top = nd.max %t {axes = [1]} : tensor<5x6xf32> -> tensor<5xf32>
    %s = tile.load %g[%m] symbols(%half : index) {map = affine_map<(d0)[s0] -> (s0, d0)>} : !tile.view<2x5xf32> -> tensor<5xf32>
    %p = nd.mul %top, %s : tensor<5xf32>
    tile.store %p, %y[%m] symbols(%b : index) {map = affine_map<(d0)[s0] -> (d0, s0)>} : tensor<5xf32>, !tile.view<5x4xf32>
  }
}

func.func @rows(%x: tensor<4x5x6xf32>, %g: tensor<2x5xf32>) -> tensor<5x4xf32> {
  %y = kernel.launch @rows_0(%x, %g) : (tensor<4x5x6xf32>, tensor<2x5xf32>) -> tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

// A number that is data is an array of numbers, by which an array is gathered.
// CHECK-LABEL: func.func @groups
// CHECK:         %[[TAKEN:.*]] = nd.take %x, %g {axis = 0} : (tensor<3x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
// CHECK:         %[[GIVEN:.*]] = nd.where {{.*}}, %[[TAKEN]]
// CHECK-NEXT:    func.return %[[GIVEN]]
tile.program @groups_0(%x: !tile.view<3x5xf32>, %g: !tile.view<4xi32>, %y: !tile.view<4x5xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %m) extents [4, 5] steps [1, 5] {
    %group = tile.load_index %g[%b] {most = 3 : i64, least = -1 : i64} : !tile.view<4xi32>
    %t = tile.load %x[%m] symbols(%group : index) {map = affine_map<(d0)[s0] -> (s0, d0)>, checked = array<i64: 0>} : !tile.view<3x5xf32> -> tensor<5xf32>
    tile.store %t, %y[%m] symbols(%b : index) {map = affine_map<(d0)[s0] -> (s0, d0)>} : tensor<5xf32>, !tile.view<4x5xf32>
  }
}

func.func @groups(%x: tensor<3x5xf32>, %g: tensor<4xi32>) -> tensor<4x5xf32> {
  %y = kernel.launch @groups_0(%x, %g) : (tensor<3x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}

// Stores of parts of an array: one after the other is put where it belongs.
// CHECK-LABEL: func.func @halves
// CHECK:         %[[RIGHT:.*]] = nd.slice %x {starts = [0, 4], stops = [3, 8], steps = [1, 1]} : tensor<3x8xf32> -> tensor<3x4xf32>
// CHECK:         %[[LEFT:.*]] = nd.pad %[[RIGHT]], {{.*}} {low = [0, 0], high = [0, 4]}
// CHECK:         nd.pad {{.*}} {low = [0, 4], high = [0, 0]}
// CHECK:         nd.where {{.*}}, %[[LEFT]]
tile.program @halves_0(%x: !tile.view<3x8xf32>, %y: !tile.view<3x8xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [3] steps [3] {
    %c0 = arith.constant 0 : index
    %right = tile.load %x[%m, %c0] {map = affine_map<(d0, d1) -> (d0, d1 + 4)>} : !tile.view<3x8xf32> -> tensor<3x4xf32>
    tile.store %right, %y[%m, %c0] : tensor<3x4xf32>, !tile.view<3x8xf32>
    %left = tile.load %x[%m, %c0] : !tile.view<3x8xf32> -> tensor<3x4xf32>
    tile.store %left, %y[%m, %c0] {map = affine_map<(d0, d1) -> (d0, d1 + 4)>} : tensor<3x4xf32>, !tile.view<3x8xf32>
  }
}

func.func @halves(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %y = kernel.launch @halves_0(%x) : (tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// One element of each row, by a number of its own: of the row, those at other places are left out.
// CHECK-LABEL: func.func @picked
// CHECK:         %[[PLACES:.*]] = nd.broadcast {{.*}} {dims = [1]} : tensor<64xi32> -> tensor<8x64xi32>
// CHECK:         %[[NUMBERS:.*]] = nd.broadcast %l {dims = [0]} : tensor<8xi32> -> tensor<8x64xi32>
// CHECK:         %[[HERE:.*]] = nd.equal %[[PLACES]], %[[NUMBERS]]
// CHECK:         %[[CHOSEN:.*]] = nd.where %[[HERE]], %x
// CHECK:         nd.sum %[[CHOSEN]] {axes = [1]}
tile.program @picked_0(%x: !tile.view<8x64xf32>, %l: !tile.view<8xi32>, %y: !tile.view<8xf32>) {results = 1 : i64, config = #kernel.config<>} {
  tile.for_tiles (%m) extents [8] steps [1] {
    %j = tile.load_index %l[%m] {most = 64 : i64, least = -1 : i64} : !tile.view<8xi32>
    %0 = tile.load %x[] symbols(%m, %j : index, index) {map = affine_map<()[s0, s1] -> (s0, s1)>, checked = array<i64: 1>} : !tile.view<8x64xf32> -> tensor<f32>
    tile.store %0, %y[] symbols(%m : index) {map = affine_map<()[s0] -> (s0)>} : tensor<f32>, !tile.view<8xf32>
  }
}

func.func @picked(%x: tensor<8x64xf32>, %l: tensor<8xi32>) -> tensor<8xf32> {
  %y = kernel.launch @picked_0(%x, %l) : (tensor<8x64xf32>, tensor<8xi32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Tiles that are smaller are left alone.
// CHECK-LABEL: tile.program @small_0
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    kernel.launch @small_0
tile.program @small_0(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [32] {
    %t = tile.load %x[%m] : !tile.view<64xf32> -> tensor<32xf32>
    tile.store %t, %y[%m] : tensor<32xf32>, !tile.view<64xf32>
  }
}

func.func @small(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = kernel.launch @small_0(%x) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
