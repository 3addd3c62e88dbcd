// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps | filecheck %s
// RUN: irc-opt %S/Inputs/product.mlir -p place-operands,overlap-epilogue,stage-stores,assign-layouts,make-channels,specialize-warps | filecheck %s --check-prefix=TURNS
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,make-channels,specialize-warps | filecheck %s --check-prefix=ALONE

// The producer keeps no accumulator, the consumer no copy; both walk over the same tiles.
// CHECK:       tile.roles warps [4, 8] registers [40, 232] {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK:           scf.for %k = %c0 to %cK step %ck {
// CHECK-NEXT:        tile.acquire
// CHECK-NOT:         tile.dot
// CHECK:             tile.commit
// CHECK-NOT:     tile.store
// CHECK:       } {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK-NOT:       tile.copy
// CHECK:           tile.wait
// CHECK:           tile.dot
// CHECK:           tile.release
// CHECK:           tile.store

// Two consumers take turns: each skips the 8 stages of the other's tile, and waits until the other has had them.
// TURNS:     tile.roles warps [4, 4, 4] registers [40, 232, 232] {
// TURNS-NOT:   tile.write
// TURNS:     } {
// TURNS:       tile.for_tiles {{.*}} cluster [2, 2] turn [0, 2]
// TURNS-NOT:     tile.skip
// TURNS:         tile.begin_turn {{.*}} {turn = array<i64: 0, 2>}
// TURNS-NEXT:    scf.for
// TURNS:         tile.end_turn
// TURNS-NEXT:    tile.dot_wait
// TURNS-NEXT:    tile.release
// TURNS:         tile.write
// TURNS:         tile.skip {{.*}} {count = 8 : i64}
// TURNS:     } {
// TURNS:       tile.for_tiles {{.*}} cluster [2, 2] turn [1, 2]
// TURNS:         tile.skip {{.*}} {count = 8 : i64}
// TURNS-NEXT:    tile.begin_turn {{.*}} {turn = array<i64: 1, 2>}
// TURNS-NOT:     tile.skip
// TURNS:         tile.store_wait

// ALONE-NOT: tile.roles
// ALONE:     tile.store
