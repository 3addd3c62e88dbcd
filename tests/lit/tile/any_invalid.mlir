// Votes: each warp takes a branch by the elements of its own threads.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

tile.program @p(%x: !tile.view<4x1xf32>) {results = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %a = tile.splat %zero : f32 -> tensor<4x1xf32>
  // expected-error @below {{elements of type i1, found f32}}
  %any = tile.any %a : tensor<4x1xf32> -> i1
}

// -----

// Warps may vote differently: a vote is no number of the block.
tile.program @p(%x: !tile.view<4x1xf32>) {results = 1 : i64} {
  %yes = arith.constant true
  %a = tile.splat %yes : i1 -> tensor<4x1xi1>
  // expected-error @below {{expected a vote to be the condition of branches, found arith.andi}}
  %any = tile.any %a : tensor<4x1xi1> -> i1
  %both = arith.andi %any, %yes : i1
}

// -----

// In the branch, other warps may be missing.
tile.program @p(%x: !tile.view<4x1xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %order = tile.order
    %yes = arith.constant true
    %a = tile.splat %yes : i1 -> tensor<4x1xi1>
    %any = tile.any %a : tensor<4x1xi1> -> i1
    scf.if %any {
      // expected-error @below {{expected ops within threads in a branch on a vote, found tile.take}}
      %token = tile.take %order
      tile.pass %token
    }
  }
}

// -----

// A scalar would be another one in each warp.
tile.program @p(%x: !tile.view<4x1xf32>) {results = 1 : i64} {
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %a = tile.splat %yes : i1 -> tensor<4x1xi1>
  %any = tile.any %a : tensor<4x1xi1> -> i1
  // expected-error @below {{expected tiles as results of a branch on a vote, found f32}}
  %s = scf.if %any -> (f32) {
    scf.yield %zero : f32
  } else {
    scf.yield %one : f32
  }
}

// -----

// The rows of a thread are those that it votes on.
#rows = #tile.fragment<((32),(1)):((1),(0))>
#across = #tile.fragment<((32),(32)):((32),(1))>
tile.program @p(%x: !tile.view<32x32xf32>) {results = 1 : i64} {
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %a = tile.splat %yes : i1 -> tensor<32x1xi1, #rows>
  %b = tile.splat %zero : f32 -> tensor<32x32xf32, #across>
  // expected-error @below {{expected a fragment that is the projection}}
  %any = tile.any %a : tensor<32x1xi1, #rows> -> i1
  %c = scf.if %any -> (tensor<32x32xf32, #across>) {
    scf.yield %b : tensor<32x32xf32, #across>
  } else {
    scf.yield %b : tensor<32x32xf32, #across>
  }
}
