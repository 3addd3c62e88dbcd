// RUN: irc-opt %S/Inputs/product.mlir -p place-operands,overlap-epilogue,stage-stores,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,take-turns,await-dots | filecheck %s
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,take-turns | filecheck %s --check-prefix=ALONE

// Two consumers take turns: each skips the 8 stages of the other's tile, and waits until the other has had them.
// CHECK:     tile.partitions @load warps 4 registers 40 {
// CHECK-NOT:   tile.write
// CHECK:     } @compute_0 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] turn [0, 2]
// CHECK-NOT:     tile.skip
// CHECK:         tile.begin_turn {{.*}} {turn = array<i64: 0, 2>}
// CHECK:         scf.for
// CHECK:         tile.end_turn
// CHECK-NEXT:    tile.dot_wait
// CHECK-NEXT:    tile.release
// CHECK:         tile.write
// CHECK:         [[STAGES:%[0-9]+]] = arith.constant 8 : index
// CHECK-NEXT:    tile.skip {{.*}} by [[STAGES]]
// CHECK:     } @compute_1 warps 4 registers 232 {
// CHECK:       tile.for_tiles {{.*}} cluster [2, 2] turn [1, 2]
// CHECK:         [[OTHERS:%[0-9]+]] = arith.constant 8 : index
// CHECK-NEXT:    tile.skip {{.*}} by [[OTHERS]]
// CHECK-NEXT:    tile.begin_turn {{.*}} {turn = array<i64: 1, 2>}
// CHECK-NOT:     tile.skip
// CHECK:         tile.store_wait

// A program of one consumer is left alone.
// ALONE-NOT: begin_turn
// ALONE:     tile.store
