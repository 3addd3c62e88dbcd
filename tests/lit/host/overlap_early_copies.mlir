// RUN: irc-opt %s -p overlap-launches | filecheck %s

// Into the two free stages %w is copied before the wait, in a loop with registers of its own; the loop of all copies
// then begins with %x alone. Threads that use what was copied wait where their branch begins.
// CHECK: cuda.kernel @product
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NOT: cuda.dependency_wait
// CHECK: scf.if
// CHECK-NEXT: cuda.set_registers
// CHECK: scf.if
// CHECK-NEXT: %[[STAGE:.*]] = cuda.registers
// CHECK-NEXT: cuda.set %[[STAGE]]
// CHECK-NEXT: %[[PHASE:.*]] = cuda.registers
// CHECK-NEXT: cuda.set %[[PHASE]]
// CHECK-NEXT: %[[END:.*]] = arith.constant 32 : index
// CHECK-NEXT: %[[OWN:.*]] = cuda.registers
// CHECK-NEXT: %[[OWN_PHASE:.*]] = cuda.registers
// CHECK-NEXT: cuda.set %[[OWN]]
// CHECK-NEXT: cuda.set %[[OWN_PHASE]]
// CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK-NEXT: cuda.get %[[OWN]]
// CHECK-NOT: cuda.barrier_wait
// CHECK: cuda.barrier_expect {{.*}} {bytes = 256 : i64}
// CHECK: cuda.tma_load %w
// CHECK-NOT: cuda.tma_load %x
// CHECK: cuda.set %[[OWN]]
// CHECK: }
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[LATE:.*]] = arith.cmpi sge, %[[I]], %[[END]]
// CHECK-NEXT: scf.if %[[LATE]] {
// CHECK-NEXT: cuda.barrier_wait
// CHECK-NEXT: cuda.barrier_expect
// CHECK-NEXT: cuda.tma_load %w
// CHECK-NEXT: }
// CHECK-NEXT: cuda.tma_load %x
// CHECK: } else {
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.set_registers
cuda.kernel @product(%r: !cuda.ptr<f32>, %w: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>, %x: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>) grid [1, 1, 1] block 256 shared 1024 operands [2, 1, 0] writes [1, 0, 0] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %step = arith.constant 16 : index
  %end = arith.constant 64 : index
  %half = arith.constant 128 : index
  %bits = arith.constant 3 : index
  %thread = cuda.thread_id
  %copies = arith.cmpi slt, %thread, %half : index
  scf.if %copies {
    cuda.set_registers {count = 40 : i64, grow = false}
    %first = arith.cmpi eq, %thread, %zero : index
    scf.if %first {
      %stage = cuda.registers : !cuda.registers<1 x index>
      cuda.set %stage[%zero], %zero : !cuda.registers<1 x index>
      %phase = cuda.registers : !cuda.registers<1 x index>
      cuda.set %phase[%zero], %one : !cuda.registers<1 x index>
      scf.for %i = %zero to %end step %step {
        %s = cuda.get %stage[%zero] : !cuda.registers<1 x index>
        %p = cuda.get %phase[%zero] : !cuda.registers<1 x index>
        %p32 = arith.index_cast %p : index to i32
        %offset = arith.shli %s, %bits : index
        %barrier = arith.index_cast %offset : index to i32
        %at = arith.index_cast %i : index to i32
        cuda.barrier_wait %barrier, %p32
        cuda.barrier_expect %barrier {bytes = 256 : i64}
        cuda.tma_load %x[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
        cuda.tma_load %w[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
        %next = arith.addi %s, %one : index
        %last = arith.cmpi eq, %next, %two : index
        %wrapped = arith.select %last, %zero, %next : index
        %other = arith.xori %p, %one : index
        %turned = arith.select %last, %other, %p : index
        cuda.set %stage[%zero], %wrapped : !cuda.registers<1 x index>
        cuda.set %phase[%zero], %turned : !cuda.registers<1 x index>
      }
    }
  } else {
    cuda.set_registers {count = 240 : i64, grow = true}
    %y = cuda.registers : !cuda.registers<1 x f32>
    cuda.store %y[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  }
  cuda.return
}

// As many stages as iterations: %w is copied early alone, and the loop has nothing but %x.
// CHECK: cuda.kernel @short
// CHECK: cuda.tma_load %w
// CHECK: cuda.dependency_wait
// CHECK-NOT: cuda.tma_load %w
// CHECK-NOT: cuda.barrier_expect
// CHECK: cuda.tma_load %x
// CHECK-NOT: cuda.tma_load %w
// CHECK: } else {
// CHECK-NEXT: cuda.dependency_wait
cuda.kernel @short(%r: !cuda.ptr<f32>, %w: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>, %x: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>) grid [1, 1, 1] block 256 shared 1024 operands [2, 1, 0] writes [1, 0, 0] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %step = arith.constant 16 : index
  %end = arith.constant 32 : index
  %half = arith.constant 128 : index
  %thread = cuda.thread_id
  %copies = arith.cmpi slt, %thread, %half : index
  scf.if %copies {
    %first = arith.cmpi eq, %thread, %zero : index
    scf.if %first {
      %stage = cuda.registers : !cuda.registers<1 x index>
      cuda.set %stage[%zero], %zero : !cuda.registers<1 x index>
      scf.for %i = %zero to %end step %step {
        %s = cuda.get %stage[%zero] : !cuda.registers<1 x index>
        %barrier = arith.index_cast %s : index to i32
        %at = arith.index_cast %i : index to i32
        cuda.barrier_wait %barrier, %at
        cuda.barrier_expect %barrier {bytes = 256 : i64}
        cuda.tma_load %w[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
        cuda.tma_load %x[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
        %next = arith.addi %s, %one : index
        %last = arith.cmpi eq, %next, %two : index
        %wrapped = arith.select %last, %zero, %next : index
        cuda.set %stage[%zero], %wrapped : !cuda.registers<1 x index>
      }
    }
  } else {
    %y = cuda.registers : !cuda.registers<1 x f32>
    cuda.store %y[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  }
  cuda.return
}

// Left alone, all threads wait at once: a loop in a loop, as of several tiles of a block.
// CHECK: cuda.kernel @tiles
// CHECK: cuda.dependency_wait
// CHECK-NEXT: scf.if
// CHECK-NOT: cuda.dependency_wait
cuda.kernel @tiles(%r: !cuda.ptr<f32>, %w: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>, %x: !cuda.tensor_map<bf16, [64, 64], box [8, 8]>) grid [1, 1, 1] block 256 shared 1024 operands [2, 1, 0] writes [1, 0, 0] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %step = arith.constant 16 : index
  %end = arith.constant 32 : index
  %half = arith.constant 128 : index
  %thread = cuda.thread_id
  %copies = arith.cmpi slt, %thread, %half : index
  scf.if %copies {
    %first = arith.cmpi eq, %thread, %zero : index
    scf.if %first {
      %stage = cuda.registers : !cuda.registers<1 x index>
      cuda.set %stage[%zero], %zero : !cuda.registers<1 x index>
      scf.for %tile = %zero to %two step %one {
        scf.for %i = %zero to %end step %step {
          %s = cuda.get %stage[%zero] : !cuda.registers<1 x index>
          %barrier = arith.index_cast %s : index to i32
          %at = arith.index_cast %i : index to i32
          cuda.barrier_wait %barrier, %at
          cuda.barrier_expect %barrier {bytes = 256 : i64}
          cuda.tma_load %w[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
          cuda.tma_load %x[%at, %at] -> %barrier, %barrier : !cuda.tensor_map<bf16, [64, 64], box [8, 8]>
          %next = arith.addi %s, %one : index
          %last = arith.cmpi eq, %next, %two : index
          %wrapped = arith.select %last, %zero, %next : index
          cuda.set %stage[%zero], %wrapped : !cuda.registers<1 x index>
        }
      }
    }
  } else {
    %y = cuda.registers : !cuda.registers<1 x f32>
    cuda.store %y[%zero], %r[%zero] : !cuda.registers<1 x f32> -> !cuda.ptr<f32>
  }
  cuda.return
}

func.func @f(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<1xf32> {
  %0 = nd.neg %x : tensor<64x64xbf16>
  %1 = kernel.launch @product(%0, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<1xf32>
  %2 = kernel.launch @short(%0, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<1xf32>
  %3 = kernel.launch @tiles(%0, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<1xf32>
  func.return %1 : tensor<1xf32>
}
