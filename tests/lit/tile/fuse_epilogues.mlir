// RUN: irc-opt %s -p fuse-epilogues | filecheck %s

// What is read beside the result is loaded at the store's places: an array of its shape, and one of columns. The operand is cast
// where it is read, as the function does. The result itself is not stored, since nobody else reads it.
// CHECK-LABEL: tile.program @scaled(%x: !tile.view<100x60xbf16>, %b: !tile.view<60xbf16>, %r: !tile.view<100x60xbf16>, %0: !tile.view<100x60xf32>) {results = 1 : i64}
// CHECK:         %[[X:.*]] = tile.load %x[%m, %n]
// CHECK:         %[[Y:.*]] = nd.neg %[[X]] : tensor<32x64xbf16>
// CHECK:         %[[WIDE:.*]] = nd.cast %[[Y]] : tensor<32x64xbf16> -> tensor<32x64xf32>
// CHECK:         %[[B:.*]] = tile.load %b[%n] {checked = array<i64: 0>} : !tile.view<60xbf16> -> tensor<64xbf16>
// CHECK:         %[[ROWS:.*]] = nd.broadcast %[[B]] {dims = [1]} : tensor<64xbf16> -> tensor<32x64xbf16>
// CHECK:         %[[COLUMN:.*]] = nd.cast %[[ROWS]]
// CHECK:         %[[SUM:.*]] = nd.add %[[WIDE]], %[[COLUMN]] : tensor<32x64xf32>
// CHECK:         %[[R:.*]] = tile.load %r[%m, %n] {checked = array<i64: 0, 1>} : !tile.view<100x60xbf16> -> tensor<32x64xbf16>
// CHECK:         %[[OTHER:.*]] = nd.cast %[[R]]
// CHECK:         %[[ALL:.*]] = nd.mul %[[SUM]], %[[OTHER]] : tensor<32x64xf32>
// CHECK:         tile.store %[[ALL]], %0[%m, %n] {checked = array<i64: 0, 1>} : tensor<32x64xf32>
// CHECK-NOT:     tile.store
// CHECK-LABEL: func.func @one
// CHECK-NEXT:    %[[LAUNCH:.*]] = kernel.launch @scaled(%x, %b, %r) : (tensor<100x60xbf16>, tensor<60xbf16>, tensor<100x60xbf16>) -> tensor<100x60xf32>
// CHECK-NEXT:    func.return %[[LAUNCH]]
tile.program @scaled(%x: !tile.view<100x60xbf16>, %y: !tile.view<100x60xbf16>) {results = 1 : i64} {
  tile.for_tiles (%m, %n) extents [100, 60] steps [32, 64] {
    %0 = tile.load %x[%m, %n] {checked = array<i64: 0, 1>} : !tile.view<100x60xbf16> -> tensor<32x64xbf16>
    %1 = nd.neg %0 : tensor<32x64xbf16>
    tile.store %1, %y[%m, %n] {checked = array<i64: 0, 1>} : tensor<32x64xbf16>, !tile.view<100x60xbf16>
  }
}

func.func @one(%x: tensor<100x60xbf16>, %b: tensor<60xbf16>, %r: tensor<100x60xbf16>) -> tensor<100x60xf32> {
  %y = kernel.launch @scaled(%x) : (tensor<100x60xbf16>) -> tensor<100x60xbf16>
  %0 = nd.cast %y : tensor<100x60xbf16> -> tensor<100x60xf32>
  %1 = nd.cast %b : tensor<60xbf16> -> tensor<60xf32>
  %2 = nd.broadcast %1 {dims = [1]} : tensor<60xf32> -> tensor<100x60xf32>
  %3 = nd.add %0, %2 : tensor<100x60xf32>
  %4 = nd.cast %r : tensor<100x60xbf16> -> tensor<100x60xf32>
  %5 = nd.mul %3, %4 : tensor<100x60xf32>
  func.return %5 : tensor<100x60xf32>
}

// Of two launches of a program one has an epilogue: it gets a program of its own. A number of a range stays a symbol. What
// a sum reads moves before the launch; the result, which the sum of another launch's result reads, is stored too.
// CHECK-LABEL: tile.program @rows(
// CHECK-LABEL: tile.program @rows_1(%x: !tile.view<4x8xf32>, %0: !tile.view<4xf32>, %y: !tile.view<4x8xf32>, %1: !tile.view<4x8xf32>) {results = 2 : i64}
// CHECK:         %[[T:.*]] = nd.exp
// CHECK-NEXT:    %[[ONE:.*]] = tile.load %0[] symbols(%b : index) {map = affine_map<()[s0] -> (s0)>} : !tile.view<4xf32> -> tensor<f32>
// CHECK-NEXT:    %[[ROW:.*]] = nd.broadcast %[[ONE]] {dims = []} : tensor<f32> -> tensor<8xf32>
// CHECK-NEXT:    %[[P:.*]] = nd.mul %[[T]], %[[ROW]] : tensor<8xf32>
// CHECK-NEXT:    tile.store %[[P]], %1[%n]
// CHECK-NEXT:    tile.store %[[T]], %y[%n]
// CHECK-LABEL: func.func @two
// CHECK-NEXT:    %0 = kernel.launch @rows(%x)
// CHECK-NEXT:    %1 = nd.sum %x
// CHECK-NEXT:    %2, %3 = kernel.launch @rows_1(%0, %1)
// CHECK-NEXT:    func.return %2, %3
tile.program @rows(%x: !tile.view<4x8xf32>, %y: !tile.view<4x8xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %n) extents [4, 8] steps [1, 8] {
    %0 = tile.load %x[%n] symbols(%b : index) {map = affine_map<(d0)[s0] -> (s0, d0)>} : !tile.view<4x8xf32> -> tensor<8xf32>
    %1 = nd.exp %0 : tensor<8xf32>
    tile.store %1, %y[%n] symbols(%b : index) {map = affine_map<(d0)[s0] -> (s0, d0)>} : tensor<8xf32>, !tile.view<4x8xf32>
  }
}

func.func @two(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.launch @rows(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = kernel.launch @rows(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %3 = nd.broadcast %2 {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
  %4 = nd.mul %1, %3 : tensor<4x8xf32>
  func.return %1, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A reduction computes its operand, places are not loaded, and what depends on the launch in another way is not there yet.
// CHECK-LABEL: func.func @none
// CHECK:         kernel.launch @columns(%x)
// CHECK:         nd.sub
// CHECK:         nd.sum
// CHECK:         nd.add
// CHECK:         nd.mul
tile.program @columns(%x: !tile.view<4x8xf32>, %y: !tile.view<4x8xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [4] steps [4] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %x[%m, %c0] : !tile.view<4x8xf32> -> tensor<4x8xf32>
    %1 = nd.exp %0 : tensor<4x8xf32>
    tile.store %1, %y[%m, %c0] : tensor<4x8xf32>, !tile.view<4x8xf32>
  }
}

func.func @none(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = kernel.launch @columns(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nd.sub %0, %x : tensor<4x8xf32>
  %2 = nd.sum %1 {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>
  %3 = nd.iota {axis = 1} : tensor<4x8xf32>
  %4 = nd.add %0, %3 : tensor<4x8xf32>
  %5 = nd.broadcast %2 {dims = [0]} : tensor<4xf32> -> tensor<4x8xf32>
  %6 = nd.mul %0, %5 : tensor<4x8xf32>
  func.return %2, %4, %6 : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
