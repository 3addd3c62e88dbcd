// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,pipeline | filecheck %s
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,pipeline | filecheck %s --check-prefix=ALONE

// CHECK:       [[RING:%[0-9]+]] = tile.ring {stages = 4 : i64}
// CHECK-NOT:   tile.alloc
// CHECK:       [[ACC:%[0-9]+]] = scf.for
// CHECK:         tile.acquire [[RING]]
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK-NEXT:    tile.commit [[RING]]
// CHECK-NEXT:    {{.*}} = tile.wait [[RING]]
// CHECK-NEXT:    tile.dot {{.*}} in_flight = 1 : i64
// CHECK-NEXT:    [[LATER:%[0-9]+]] = arith.cmpi ugt, %k, %c0 : index
// CHECK-NEXT:    scf.if [[LATER]] {
// CHECK-NEXT:      tile.release [[RING]] {lag = 1 : i64}
// CHECK:       tile.dot_wait [[ACC]]
// CHECK-NEXT:  tile.release [[RING]]

// ALONE-NOT: tile.ring
// ALONE:     tile.store
