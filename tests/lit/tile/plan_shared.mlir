// RUN: irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,plan-shared | filecheck %s
// RUN: irc-opt %s -p plan-shared | filecheck %s --check-prefix=ALLOC
// RUN: not irc-opt %S/Inputs/gating.mlir -p merge-dots,place-operands,assign-layouts,make-channels,specialize-warps,plan-shared --arch sm_89 2>&1 | filecheck %s --check-prefix=LARGE

// CHECK: shared = 197632 : i64
// CHECK: tile.channel {stages = 4 : i64, offset = 0 : i64}

// LARGE: needs 197632 bytes of shared memory for its buffers, sm_89 has 101376 a block
// LARGE: fewer stages or smaller tiles

// ALLOC: shared = 4096 : i64
// ALLOC: tile.alloc {offset = 0 : i64}
// ALLOC: tile.alloc {offset = 2048 : i64}
tile.program @buffers(%x: !tile.view<32x32xf32>) {results = 0 : i64} {
  %a = tile.alloc : !tile.buffer<16x32xf32, #tile.shared<(16,32):(32,1)>>
  %b = tile.alloc : !tile.buffer<16x32xf32, #tile.shared<(16,32):(32,1)>>
}
