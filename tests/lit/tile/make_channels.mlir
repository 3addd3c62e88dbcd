// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels | filecheck %s
// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,slice-dots,narrow-maps,assign-layouts,make-channels | filecheck %s --check-prefix=PARTS
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,make-channels | filecheck %s --check-prefix=ALONE

// CHECK:       [[CHANNEL:%[0-9]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:   tile.alloc
// CHECK:       [[NONE:%[0-9]+]] = tile.no_slot
// CHECK:       [[ACC:%[a-z0-9_]+]], [[LAST:%[a-z0-9_]+]] = scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[PREVIOUS:%[a-z0-9_]+]] = [[NONE]])
// CHECK:         [[FILLED:%[a-z0-9_]+]], {{.*}} = tile.acquire [[CHANNEL]]
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait [[CHANNEL]]
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[BEFORE]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.await [[BEFORE]]
// CHECK-NEXT:    tile.release [[PREVIOUS]]
// CHECK-NEXT:    scf.yield [[SUM]], [[SLOT]]
// CHECK:       tile.dot_wait [[ACC]]
// CHECK-NEXT:  tile.release [[LAST]]

// ALONE-NOT: tile.channel
// ALONE:     tile.store

// Dots on parts of K leave all but one in flight; the stage of the step before is released after the last of them, which
// the next step waits for when it has read.
// PARTS-LABEL: @streamed
// PARTS:         [[CHANNEL:%[0-9]+]] = tile.channel {stages = 2 : i64}
// PARTS:         tile.commit
// PARTS-NEXT:    {{.*}} = tile.wait [[CHANNEL]]
// PARTS-NOT:     tile.map
// PARTS:         tile.read
// PARTS:         tile.await [[FIRST:%[a-z0-9_]+]]
// PARTS-NEXT:    [[A:%a]] = tile.map
// PARTS:         [[HALF:%[a-z0-9_]+]] = tile.dot [[A]], {{%[0-9]+}}, [[ACC:%[a-z0-9_]+]] {instruction = "wgmma"}
// PARTS-NEXT:    tile.await [[ACC]]
// PARTS:         tile.dot {{.*}}, [[HALF]] {instruction = "wgmma"}
// PARTS-NEXT:    tile.release
// PARTS-NEXT:    scf.yield
// PARTS:         tile.dot_wait
// PARTS-NEXT:    tile.release
