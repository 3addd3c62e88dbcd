// RUN: irc-opt %s --arch sm_100a -p lower-to-cuda | filecheck %s

// The first warp allocates columns for all sums of the block, and frees them when all have been loaded. One thread of the
// partition waits for stages and issues dots, the first of which overwrites. What it has issued releases a stage, and
// completes the barrier of the sums, which threads load from their lanes. Products may overwrite them behind that.
// CHECK-LABEL: cuda.kernel @product
// CHECK:       %[[SLOT:.*]] = cuda.shared {offset = 164872 : i64
// CHECK:       %[[FIRST:.*]] = arith.cmpi ult, %thread
// CHECK-NEXT:  scf.if %[[FIRST]] {
// CHECK-NEXT:    cuda.tcgen05_alloc %[[SLOT]] {columns = 32 : i64}
// CHECK-NEXT:    cuda.tcgen05_relinquish
// CHECK:         %[[SET_UP:.*]] = cuda.shared {offset = 164864 : i64
// CHECK-NEXT:    cuda.barrier_init %[[SET_UP]] {count = 1 : i64}
// CHECK:       cuda.fence_barrier_init
// CHECK-NEXT:  cuda.tcgen05_fence_before
// CHECK-NEXT:  cuda.sync {reason = "columns of Tensor Memory are allocated"}
// CHECK-NEXT:  cuda.tcgen05_fence_after
// CHECK:       cuda.shared_load %[[SLOT]]
// CHECK-NEXT:  %[[TENSOR:.*]] = cuda.get
// CHECK:       cuda.channel %thread {stages = 8 : i64, full = 163840 : i64, arrivals = 1 : i64, empty = 163904 : i64, releases = 1 : i64
// CHECK:       %[[OWN:.*]] = arith.subi %thread
// CHECK:       %[[BARRIER:.*]] = cuda.shared {offset = 164864 : i64
// CHECK-NEXT:  %[[PHASE:.*]] = cuda.registers
// CHECK:       scf.for %[[K:.*]] = %[[LOW:.*]] to
// CHECK:         %[[ISSUER:.*]] = arith.cmpi eq, %[[OWN]]
// CHECK-NEXT:    cuda.channel_wait %drain by %[[ISSUER]]
// CHECK:         %[[ADDS:.*]] = arith.cmpi ne, %[[K]]
// CHECK:         cuda.dot %[[TENSOR]][%{{.*}}], %{{.*}}, %{{.*}} if %[[ADDS]] by %[[OWN]] {shape = array<i64: 128, 32, 64>, instruction = "tcgen05", warps = array<i64: 4, 1>, overwrites}
// CHECK-NEXT:    cuda.channel_release %drain, %[[OWN]] {tcgen05}
// CHECK-NEXT:  }
// CHECK:       scf.if
// CHECK-NEXT:    cuda.tcgen05_commit %[[BARRIER]]
// CHECK:       cuda.barrier_wait %[[BARRIER]]
// CHECK:       cuda.set %[[PHASE]]
// CHECK-NEXT:  cuda.tcgen05_fence_after
// CHECK:       %[[LANES:.*]] = arith.addi %[[TENSOR]]
// CHECK:       %[[COLUMN:.*]] = arith.addi %[[LANES]]
// CHECK-NEXT:  cuda.tcgen05_load %[[COLUMN]] -> %{{.*}} {count = 32 : i64}
// CHECK-NEXT:  cuda.tcgen05_fence_before
// CHECK:       cuda.named_sync {{.*}} reason = "sums in Tensor Memory are loaded"
// CHECK-NEXT:  cuda.tcgen05_fence_after
// CHECK:       cuda.sync {reason = "sums in Tensor Memory are loaded"}
// CHECK:       cuda.tcgen05_dealloc %[[TENSOR]] {columns = 32 : i64}
// CHECK:       cuda.return

#shared = #tile.shared<(128,64):(64,1) swizzle(3,3,3)>
#shared1 = #tile.shared<(64,32):(32,1) swizzle(2,3,3)>
#frag = #tile.fragment<((128),(32)):((1),(128))>
tile.program @product(%x: !tile.view<128x128xbf16>, %w: !tile.view<128x32xbf16>, %y: !tile.view<128x32xf32>) {results = 1 : i64, threads = 128 : i64, shared = 164880 : i64, grid = 1 : i64, config = #kernel.config<tile = {m = 128, n = 32, k = 64}, stages = 8, warps = 4, schedule = "grid", instruction = "tcgen05">} {
  %channel = tile.channel {stages = 8 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
  tile.partitions @load warps 4 registers 40 {
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    scf.for %k = %c0 to %cK step %ck {
      %slot, %a, %b = tile.acquire %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      tile.copy %x[%m, %k] -> %a {via = "tma"} : !tile.view<128x128xbf16> -> !tile.buffer<128x64xbf16, #shared>
      tile.copy %w[%k, %m] -> %b {via = "tma"} : !tile.view<128x32xbf16> -> !tile.buffer<64x32xbf16, #shared1>
      tile.commit %slot
    }
  } @compute warps 4 registers 240 {
    %sums = tile.accumulator {offset = 164864 : i64} : !tile.accumulator<tensor<128x32xf32, #frag>>
    %m = arith.constant 0 : index
    %c0 = arith.constant 0 : index
    %ck = arith.constant 64 : index
    %cK = arith.constant 128 : index
    %zero = arith.constant 0.000000e+00 : f32
    %init = tile.splat %zero : f32 -> tensor<128x32xf32, #frag>
    %begun = tile.as_pending %init in %sums : tensor<128x32xf32, #frag>, !tile.accumulator<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
    %acc = scf.for %k = %c0 to %cK step %ck iter_args(%before = %begun) -> (!tile.pending<tensor<128x32xf32, #frag>>) {
      %slot, %a, %b = tile.wait %channel : !tile.channel<!tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>>
      %sum = tile.dot %a, %b, %before {instruction = "tcgen05"} : !tile.buffer<128x64xbf16, #shared>, !tile.buffer<64x32xbf16, #shared1>, !tile.pending<tensor<128x32xf32, #frag>> -> !tile.pending<tensor<128x32xf32, #frag>>
      tile.release %slot after %sum : !tile.pending<tensor<128x32xf32, #frag>>
      scf.yield %sum : !tile.pending<tensor<128x32xf32, #frag>>
    }
    %found = tile.dot_wait %acc : !tile.pending<tensor<128x32xf32, #frag>> -> tensor<128x32xf32, #frag>
    tile.store %found, %y[%m, %m] : tensor<128x32xf32, #frag>, !tile.view<128x32xf32>
  }
}
