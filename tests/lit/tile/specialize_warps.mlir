// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps | filecheck %s
// RUN: irc-opt %S/Inputs/product.mlir -p place-operands,overlap-epilogue,stage-stores,assign-layouts,make-channels,specialize-warps | filecheck %s --check-prefix=TWO
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,make-channels,specialize-warps | filecheck %s --check-prefix=ALONE

// The producer keeps no accumulator, the consumer no copy; both walk over the same tiles.
// CHECK:       tile.partitions @load warps 4 registers 40 {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK:           scf.for %k = %c0 to %cK step %ck {
// CHECK-NEXT:        tile.acquire
// CHECK-NOT:         tile.dot
// CHECK:             tile.commit
// CHECK-NOT:     tile.store
// CHECK:       } @compute warps 8 registers 232 {
// CHECK-NEXT:    tile.for_tiles {{.*}} schedule "persistent" group 8
// CHECK-NOT:       tile.copy
// CHECK:           tile.wait
// CHECK:           tile.dot
// CHECK:           tile.release
// CHECK:           tile.store

// The schedule "pingpong" has two consumers of the same code.
// TWO:     tile.partitions @load warps 4 registers 40 {
// TWO-NOT:   tile.write
// TWO:     } @compute_0 warps 4 registers 232 {
// TWO:       tile.for_tiles {{.*}} cluster [2, 2] {
// TWO:         tile.write
// TWO:     } @compute_1 warps 4 registers 232 {
// TWO:       tile.for_tiles {{.*}} cluster [2, 2] {
// TWO:         tile.store_wait

// ALONE-NOT: tile.partitions
// ALONE:     tile.store
