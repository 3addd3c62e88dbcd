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

// A reduction that asks for parts gets at most as many, each of whole steps; what they leave over is reduced beside them.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    {{.*}} = kernel.fused @p reduce config<tile = [1, 16]> {{.*}} -> (tensor<f32>, tensor<3xf32>) {
// CHECK:           nd.slice {{.*}} {starts = [0], stops = [192], steps = [1]}
// CHECK-NEXT:      nd.reshape {{.*}} -> tensor<3x64xf32>
// CHECK:           nd.max {{.*}} : tensor<3x64xf32> -> tensor<3xf32>
// CHECK:           nd.slice {{.*}} {starts = [192], stops = [250], steps = [1]}
// CHECK:           nd.max {{.*}} : tensor<58xf32> -> tensor<f32>
// CHECK:         kernel.fused @p_finish reduce
// CHECK:           nd.max {{.*}} : tensor<3xf32> -> tensor<f32>
// CHECK:           nd.maximum
func.func @parts(%x: tensor<250xf32>) -> tensor<f32> {
  %r = kernel.fused @p reduce config<tile = [1, 16], split = 4> (%a = %x : tensor<250xf32>) -> tensor<f32> {
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

// Adjacent axes that are reduced are one extent; where kept axes lie between, the outermost is cut. The
// partials of few results lie side by side.
// CHECK-LABEL: func.func @between
// CHECK-NEXT:    kernel.fused @b reduce {{.*}} -> tensor<3x4xf32> {
// CHECK:           nd.reshape {{.*}} : tensor<2x24x3x5xf32> -> tensor<48x3x5xf32>
// CHECK-NEXT:      nd.reshape {{.*}} : tensor<48x3x5xf32> -> tensor<4x12x3x5xf32>
// CHECK:           nd.sum {{.*}} {axes = [1, 3]}
// CHECK:           nd.permute {{.*}} : tensor<4x3xf32> -> tensor<3x4xf32>
// CHECK:         kernel.fused @b_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<3x4xf32> -> tensor<3xf32>
func.func @between(%x: tensor<2x24x3x5xf32>) -> tensor<3xf32> {
  %r = kernel.fused @b reduce config<tile = [1, 16], split = 4> (%a = %x : tensor<2x24x3x5xf32>) -> tensor<3xf32> {
    %m = nd.sum %a {axes = [0, 1, 3]} : tensor<2x24x3x5xf32> -> tensor<3xf32>
    kernel.yield %m : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// Rows of an odd pitch are put together, here 2048 of them: 6144 columns, of which every access is aligned. The
// second kernel reduces those that are one column.
// CHECK-LABEL: func.func @together
// CHECK-NEXT:    kernel.fused @g reduce {{.*}} -> (tensor<3xf32>, tensor<3x2048xf32>) {
// CHECK:           nd.slice {{.*}} {starts = [0, 0], stops = [131072, 3], steps = [1, 1]}
// CHECK-NEXT:      nd.reshape {{.*}} -> tensor<1x64x6144xf32>
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<1x64x6144xf32> -> tensor<1x6144xf32>
// CHECK:           nd.reshape {{.*}} -> tensor<2048x3xf32>
// CHECK-NEXT:      nd.permute
// CHECK:           nd.slice {{.*}} {starts = [131072, 0], stops = [131079, 3], steps = [1, 1]}
// CHECK:         kernel.fused @g_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<3x2048xf32> -> tensor<3xf32>
// CHECK:           nd.add
func.func @together(%x: tensor<131079x3xf32>) -> tensor<3xf32> {
  %r = kernel.fused @g reduce config<tile = [128, 8], split = 1> (%a = %x : tensor<131079x3xf32>) -> tensor<3xf32> {
    %m = nd.sum %a {axes = [0]} : tensor<131079x3xf32> -> tensor<3xf32>
    kernel.yield %m : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}
