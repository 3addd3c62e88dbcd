// RUN: irc-opt %s -p overlap-launches | filecheck %s
// RUN: irc-opt %s -p overlap-launches --arch sm_80 | filecheck %s --check-prefix=OLD

// OLD-NOT: cuda.dependency_wait
// OLD: cuda.kernel @waits

// A kernel waits before its first access to global memory, and lets the next one start then.
// CHECK: cuda.kernel @neg
// CHECK: cuda.sync
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: cuda.load
// CHECK-NEXT: cuda.store
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  %zero = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<1 x f32>
  cuda.sync
  cuda.load %a[%zero] -> %r[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.store %r[%zero], %b[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}

// All threads wait before a branch in which some access it.
// CHECK: cuda.kernel @branch
// CHECK: arith.constant
// CHECK: cuda.dependency_wait
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: scf.if
// CHECK-NEXT: cuda.load
cuda.kernel @branch(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  %zero = arith.constant 0 : index
  %yes = arith.constant true
  %r = cuda.registers : !cuda.registers<1 x f32>
  scf.if %yes {
    cuda.load %a[%zero] -> %r[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  }
  cuda.return
}

// A kernel without an access waits too: the one after it may need the one before.
// CHECK: cuda.kernel @nothing
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: cuda.return
cuda.kernel @nothing(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// Left alone: it waits already.
// CHECK: cuda.kernel @waits
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.return
cuda.kernel @waits(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.launch_dependents
  cuda.dependency_wait
  cuda.return
}
