// An access whose offset is a sum gets its terms, which are added to the pointer one by one; not where a term is a quotient or a remainder of what
// differs between the steps of a loop.
// RUN: irc-opt %s -p split-offsets | filecheck %s
// RUN: irc-opt %s -p split-offsets,split-offsets | filecheck %s
// RUN: irc-opt %s -p split-offsets -t cuda | filecheck %s --check-prefix=CUDA

// CHECK-LABEL: cuda.kernel @sums
// CUDA-LABEL:  sums(
cuda.kernel @sums(%x: !cuda.ptr<f32>, %n: !cuda.ptr<i32>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %t = cuda.thread_id
  %r = cuda.registers : !cuda.registers<4 x f32>
  scf.for %i = %c0 to %c4 step %c1 {
    %m = arith.muli %i, %c4 : index
    %o = arith.addi %t, %m : index
    // CHECK: cuda.load %x[%t + %m] -> %r[%i]
    // CUDA:  r[i] = *(x + t + m);
    cuda.load %x[%o] -> %r[%i] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
    // CHECK: cuda.store %r[%i], %x[%t + %m]
    // CUDA:  *(x + t + m) = r[i];
    cuda.store %r[%i], %x[%o] : !cuda.registers<4 x f32> -> !cuda.ptr<f32>
    // CHECK: cuda.atomic "add" %one, %n[%t + %m]
    // CUDA:  atomicAdd(n + t + m, 1);
    %before = cuda.atomic "add" %one, %n[%o] : !cuda.ptr<i32>
    // A sum of sums is split once.
    // CHECK: cuda.load %x[%o + %t]
    // CUDA:  *(x + o + t)
    %two = arith.addi %o, %t : index
    cuda.load %x[%two] -> %r[%i] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
    // What is divided is the same in all steps.
    %q = arith.divui %t, %c4 : index
    %p = arith.addi %q, %m : index
    // CHECK: cuda.load %x[%q + %m]
    // CUDA:  *(x + q + m)
    cuda.load %x[%p] -> %r[%i] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
  } {unroll}
  cuda.return
}

// CHECK-LABEL: cuda.kernel @divided
// CUDA-LABEL:  divided(
cuda.kernel @divided(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %t = cuda.thread_id
  %r = cuda.registers : !cuda.registers<4 x f32>
  scf.for %i = %c0 to %c4 step %c1 {
    %m = arith.muli %i, %c4 : index
    %k = arith.addi %t, %m : index
    %q = arith.divui %k, %c3 : index
    %o = arith.addi %t, %q : index
    // CHECK: cuda.load %x[%o] -> %r[%i]
    // CUDA:  r[i] = *(&x[o]);
    cuda.load %x[%o] -> %r[%i] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
    %w = arith.remui %k, %c3 : index
    %p = arith.addi %w, %t : index
    // CHECK: cuda.store %r[%i], %x[%p]
    // CUDA:  *(&x[p]) = r[i];
    cuda.store %r[%i], %x[%p] : !cuda.registers<4 x f32> -> !cuda.ptr<f32>
  } {unroll}
  cuda.return
}

// CHECK-LABEL: cuda.kernel @others
cuda.kernel @others(%x: !cuda.ptr<f32>) grid [1, 1, 1] block 32 shared 512 {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %t = cuda.thread_id
  %s = cuda.shared {offset = 0}
  %r = cuda.registers : !cuda.registers<4 x f32>
  %m = arith.muli %t, %c4 : index
  %o = arith.addi %m, %c4 : index
  // CHECK:      cuda.load %x[%m]
  // CHECK-NEXT: cuda.load_across %x[%o]
  // CHECK-NEXT: cuda.cp_async %s, %x[%o]
  cuda.load %x[%m] -> %r[%c0] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
  cuda.load_across %x[%o] -> %r[%c0] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>
  cuda.cp_async %s, %x[%o] : !cuda.ptr<f32>
  cuda.return
}
