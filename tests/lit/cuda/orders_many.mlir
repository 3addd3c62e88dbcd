// RUN: not irc-opt %s -p lower-to-cuda 2>&1 | filecheck %s

// CHECK: error: the partitions and the orders of their warp groups need 17 barriers, a block has 16
tile.program @groups(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 1 : i64, threads = 128 : i64, shared = 0 : i64, grid = 1 : i64} {
  tile.partitions @first warps 12 {
    %order = tile.order
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %token = tile.take %order
      tile.pass %token
    }
  } @second warps 44 {
    %order_1 = tile.order
    %token_1 = tile.take %order_1
    tile.pass %token_1
  }
}
