// RUN: irc-opt %s -p overlap-launches | filecheck %s

// A kernel that reads what others make loads from arguments before it waits: nothing in the plan writes them.
// CHECK: cuda.kernel @add
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %[[A:.*]] = cuda.registers
// CHECK-NEXT: %[[B:.*]] = cuda.registers
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: arith.constant 2
// CHECK-NEXT: scf.for
// CHECK-NEXT: cuda.load %w{{.*}} -> %[[B]]{{.*}} {cache = "global"}
// CHECK: cuda.dependency_wait
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: cuda.load %a{{.*}} -> %[[A]]
// CHECK: cuda.store
cuda.kernel @add(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  %zero = arith.constant 0 : index
  %x = cuda.registers : !cuda.registers<1 x f32>
  %y = cuda.registers : !cuda.registers<2 x f32>
  cuda.load %a[%zero] -> %x[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %i = %zero to %two step %one {
    cuda.load %w[%i] -> %y[%i] : !cuda.ptr<f32> -> !cuda.registers<2 x f32>
  }
  cuda.store %x[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}

// Not from an argument that is donated, nor one that another launch of the kernel has from a kernel, nor into registers
// that something before it uses.
// CHECK: cuda.kernel @donated
// CHECK: cuda.dependency_wait
// CHECK: cuda.load %w
cuda.kernel @donated(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  %zero = arith.constant 0 : index
  %y = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %w[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.return
}

// CHECK: cuda.kernel @twice
// CHECK: cuda.dependency_wait
// CHECK: cuda.load %w
cuda.kernel @twice(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  %zero = arith.constant 0 : index
  %y = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %w[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.return
}

// CHECK: cuda.kernel @shared
// CHECK: cuda.dependency_wait
// CHECK: cuda.load %a
// CHECK: cuda.load %w
cuda.kernel @shared(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] {
  %zero = arith.constant 0 : index
  %y = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %a[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.store %y[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.load %w[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.return
}

// Not from what many threads read: that comes from the L1.
// CHECK: cuda.kernel @row
// CHECK: cuda.dependency_wait
// CHECK: cuda.load %w
// CHECK-NOT: cache
cuda.kernel @row(%a: !cuda.ptr<f32>, %w: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [4, 1, 1] block 32 writes [0, 0, 1] {
  %zero = arith.constant 0 : index
  %y = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %w[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.return
}

// A kernel that reads arguments alone may be the first of a plan, behind whatever wrote them.
// CHECK: cuda.kernel @first
// CHECK: cuda.dependency_wait
// CHECK: cuda.load %a
cuda.kernel @first(%a: !cuda.ptr<f32>, %r: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  %zero = arith.constant 0 : index
  %y = cuda.registers : !cuda.registers<1 x f32>
  cuda.load %a[%zero] -> %y[%zero] : !cuda.ptr<f32> -> !cuda.registers<1 x f32>
  cuda.store %y[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  cuda.return
}

func.func @f(%x: tensor<64xf32>, %w: tensor<64xf32>, %d: tensor<64xf32> {irc.donated = 0 : i64}) -> tensor<64xf32> {
  %0 = kernel.launch @first(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = kernel.launch @add(%0, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = kernel.launch @donated(%1, %d) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = kernel.launch @twice(%2, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = kernel.launch @twice(%w, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = kernel.launch @shared(%4, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = kernel.launch @row(%5, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %6 : tensor<64xf32>
}
