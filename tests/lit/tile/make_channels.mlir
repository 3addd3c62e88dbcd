// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels | filecheck %s
// RUN: irc-opt %S/Inputs/streamed.mlir -p place-operands,slice-dots,narrow-maps,assign-layouts,make-channels | filecheck %s --check-prefix=PARTS
// RUN: irc-opt %S/Inputs/softmax.mlir -p assign-layouts,make-channels | filecheck %s --check-prefix=ALONE

// CHECK:       [[CHANNEL:%[0-9]+]] = tile.channel {stages = 4 : i64}
// CHECK-NOT:   tile.alloc
// CHECK:       scf.for {{.*}} iter_args([[BEFORE:%[a-z0-9_]+]] = {{%[a-z0-9_]+}})
// CHECK:         [[FILLED:%[a-z0-9_]+]], {{.*}} = tile.acquire [[CHANNEL]]
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK:         tile.copy
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait [[CHANNEL]]
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[BEFORE]] {instruction = "wgmma"}
// CHECK-NEXT:    tile.release [[SLOT]] after [[SUM]]
// CHECK-NEXT:    scf.yield [[SUM]]

// ALONE-NOT: tile.channel
// ALONE:     tile.store

// Dots on parts of K are one chain: what they read is released behind the last of them.
// PARTS-LABEL: @streamed
// PARTS:         [[CHANNEL:%[0-9]+]] = tile.channel {stages = 2 : i64}
// PARTS:         tile.commit
// PARTS-NEXT:    [[SLOT:%slot[0-9_]*]], {{.*}} = tile.wait [[CHANNEL]]
// PARTS-NOT:     tile.map
// PARTS:         tile.read
// PARTS:         [[A:%a]] = tile.map
// PARTS:         [[HALF:%[a-z0-9_]+]] = tile.dot [[A]]
// PARTS-NOT:     tile.release
// PARTS:         [[SUM:%[a-z0-9_]+]] = tile.dot {{.*}}, [[HALF]] {instruction = "wgmma"}
// PARTS-NEXT:    tile.release [[SLOT]] after [[SUM]]
// PARTS-NEXT:    scf.yield
