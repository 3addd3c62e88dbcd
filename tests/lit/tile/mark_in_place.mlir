// RUN: irc-opt %s -p mark-in-place | filecheck %s

func.func @f(%x: tensor<8xf32> {irc.donated = 0 : i64}, %y: tensor<8xf32>) -> tensor<8xf32> {
  %z = kernel.launch @update(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = kernel.launch @shift(%z) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// %y does not reach the store.
// CHECK: tile.program @update
// CHECK-SAME: in_place = array<i64: 0, 2>
tile.program @update(%x: !tile.view<8xf32>, %y: !tile.view<8xf32>, %r: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %a = tile.load %x[%i] : !tile.view<8xf32> -> tensor<8xf32>
    %b = tile.load %y[%i] : !tile.view<8xf32> -> tensor<8xf32>
    tile.store %a, %r[%i] : tensor<8xf32>, !tile.view<8xf32>
  }
}

// Loaded elsewhere than it is stored.
// CHECK: tile.program @shift
// CHECK-NOT: in_place
tile.program @shift(%x: !tile.view<8xf32>, %r: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %a = tile.load %x[%i] {map = affine_map<(d0) -> (7 - d0)>} : !tile.view<8xf32> -> tensor<8xf32>
    tile.store %a, %r[%i] : tensor<8xf32>, !tile.view<8xf32>
  }
}

// No function that launches it has donated arguments.
// CHECK: tile.program @other
// CHECK-NOT: in_place
tile.program @other(%x: !tile.view<8xf32>, %r: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %a = tile.load %x[%i] : !tile.view<8xf32> -> tensor<8xf32>
    tile.store %a, %r[%i] : tensor<8xf32>, !tile.view<8xf32>
  }
}
