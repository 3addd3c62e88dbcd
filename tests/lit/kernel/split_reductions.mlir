// RUN: irc-opt %s -p split-reductions | filecheck %s

// The reductions of an epilogue become one partial result for each tile, and one kernel finishes all of them.
// CHECK-LABEL: func.func @epilogue
// CHECK-NEXT:    {{.*}} = kernel.fused @e matmul {{.*}} -> (tensor<48x40xf32>, tensor<3x40xf32>, tensor<3x3xf32>) {
// CHECK-NEXT:      // core
// CHECK-NEXT:      %c = nd.matmul
// CHECK-NEXT:      // epilogue
// CHECK-NEXT:      [[CUT:%[0-9]+]] = nd.reshape %c : tensor<48x40xf32> -> tensor<3x16x40xf32>
// CHECK:           kernel.yield %c
// CHECK:         kernel.fused @e_finish reduce config<schedule = "grid">
// CHECK:           nd.sum
// CHECK:           nd.max
// CHECK:           nd.mul
// CHECK:           kernel.yield
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @epilogue(%x: tensor<48x8xf32>, %w: tensor<8x40xf32>) -> (tensor<48x40xf32>, tensor<40xf32>, tensor<f32>) {
  %r, %s, %t = kernel.fused @e matmul config<tile = [16, 16, 8]> (%a = %x : tensor<48x8xf32>, %b = %w : tensor<8x40xf32>) -> (tensor<48x40xf32>, tensor<40xf32>, tensor<f32>) {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<48x8xf32>, tensor<8x40xf32>) -> tensor<48x40xf32>
    %d = nd.sum %c {axes = [0]} : tensor<48x40xf32> -> tensor<40xf32>
    %e = nd.max %c {axes = [0, 1]} : tensor<48x40xf32> -> tensor<f32>
    %k = nd.constant 0.5 : tensor<f32>
    %m = nd.mul %e, %k : tensor<f32>
    kernel.yield %c, %d, %m : tensor<48x40xf32>, tensor<40xf32>, tensor<f32>
  }
  func.return %r, %s, %t : tensor<48x40xf32>, tensor<40xf32>, tensor<f32>
}

// A reduction that asks for parts gets them; the rest is filled with what does not change the result.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    kernel.fused @p reduce config<tile = [1, 64]> {{.*}} -> tensor<4xf32> {
// CHECK:           nd.constant -inf : tensor<f32>
// CHECK:           nd.pad {{.*}} : (tensor<250xf32>, tensor<f32>) -> tensor<252xf32>
// CHECK:           nd.reshape {{.*}} : tensor<252xf32> -> tensor<4x63xf32>
// CHECK:           nd.max {{.*}} : tensor<4x63xf32> -> tensor<4xf32>
// CHECK:         kernel.fused @p_finish reduce
// CHECK:           nd.max {{.*}} : tensor<4xf32> -> tensor<f32>
func.func @parts(%x: tensor<250xf32>) -> tensor<f32> {
  %r = kernel.fused @p reduce config<tile = [1, 64], split = 4> (%a = %x : tensor<250xf32>) -> tensor<f32> {
    %m = nd.max %a {axes = [0]} : tensor<250xf32> -> tensor<f32>
    kernel.yield %m : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// One without is left alone.
// CHECK-LABEL: func.func @alone
// CHECK:         kernel.fused @a reduce config<tile = [1, 256]>
// CHECK-NEXT:      // core
// CHECK-NEXT:      nd.max
// CHECK-NEXT:      kernel.yield
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @alone(%x: tensor<250xf32>) -> tensor<f32> {
  %r = kernel.fused @a reduce config<tile = [1, 256]> (%a = %x : tensor<250xf32>) -> tensor<f32> {
    %m = nd.max %a {axes = [0]} : tensor<250xf32> -> tensor<f32>
    kernel.yield %m : tensor<f32>
  }
  func.return %r : tensor<f32>
}
