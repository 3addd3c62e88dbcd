// RUN: irc-opt %s -p share-programs | filecheck %s

// @b is @a under another name; @c adds another number, @d has other extents.
// CHECK: tile.program @a
// CHECK-NOT: tile.program @b
// CHECK: tile.program @c
// CHECK: tile.program @d
tile.program @a(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.splat %one : f32 -> tensor<64xf32>
  tile.store %s, %y[%c0] : tensor<64xf32>, !tile.view<64xf32>
}
tile.program @b(%p: !tile.view<64xf32>, %q: !tile.view<64xf32>) {results = 1 : i64} {
  %zero = arith.constant 0 : index
  %number = arith.constant 1.0 : f32
  %tile = tile.splat %number : f32 -> tensor<64xf32>
  tile.store %tile, %q[%zero] : tensor<64xf32>, !tile.view<64xf32>
}
tile.program @c(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 2.0 : f32
  %s = tile.splat %one : f32 -> tensor<64xf32>
  tile.store %s, %y[%c0] : tensor<64xf32>, !tile.view<64xf32>
}
tile.program @d(%x: !tile.view<32xf32>, %y: !tile.view<32xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.splat %one : f32 -> tensor<32xf32>
  tile.store %s, %y[%c0] : tensor<32xf32>, !tile.view<32xf32>
}

// CHECK: %0 = kernel.launch @a(%x)
// CHECK: %1 = kernel.launch @a(%0)
// CHECK: %2 = kernel.launch @c(%1)
func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kernel.launch @a(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = kernel.launch @b(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = kernel.launch @c(%1) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %2 : tensor<64xf32>
}
