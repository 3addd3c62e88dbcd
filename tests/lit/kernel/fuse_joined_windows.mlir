// RUN: irc-opt %s -p fuse-kernels | filecheck %s

// The gradient of a pool of maxima, of which a norm's gradient has sums: what several windows give is joined in one array
// by one kernel, not stored for the reduction to join.
// CHECK-LABEL: func.func @maxima
// CHECK:         %[[D:.*]] = kernel.fused @maxima_0 map ({{.*}}) -> tensor<64x64x64x32xbf16> {
// CHECK-COUNT-4:   nd.reduce_window
// CHECK:           nd.add
// CHECK:           kernel.yield
// CHECK:         kernel.fused @maxima_1 reduce ({{.*}} = %[[D]] : tensor<64x64x64x32xbf16>) -> tensor<32xf32>
// CHECK-NOT:     kernel.fused
func.func @maxima(%g: tensor<64x32x32x32xbf16>, %p: tensor<64x32x32x32xi32>, %own: tensor<64x64xi32>) -> tensor<32xf32> {
  %g_1 = nd.cast %g : tensor<64x32x32x32xbf16> -> tensor<64x32x32x32xf32>
  %o = nd.broadcast %own {dims = [1, 2]} : tensor<64x64xi32> -> tensor<64x64x64x32xi32>
  %z = nd.constant 0.0 : tensor<64x64x64x32xf32>
  %g0 = nd.reduce_window %g_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 0, 0], high = [0, 2, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
  %p0 = nd.reduce_window %p {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 0, 0], high = [0, 2, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
  %e0 = nd.equal %p0, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
  %w0 = nd.where %e0, %g0, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
  %g1 = nd.reduce_window %g_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 2, 0], high = [0, 2, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
  %p1 = nd.reduce_window %p {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 2, 0], high = [0, 2, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
  %e1 = nd.equal %p1, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
  %w1 = nd.where %e1, %g1, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
  %g2 = nd.reduce_window %g_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 0, 0], high = [0, 0, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
  %p2 = nd.reduce_window %p {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 0, 0], high = [0, 0, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
  %e2 = nd.equal %p2, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
  %w2 = nd.where %e2, %g2, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
  %g3 = nd.reduce_window %g_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 2, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
  %p3 = nd.reduce_window %p {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 2, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
  %e3 = nd.equal %p3, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
  %w3 = nd.where %e3, %g3, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
  %s0 = nd.add %w0, %w1 : tensor<64x64x64x32xf32>
  %s1 = nd.add %s0, %w2 : tensor<64x64x64x32xf32>
  %s2 = nd.add %s1, %w3 {nd.declared = bf16} : tensor<64x64x64x32xf32>
  %sum = nd.sum %s2 {axes = [0, 1, 2]} : tensor<64x64x64x32xf32> -> tensor<32xf32>
  func.return %sum : tensor<32xf32>
}
