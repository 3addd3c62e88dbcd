// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,specialize-warps,plan-shared --split-input-file | filecheck %s
// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,schedule-loops,expand-schedule,plan-shared,lower-schedule,lower-to-cuda --split-input-file | filecheck %s --check-prefixes=CUDA,AHEAD
// RUN: irc-opt %s --arch sm_80 -p place-operands,assign-layouts,make-channels,plan-shared,lower-schedule,lower-to-cuda --split-input-file | filecheck %s --check-prefixes=CUDA,ORDER

// A stage is filled, then read. The rows of w begin at any element, so that it passes through registers.

// CHECK-LABEL: tile.program @staged
// CHECK:       [[CHANNEL:%[0-9]+]] = tile.channel {stages = 3 : i64, in_step, offset = 0 : i64}
// CHECK-NOT:   tile.partitions
// CHECK-NOT:   tile.alloc
// CHECK:       scf.for %k = {{.*}} iter_args([[ACC:%[a-z0-9_]+]] = {{%[a-z0-9_]+}})
// CHECK-NEXT:    [[FILLED:%[a-z0-9_]+]], [[A:%[a-z0-9_]+]], [[B:%[a-z0-9_]+]] = tile.acquire [[CHANNEL]]
// CHECK-NEXT:    [[W:%[a-z0-9_]+]] = tile.load %w[%k, %c0]
// CHECK-DAG:     tile.copy %x[%c0, %k] -> [[A]] {via = "cp_async"}
// CHECK-DAG:     tile.write [[W]], [[B]]
// CHECK-NEXT:    tile.commit [[FILLED]]
// CHECK-NEXT:    [[SLOT:%[a-z0-9_]+]], [[LHS:%[a-z0-9_]+]], [[RHS:%[a-z0-9_]+]] = tile.wait [[CHANNEL]]
// CHECK-NEXT:    [[SUM:%[a-z0-9_]+]] = tile.dot [[LHS]], [[RHS]], [[ACC]] {instruction = "mma", atom = "m16n8k16"}
// CHECK-NEXT:    tile.release [[SLOT]]
// CHECK-NEXT:    scf.yield [[SUM]]

// Filled ahead, a stage may be pending while the one before it is read; filled in order, none.
// CUDA-LABEL: cuda.kernel @staged
// AHEAD:      cuda.cp_async
// CUDA-NOT:   cuda.barrier_init
// CUDA:       scf.for
// ORDER:        cuda.cp_async
// AHEAD:        cuda.cp_async_wait {pending = 1 : i64}
// ORDER:        cuda.cp_async_wait{{$}}
// CUDA-NEXT:    cuda.sync
// AHEAD:        cuda.cp_async
// CUDA:         cuda.ldmatrix
// CUDA:         cuda.mma
// AHEAD-NOT:    cuda.sync
// AHEAD:        cuda.cp_async_commit
// AHEAD:      cuda.cp_async_wait
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

// -----

// What fills a stage has copies of what it needs: the row is used by the product's map too.

// CHECK-LABEL: tile.program @shared
// CHECK:       scf.for %k
// CHECK:         [[ROW:%[a-z0-9_]+]] = arith.addi %k, %c1
// CHECK-NEXT:    tile.copy %x
// CHECK-NEXT:    tile.copy %w{{.}}[[ROW]], %c0]
// CHECK-NEXT:    tile.commit
// CHECK-NEXT:    tile.wait
// CHECK:         [[OWN:%[a-z0-9_]+]] = arith.addi %k, %c1
// CHECK:         tile.iota [[OWN]]
// CHECK:         tile.release
// CUDA-LABEL: cuda.kernel @shared
tile.program @shared(%x: !tile.view<64x256xbf16>, %w: !tile.view<257x64xbf16>, %y: !tile.view<64x64xf32>) {results = 1 : i64, config = #kernel.config<stages = 2, warps = 4, instruction = "mma">} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 32 : index
  %cK = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.splat %zero : f32 -> tensor<64x64xf32>
  %h = scf.for %k = %c0 to %cK step %ck iter_args(%c = %z) -> (tensor<64x64xf32>) {
    %row = arith.addi %k, %c1 : index
    %a = tile.load %x[%c0, %k] : !tile.view<64x256xbf16> -> tensor<64x32xbf16>
    %b = tile.load %w[%row, %c0] : !tile.view<257x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %a, %b, %c : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %i = tile.iota %row {axis = 0 : i64} : tensor<64x1xindex>
    %e = tile.map %d, %i : tensor<64x64xf32>, tensor<64x1xindex> -> tensor<64x64xf32> {
    ^bb0(%p: f32, %q: index):
      %n = arith.index_cast %q : index to i64
      %f = arith.sitofp %n : i64 to f32
      %g = arith.addf %p, %f : f32
      tile.yield %g : f32
    }
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %h, %y[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
}
