// RUN: irc-opt %s -p lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p lower-to-cuda -t cuda | filecheck %s --check-prefix=SOURCE

// A named barrier for each warp group, numbered behind those of the partitions (1 and 2): 3 to 5 of the first partition's
// order, 6 and 7 of the second's. The last group arrives at the first one's to begin with; the first group meets the last
// turn that is passed on.
// CHECK:       cuda.kernel @groups
// CHECK:         [[GROUP:%[a-z0-9_]+]] = cuda.warp_uniform
// CHECK:         scf.if
// CHECK:           [[OWN:%[a-z0-9_]+]] = cuda.warp_uniform
// CHECK:           [[TWO:%[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT:      [[LAST:%[a-z0-9_]+]] = arith.cmpi eq, [[OWN]], [[TWO]] : index
// CHECK:           [[NEXT:%[a-z0-9_]+]] = arith.select [[LAST]]
// CHECK:           scf.if [[LAST]]
// CHECK-NEXT:        [[FIRST:%[a-z0-9_]+]] = arith.constant 3 : i32
// CHECK-NEXT:        cuda.named_arrive [[FIRST]] {threads = 256 : i64}
// CHECK:           scf.for
// CHECK-NEXT:        cuda.named_sync [[MINE:%[a-z0-9_]+]] {threads = 256 : i64}
// CHECK-NEXT:        cuda.named_arrive {{%[a-z0-9_]+}} {threads = 256 : i64}
// CHECK:           scf.if
// CHECK-NEXT:        cuda.named_sync [[MINE]] {threads = 256 : i64}
// CHECK:         } else {
// CHECK:           arith.constant 6 : i32
// CHECK-NEXT:      cuda.named_arrive

// SOURCE:      bar.arrive %0, %1;
// SOURCE:      bar.sync %0, %1;
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
  } @second warps 8 {
    %order_1 = tile.order
    %token_1 = tile.take %order_1
    tile.pass %token_1
  }
}
