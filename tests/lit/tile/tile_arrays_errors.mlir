// RUN: irc-opt %s -p tile-arrays --split-input-file --verify-diagnostics

tile.program @sorted(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [64] steps [64] {
    %0 = tile.load %x[%m] : !tile.view<64xf32> -> tensor<64xf32>
    // expected-error @+1 {{nd.sort is not computed of tiles so far}}
    %1 = nd.sort %0 {axis = 0} : tensor<64xf32>
    tile.store %1, %y[%m] : tensor<64xf32>, !tile.view<64xf32>
  }
}

// -----

tile.program @batches(%x: !tile.view<2x64x64xf32>, %y: !tile.view<2x64x64xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %m) extents [2, 64] steps [2, 64] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %x[%b, %m, %c0] : !tile.view<2x64x64xf32> -> tensor<2x64x64xf32>
    // expected-error @+1 {{a product of tiles is one of matrices}}
    %1 = nd.matmul %0, %0 {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    tile.store %1, %y[%b, %m, %c0] : tensor<2x64x64xf32>, !tile.view<2x64x64xf32>
  }
}

// -----

tile.program @reshaped(%x: !tile.view<60xf32>, %y: !tile.view<30x2xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [1] steps [1] {
    %c0 = arith.constant 0 : index
    %0 = tile.load %x[%c0] : !tile.view<60xf32> -> tensor<60xf32>
    // expected-error @+1 {{a tile is not reshaped where its extents are no powers of two}}
    %1 = nd.reshape %0 : tensor<60xf32> -> tensor<30x2xf32>
    tile.store %1, %y[%c0, %c0] : tensor<30x2xf32>, !tile.view<30x2xf32>
  }
}
