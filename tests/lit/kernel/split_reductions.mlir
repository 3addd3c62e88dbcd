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
  %r, %s, %t = kernel.fused @e matmul config<tile = {m = 16, n = 16, k = 8}> (%a = %x : tensor<48x8xf32>, %b = %w : tensor<8x40xf32>) -> (tensor<48x40xf32>, tensor<40xf32>, tensor<f32>) {
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
// CHECK-NEXT:    {{.*}} = kernel.fused @p reduce config<tile = {d = 1, r = 16}> {{.*}} -> (tensor<f32>, tensor<3xf32>) {
// CHECK:           nd.slice {{.*}} {starts = [0], stops = [192], steps = [1]}
// CHECK-NEXT:      nd.reshape {{.*}} -> tensor<3x64xf32>
// CHECK-NEXT:      nd.slice {{.*}} {starts = [192], stops = [250], steps = [1]}
// CHECK:           nd.max {{.*}} : tensor<3x64xf32> -> tensor<3xf32>
// CHECK:           nd.max {{.*}} : tensor<58xf32> -> tensor<f32>
// CHECK:         kernel.fused @p_finish reduce
// CHECK:           nd.max {{.*}} : tensor<3xf32> -> tensor<f32>
// CHECK:           nd.maximum
func.func @parts(%x: tensor<250xf32>) -> tensor<f32> {
  %r = kernel.fused @p reduce config<tile = {d = 1, r = 16}, split = 4> (%a = %x : tensor<250xf32>) -> tensor<f32> {
    %m = nd.max %a {axes = [0]} : tensor<250xf32> -> tensor<f32>
    kernel.yield %m : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// Of a position the parts give the extreme too: the least position that has the extreme of all is the first.
// CHECK-LABEL: func.func @positions
// CHECK-NEXT:    {{.*}} = kernel.fused @q reduce {{.*}} -> (tensor<i64>, tensor<f32>, tensor<3xi64>, tensor<3xf32>) {
// CHECK:           nd.max {{.*}} {axes = [1]} : tensor<3x64xf32> -> tensor<3xf32>
// CHECK-NEXT:      nd.argmax {{.*}} {axis = 1} : tensor<3x64xf32> -> tensor<3xi64>
// CHECK-NEXT:      nd.max {{.*}} : tensor<58xf32> -> tensor<f32>
// CHECK-NEXT:      nd.argmax {{.*}} : tensor<58xf32> -> tensor<i64>
// CHECK:         kernel.fused @q_finish reduce
// CHECK:           [[ALL:%[0-9]+]] = nd.max {{.*}} : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:      nd.maximum [[ALL]], {{.*}} : tensor<f32>
// CHECK:           nd.iota {axis = 0} : tensor<3xi64>
// CHECK:           nd.where {{.*}} -> tensor<3xi64>
// CHECK:           nd.min {{.*}} : tensor<3xi64> -> tensor<i64>
// CHECK:           nd.minimum {{.*}} : tensor<i64>
func.func @positions(%x: tensor<250xf32>) -> tensor<i64> {
  %r = kernel.fused @q reduce config<tile = {d = 1, r = 16}, split = 4> (%a = %x : tensor<250xf32>) -> tensor<i64> {
    %m = nd.argmax %a {axis = 0} : tensor<250xf32> -> tensor<i64>
    kernel.yield %m : tensor<i64>
  }
  func.return %r : tensor<i64>
}

// One without is left alone.
// CHECK-LABEL: func.func @alone
// CHECK:         kernel.fused @a reduce config<tile = {d = 1, r = 256}>
// CHECK-NEXT:      // core
// CHECK-NEXT:      nd.max
// CHECK-NEXT:      kernel.yield
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @alone(%x: tensor<250xf32>) -> tensor<f32> {
  %r = kernel.fused @a reduce config<tile = {d = 1, r = 256}> (%a = %x : tensor<250xf32>) -> tensor<f32> {
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
  %r = kernel.fused @b reduce config<tile = {d = 1, r = 16}, split = 4> (%a = %x : tensor<2x24x3x5xf32>) -> tensor<3xf32> {
    %m = nd.sum %a {axes = [0, 1, 3]} : tensor<2x24x3x5xf32> -> tensor<3xf32>
    kernel.yield %m : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// Before runs of memory that fill a step, the outermost axis is cut into single elements: each part is a run.
// CHECK-LABEL: func.func @runs
// CHECK-NEXT:    kernel.fused @r reduce {{.*}} -> tensor<3x9xf32> {
// CHECK:           nd.max {{.*}} : tensor<9x1x3x35xf32> -> tensor<9x3xf32>
// CHECK:         kernel.fused @r_finish reduce
// CHECK:           nd.max {{.*}} {axes = [1]} : tensor<3x9xf32> -> tensor<3xf32>
func.func @runs(%x: tensor<9x3x5x7xf32>) -> tensor<3xf32> {
  %r = kernel.fused @r reduce config<tile = {d = 1, r = 32}, split = 4> (%a = %x : tensor<9x3x5x7xf32>) -> tensor<3xf32> {
    %m = nd.max %a {axes = [0, 2, 3]} : tensor<9x3x5x7xf32> -> tensor<3xf32>
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
// CHECK-NEXT:      nd.slice {{.*}} {starts = [131072, 0], stops = [131079, 3], steps = [1, 1]}
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<1x64x6144xf32> -> tensor<1x6144xf32>
// CHECK:           nd.reshape {{.*}} -> tensor<2048x3xf32>
// CHECK-NEXT:      nd.permute
// CHECK:         kernel.fused @g_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<3x2048xf32> -> tensor<3xf32>
// CHECK:           nd.add
func.func @together(%x: tensor<131079x3xf32>) -> tensor<3xf32> {
  %r = kernel.fused @g reduce config<tile = {d = 128, r = 8}, split = 1> (%a = %x : tensor<131079x3xf32>) -> tensor<3xf32> {
    %m = nd.sum %a {axes = [0]} : tensor<131079x3xf32> -> tensor<3xf32>
    kernel.yield %m : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// A product with parts of K: a batch of products, whose sums another kernel adds, in order, before the epilogue. Products
// of one operand cut it once; what depends on no product stays.
// CHECK-LABEL: func.func @products
// CHECK-NEXT:    {{.*}} = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 64}> {{.*}} -> (tensor<16xf32>, tensor<4x16x32xf32>, tensor<4x16x32xf32>) {
// CHECK:           [[LHS:%[0-9]+]] = nd.reshape {{.*}} : tensor<16x512xf32> -> tensor<16x4x128xf32>
// CHECK-NEXT:      [[RHS:%[0-9]+]] = nd.reshape {{.*}} : tensor<512x32xf32> -> tensor<4x128x32xf32>
// CHECK:           nd.matmul [[LHS]], [[RHS]] {lhs_batch = [1], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]}
// CHECK:           [[OTHER:%[0-9]+]] = nd.reshape {{.*}} : tensor<512x32xf32> -> tensor<4x128x32xf32>
// CHECK:           nd.matmul [[LHS]], [[OTHER]] {lhs_batch = [1], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]}
// CHECK-NEXT:      kernel.yield
// CHECK:         kernel.fused @k_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [0]} : tensor<4x16x32xf32> -> tensor<16x32xf32>
// CHECK:           nd.sum {{.*}} {axes = [0]} : tensor<4x16x32xf32> -> tensor<16x32xf32>
// CHECK:           nd.mul
// CHECK-NEXT:      kernel.yield
func.func @products(%x: tensor<16x512xf32>, %v: tensor<512x32xf32>, %w: tensor<512x32xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x32xf32>) {
  %r:2 = kernel.fused @k matmul config<tile = {m = 64, n = 64, k = 64}, split = 4> (%a = %x : tensor<16x512xf32>, %f = %v : tensor<512x32xf32>, %g = %w : tensor<512x32xf32>, %d = %b : tensor<16xf32>) -> (tensor<16xf32>, tensor<16x32xf32>) {
    %c = nd.matmul %a, %f {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<16x512xf32>, tensor<512x32xf32>) -> tensor<16x32xf32>
    %e = nd.matmul %a, %g {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : (tensor<16x512xf32>, tensor<512x32xf32>) -> tensor<16x32xf32>
    %n = nd.neg %d : tensor<16xf32>
    %m = nd.mul %c, %e : tensor<16x32xf32>
    kernel.yield %n, %m : tensor<16xf32>, tensor<16x32xf32>
  }
  func.return %r#0, %r#1 : tensor<16xf32>, tensor<16x32xf32>
}

// Axes that are not reduced stay as they are.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    {{.*}} = kernel.fused @e matmul {{.*}} -> (tensor<3x16x40xf32>, tensor<3x16x3xf32>) {
// CHECK:           nd.sum {{.*}} {axes = [3]} : tensor<3x16x3x16xf32> -> tensor<3x16x3xf32>
// CHECK:         kernel.fused @e_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [2]} : tensor<3x16x3xf32> -> tensor<3x16xf32>
func.func @kept(%x: tensor<3x16x8xf32>, %w: tensor<8x40xf32>) -> (tensor<3x16x40xf32>, tensor<3x16xf32>) {
  %r, %s = kernel.fused @e matmul config<tile = {m = 16, n = 16, k = 8}> (%a = %x : tensor<3x16x8xf32>, %b = %w : tensor<8x40xf32>) -> (tensor<3x16x40xf32>, tensor<3x16xf32>) {
    %c = nd.matmul %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [2], rhs_contract = [0]} : (tensor<3x16x8xf32>, tensor<8x40xf32>) -> tensor<3x16x40xf32>
    %d = nd.sum %c {axes = [2]} : tensor<3x16x40xf32> -> tensor<3x16xf32>
    kernel.yield %c, %d : tensor<3x16x40xf32>, tensor<3x16xf32>
  }
  func.return %r, %s : tensor<3x16x40xf32>, tensor<3x16xf32>
}

// Channels that lie between images and pixels: the axes along M come together before they are cut.
// CHECK-LABEL: func.func @convolution
// CHECK-NEXT:    {{.*}} = kernel.fused @v matmul {{.*}} -> (tensor<2x6x4x4xf32>, tensor<2x6xf32>) {
// CHECK:           [[C:%.*]] = nd.conv
// CHECK:           [[P:%.*]] = nd.permute [[C]] {permutation = [0, 2, 3, 1]} : tensor<2x6x4x4xf32> -> tensor<2x4x4x6xf32>
// CHECK-NEXT:      [[M:%.*]] = nd.reshape [[P]] : tensor<2x4x4x6xf32> -> tensor<32x6xf32>
// CHECK-NEXT:      [[T:%.*]] = nd.reshape [[M]] : tensor<32x6xf32> -> tensor<2x16x6xf32>
// CHECK-NEXT:      nd.sum [[T]] {axes = [1]} : tensor<2x16x6xf32> -> tensor<2x6xf32>
// CHECK:         kernel.fused @v_finish reduce
func.func @convolution(%x: tensor<2x8x6x6xf32>, %w: tensor<6x8x3x3xf32>) -> (tensor<2x6x4x4xf32>, tensor<6xf32>) {
  %r, %s = kernel.fused @v matmul config<tile = {m = 16, n = 16, k = 8}> (%a = %x : tensor<2x8x6x6xf32>, %b = %w : tensor<6x8x3x3xf32>) -> (tensor<2x6x4x4xf32>, tensor<6xf32>) {
    %c = nd.conv %a, %b {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1} : (tensor<2x8x6x6xf32>, tensor<6x8x3x3xf32>) -> tensor<2x6x4x4xf32>
    %d = nd.sum %c {axes = [0, 2, 3]} : tensor<2x6x4x4xf32> -> tensor<6xf32>
    kernel.yield %c, %d : tensor<2x6x4x4xf32>, tensor<6xf32>
  }
  func.return %r, %s : tensor<2x6x4x4xf32>, tensor<6xf32>
}

// Parts of what a convolution sums, outermost first as x has it: all images, and half of the rows of taps. Windows of
// neighboring parts overlap, so that the op itself says where its parts begin.
// CHECK-LABEL: func.func @convolution_parts
// CHECK-NEXT:    {{.*}} = kernel.fused @w matmul config<tile = {m = 16, n = 16, k = 8}> {{.*}} -> tensor<4x2x1x8x6x3x3xf32> {
// CHECK-NEXT:      // core
// CHECK-NEXT:      {{.*}} = nd.conv %a, %b {{{.*}}, parts = [4, 2, 1]} : (tensor<4x10x10x8xf32>, tensor<4x8x8x6xf32>) -> tensor<4x2x1x8x6x3x3xf32>
// CHECK:         kernel.fused @w_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [0, 1, 2]} : tensor<4x2x1x8x6x3x3xf32> -> tensor<8x6x3x3xf32>
func.func @convolution_parts(%x: tensor<4x10x10x8xf32>, %g: tensor<4x8x8x6xf32>) -> tensor<8x6x3x3xf32> {
  %r = kernel.fused @w matmul config<tile = {m = 16, n = 16, k = 8}, split = 8> (%a = %x : tensor<4x10x10x8xf32>, %b = %g : tensor<4x8x8x6xf32>) -> tensor<8x6x3x3xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2]} : (tensor<4x10x10x8xf32>, tensor<4x8x8x6xf32>) -> tensor<8x6x3x3xf32>
    kernel.yield %c : tensor<8x6x3x3xf32>
  }
  func.return %r : tensor<8x6x3x3xf32>
}

// Where a thread has whole columns, these lie side by side in the parts, and the second kernel puts them in order.
// CHECK-LABEL: func.func @columns_of_parts
// CHECK-NEXT:    {{.*}} = kernel.fused @c matmul {{.*}} -> tensor<4x2x1x1x3x3x8xf32> {
// CHECK:           nd.conv %a, %b {{{.*}}result_axes = [0, 3, 1, 2], {{.*}}parts = [4, 2, 1]} : tensor<4x8x8x8xf32> -> tensor<4x2x1x1x3x3x8xf32>
// CHECK:         kernel.fused @c_finish reduce
// CHECK:           [[S:%[0-9]+]] = nd.sum {{.*}} {axes = [0, 1, 2]} : tensor<4x2x1x1x3x3x8xf32> -> tensor<1x3x3x8xf32>
// CHECK:           nd.permute [[S]] {permutation = [0, 3, 1, 2]} : tensor<1x3x3x8xf32> -> tensor<1x8x3x3xf32>
func.func @columns_of_parts(%x: tensor<4x8x8x8xf32>, %g: tensor<4x8x8x8xf32>) -> tensor<1x8x3x3xf32> {
  %r = kernel.fused @c matmul config<tile = {m = 16, n = 16, k = 4}, split = 8, instruction = "columns"> (%a = %x : tensor<4x8x8x8xf32>, %b = %g : tensor<4x8x8x8xf32>) -> tensor<1x8x3x3xf32> {
    %c = nd.conv %a, %b {strides = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], input_dilation = [1, 1], groups = 1, x_axes = [3, 0, 1, 2], kernel_axes = [3, 0, 1, 2], batch_groups = 8} : tensor<4x8x8x8xf32> -> tensor<1x8x3x3xf32>
    kernel.yield %c : tensor<1x8x3x3xf32>
  }
  func.return %r : tensor<1x8x3x3xf32>
}

// Runs of a few elements, with those of other results in between, are columns of the first kernel: the second one adds
// them too. What the parts leave over is one more row of columns.
// CHECK-LABEL: func.func @short_runs
// CHECK-NEXT:    {{.*}} = kernel.fused @n reduce {{.*}} -> (tensor<2x3x8xf32>, tensor<2x3x8x2xf32>) {
// CHECK:           nd.slice {{.*}} {starts = [0, 0, 0, 0], stops = [2, 128, 3, 8], steps = [1, 1, 1, 1]}
// CHECK-NEXT:      nd.reshape {{.*}} -> tensor<2x2x64x3x8xf32>
// CHECK:           [[P:%[0-9]+]] = nd.sum {{.*}} {axes = [2]} : tensor<2x2x64x3x8xf32> -> tensor<2x2x3x8xf32>
// CHECK:           nd.permute [[P]] {permutation = [0, 2, 3, 1]}
// CHECK:           nd.sum {{.*}} {axes = [1]} : tensor<2x22x3x8xf32> -> tensor<2x3x8xf32>
// CHECK:         kernel.fused @n_finish reduce
// CHECK:           nd.sum {{.*}} {axes = [2, 3]} : tensor<2x3x8x2xf32> -> tensor<2x3xf32>
// CHECK-NEXT:      nd.sum {{.*}} {axes = [2]} : tensor<2x3x8xf32> -> tensor<2x3xf32>
// CHECK:           nd.add
func.func @short_runs(%x: tensor<2x150x3x8xf32>) -> tensor<2x3xf32> {
  %r = kernel.fused @n reduce config<tile = {d = 32, r = 32}, reduction = "looped", split = 3> (%a = %x : tensor<2x150x3x8xf32>) -> tensor<2x3xf32> {
    %s = nd.sum %a {axes = [1, 3]} : tensor<2x150x3x8xf32> -> tensor<2x3xf32>
    kernel.yield %s : tensor<2x3xf32>
  }
  func.return %r : tensor<2x3xf32>
}

// Without parts they are apart as well; a few runs are a row as any other.
// CHECK-LABEL: func.func @few_runs
// CHECK-NEXT:    {{.*}} = kernel.fused @o reduce {{.*}} -> tensor<3x8x1xf32> {
// CHECK:         kernel.fused @o_finish reduce
// CHECK:         kernel.fused @p reduce {{.*}} -> tensor<3xf32> {
// CHECK-NOT:     kernel.fused
// CHECK:         func.return
func.func @few_runs(%x: tensor<100x3x8xf32>, %y: tensor<50x3x8xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %r = kernel.fused @o reduce config<tile = {d = 32, r = 32}, reduction = "looped", split = 1> (%a = %x : tensor<100x3x8xf32>) -> tensor<3xf32> {
    %s = nd.max %a {axes = [0, 2]} : tensor<100x3x8xf32> -> tensor<3xf32>
    kernel.yield %s : tensor<3xf32>
  }
  %t = kernel.fused @p reduce config<tile = {d = 1, r = 512}, split = 1> (%a = %y : tensor<50x3x8xf32>) -> tensor<3xf32> {
    %s = nd.max %a {axes = [0, 2]} : tensor<50x3x8xf32> -> tensor<3xf32>
    kernel.yield %s : tensor<3xf32>
  }
  func.return %r, %t : tensor<3xf32>, tensor<3xf32>
}

// Parts leave nothing over where elements are stored beside them: about 88 of 187 rows would, 64 of 256 do not.
// CHECK-LABEL: func.func @stored
// CHECK:         nd.reshape {{.*}} -> tensor<64x256x3072xf32>
// CHECK:         nd.sum {{.*}} -> tensor<64x3072xf32>
// CHECK-NOT:     nd.slice
func.func @stored(%x: tensor<16384x3072xf32>) -> (tensor<16384x3072xf32>, tensor<3072xf32>) {
  %0, %1 = kernel.fused reduce config<tile = {d = 256, r = 8}, split = 88, unroll = 4> (%x1 = %x : tensor<16384x3072xf32>) -> (tensor<16384x3072xf32>, tensor<3072xf32>) {
    %2 = nd.exp %x1 : tensor<16384x3072xf32>
    %3 = nd.sum %2 {axes = [0]} : tensor<16384x3072xf32> -> tensor<3072xf32>
    kernel.yield %2, %3 : tensor<16384x3072xf32>, tensor<3072xf32>
  }
  func.return %0, %1 : tensor<16384x3072xf32>, tensor<3072xf32>
}
