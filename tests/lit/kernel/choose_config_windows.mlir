// RUN: irc-opt %s -p choose-config | filecheck %s

// Four windows and where each counts: of so much that they read a thread has few elements, in registers.
// CHECK: kernel.fused @maxima_0 map config<tile = {d = 1024}, warps = 8, schedule = "grid", occupancy = 2>
func.func @maxima(%g: tensor<64x32x32x32xbf16>, %p: tensor<64x32x32x32xi32>, %own: tensor<64x64xi32>) -> tensor<32xf32> {
  %s2 = kernel.fused @maxima_0 map (%g_1 = %g : tensor<64x32x32x32xbf16>, %p_1 = %p : tensor<64x32x32x32xi32>, %own_1 = %own : tensor<64x64xi32>) -> tensor<64x64x64x32xbf16> {
    %g_2 = nd.cast %g_1 : tensor<64x32x32x32xbf16> -> tensor<64x32x32x32xf32>
    %g0 = nd.reduce_window %g_2 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 0, 0], high = [0, 2, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
    %p0 = nd.reduce_window %p_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 0, 0], high = [0, 2, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
    %o = nd.broadcast %own_1 {dims = [1, 2]} : tensor<64x64xi32> -> tensor<64x64x64x32xi32>
    %e0 = nd.equal %p0, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
    %z = nd.constant 0.0 : tensor<64x64x64x32xf32>
    %w0 = nd.where %e0, %g0, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
    %g1 = nd.reduce_window %g_2 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 2, 0], high = [0, 2, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
    %p1 = nd.reduce_window %p_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 0, 2, 0], high = [0, 2, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
    %e1 = nd.equal %p1, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
    %w1 = nd.where %e1, %g1, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
    %g2 = nd.reduce_window %g_2 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 0, 0], high = [0, 0, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
    %p2 = nd.reduce_window %p_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 0, 0], high = [0, 0, 2, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
    %e2 = nd.equal %p2, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
    %w2 = nd.where %e2, %g2, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
    %g3 = nd.reduce_window %g_2 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 2, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xf32> -> tensor<64x64x64x32xf32>
    %p3 = nd.reduce_window %p_1 {monoid = "sum", window = [1, 2, 2, 1], strides = [1, 1, 1, 1], low = [0, 2, 2, 0], high = [0, 0, 0, 0], dilation = [1, 1, 1, 1], input_dilation = [1, 2, 2, 1]} : tensor<64x32x32x32xi32> -> tensor<64x64x64x32xi32>
    %e3 = nd.equal %p3, %o : tensor<64x64x64x32xi32> -> tensor<64x64x64x32xi1>
    %w3 = nd.where %e3, %g3, %z : (tensor<64x64x64x32xi1>, tensor<64x64x64x32xf32>, tensor<64x64x64x32xf32>) -> tensor<64x64x64x32xf32>
    %s0 = nd.add %w0, %w1 : tensor<64x64x64x32xf32>
    %s1 = nd.add %s0, %w2 : tensor<64x64x64x32xf32>
    %s2_1 = nd.add %s1, %w3 : tensor<64x64x64x32xf32>
    %s2_2 = nd.cast %s2_1 : tensor<64x64x64x32xf32> -> tensor<64x64x64x32xbf16>
    kernel.yield %s2_2 : tensor<64x64x64x32xbf16>
  }
  %sum = kernel.fused @maxima_1 reduce (%s2_1 = %s2 : tensor<64x64x64x32xbf16>) -> tensor<32xf32> {
    // prologue
    %s2_2 = nd.cast %s2_1 : tensor<64x64x64x32xbf16> -> tensor<64x64x64x32xf32>
    // core
    %sum_1 = nd.sum %s2_2 {axes = [0, 1, 2]} : tensor<64x64x64x32xf32> -> tensor<32xf32>
    kernel.yield %sum_1 : tensor<32xf32>
  }
  func.return %sum : tensor<32xf32>
}

// Several channels in each group, and rows of 14 elements, of which a thread would have parts of several, whose windows
// are read apart: it has two elements. Of rows of 16 it has 16.
// CHECK: kernel.fused @short_rows map config<tile = {d = 256}, warps = 4, schedule = "grid", evict_last = "inputs">
func.func @short_rows_of(%x: tensor<306x48x61x14xbf16>, %w: tensor<256x6x3x3xbf16>) -> tensor<306x256x61x14xbf16> {
  %y = kernel.fused @short_rows map (%x_1 = %x : tensor<306x48x61x14xbf16>, %w_1 = %w : tensor<256x6x3x3xbf16>) -> tensor<306x256x61x14xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 8} : (tensor<306x48x61x14xbf16>, tensor<256x6x3x3xbf16>) -> tensor<306x256x61x14xf32>
    %cast = nd.cast %conv : tensor<306x256x61x14xf32> -> tensor<306x256x61x14xbf16>
    kernel.yield %cast : tensor<306x256x61x14xbf16>
  }
  func.return %y : tensor<306x256x61x14xbf16>
}

// CHECK: kernel.fused @whole_rows map config<tile = {d = 2048}, warps = 4, schedule = "grid", evict_last = "inputs">
func.func @whole_rows_of(%x: tensor<306x48x61x16xbf16>, %w: tensor<256x6x3x3xbf16>) -> tensor<306x256x61x16xbf16> {
  %y = kernel.fused @whole_rows map (%x_1 = %x : tensor<306x48x61x16xbf16>, %w_1 = %w : tensor<256x6x3x3xbf16>) -> tensor<306x256x61x16xbf16> {
    %conv = nd.conv %x_1, %w_1 {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 8} : (tensor<306x48x61x16xbf16>, tensor<256x6x3x3xbf16>) -> tensor<306x256x61x16xf32>
    %cast = nd.cast %conv : tensor<306x256x61x16xf32> -> tensor<306x256x61x16xbf16>
    kernel.yield %cast : tensor<306x256x61x16xbf16>
  }
  func.return %y : tensor<306x256x61x16xbf16>
}
