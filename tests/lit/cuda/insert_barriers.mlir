// RUN: irc-opt %s -p insert-barriers --split-input-file --verify-diagnostics | filecheck %s

// A read waits for writes of the same bytes, a write for reads of them. Other bytes need no barrier, nor does an access
// behind a barrier that is there.
// CHECK-LABEL: cuda.kernel @straight
// CHECK:         %a = cuda.shared {offset = 0 : i64}
// CHECK-NOT:     cuda.shared {
// CHECK:         cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync {reason = "write after read"}
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.return
cuda.kernel @straight(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %user = arith.index_cast %a : i32 to index
  %b = cuda.shared {offset = 512}
  cuda.shared_access "write" [%a] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "read" [%a] {bytes = 4}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.shared_access "write" [%b] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "write" [%a] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.sync
  cuda.shared_access "read"
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// The same part of the same bytes by each warp: its lanes meet alone. By another number, all threads do.
// CHECK-LABEL: cuda.kernel @warps
// CHECK:         cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.warp_sync {reason = "read after write in a warp"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.warp_sync {reason = "write after read in a warp"}
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.return
cuda.kernel @warps(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  cuda.shared_access "write" [%a] {bytes = 512, each_warp = 0}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "read" [%a] {bytes = 512, each_warp = 0}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.shared_access "write" [%a] {bytes = 512, each_warp = 0}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "read" [%a] {bytes = 512, each_warp = 1}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// The iteration before, and what is behind the loop, count too. 
// CHECK-LABEL: cuda.kernel @loop
// CHECK:         scf.for
// CHECK-NEXT:      cuda.sync {reason = "write after read of a loop"}
// CHECK-NEXT:      cuda.shared_store %r[%z], %at
// CHECK-NEXT:      cuda.sync {reason = "read after write"}
// CHECK-NEXT:      cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync {reason = "read after write of a loop"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.return
cuda.kernel @loop(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    cuda.shared_access "write" [%a] {bytes = 512}
    cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
    cuda.shared_access "read" [%a] {bytes = 512}
    cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  }
  cuda.shared_access "read" [%a] {bytes = 512}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// What each warp accesses alone it has accessed alone in the iteration before, too. What the loop accesses elsewhere is
// no matter, and what is behind it meets only what it accessed.
// CHECK-LABEL: cuda.kernel @warps_in_loop
// CHECK:         scf.for
// CHECK-NEXT:      cuda.warp_sync {reason = "write after read in a warp"}
// CHECK-NEXT:      cuda.shared_store %r[%z], %at
// CHECK-NEXT:      cuda.warp_sync {reason = "read after write in a warp"}
// CHECK-NEXT:      cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.return
cuda.kernel @warps_in_loop(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %b = cuda.shared {offset = 512}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    cuda.shared_access "write" [%a] {bytes = 512, each_warp = 0}
    cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
    cuda.shared_access "read" [%a] {bytes = 512, each_warp = 0}
    cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  }
  cuda.shared_access "write" [%b] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "read" [%a] {bytes = 512}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// A loop may have no iteration: what was written before it is not ordered by its barriers.
// CHECK-LABEL: cuda.kernel @no_iteration
// CHECK:         scf.for
// CHECK-NEXT:      cuda.sync {reason = "write after read of a loop"}
// CHECK-NEXT:      cuda.shared_store %r[%z], %at
// CHECK-NEXT:      cuda.sync {reason = "read after write"}
// CHECK-NEXT:      cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.return
cuda.kernel @no_iteration(%at: i32, %end: index) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %b = cuda.shared {offset = 512}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cuda.shared_access "write" [%a] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  scf.for %i = %c0 to %end step %c1 {
    cuda.shared_access "write" [%b] {bytes = 512}
    cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
    cuda.shared_access "read" [%b] {bytes = 512}
    cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  }
  cuda.shared_access "read" [%a] {bytes = 512}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// A barrier in a loop that is there already orders what no op says: any of it.
// CHECK-LABEL: cuda.kernel @barriers_in_loop
// CHECK:         scf.for
// CHECK-NEXT:      cuda.sync
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync {reason = "write after read of a loop"}
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
cuda.kernel @barriers_in_loop(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    cuda.sync
  }
  cuda.shared_access "write" [%a] {bytes = 512}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// Either side of a branch may have run.
// CHECK-LABEL: cuda.kernel @branch
// CHECK:         scf.if
// CHECK-NEXT:      cuda.shared_store %r[%z], %at
// CHECK-NEXT:      cuda.sync
// CHECK-NEXT:    } else {
// CHECK-NEXT:      cuda.shared_store %r[%z], %at
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
cuda.kernel @branch(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %a = cuda.shared {offset = 0}
  %some = arith.constant true
  scf.if %some {
    cuda.shared_access "write" [%a] {bytes = 512}
    cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
    cuda.sync
  } else {
    cuda.shared_access "write" [%a] {bytes = 512}
    cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  }
  cuda.shared_access "read" [%a] {bytes = 512}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// The threads of a partition meet at its barrier, and wait for no other's accesses.
// CHECK-LABEL: cuda.kernel @partition
// CHECK:         cuda.shared_store %r[%z], %at
// CHECK-NEXT:    %[[ID:.*]] = arith.constant 3 : i32
// CHECK-NEXT:    cuda.named_sync %[[ID]] {threads = 128 : i64, reason = "read after write"}
// CHECK-NEXT:    cuda.shared_load %at -> %r[%z]
// CHECK-NEXT:    cuda.named_sync %own {threads = 128 : i64}
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
cuda.kernel @partition(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %own = arith.constant 3 : i32
  cuda.shared_access "write" {barrier = 3, threads = 128}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "read" {barrier = 3, threads = 128}
  cuda.shared_load %at -> %r[%z] : !cuda.registers<4 x i32>
  cuda.named_sync %own {threads = 128}
  cuda.shared_access "write" {barrier = 3, threads = 128}
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.return
}

// -----

// Other hardware reads what was written; what it reads may be written when it has.
// CHECK-LABEL: cuda.kernel @asynchronous
// CHECK:         cuda.shared_store %r[%z], %at
// CHECK-NEXT:    cuda.sync {reason = "read after write"}
// CHECK-NEXT:    cuda.tma_store_commit
// CHECK-NEXT:    cuda.tma_store_wait {read = true}
// CHECK-NEXT:    cuda.sync {reason = "write after read"}
// CHECK-NEXT:    cuda.shared_store %r[%z], %at
cuda.kernel @asynchronous(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  %z = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  cuda.shared_access "write"
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.shared_access "begin_read"
  cuda.tma_store_commit
  cuda.tma_store_wait {read = true}
  cuda.shared_access "end_read"
  cuda.shared_access "write"
  cuda.shared_store %r[%z], %at : !cuda.registers<4 x i32>
  cuda.return
}

// -----

cuda.kernel @unknown(%at: i32) grid [1, 1, 1] block 256 shared 1024 {
  // expected-error @+1 {{insert-barriers expects the address of a cuda.shared}}
  cuda.shared_access "write" [%at] {bytes = 512}
  cuda.return
}
