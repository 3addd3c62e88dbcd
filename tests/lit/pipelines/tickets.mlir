// RUN: irc-opt %s -p 'lower-schedule,lower-to-cuda' --split-input-file | filecheck %s
// RUN: irc-opt %s -p 'lower-schedule,lower-to-cuda,lower-channels,allocate-scratch,insert-barriers' --split-input-file | filecheck %s --check-prefix=SYNC

// One thread loads: it takes the ticket, writes it and arrives at the barrier of the stage. Warps that compute read it,
// and release the stage by themselves.
// CHECK-LABEL: cuda.kernel @partitions(
// CHECK-SAME:    sums [2]
// CHECK:         cuda.channel %thread {stages = 2 : i64, full = 17424 : i64, arrivals = 1 : i64, empty = 17440 : i64, releases = 4 : i64, align = 1024 : i64, by_warp}
// CHECK:         scf.while
// CHECK:           cuda.tma_load
// CHECK:           [[STAGE:%[a-z0-9_]+]] = cuda.channel_acquire [[END:%[a-z0-9_]+]]
// CHECK-NOT:       scf.if
// CHECK:           [[TAKEN:%[a-z0-9_]+]] = cuda.atomic "add" %{{[a-z0-9_]+}}, %counter[%{{[a-z0-9_]+}}] : !cuda.ptr<i32>
// CHECK-NEXT:      [[OWN:%[a-z0-9_]+]] = cuda.first_lane [[TAKEN]] : i32
// CHECK-NEXT:      cuda.set %word[%{{[a-z0-9_]+}}], [[OWN]]
// CHECK-NEXT:      cuda.shared_store %word
// CHECK-NEXT:      [[BARRIER:%[a-z0-9_]+]] = cuda.channel_barrier [[END]]
// CHECK-NEXT:      cuda.barrier_arrive [[BARRIER]]
// CHECK:           cuda.channel_commit [[END]]
// CHECK:           scf.yield
// CHECK:         scf.while
// CHECK:           cuda.channel_wait [[DRAIN:%[a-z0-9_]+]]
// CHECK:           cuda.shared_load {{.*}} -> %word_1
// CHECK:           cuda.channel_release [[DRAIN]]
// CHECK:           scf.yield
// SYNC-LABEL: cuda.kernel @partitions(
// SYNC-NOT:     cuda.named_sync
// SYNC:         cuda.return
#shared = #tile.shared<(32,128):(128,1)>
#word = #tile.shared<(1):(1)>
#frag = #tile.fragment<((32,4),(32)):((32,1024),(1))>
tile.program @partitions(%x: !tile.view<8192x128xbf16>, %y: !tile.view<8192x128xbf16>, %counter: !tile.view<1xi32>) {results = 2 : i64, threads = 128 : i64, shared = 17536 : i64, sums = array<i64: 2>} {
  %channel = tile.channel {stages = 2 : i64, offset = 0 : i64} : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
  %tickets = tile.channel {stages = 2 : i64, offset = 17408 : i64} : !tile.channel<!tile.buffer<1xi32, #word>>
  tile.partitions @load warps 4 registers 40 {
    tile.for_tiles (%m, %n) extents [8192, 128] steps [32, 128] schedule "dynamic" {
      %slot, %b = tile.acquire %channel : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
      tile.copy %x[%m, %n] -> %b {via = "tma"} : !tile.view<8192x128xbf16> -> !tile.buffer<32x128xbf16, #shared>
      tile.commit %slot
      %slot_1, %left = tile.acquire %tickets : !tile.channel<!tile.buffer<1xi32, #word>>
      %ticket = tile.take_ticket %counter -> %left : !tile.view<1xi32> -> !tile.buffer<1xi32, #word>
      tile.commit %slot_1
      tile.next_tile %ticket
    }
  } @compute warps 4 registers 232 {
    tile.for_tiles (%m_1, %n_1) extents [8192, 128] steps [32, 128] schedule "dynamic" {
      %slot_2, %b_1 = tile.wait %channel : !tile.channel<!tile.buffer<32x128xbf16, #shared>>
      %t = tile.read %b_1 : !tile.buffer<32x128xbf16, #shared> -> tensor<32x128xbf16, #frag>
      tile.release %slot_2
      tile.store %t, %y[%m_1, %n_1] : tensor<32x128xbf16, #frag>, !tile.view<8192x128xbf16>
      %slot_3, %left_1 = tile.wait %tickets : !tile.channel<!tile.buffer<1xi32, #word>>
      %ticket_1 = tile.read_ticket %left_1 : !tile.buffer<1xi32, #word>
      tile.release %slot_3
      tile.next_tile %ticket_1
    }
  }
}

// -----

// Of a block without partitions the first thread takes it, and all threads meet before they read it, and before it is
// overwritten.
// CHECK-LABEL: cuda.kernel @alone(
// CHECK:         scf.while
// CHECK:           cuda.shared_access "write"
// CHECK:           scf.if
// CHECK:             cuda.atomic "add"
// CHECK-NOT:         cuda.first_lane
// CHECK:             cuda.shared_store %word
// CHECK:           cuda.shared_access "read"
// CHECK:           cuda.shared_load {{.*}} -> %word
// CHECK:           scf.yield
// SYNC-LABEL: cuda.kernel @alone(
// SYNC:         scf.while
// SYNC:           cuda.sync {reason = "write after read of a loop"}
// SYNC:           scf.if
// SYNC:           cuda.sync {reason = "read after write"}
// SYNC:           cuda.shared_load
#word = #tile.shared<(1):(1)>
#own = #tile.fragment<((32,4),(1)):((1,32),(0))>
tile.program @alone(%x: !tile.view<65536xf32>, %y: !tile.view<65536xf32>, %counter: !tile.view<1xi32>) {results = 2 : i64, threads = 128 : i64, shared = 128 : i64, sums = array<i64: 2>} {
  %left = tile.alloc {offset = 0 : i64} : !tile.buffer<1xi32, #word>
  tile.for_tiles (%i) extents [65536] steps [128] schedule "dynamic" {
    %a = tile.load %x[%i] : !tile.view<65536xf32> -> tensor<128xf32, #own>
    tile.store %a, %y[%i] : tensor<128xf32, #own>, !tile.view<65536xf32>
    %ticket = tile.take_ticket %counter -> %left : !tile.view<1xi32> -> !tile.buffer<1xi32, #word>
    tile.next_tile %ticket
  }
}
