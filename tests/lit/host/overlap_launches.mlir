// RUN: irc-opt %s -p overlap-launches | filecheck %s
// RUN: irc-opt %s -p 'overlap-launches{arch="sm_80"}' | filecheck %s --check-prefix=OLD

// OLD: cuda.kernel @neg
// OLD-NEXT: cuda.return

// Kernels of a function with several launches wait before anything else, and let the next one start then.
// CHECK: cuda.kernel @neg
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.launch_dependents
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// Left alone: it is launched by itself, or waits already.
// CHECK: cuda.kernel @alone
// CHECK-NEXT: cuda.return
cuda.kernel @alone(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.return
}

// CHECK: cuda.kernel @waits
// CHECK-NEXT: cuda.launch_dependents
// CHECK-NEXT: cuda.dependency_wait
// CHECK-NEXT: cuda.return
cuda.kernel @waits(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] {
  cuda.launch_dependents
  cuda.dependency_wait
  cuda.return
}

func.func @one(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = kernel.launch @alone(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}

func.func @several(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = kernel.launch @neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = kernel.launch @waits(%a) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %b : tensor<8xf32>
}
