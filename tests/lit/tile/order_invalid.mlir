// The protocol of orders: a warp group takes the token and passes it on, once on every path; else the others wait for
// ever.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

// A token is passed on.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %order = tile.order
    // expected-error @below {{the token is never passed}}
    %token = tile.take %order
  }
}

// -----

// It is passed on once.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %order = tile.order
    %token = tile.take %order
    tile.pass %token
    // expected-error @below {{expected the oldest of the tokens that are held}}
    tile.pass %token
  }
}

// -----

// A group that has the token would wait for itself.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %order = tile.order
    %a = tile.take %order
    // expected-error @below {{would hold 2 tokens of an order that has 1}}
    %b = tile.take %order
    tile.pass %a
    tile.pass %b
  }
}

// -----

// Both sides of a branch pass it on.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %no = arith.cmpi eq, %c0, %c1 : index
    %order = tile.order
    %token = tile.take %order
    // expected-error @below {{only some paths have passed the token}}
    scf.if %no {
      tile.pass %token
    }
  }
}

// -----

// Every iteration passes it on, or hands it on to the next one.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 8 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %order = tile.order
    // expected-error @below {{an iteration ends with other tokens held than it begins with}}
    scf.for %i = %c0 to %c8 step %c1 {
      %token = tile.take %order
    }
  }
}

// -----

// One warp group has nobody to take turns with.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  tile.partitions @compute warps 4 {
    // expected-error @below {{expected a partition of two warp groups or more, found 1}}
    %order = tile.order
  }
}

// -----

// An order is one of warp groups that run the same code.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  // expected-error @below {{expected an order in the code of a partition}}
  %order = tile.order
}
