// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// What differs in the type that it was declared with alone is computed once in a kernel, to the accuracy of f32 where
// one of the two has it.
// CHECK-LABEL: func.func @twice
// CHECK:         kernel.fused
// CHECK:           %[[EXP:.*]] = nd.exp %{{.*}} : tensor<4096xf32>
// CHECK-NOT:       nd.exp
// CHECK:           %[[NARROW:.*]] = nd.cast
// CHECK:           kernel.yield
func.func @twice(%x: tensor<4096xf32>) -> (tensor<4096xbf16>, tensor<4096xf32>) {
  %0 = nd.exp %x {nd.declared = bf16} : tensor<4096xf32>
  %1 = nd.cast %0 : tensor<4096xf32> -> tensor<4096xbf16>
  %2 = nd.exp %x : tensor<4096xf32>
  %3 = nd.neg %2 : tensor<4096xf32>
  func.return %1, %3 : tensor<4096xbf16>, tensor<4096xf32>
}
