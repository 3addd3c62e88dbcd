// RUN: irc-opt %s -p lower-channels --split-input-file --verify-diagnostics | filecheck %s

// The first thread sets up a barrier of each kind a stage. A producer begins in phase 1 of `empty`, a consumer in phase 0
// of `full`; the phase flips where stages begin again. One thread of a warp group releases a stage.
// CHECK-LABEL: cuda.kernel @stages
// CHECK:         scf.for %stage
// CHECK:           cuda.shared {offset = 512 : i64, align = 1024 : i64}
// CHECK:           cuda.barrier_init {{.*}} {count = 1 : i64}
// CHECK:           cuda.shared {offset = 544 : i64, align = 1024 : i64}
// CHECK:           cuda.barrier_init {{.*}} {count = 2 : i64}
// CHECK:         } {unroll}
// CHECK:         cuda.fence_barrier_init
// CHECK:         %[[FILL:.*]] = cuda.registers : !cuda.registers<1 x index>
// CHECK:         cuda.set %[[FILL]][%{{.*}}], %[[ZERO:.*]] : !cuda.registers<1 x index>
// CHECK:         %[[FILL_PHASE:.*]] = cuda.registers : !cuda.registers<1 x index>
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    cuda.set %[[FILL_PHASE]][%{{.*}}], %[[ONE]] : !cuda.registers<1 x index>
// CHECK:         %[[STAGE:.*]] = cuda.get %[[FILL]]
// CHECK-NEXT:    %[[PHASE:.*]] = cuda.get %[[FILL_PHASE]]
// CHECK:         cuda.shared {offset = 544 : i64
// CHECK:         %[[PARITY:.*]] = arith.index_cast %[[PHASE]] : index to i32
// CHECK:         cuda.barrier_wait %{{.*}}, %[[PARITY]]
// CHECK:         cuda.shared {offset = 512 : i64
// CHECK:         cuda.barrier_expect %{{.*}} {bytes = 64 : i64}
// CHECK:         arith.addi %{{.*}}, %{{.*}} : index
// CHECK:         %[[WRAPS:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK:         arith.select %[[WRAPS]]
// CHECK:         arith.xori
// CHECK:         cuda.set %[[FILL]]
// CHECK:         cuda.set %[[FILL_PHASE]]
// CHECK:         cuda.shared {offset = 512 : i64
// CHECK:         cuda.barrier_wait
// CHECK:         cuda.shared {offset = 544 : i64
// CHECK:         %[[GROUP:.*]] = arith.constant 127 : index
// CHECK-NEXT:    %[[LANE:.*]] = arith.andi %t, %[[GROUP]] : index
// CHECK:         arith.cmpi ult, %[[LANE]], %{{.*}} : index
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      cuda.barrier_arrive %
// CHECK-NOT:     cuda.channel
// CHECK:         cuda.return
cuda.kernel @stages() grid [1, 1, 1] block 384 shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 4, full = 512, arrivals = 1, empty = 544, releases = 2, align = 1024}
  %fill = cuda.channel_end %c {fills}
  %s = cuda.channel_acquire %fill
  %b = cuda.channel_barrier %fill [%s]
  cuda.barrier_expect %b {bytes = 64}
  cuda.channel_commit %fill
  %drain = cuda.channel_end %c
  %f = cuda.channel_wait %drain
  cuda.channel_release %drain, %t
  cuda.return
}

// -----

// Threads that fill a stage make what they have written visible to wgmma, and arrive. Those that read it release it warp
// by warp.
// CHECK-LABEL: cuda.kernel @threads
// CHECK:         cuda.fence_proxy_async
// CHECK:         cuda.shared {offset = 512 : i64}
// CHECK:         cuda.barrier_arrive
// CHECK:         cuda.warp_sync {reason = "all lanes are done with a stage"}
// CHECK:         %[[WARP:.*]] = arith.constant 31 : index
// CHECK-NEXT:    arith.andi %t, %[[WARP]] : index
// CHECK:         cuda.barrier_arrive
cuda.kernel @threads() grid [1, 1, 1] block 256 shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 128, empty = 528, releases = 4, written, by_warp}
  %fill = cuda.channel_end %c {fills}
  %s = cuda.channel_acquire %fill
  cuda.channel_commit %fill
  %drain = cuda.channel_end %c
  %f = cuda.channel_wait %drain
  cuda.channel_release %drain, %t
  cuda.return
}

// -----

// Threads that fill nothing do not wait until a stage is empty.
// CHECK-LABEL: cuda.kernel @by_one
// CHECK:         %first = arith.cmpi
// CHECK-NOT:     cuda.barrier_wait
// CHECK:         scf.if %first {
// CHECK:           cuda.barrier_wait
// CHECK:         scf.for
// CHECK:           scf.if %first {
// CHECK:             cuda.barrier_wait
cuda.kernel @by_one() grid [1, 1, 1] block 256 shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 1, empty = 528, releases = 1}
  %fill = cuda.channel_end %c {fills}
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %s = cuda.channel_acquire %fill by %first
  cuda.channel_commit %fill
  cuda.channel_drain %fill by %first
  cuda.return
}

// -----

// In a cluster a stage is released to each block of the row and the column, and a producer waits for its last stages.
// CHECK-LABEL: cuda.kernel @cluster
// CHECK:         scf.for
// CHECK:           cuda.barrier_wait
// CHECK:         %[[LANE:.*]] = arith.andi %t, %{{.*}} : index
// CHECK-NEXT:    %[[COUNT:.*]] = arith.constant 2 : index
// CHECK-NEXT:    arith.cmpi ult, %[[LANE]], %[[COUNT]] : index
// CHECK-NEXT:    scf.if
// CHECK:           cuda.barrier_arrive_cluster
cuda.kernel @cluster() grid [2, 1, 1] block 256 cluster [2, 1, 1] shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 1, empty = 528, releases = 2, cluster = array<i64: 2, 1>}
  %fill = cuda.channel_end %c {fills}
  cuda.channel_drain %fill
  %drain = cuda.channel_end %c
  cuda.channel_release %drain, %t
  cuda.return
}

// -----

// A barrier a turn; the consumer whose turn is first need not wait. Each of its warps passes the turn on. What another consumer drains is left out: the phase
// flips by how often that wraps.
// CHECK-LABEL: cuda.kernel @turns
// CHECK:         cuda.shared {offset = 544 : i64}
// CHECK:         cuda.barrier_init %{{.*}} {count = 4 : i64}
// CHECK:         cuda.shared {offset = 544 : i64}
// CHECK:         cuda.barrier_init %{{.*}} {count = 4 : i64}
// CHECK:         cuda.fence_barrier_init
// CHECK:         cuda.barrier_wait
// CHECK:         arith.xori
// CHECK:         arith.andi %t, %{{.*}} : index
// CHECK:         arith.shrui %t, %{{.*}} : index
// CHECK:         arith.cmpi sge
// CHECK:         cuda.warp_sync {reason = "all lanes have had their turn"}
// CHECK:         %[[LANE:.*]] = arith.andi %t, %{{.*}} : index
// CHECK:         %[[ONE:.*]] = arith.cmpi eq, %[[LANE]], %{{.*}} : index
// CHECK-NEXT:    scf.if %[[ONE]]
// CHECK:           cuda.barrier_arrive
cuda.kernel @turns() grid [1, 1, 1] block 256 shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 1, empty = 528, releases = 1, turn = 544, turns = 2, passes = 4}
  %drain = cuda.channel_end %c {first}
  cuda.channel_begin_turn %drain {turn = 0}
  cuda.channel_skip %drain, %t
  cuda.channel_pass_turn %drain, %t {turn = 1}
  cuda.return
}

// -----

cuda.kernel @none() grid [1, 1, 1] block 256 shared 1024 {
  %t = cuda.thread_id
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 1, empty = 528, releases = 1}
  %drain = cuda.channel_end %c
  // expected-error @+1 {{expected a channel with barriers of turns}}
  cuda.channel_begin_turn %drain {turn = 0}
  cuda.return
}

// -----

// The thread that issues products waits for a stage, and has them arrive when they are complete.
// CHECK-LABEL: cuda.kernel @products
// CHECK:         %[[ISSUER:.*]] = arith.cmpi eq, %t
// CHECK:         scf.if %[[ISSUER]] {
// CHECK:           cuda.shared {offset = 512 : i64}
// CHECK:           cuda.barrier_wait
// CHECK-NEXT:    }
// CHECK:         arith.cmpi eq, %t
// CHECK-NEXT:    scf.if
// CHECK:           cuda.shared {offset = 528 : i64}
// CHECK:           cuda.tcgen05_commit
// CHECK-NEXT:    }
// CHECK-NOT:     cuda.barrier_arrive
// CHECK:         cuda.return
cuda.kernel @products() grid [1, 1, 1] block 128 shared 1024 {
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %issuer = arith.cmpi eq, %t, %zero : index
  %c = cuda.channel %t {stages = 2, full = 512, arrivals = 1, empty = 528, releases = 1}
  %drain = cuda.channel_end %c
  %f = cuda.channel_wait %drain by %issuer
  cuda.channel_release %drain, %t {tcgen05}
  cuda.return
}
