// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,await-dots | filecheck %s
// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,slice-dots,narrow-maps,assign-layouts,make-channels,specialize-warps,schedule-loops,expand-schedule,await-dots | filecheck %s --check-prefix=PARTS
// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,await-dots | filecheck %s --check-prefix=PLAIN

// A dot whose result is only carried stays in flight: the stage of the iteration before is released behind an await.
// CHECK:       [[NONE:%[0-9]+]] = tile.no_slot
// CHECK:       [[ACC:%[a-z0-9_]+]], [[LAST:%[a-z0-9_]+]] = scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[PREVIOUS:%[a-z0-9_]+]] = [[NONE]])
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait
// CHECK:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[BEFORE]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.await [[BEFORE]]
// CHECK-NEXT:    tile.release [[PREVIOUS]]
// CHECK-NEXT:    scf.yield [[SUM]], [[SLOT]]
// CHECK:       tile.dot_wait [[ACC]]
// CHECK-NEXT:  tile.release [[LAST]]

// Dots on parts of K leave all but one in flight; the next step reads before it waits for the first.
// PARTS-LABEL: @streamed
// PARTS:         } {
// PARTS:         tile.wait
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

// Where the stage is released at once, so is the dot waited for.
// PLAIN:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}} -> !tile.pending
// PLAIN-NEXT:    [[DONE:%[a-z0-9_]+]] = tile.dot_wait [[SUM]]
// PLAIN-NEXT:    tile.release
// PLAIN-NEXT:    scf.yield [[DONE]]
