// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda | filecheck %s
// RUN: irc-opt %s -p plan-shared,lower-schedule,lower-to-cuda -t cuda | filecheck %s --check-prefix=SOURCE
// RUN: sed 's/@second warps 8/@second warps 44/' %s | not irc-opt - -p plan-shared,lower-schedule,lower-to-cuda 2>&1 | filecheck %s --check-prefix=MANY

// A named barrier for each warp group, numbered behind those of the partitions (1 and 2): 3 to 5 of the first partition's
// order, 6 and 7 of the second's. The last group arrives at the first one's to begin with; the first group meets the last
// turn that is passed on.
// CHECK:       cuda.kernel @groups
// CHECK:         [[GROUP:%[0-9]+]] = cuda.warp_uniform
// CHECK:         scf.if
// CHECK:           [[OWN:%[0-9]+]] = cuda.warp_uniform
// CHECK:           [[TWO:%[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT:      [[LAST:%[0-9]+]] = arith.cmpi eq, [[OWN]], [[TWO]] : index
// CHECK:           [[NEXT:%[0-9]+]] = arith.select [[LAST]]
// CHECK:           scf.if [[LAST]]
// CHECK-NEXT:        [[FIRST:%[0-9]+]] = arith.constant 3 : i32
// CHECK-NEXT:        cuda.named_arrive [[FIRST]] {threads = 256 : i64}
// CHECK:           scf.for
// CHECK-NEXT:        cuda.named_sync [[MINE:%[0-9]+]] {threads = 256 : i64}
// CHECK-NEXT:        cuda.named_arrive {{%[0-9]+}} {threads = 256 : i64}
// CHECK:           scf.if
// CHECK-NEXT:        cuda.named_sync [[MINE]] {threads = 256 : i64}
// CHECK:         } else {
// CHECK:           arith.constant 6 : i32
// CHECK-NEXT:      cuda.named_arrive

// SOURCE:      bar.sync %0, %1;
// SOURCE:      bar.arrive %0, %1;

// MANY: error: the partitions and the orders of their warp groups need 17 barriers, a block has 16
tile.program @groups(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) {results = 1 : i64, threads = 128 : i64} {
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
    %order = tile.order
    %token = tile.take %order
    tile.pass %token
  }
}
