// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,pipeline | filecheck %s
// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,slice-dots,narrow-maps,assign-layouts,pipeline | filecheck %s --check-prefix=PARTS
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,pipeline | filecheck %s --check-prefix=ALONE

// CHECK:       [[CHANNEL:%[0-9]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:   tile.alloc
// CHECK:       [[ACC:%[0-9]+]] = scf.for
// CHECK:         tile.acquire [[CHANNEL]]
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK-NEXT:    tile.commit [[CHANNEL]]
// CHECK-NEXT:    {{.*}} = tile.wait [[CHANNEL]]
// CHECK-NEXT:    tile.dot {{.*}} in_flight = 1 : i64
// CHECK-NEXT:    [[LATER:%[0-9]+]] = arith.cmpi ugt, %k, %c0 : index
// CHECK-NEXT:    scf.if [[LATER]] {
// CHECK-NEXT:      tile.release [[CHANNEL]] {lag = 1 : i64}
// CHECK:       tile.dot_wait [[ACC]]
// CHECK-NEXT:  tile.release [[CHANNEL]]

// ALONE-NOT: tile.channel
// ALONE:     tile.store

// Dots on parts of K leave all but one in flight; the stage of the step before is released after the last of them, which
// the next step waits for when it has read.
// PARTS-LABEL: @streamed
// PARTS:         [[CHANNEL:%[0-9]+]] = tile.channel {stages = 2 : i64}
// PARTS:         tile.commit [[CHANNEL]]
// PARTS-NEXT:    {{.*}} = tile.wait [[CHANNEL]]
// PARTS-NOT:     tile.map
// PARTS:         tile.read
// PARTS:         [[READY:%[0-9]+]] = tile.dot_wait %acc {pending = 1 : i64}
// PARTS-NEXT:    [[A:%a]] = tile.map
// PARTS:         tile.dot [[A]], {{%[0-9]+}}, [[READY]] {instruction = "wgmma", in_flight = 1 : i64}
// PARTS:         tile.dot {{.*}} in_flight = 2 : i64
// PARTS-NEXT:    arith.cmpi
// PARTS:           tile.release [[CHANNEL]] {lag = 1 : i64}
// PARTS:         tile.dot_wait
// PARTS-NEXT:    tile.release [[CHANNEL]]
