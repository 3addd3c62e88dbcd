// RUN: irc-opt %s -p raise-programs --split-input-file --verify-diagnostics

tile.program @bounds_0(%x: !tile.view<4x8xf32>, %y: !tile.view<4xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = nd.constant 0.0 : tensor<f32>
    // expected-error @+1 {{a loop whose bounds depend on the number of another one has no meaning as an op on whole arrays}}
    %sum = scf.for %k = %c0 to %m step %c1 iter_args(%acc = %zero) -> (tensor<f32>) {
      %a = tile.load %x[] symbols(%m, %k : index, index) {map = affine_map<()[s0, s1] -> (s0, s1)>} : !tile.view<4x8xf32> -> tensor<f32>
      %next = nd.add %acc, %a : tensor<f32>
      scf.yield %next : tensor<f32>
    }
    tile.store %sum, %y[] symbols(%m : index) {map = affine_map<()[s0] -> (s0)>} : tensor<f32>, !tile.view<4xf32>
  }
}

func.func @bounds(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = kernel.launch @bounds_0(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

tile.program @data_0(%x: !tile.view<4x8xf32>, %l: !tile.view<4xi32>, %y: !tile.view<4xf32>) {results = 1 : i64} {
  tile.for_tiles (%m) extents [4] steps [1] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = nd.constant 0.0 : tensor<f32>
    // expected-error @+1 {{a loop that ends where data says has no meaning as an op on whole arrays}}
    %length = tile.load_index %l[%m] {most = 8 : i64} : !tile.view<4xi32>
    %sum = scf.for %k = %c0 to %length step %c1 iter_args(%acc = %zero) -> (tensor<f32>) {
      %a = tile.load %x[] symbols(%m, %k : index, index) {map = affine_map<()[s0, s1] -> (s0, s1)>} : !tile.view<4x8xf32> -> tensor<f32>
      %next = nd.add %acc, %a : tensor<f32>
      scf.yield %next : tensor<f32>
    }
    tile.store %sum, %y[] symbols(%m : index) {map = affine_map<()[s0] -> (s0)>} : tensor<f32>, !tile.view<4xf32>
  }
}

func.func @data(%x: tensor<4x8xf32>, %l: tensor<4xi32>) -> tensor<4xf32> {
  %y = kernel.launch @data_0(%x, %l) : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

tile.program @again_0(%x: !tile.view<4x8xf32>, %y: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%b, %n) extents [4, 8] steps [1, 8] {
    %t = tile.load %x[%n] symbols(%b : index) {map = affine_map<(d0)[s0] -> (s0, d0)>} : !tile.view<4x8xf32> -> tensor<8xf32>
    // expected-error @+1 {{a store of several tiles to one place has no meaning as an op on whole arrays}}
    tile.store %t, %y[%n] : tensor<8xf32>, !tile.view<8xf32>
  }
}

func.func @again(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %y = kernel.launch @again_0(%x) : (tensor<4x8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

tile.program @diagonal_0(%x: !tile.view<4x4xf32>, %y: !tile.view<4xf32>) {results = 1 : i64} {
  tile.for_tiles (%b) extents [4] steps [1] {
    // expected-error @+1 {{a tile along a diagonal has no meaning as an op on whole arrays}}
    %t = tile.load %x[] symbols(%b : index) {map = affine_map<()[s0] -> (s0, s0)>} : !tile.view<4x4xf32> -> tensor<f32>
    tile.store %t, %y[] symbols(%b : index) {map = affine_map<()[s0] -> (s0)>} : tensor<f32>, !tile.view<4xf32>
  }
}

func.func @diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %y = kernel.launch @diagonal_0(%x) : (tensor<4x4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
