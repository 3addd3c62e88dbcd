// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,specialize-warps,plan-shared --split-input-file | filecheck %s
// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,specialize-warps,plan-shared,lower-schedule,lower-to-cuda --split-input-file | filecheck %s --check-prefix=CUDA
// RUN: irc-opt %s --arch sm_80 -p place-operands,slice-dots,assign-layouts,make-channels --split-input-file | filecheck %s --check-prefix=SLICED

// Two stages are filled before the loop; each iteration waits for one and begins to fill the one read before it, with
// any step behind the end of K. The rows of w begin at any element, so that it passes through registers: it is loaded before the product
// and written after it.

// CHECK-LABEL: tile.program @staged
// CHECK:       [[CHANNEL:%[0-9]+]] = tile.channel {stages = 3 : i64, in_step, offset = 0 : i64}
// CHECK-NOT:   tile.partitions
// CHECK-COUNT-2: tile.commit
// CHECK:       scf.for %k = {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = {{%[a-z0-9_]+}}, [[PREVIOUS:%[a-z0-9_]+]] =
// CHECK-NEXT:    [[SLOT:%[a-z0-9_]+]], [[LHS:%[a-z0-9_]+]], [[RHS:%[a-z0-9_]+]] = tile.wait [[CHANNEL]]
// CHECK-NEXT:    tile.release [[PREVIOUS]]
// CHECK-NEXT:    [[FILLED:%[a-z0-9_]+]], [[A:%[a-z0-9_]+]], [[B:%[a-z0-9_]+]] = tile.acquire [[CHANNEL]]
// CHECK:         [[INSIDE:%[0-9]+]] = arith.cmpi ult, [[AT:%[0-9]+]], %cK : index
// CHECK-NEXT:    [[CLAMPED:%[0-9]+]] = arith.select [[INSIDE]], [[AT]], %k : index
// CHECK:         [[W:%[a-z0-9_]+]] = tile.load %w{{.*}}[[CLAMPED]]
// CHECK-NEXT:    tile.copy %x[%c0, [[CLAMPED]]] -> [[A]] {via = "cp_async"}
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot [[LHS]], [[RHS]], [[ACC]] {instruction = "mma", atom = "m16n8k16"}
// CHECK-NEXT:    tile.write [[W]], [[B]]
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    scf.yield [[SUM]], [[SLOT]]
// CHECK:       tile.skip [[CHANNEL]] {count = 2 : i64}

// CUDA-LABEL: cuda.kernel @staged
// CUDA:       cuda.cp_async
// CUDA-NOT:   cuda.barrier_init
// CUDA:       scf.for
// CUDA:         cuda.cp_async_wait {pending = 1 : i64}
// CUDA-NEXT:    cuda.sync
// CUDA:         cuda.cp_async
// CUDA:         cuda.ldmatrix
// CUDA:         cuda.mma
// CUDA-NOT:     cuda.sync
// CUDA:         cuda.cp_async_commit
// CUDA:       cuda.cp_async_wait

// Of dots on halves of a step, the first is before the copies.
// SLICED-LABEL: tile.program @staged
// SLICED:       scf.for %k
// SLICED-NEXT:    {{%[a-z0-9_]+}}, [[LHS:%[a-z0-9_]+]], [[RHS:%[a-z0-9_]+]] = tile.wait
// SLICED:         tile.load %w
// SLICED:         tile.subview [[LHS]] {at = array<i64: 0, 0>}
// SLICED:         tile.dot
// SLICED-NEXT:    tile.copy %x
// SLICED-NEXT:    tile.subview [[LHS]] {at = array<i64: 0, 16>}
// SLICED-NEXT:    tile.subview [[RHS]] {at = array<i64: 16, 0>}
// SLICED-NEXT:    tile.dot
// SLICED-NEXT:    tile.write
// SLICED-LABEL: tile.program @alone
// SLICED-NOT:   tile.subview
tile.program @staged(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x63xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 3, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] {checked = array<i64: 1>} : !tile.view<256x63xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}

// -----

// One stage asks for no channel: operands are written, then multiplied.

// CHECK-LABEL: tile.program @alone
// CHECK-NOT:   tile.channel
// CHECK:       tile.write
// CHECK:       tile.write
// CHECK-NEXT:  tile.dot
// CUDA-LABEL: cuda.kernel @alone
// CUDA-NOT:   cp_async
tile.program @alone(%x: !tile.view<64x256xbf16>, %w: !tile.view<256x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 1, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%k, %c0] : !tile.view<256x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
