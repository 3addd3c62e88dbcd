// RUN: irc-opt %s -p allocate-scratch --split-input-file --verify-diagnostics | filecheck %s

// Large exchanges begin at the same byte, behind what the kernel has. Small ones follow each other, and begin again where
// 4096 bytes are full. What the kernel takes grows by the larger of both, in lines of 128 bytes.
// CHECK-LABEL: cuda.kernel @block{{.*}} block 256 shared 9216
// CHECK-NEXT:    %a = cuda.shared {offset = 1024 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%a] {bytes = 8190 : i64}
// CHECK-NEXT:    %b = cuda.shared {offset = 1024 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%b] {bytes = 100 : i64}
// CHECK-NEXT:    %c = cuda.shared {offset = 1024 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%c] {bytes = 36 : i64}
// CHECK-NEXT:    %d = cuda.shared {offset = 1072 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%d] {bytes = 4000 : i64}
// CHECK-NEXT:    %e = cuda.shared {offset = 1024 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%e] {bytes = 128 : i64}
cuda.kernel @block() grid [1, 1, 1] block 256 shared 1024 {
  %a = cuda.scratch {bytes = 8190}
  cuda.shared_access "write" [%a] {bytes = 8190}
  %b = cuda.scratch {bytes = 100}
  cuda.shared_access "write" [%b] {bytes = 100}
  %c = cuda.scratch {bytes = 36, rotates}
  cuda.shared_access "write" [%c] {bytes = 36}
  %d = cuda.scratch {bytes = 4000, rotates}
  cuda.shared_access "write" [%d] {bytes = 4000}
  %e = cuda.scratch {bytes = 128, rotates}
  cuda.shared_access "write" [%e] {bytes = 128}
  cuda.return
}

// -----

// Partitions run beside each other: each has its own. Small exchanges lie behind the others.
// CHECK-LABEL: cuda.kernel @partitions{{.*}} block 256 shared 2304
// CHECK:         %a = cuda.shared {offset = 0 : i64}
// CHECK:         %b = cuda.shared {offset = 1024 : i64}
// CHECK:         %c = cuda.shared {offset = 1152 : i64}
// CHECK:         %d = cuda.shared {offset = 2176 : i64}
cuda.kernel @partitions(%x: !cuda.ptr<i32>) grid [1, 1, 1] block 256 {
  %array = cuda.registers : !cuda.registers<4 x i32>
  %zero = arith.constant 0 : index
  %thread = cuda.thread_id
  %half = arith.constant 128 : index
  %first = arith.cmpi slt, %thread, %half : index
  scf.if %first {
    %a = cuda.scratch {bytes = 1000, barrier = 1}
    cuda.shared_store %array[%zero], %a : !cuda.registers<4 x i32>
    %b = cuda.scratch {bytes = 64, rotates, barrier = 1}
    cuda.shared_store %array[%zero], %b : !cuda.registers<4 x i32>
  } else {
    %c = cuda.scratch {bytes = 512, barrier = 2}
    cuda.shared_store %array[%zero], %c : !cuda.registers<4 x i32>
    %d = cuda.scratch {bytes = 64, rotates, barrier = 2}
    cuda.shared_store %array[%zero], %d : !cuda.registers<4 x i32>
  }
  cuda.return
}

// -----

// Where there is no room for that, small exchanges begin where the others do.
// CHECK-LABEL: cuda.kernel @full{{.*}} block 128 shared 231424
// CHECK-NEXT:    %a = cuda.shared {offset = 230400 : i64}
// CHECK-NEXT:    cuda.shared_access "write" [%a]
// CHECK-NEXT:    %b = cuda.shared {offset = 230400 : i64}
cuda.kernel @full() grid [1, 1, 1] block 128 shared 230400 {
  %a = cuda.scratch {bytes = 1024, barrier = 1}
  cuda.shared_access "write" [%a] {bytes = 1024, barrier = 1, threads = 128}
  %b = cuda.scratch {bytes = 64, rotates, barrier = 1}
  cuda.shared_access "write" [%b] {bytes = 64, barrier = 1, threads = 128}
  cuda.return
}

// -----

// CHECK-LABEL: cuda.kernel @none() grid [1, 1, 1] block 128 {
cuda.kernel @none() grid [1, 1, 1] block 128 {
  cuda.sync
  cuda.return
}

// -----

// expected-error @+1 {{large needs 262144 bytes of shared memory, sm_90a has 232448 a block}}
cuda.kernel @large() grid [1, 1, 1] block 128 {
  %a = cuda.scratch {bytes = 262144}
  cuda.shared_access "write" [%a] {bytes = 262144}
  cuda.return
}
