// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,overlap-epilogue,stage-stores | filecheck %s
// RUN: irc-opt %S/Inputs/product.mlir -p place-operands,overlap-epilogue,stage-stores | filecheck %s --check-prefix=MIXED
// RUN: irc-opt %S/Inputs/softmax.mlir -p stage-stores | filecheck %s --check-prefix=ALONE

// Two subtiles take turns in a buffer of two; the one stored before the last is waited for.
// CHECK:       [[BUFFER:%[0-9]+]] = tile.alloc : !tile.buffer<128x128xbf16>
// CHECK:       scf.for %column
// CHECK:         tile.store_wait {pending = 1 : i64}
// CHECK:         [[AT:%[0-9]+]] = arith.remui %column, {{%[0-9]+}} : index
// CHECK-NEXT:    [[PART:%[0-9]+]] = tile.subview [[BUFFER]][{{%[0-9]+}}, [[AT]]]
// CHECK-NEXT:    tile.write %o, [[PART]]
// CHECK-NEXT:    tile.store [[PART]], %y[%m, {{%[0-9]+}}] : !tile.buffer<128x64xbf16>, !tile.view<512x512xbf16>
// CHECK-NEXT:  } {unroll}
// CHECK-NEXT: }
// CHECK-NEXT: tile.store_wait

// A row of a subtile is at most 128 bytes of any result. Left alone: the store along columns.
// MIXED:     tile.alloc : !tile.buffer<128x64xbf16>
// MIXED:     tile.store_wait {pending = 1 : i64}
// MIXED:     tile.write %o
// MIXED:     tile.store {{.*}} : tensor<128x32xf32>
// MIXED:     tile.store {{.*}} : !tile.buffer<128x32xbf16>

// Left alone: no product.
// ALONE-NOT: tile.store_wait
// ALONE:     tile.store
